"""The clients of jobs.py: the calls of a batch, interactive streams, and lines sent straight to engines."""

import asyncio
import http.client
import json
import random
import time


class Api:
    """Files and batches, by plain HTTP."""

    def __init__(self, port):
        self.port = port

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status < 300, (answer.status, text[:500])
        return json.loads(text)

    def begin(self, lines):
        return self.begin_bytes("".join(json.dumps(line) + "\n" for line in lines).encode())

    def begin_file(self, path):
        return self.begin_bytes(path.read_bytes())

    def begin_bytes(self, data):
        edge = b"----edge"
        head = b"--" + edge + b'\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--' + edge + \
            b'\r\nContent-Disposition: form-data; name="file"; filename="input.jsonl"\r\n\r\n'
        body = head + data + b"\r\n--" + edge + b"--\r\n"
        file = self.ask("POST", "/v1/files", body, {"Content-Type": "multipart/form-data; boundary=" + edge.decode()})
        made = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        return self.ask("POST", "/v1/batches", json.dumps(made), {"Content-Type": "application/json"})["id"]

    def batch(self, batch):
        return self.ask("GET", f"/v1/batches/{batch}")

    def cancel(self, batch):
        self.ask("POST", f"/v1/batches/{batch}/cancel")
        while self.batch(batch)["status"] != "cancelled":
            time.sleep(0.2)

    def finish(self, batch):
        while (now := self.batch(batch))["status"] not in ("completed", "failed", "expired", "cancelled"):
            time.sleep(0.1)
        assert now["status"] == "completed" and now["request_counts"]["failed"] == 0, now


async def exchange(port, path, body, headers=""):
    """Sends one request; gives reader and writer behind the head of its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    data = json.dumps(body).encode()
    writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
                 f"Connection: close\r\n{headers}\r\n".encode() + data)
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head.split(b"\r\n")[0], head
    return reader, writer


class Interactive:
    """Open load of streams in the class interactive: equal seeds give equal arrivals and prompts.

    A prompt has 400 words in the middle, and 2,000 or more in one of twenty; or 50 to 400 words if it is `short`.
    """

    def __init__(self, port, rate, seconds, short=False):
        self.port, self.rate, self.seconds, self.short = port, rate, seconds, short
        self.pause = 0.0  # The longest time of the last run in which this process did not run: the machine was busy.

    def run(self, seed):
        """The times to the first token, in seconds."""
        return asyncio.run(self._run(seed))

    async def _look(self):
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            self.pause = max(self.pause, time.monotonic() - began - 0.01)

    async def _run(self, seed):
        self.pause = 0.0
        look = asyncio.create_task(self._look())
        chance = random.Random(seed)
        tasks = []
        end = time.monotonic() + self.seconds
        due = time.monotonic()
        while due < end:
            await asyncio.sleep(max(0, due - time.monotonic()))
            tasks.append(asyncio.create_task(self._ask(self._words(chance), chance.randrange(20, 80))))
            due += chance.expovariate(self.rate)
        took = [await task for task in tasks]
        look.cancel()
        return took

    def _words(self, chance):
        return chance.randrange(50, 400) if self.short else min(5000, int(chance.lognormvariate(6, 1)))

    async def _ask(self, words, tokens):
        began = time.monotonic()
        body = {"model": "llama-3.1-8b", "stream": True, "max_tokens": tokens,
                "messages": [{"role": "user", "content": f"{began} " + "word " * words}]}
        reader, writer = await exchange(self.port, "/v1/chat/completions", body, "x-penstock-class: interactive\r\n")
        first = None
        while chunk := await reader.readline():
            if first is None and b'"content":"' in chunk and b'"content":""' not in chunk:
                first = time.monotonic() - began
        writer.close()
        return first


async def direct(ports, lines):
    """Sends all lines to the engines, in their order, as many at once as an engine queues gladly."""
    each = len(lines) // len(ports)

    async def one(port, gate, line):
        async with gate:
            reader, writer = await exchange(port, line["url"], line["body"])
            await reader.read()
            writer.close()

    async def half(port, part):
        gate = asyncio.Semaphore(256)
        await asyncio.gather(*[one(port, gate, line) for line in part])

    await asyncio.gather(*[half(port, lines[i * each:(i + 1) * each]) for i, port in enumerate(ports)])
