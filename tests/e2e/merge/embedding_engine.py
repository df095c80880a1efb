"""An engine for embeddings, and requests that meet while it is busy."""
import contextlib
import json
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

from processes import wait_until
from raw_http import read_answer, request_bytes, send
from scripted_engine import MODEL, ScriptedEngine, http


def vector(text):
    """The bytes of an embedding: numbers in a form that no parser would write."""
    return f"[{len(text)}.50, 1.0e-05, -0.0]"


class EmbeddingEngine(ScriptedEngine):
    """Answers embedding requests as `reply` says. The first call waits until it is let go."""

    def __init__(self):
        self.inputs = []  # Of each call, in the order of their coming.
        self.heads = []
        self.hold = threading.Event()
        self.reply = self.embeddings
        super().__init__()

    @staticmethod
    def embeddings(inputs, fields):
        if "poison" in inputs:
            return http(400, {"error": {"message": "poison is no text", "type": "BadRequestError", "code": 400}})
        entries = []
        for index, text in enumerate(inputs):
            value = json.dumps("QUJD" + text) if fields.get("encoding_format") == "base64" else vector(text)
            entries.append('{"object":"embedding","index":%d,"embedding":%s}' % (index, value))
        # The order of the list does not matter: the index counts.
        tokens = sum(len(text) for text in inputs)
        return http(200, ('{"object":"list","data":[%s],"model":"m","usage":{"prompt_tokens":%d,"total_tokens":%d}}'
                          % (",".join(reversed(entries)), tokens, tokens)).encode())

    def _answer(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return False
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        if not head.startswith(b"POST"):
            models = {"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 4096}]}
            connection.sendall(http(200, models))
            return True
        length = int(next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")).split(b":")[1])
        while len(body) < length:
            body += connection.recv(65536)
        fields = json.loads(body)
        inputs = fields["input"] if isinstance(fields["input"], list) else [fields["input"]]
        lines = head.decode("latin-1").split("\r\n")[1:]
        self.heads.append({name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)})
        self.inputs.append(inputs)
        if len(self.inputs) == 1:
            self.hold.wait(30)
        connection.sendall(self.reply(inputs, fields))
        return True

    def again(self):
        self.hold.set()
        self.hold = threading.Event()
        self.inputs, self.heads = [], []
        self.reply = self.embeddings


def config_of(engine, more=""):
    return (f"threads: 1\nreplicas:\n  - {{id: scripted, url: '{engine.url}', engine: openai, model: {MODEL}, "
            f"kv_tokens: 100000}}\n{more}")


def request_for(text, **fields):
    return request_bytes(path="/v1/embeddings", body={"model": MODEL, "input": text, **fields})


def ask(router, text, **fields):
    return send(router.address, request_for(text, **fields), timeout=30)


def merged(router, result):
    return router.metrics().sum("penstock_merged_requests_total", result=result)


def burst(router, engine, requests, reply=EmbeddingEngine.embeddings):
    """Sends requests at the same time, while the engine is busy with another one. Returns their answers."""
    engine.again()
    engine.reply = reply
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as open_sockets:
        first = pool.submit(ask, router, "first")
        wait_until(lambda: engine.inputs, 10, lambda: "no first call")
        # A router that stands still for a moment reads all of them in one turn.
        router.process.send_signal(signal.SIGSTOP)
        try:
            sockets = [open_sockets.enter_context(socket.create_connection(router.address, timeout=30)) for _ in requests]
            for connection, request in zip(sockets, requests):
                connection.sendall(request)
        finally:
            router.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(engine.inputs) >= 2, 10, lambda: f"calls: {engine.inputs}")
        engine.hold.set()
        assert first.result().status == 200
        return [read_answer(connection) for connection in sockets]


def check(answer, texts):
    assert answer.status == 200, answer.body
    read = answer.json()
    assert [entry["index"] for entry in read["data"]] == list(range(len(texts)))
    at = -1
    for text in texts:  # Byte for byte, and in order.
        at = answer.body.index(vector(text).encode(), at + 1)
    return read["usage"]["prompt_tokens"]
