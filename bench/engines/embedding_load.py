"""A closed loop of embedding requests over keep-alive connections: each connection sends its next request on an answer."""

import asyncio
import json
import random
import time

WORDS = "the quick brown fox jumps over a lazy dog while seven small boats drift slowly down an old river".split()


def request_bytes(model, rng):
    """A request for one text of 8 to 60 words, with the encoding that the openai SDK asks for."""
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(8, 60)))
    body = json.dumps({"model": model, "input": text, "encoding_format": "base64"}).encode()
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection(asyncio.Protocol):
    """Sends requests until the loop is over. `took` has the seconds of each answer, `errors` counts those without 200."""

    def __init__(self, requests, seed):
        self.requests = requests
        self.next = seed % len(requests)
        self.took = []
        self.errors = 0
        self.data = b""
        self.need = None
        self.running = True
        self.idle = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport
        self.send()

    def send(self):
        self.sent = time.perf_counter()
        self.transport.write(self.requests[self.next])
        self.next = (self.next + 1) % len(self.requests)

    def data_received(self, data):
        self.data += data
        if self.need is None:
            end = self.data.find(b"\r\n\r\n")
            if end < 0:
                return
            lines = self.data[:end].lower().split(b"\r\n")
            length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
            self.need = end + 4 + length
            self.good = lines[0].split()[1] == b"200"
        if len(self.data) < self.need:
            return
        self.took.append(time.perf_counter() - self.sent)
        self.errors += 0 if self.good and b'"embedding"' in self.data else 1
        self.data, self.need = b"", None
        if self.running:
            self.send()
        else:
            self.idle.set_result(None)

    def connection_lost(self, _):
        if not self.idle.done():
            self.errors += 1
            self.idle.set_result(None)


async def run(port, model, connections, seconds, warm_up, on_start):
    loop = asyncio.get_running_loop()
    rng = random.Random(1)
    requests = [request_bytes(model, rng) for _ in range(997)]
    clients = [(await loop.create_connection(lambda seed=i: Connection(requests, 7 * seed), "127.0.0.1", port))[1]
               for i in range(connections)]
    await asyncio.sleep(warm_up)
    before = on_start()
    for client in clients:
        client.took, client.errors = [], 0
    began = time.perf_counter()
    await asyncio.sleep(seconds)
    for client in clients:
        client.running = False
    await asyncio.wait_for(asyncio.gather(*(client.idle for client in clients)), 30)
    took = sorted(each for client in clients for each in client.took)
    for client in clients:
        client.transport.close()
    return before, {"requests": len(took), "errors": sum(client.errors for client in clients),
                    "seconds": time.perf_counter() - began,
                    "p50": took[len(took) // 2], "p99": took[min(len(took) - 1, len(took) * 99 // 100)]}


def closed_loop(port, model, connections, seconds, warm_up=0.5, on_start=lambda: None):
    """Returns what on_start() returned behind the warm-up, and the figures of the time after it."""
    return asyncio.run(run(port, model, connections, seconds, warm_up, on_start))
