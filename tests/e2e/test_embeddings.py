"""Embedding requests that wait for the same engine share a call, and each client gets its own answer."""
import contextlib
import json
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from processes import Router, wait_until
from raw_http import read_answer, request_bytes, send
from scripted_engine import MODEL, ScriptedEngine, http

REQUESTS = 6


def vector(text):
    """The bytes of an embedding: numbers in a form that no parser would write."""
    return f"[{len(text)}.50, 1.0e-05, -0.0]"


class EmbeddingEngine(ScriptedEngine):
    """Answers embedding requests as `reply` says. The first call waits until it is let go."""

    def __init__(self):
        self.inputs = []
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
        self.inputs.append(inputs)
        if len(self.inputs) == 1:
            self.hold.wait(30)
        connection.sendall(self.reply(inputs, fields))
        return True

    def again(self):
        self.hold.set()
        self.hold = threading.Event()
        self.inputs = []
        self.reply = self.embeddings


@pytest.fixture(scope="module")
def engine():
    with EmbeddingEngine() as running:
        yield running


def config_of(engine, more=""):
    return (f"threads: 1\nreplicas:\n  - {{id: scripted, url: '{engine.url}', engine: openai, model: {MODEL}, "
            f"kv_tokens: 100000}}\n{more}")


@pytest.fixture(scope="module")
def router(folder, engine):
    with Router(folder, config=config_of(engine)) as running:
        running.wait_for_count("penstock_replica_up", 1)
        yield running


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


def test_requests_that_wait_share_a_call_and_each_gets_its_own(router, engine):
    texts = [["a" * (10 * (i + 1)), "b" * (i + 1)] if i % 2 else ["a" * (10 * (i + 1))] for i in range(REQUESTS)]
    before = merged(router, "merged")
    answers = burst(router, engine, [request_for(own if len(own) > 1 else own[0]) for own in texts])
    assert merged(router, "merged") > before
    assert len(engine.inputs) < 1 + REQUESTS, engine.inputs
    shares = [check(answer, own) for answer, own in zip(answers, texts)]
    # The shares add up to what the engine counted.
    assert sum(shares) == sum(len(text) for own in texts for text in own)
    assert shares[5] > shares[0] > 0


def test_an_idle_engine_gets_a_request_at_once(router, engine):
    engine.again()
    engine.hold.set()
    check(ask(router, "alone"), ["alone"])
    assert engine.inputs == [["alone"]]


def test_a_bad_input_fails_alone(router, engine):
    before = merged(router, "sent_alone")
    answers = burst(router, engine, [request_for(text) for text in ("one", "poison", "three", "four")])
    assert merged(router, "sent_alone") > before
    assert [answer.status for answer in answers] == [200, 400, 200, 200]
    assert "poison is no text" in answers[1].json()["error"]["message"]
    check(answers[2], ["three"])


def test_requests_with_other_parameters_stay_apart(router, engine):
    answers = burst(router, engine, [request_for("one", encoding_format="base64"),
                                     request_for("two", encoding_format="base64"),
                                     request_for("three", dimensions=8), request_for("four", dimensions=16)])
    assert [answer.status for answer in answers] == [200] * 4
    assert answers[0].json()["data"][0]["embedding"] == "QUJDone"
    assert answers[1].json()["data"][0]["embedding"] == "QUJDtwo"
    assert all(len(call) == 1 or sorted(call) == ["one", "two"] for call in engine.inputs), engine.inputs


def short(inputs, fields):
    return EmbeddingEngine.embeddings(inputs[:1] if len(inputs) > 1 else inputs, fields)


def wrong_index(inputs, fields):
    answer = EmbeddingEngine.embeddings(inputs, fields)
    return answer.replace(b'"index":1', b'"index":7')


def twice(inputs, fields):
    return EmbeddingEngine.embeddings(inputs, fields).replace(b'"index":1', b'"index":0')


def no_json(inputs, fields):
    return EmbeddingEngine.embeddings(inputs, fields) if len(inputs) == 1 else http(200, b"<html>")


def server_error(inputs, fields):
    return EmbeddingEngine.embeddings(inputs, fields) if len(inputs) == 1 else http(500, {"error": {"message": "no"}})


@pytest.mark.parametrize("fault", [short, wrong_index, twice, no_json, server_error])
def test_nothing_is_lost_when_the_shared_answer_is_bad(router, engine, fault):
    texts = ["one", "two", "three"]
    before = merged(router, "sent_alone")
    answers = burst(router, engine, [request_for(text) for text in texts], fault)
    for answer, text in zip(answers, texts):
        check(answer, [text])
    assert merged(router, "sent_alone") > before
    router.wait_for_nothing()


def test_a_client_that_leaves_does_not_cancel_the_others(router, engine):
    engine.again()
    before = merged(router, "merged")
    held = threading.Event()

    def reply(inputs, fields):
        if len(inputs) > 1:
            held.wait(30)
        return EmbeddingEngine.embeddings(inputs, fields)

    engine.reply = reply
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as open_sockets:
        first = pool.submit(ask, router, "first")
        wait_until(lambda: engine.inputs, 10, lambda: "no first call")
        router.process.send_signal(signal.SIGSTOP)
        try:
            sockets = [open_sockets.enter_context(socket.create_connection(router.address, timeout=30)) for _ in range(3)]
            for connection, text in zip(sockets, ("one", "two", "three")):
                connection.sendall(request_for(text))
        finally:
            router.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(engine.inputs) >= 2, 10, lambda: f"calls: {engine.inputs}")
        engine.hold.set()
        assert first.result().status == 200
        sockets[0].close()
        wait_until(lambda: router.in_flight() == 2, 10, lambda: f"{router.in_flight()} requests in flight")
        held.set()
        for connection, text in zip(sockets[1:], ("two", "three")):
            check(read_answer(connection), [text])
    assert merged(router, "merged") > before
    router.wait_for_nothing()


def test_merging_can_be_switched_off(folder, engine):
    with Router(folder, config=config_of(engine, "batching: {embeddings: false}\n")) as router:
        router.wait_for_count("penstock_replica_up", 1)
        answers = burst(router, engine, [request_for(text) for text in ("one", "two", "three")])
        assert [answer.status for answer in answers] == [200] * 3
        assert all(len(call) == 1 for call in engine.inputs), engine.inputs
