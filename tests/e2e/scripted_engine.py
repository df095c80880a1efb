"""An engine with scripted faults: it lists its model properly and answers generation with scripted bytes."""
import json
import socket
import struct
import threading

MODEL = "scripted"


def http(status, body, kind="application/json", more=""):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def event(content, finish=None):
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return "data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}) + "\n\n"


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(text):
    data = text.encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def beside(engine, scripted):
    """The configuration of a router of one loop, with a good engine and a scripted one."""
    return (
        f"threads: 1\nreplicas:\n  - {{id: good, url: '{engine.url}'}}\n"
        f"  - {{id: scripted, url: '{scripted.url}', engine: openai, model: {MODEL}, kv_tokens: 1000000}}\n"
    )


class ScriptedEngine:
    """Answers generation requests with `script`, then closes the connection (resets it with `reset`)."""

    def __init__(self):
        self.script = b""
        self.reset = False
        self.hang = False
        self.last_words = b""  # Sent when a hang ends.
        self.goodbye = False  # Ends TLS in order.
        self.pages = {}  # More pages, by path.
        self.posts = {}  # Answers to other POSTs, by path: functions of the body.
        self.poison = None  # A request with these bytes resets the connection.
        self.poisoned = 0
        self.impatient = False  # Resets the connection before it has read a request.
        self.deaf = False  # Reads the head of a request, and no more.
        self.early = b""  # Is sent behind the head of a request, whose body is never read.
        self.calls = 0
        self.heads = []  # The heads of requests that were read whole.
        self.last = b""  # The newest request with a body or a script, whole.
        self._stopping = threading.Event()
        self._socket = self.listen()
        self.address = self._socket.getsockname()
        self.url = self.url_of()
        threading.Thread(target=self._accept, daemon=True).start()

    def url_of(self):
        return f"http://127.0.0.1:{self.address[1]}"

    def listen(self):
        return socket.create_server(("127.0.0.1", 0))

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection:
                while self._answer(connection):
                    pass
        except OSError:
            pass

    def _answer(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return False
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = 0
        for line in head.decode().split("\r\n")[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
        if self.deaf and head.startswith(b"POST"):
            self.calls += 1
            self._stopping.wait(120)
            return False
        if self.impatient and head.startswith(b"POST"):
            self.calls += 1
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if self.early and head.startswith(b"POST"):
            self.calls += 1
            connection.sendall(self.early)
            if self.reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                self._stopping.wait(120)
            return False
        while len(body) < length:
            body += connection.recv(65536)
        method, path = head.decode().split()[:2]
        if method == "GET":
            models = {"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 4096}]}
            known = {"/v1/models": http(200, models), "/health": http(200, {})}
            known.update(self.pages)
            connection.sendall(known.get(path, http(404, {"error": {"message": "no such path"}})))
            return True
        if path in self.posts:
            connection.sendall(self.posts[path](body))
            return True
        self.calls += 1
        self.heads.append(head.decode())
        self.last = head + b"\r\n\r\n" + body
        if self.poison and self.poison in body:
            self.poisoned += 1
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        # The test may let go as soon as it has the script.
        hangs, stopping = self.hang, self._stopping
        connection.sendall(self.script)
        if hangs:
            stopping.wait(120)
            connection.sendall(self.last_words)
        if self.goodbye:
            connection.unwrap()
        if self.reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def let_go(self):
        """Ends the answers that hang."""
        self.hang = False
        self._stopping.set()
        self._stopping = threading.Event()

    def close(self):
        self._stopping.set()
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
