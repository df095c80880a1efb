"""Engines whose answers are huge, early or endless: no neighbour waits, memory is bounded, and no request hangs."""
import contextlib
import json
import socket
import time

import pytest
from neighbour import connect, longest_pause, resident_bytes
from processes import Router, wait_until
from raw_http import chat, request_bytes, send
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, beside, chunk, event, http

MIB = 1 << 20
SOON = 20  # Seconds. A request that waits for a deadline takes a minute.


def whole(size):
    choice = {"index": 0, "message": {"role": "assistant", "content": "x" * size}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()


@pytest.fixture(scope="module")
def scripted():
    with ScriptedEngine() as running:
        yield running


@pytest.fixture(scope="module")
def router(folder, engine, scripted):
    with Router(folder, config=beside(engine, scripted)) as running:
        running.wait_for_count("penstock_replica_up", 2)
        yield running


@pytest.fixture(autouse=True)
def whole_again(router, scripted):
    scripted.script, scripted.reset, scripted.hang, scripted.early = b"", False, False, b""
    router.wait_for_count("penstock_replica_up", 2)
    yield
    scripted.let_go()


def take(connection):
    """The last bytes of an answer that ends with its connection."""
    connection.settimeout(60)
    last = b""
    while more := connection.recv(1 << 20):
        last = (last + more)[-100:]
    return last


ASK = request_bytes(body=chat(model=MODEL, max_tokens=5), headers={"Connection": "close"})


@pytest.mark.alone
def test_a_huge_answer_does_not_keep_its_loop(router, scripted):
    body = whole(100 * MIB)
    scripted.script = http(200, body)

    def ask():
        with connect(router) as connection:
            connection.sendall(ASK)
            take(connection)

    assert longest_pause(router, ask, enough=0.1) < 0.1


COMMENTS = chunk((":" + "a" * 1000 + "\n\n") * 60)
END = chunk(event("Hello", "stop")) + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"


@pytest.mark.alone
def test_comments_before_the_first_event_do_not_keep_the_loop(router, scripted):
    scripted.script = STREAM_HEAD + COMMENTS * 2000 + END
    ask = request_bytes(body=chat(model=MODEL, max_tokens=5, stream=True), headers={"Connection": "close"})

    def flood():
        with connect(router) as connection:
            connection.sendall(ask)
            take(connection)

    assert longest_pause(router, flood, enough=0.1) < 0.1


@pytest.mark.unsanitized
def test_huge_answers_that_nobody_reads_take_little_memory_and_the_metric_shows_it(router, scripted):
    body = whole(30 * MIB)
    scripted.script = http(200, body)
    before = resident_bytes(router)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(router)) for _ in range(12)]
        for client in clients:
            client.sendall(ASK)
        for client in clients:
            assert client.recv(1, socket.MSG_PEEK), "no answer"
        wait_until(lambda: router.metrics().sum("penstock_buffered_bytes") > 12 * 64 * 1024, 20, "answers wait")
        assert resident_bytes(router) < before + 40 * MIB
        assert router.metrics().sum("penstock_buffered_bytes") < 20 * MIB
        assert 0 < router.metrics().sum("penstock_fill_ratio", of="answer_memory") < 0.02
        for client in clients:
            assert take(client) == body[-100:]
    router.wait_for_count("penstock_buffered_bytes", 0)


LARGE = request_bytes(body=chat(model=MODEL, max_tokens=5, padding="x" * 20_000_000))


@pytest.mark.parametrize("reset", [False, True], ids=["open", "reset"])
@pytest.mark.parametrize(("status", "passed", "word"), [
    (400, 400, b"too much of it"), (401, 502, b"credentials"), (413, 413, b"too much of it"), (200, 502, b"before it had"),
])
def test_an_engine_that_answers_before_it_has_the_request_is_heard_at_once(router, scripted, status, passed, word, reset):
    scripted.reset = reset
    scripted.early = http(status, {"error": {"message": "too much of it", "type": "BadRequestError"}})
    before = scripted.calls
    began = time.monotonic()
    answer = send(router.address, LARGE, timeout=60)
    assert time.monotonic() - began < SOON
    assert answer.status == passed, answer.body
    assert word in answer.body
    assert scripted.calls == before + 1
    router.wait_for_nothing()


def test_a_large_request_that_its_engine_resets_is_not_sent_there_again(router, scripted):
    scripted.impatient = True
    try:
        before = scripted.calls
        answer = send(router.address, LARGE, timeout=20)
        assert answer.status == 502 and answer.headers["x-penstock-reason"] == "closed"
        assert scripted.calls == before + 1
    finally:
        scripted.impatient = False


def test_an_engine_that_does_not_read_its_request_is_given_up(folder, scripted):
    fleet = f"replicas: [{{id: deaf, url: '{scripted.url}', engine: openai, model: {MODEL}, kv_tokens: 1000000}}]\n"
    limits = "limits: {connect_timeout: 200ms, body_timeout: 500ms}\n"
    with Router(folder, config=fleet + limits) as router:
        scripted.deaf = True
        try:
            began = time.monotonic()
            answer = send(router.address, LARGE, timeout=60)
            assert 0.5 < time.monotonic() - began < SOON
        finally:
            scripted.deaf = False
        assert answer.status == 504 and answer.headers["x-penstock-reason"] == "timeout", answer.body
        router.wait_for_nothing()


@pytest.mark.parametrize("script", [
    b"HTTP/1.1 000 X\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n{}",
    http(200, {"choices": [{}]}, more="Content-Encoding: gzip\r\n"),
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip\r\n\r\n{}",
], ids=["status", "chunk", "content-coding", "transfer-coding"])
def test_an_impossible_head_ends_at_once(router, scripted, script):
    scripted.script, scripted.hang = script, True
    began = time.monotonic()
    answer = send(router.address, ASK, timeout=60)
    assert time.monotonic() - began < SOON
    assert answer.status == 502, answer.body


def test_nothing_behind_the_end_of_a_stream_reaches_its_client(router, scripted):
    end = chunk("data: [DONE]\n\n" + event("secret"))
    scripted.script = STREAM_HEAD + chunk(event("one")) + chunk(event(" two", "stop")) + end + chunk(event("secret"))
    scripted.hang = True
    answer = send(router.address, request_bytes(body=chat(model=MODEL, max_tokens=5, stream=True)), timeout=20)
    assert b"[DONE]" in answer.body and b"secret" not in answer.body


def test_a_broken_off_answer_is_no_whole_answer(router, scripted):
    body = whole(5 * MIB)
    scripted.script = http(200, body)[:-100]
    with connect(router) as connection:
        connection.settimeout(SOON)
        connection.sendall(ASK)
        data = b""
        with contextlib.suppress(socket.timeout):
            while more := connection.recv(1 << 20):
                data += more
            head, _, got = data.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert MIB < len(got) < len(body)
            return
    raise AssertionError("the connection stays open")
