"""One client of the chaos run: its requests over persistent connections, and the outcome of each."""
import asyncio
import json

MODEL = "llama-3.1-8b"
WORDS = "river gate water turbine power valve pressure flow dam head spill wheel".split()
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def make_request(number, generator):
    """(path, body, how) of the request of this number."""
    text = f"Question {number}: " + " ".join(generator.choice(WORDS) for _ in range(generator.randint(5, 60)))
    kind = generator.random()
    body = {"model": MODEL, "stream": kind < 0.8}
    if generator.random() < 0.8:
        body["max_tokens"] = generator.randint(1, 150)
    else:
        body["max_tokens"] = 400
    path = "/v1/chat/completions"
    if kind < 0.25:
        path, body["prompt"] = "/v1/completions", text
    else:
        body["messages"] = [{"role": "user", "content": text}]
        if generator.random() < 0.1:
            body["tools"] = TOOLS
    if body["stream"]:
        body["stream_options"] = {"include_usage": True}
    leave_after = generator.randint(0, 40) if generator.random() < 0.08 else None
    return path, body, leave_after


class Outcome:
    """The outcome of one request, as the client saw it."""

    def __init__(self, number, path, body):
        self.number, self.path, self.body = number, path, body
        self.kind = "nothing"  # ok, refused, failed, cut, left, unreachable, nothing
        self.status = 0
        self.reason = ""
        self.text = ""
        self.finish = None
        self.usage = None
        self.roles = 0
        self.names = set()
        self.error = ""
        self.wrong = []
        self.ended_at = 0.0


class Client:
    def __init__(self, port):
        self.port = port
        self.reader = self.writer = None

    async def ask(self, number, path, body, leave_after):
        outcome = Outcome(number, path, body)
        try:
            await asyncio.wait_for(self._exchange(outcome, leave_after), 120)
        except asyncio.TimeoutError:
            outcome.wrong.append("no end within 120 s")
            self.close()
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            outcome.kind = "unreachable" if outcome.status == 0 else "cut"
            self.close()
        except asyncio.IncompleteReadError as error:
            outcome.kind = "unreachable" if outcome.status == 0 and not error.partial else "cut"
            self.close()
        outcome.ended_at = asyncio.get_running_loop().time()
        return outcome

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None

    async def _connect(self):
        if self.writer is not None and (self.reader.at_eof() or self.writer.is_closing()):
            self.close()
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def _exchange(self, outcome, leave_after):
        data = json.dumps(outcome.body).encode()
        head = (
            f"POST {outcome.path} HTTP/1.1\r\nHost: chaos\r\nContent-Type: application/json\r\n"
            f"x-request-id: chaos-{outcome.number}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        for fresh in (False, True):
            await self._connect()
            self.writer.write(head.encode() + data)
            try:
                status_line = await self.reader.readuntil(b"\r\n")
                break
            except (asyncio.IncompleteReadError, ConnectionResetError) as error:
                # A draining router may close a persistent connection before it reads the request.
                if fresh or getattr(error, "partial", b""):
                    raise
                self.close()
        outcome.status = int(status_line.split()[1])
        headers = {}
        while (line := await self.reader.readuntil(b"\r\n")) != b"\r\n":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("x-request-id") != f"chaos-{outcome.number}":
            outcome.wrong.append(f"the answer is for {headers.get('x-request-id')}")
        outcome.reason = headers.get("x-penstock-reason", "")
        if headers.get("transfer-encoding") == "chunked":
            await self._read_stream(outcome, leave_after)
        else:
            self._read_whole(outcome, await self.reader.readexactly(int(headers["content-length"])))
        if headers.get("connection", "").lower() == "close":
            self.close()

    def _read_whole(self, outcome, data):
        answer = json.loads(data)
        if outcome.status != 200:
            outcome.kind = "refused" if outcome.status in (429, 503) else "failed"
            outcome.error = answer["error"]["message"]
            return
        outcome.kind = "ok"
        choice = answer["choices"][0]
        outcome.text = choice["message"]["content"] if "message" in choice else choice["text"]
        outcome.finish = choice["finish_reason"]
        outcome.usage = (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"])

    async def _read_stream(self, outcome, leave_after):
        buffered, events, done = b"", 0, 0
        while True:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            chunk = (await self.reader.readexactly(size + 2))[:-2]
            if size == 0:
                break
            buffered += chunk
            while b"\n\n" in buffered:
                event, _, buffered = buffered.partition(b"\n\n")
                for line in event.split(b"\n"):
                    if line.startswith(b"data:"):
                        if done:
                            outcome.wrong.append(f"an event behind [DONE]: {line[:100]}")
                        done += self._read_event(outcome, line[5:].strip())
                        events += 1
            if leave_after is not None and events >= leave_after:
                outcome.kind = "left"
                self.writer.transport.abort()
                self.close()
                return
        if buffered:
            outcome.wrong.append(f"bytes behind the last event: {buffered[:100]}")
        if outcome.error:
            outcome.kind = "failed"
        elif done != 1 or outcome.finish is None:
            outcome.wrong.append(f"{done} times [DONE], finish {outcome.finish}, and no error")
        else:
            outcome.kind = "ok"

    def _read_event(self, outcome, data):
        if data == b"[DONE]":
            return 1
        event = json.loads(data)
        if "error" in event:
            if outcome.error:
                outcome.wrong.append("two errors")
            outcome.error = event["error"]["message"]
            return 0
        if outcome.error:
            outcome.wrong.append("an event behind the error")
        outcome.names.add((event["id"], event["created"], event["model"]))
        if event.get("usage"):
            outcome.usage = (event["usage"]["prompt_tokens"], event["usage"]["completion_tokens"])
        for choice in event["choices"]:
            delta = choice.get("delta", choice)
            outcome.text += delta.get("content") or delta.get("text") or ""
            outcome.roles += 1 if delta.get("role") else 0
            if choice.get("finish_reason"):
                if outcome.finish:
                    outcome.wrong.append("two finishes")
                outcome.finish = choice["finish_reason"]
        return 0


async def expected(port, path, body):
    """The answer of an undisturbed engine: (text, finish reason, usage)."""
    client = Client(port)
    outcome = Outcome(0, path, body)
    plain = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
    data = json.dumps(plain).encode()
    await client._connect()
    client.writer.write(
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        f"Connection: close\r\n\r\n".encode() + data
    )
    answer = await client.reader.read()
    client.close()
    outcome.status = 200
    client._read_whole(outcome, answer.partition(b"\r\n\r\n")[2])
    return outcome.text, outcome.finish, outcome.usage
