"""HTTP over a plain socket, for bytes that a well-behaved client cannot send."""
import json
import socket


def request_bytes(path="/v1/chat/completions", body=b"", method="POST", headers=None):
    """A whole request; a dict as body is sent as JSON. `headers` add to and replace the usual ones; None removes."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    fields = {"Host": "penstock", "Content-Type": "application/json", "Content-Length": str(len(body))}
    fields.update(headers or {})
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value is not None)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


def read_answer(connection, method="POST"):
    """The answer on a socket, or None when it was closed without one."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            assert not data, f"half a head: {data!r}"
            return None
        data += chunk
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    status = int(lines[0].split()[1])
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    varies = [line[5:].strip() for line in lines[1:] if line.lower().startswith("vary:")]
    if varies:
        headers["vary"] = ", ".join(varies)
    if status == 100:
        return Answer(100, headers, rest)
    if "content-length" in headers and method != "HEAD":
        length = int(headers["content-length"])
        while len(rest) < length:
            chunk = connection.recv(65536)
            assert chunk, "the body is shorter than its length"
            rest += chunk
    elif headers.get("transfer-encoding") == "chunked" and method != "HEAD":
        rest = read_chunks(connection, rest)
    return Answer(status, headers, rest)


def read_chunks(connection, data):
    body = b""
    while True:
        while b"\r\n" not in data:
            chunk = connection.recv(65536)
            assert chunk, "the stream ended without its last chunk"
            data += chunk
        line, _, data = data.partition(b"\r\n")
        size = int(line, 16)
        while len(data) < size + 2:
            chunk = connection.recv(65536)
            assert chunk, "the stream ended within a chunk"
            data += chunk
        if size == 0:
            return body
        body += data[:size]
        data = data[size + 2:]


def send(address, data, method="POST", timeout=10):
    with socket.create_connection(address, timeout=timeout) as connection:
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The answer may come before everything was sent.
        return read_answer(connection, method)


def chat(prompt="Say something.", model="llama-3.1-8b", **more):
    return {"model": model, "messages": [{"role": "user", "content": prompt}], **more}


def events(body):
    """The data of each event of a stream."""
    found = []
    for event in body.decode().split("\n\n"):
        for line in event.splitlines():
            if line.startswith("data:"):
                found.append(line[5:].strip())
    return found
