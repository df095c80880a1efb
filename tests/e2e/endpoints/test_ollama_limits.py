"""The memory of answers in Ollama's dialect: what gathers is bounded and counted, and no answer runs into the next."""
import json
import socket

import pytest
from processes import Router, replicas, wait_until
from raw_http import request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import STREAM_HEAD, ScriptedEngine, chunk, http

HELLO = [{"role": "user", "content": "Hello"}]
WHOLE = {"model": SCRIPTED, "messages": HELLO, "stream": False}


def answer_of(size):
    choice = {"index": 0, "message": {"role": "assistant", "content": "x" * size}, "finish_reason": "stop"}
    return http(200, {"id": "a", "object": "chat.completion", "choices": [choice]})


@pytest.fixture
def engine():
    with ScriptedEngine() as engine:
        yield engine


def parts_of(data):
    """(status, body) of every answer in the bytes of a connection; the last one may be cut."""
    parts = []
    while b"\r\n\r\n" in data:
        head, _, rest = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        assert lines[0].startswith("HTTP/1.1 "), lines[0][:200]
        fields = dict(line.lower().split(": ", 1) for line in lines[1:])
        length = int(fields["content-length"])
        parts.append((int(lines[0].split()[1]), rest[:length], len(rest) >= length))
        data = rest[length:]
    return parts


def test_an_answer_without_room_breaks_off_and_none_runs_into_the_next(folder, engine):
    engine.script = answer_of(18_000)
    with Router(folder, config=replicas([engine]) + "limits: {max_answer_memory: 40KiB}\n") as router:
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(router.address)
            slow.settimeout(20)
            slow.sendall(request_bytes("/api/chat", WHOLE) * 300)
            wait_until(lambda: router.metrics().sum("penstock_turned_away_total", limit="answer_memory") >= 1, 20, router.log)
            data = b""
            try:
                while more := slow.recv(1 << 20):
                    data += more
            except ConnectionResetError:
                pass
        for status, body, whole in parts_of(data):
            if whole:
                assert status in (200, 503) and json.loads(body)
            else:
                assert b'{"error"' not in body


def test_an_answer_that_gathers_is_in_the_budget_of_answers(folder, engine):
    engine.script = answer_of(3_000_000)
    with Router(folder, config=replicas([engine]) + "limits: {max_answer_memory: 4MiB}\n") as router:
        answer = send(router.address, request_bytes("/api/chat", WHOLE), timeout=20)
        assert answer.status == 503 and "as many bytes of answers" in json.loads(answer.body)["error"]
        assert send(router.address, request_bytes("/v1/chat/completions", WHOLE), timeout=20).status == 200
        wait_until(lambda: router.metrics().sum("penstock_buffered_bytes") == 0, 20, "all is given back")


def test_a_long_answer_is_one_object(folder, engine):
    with Router(folder, config=replicas([engine])) as router:
        engine.script = answer_of(6 << 20)
        answer = send(router.address, request_bytes("/api/chat", WHOLE), timeout=20)
        assert (answer.status, len(json.loads(answer.body)["message"]["content"])) == (200, 6 << 20)
        engine.script = answer_of(33 << 20)
        answer = send(router.address, request_bytes("/api/chat", WHOLE), timeout=20)
        assert answer.status == 502 and "too long" in json.loads(answer.body)["error"]


@pytest.mark.parametrize("stream", [True, False])
def test_calls_of_tools_without_end_are_an_error(folder, engine, stream):
    piece = {"index": 0, "function": {"name": "f", "arguments": "x" * 60_000}}
    if stream:
        choice = {"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None}
        one = chunk("data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}) + "\n\n")
        engine.script = STREAM_HEAD + one * 40 + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"
    else:
        message = {"role": "assistant", "content": None, "tool_calls": [piece] * 40}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        engine.script = http(200, {"id": "a", "choices": [choice]})
    with Router(folder, [engine]) as router:
        answer = send(router.address, request_bytes("/api/chat", {**WHOLE, "stream": stream}), timeout=20)
        assert answer.status == 502
        assert "too long for this dialect" in json.loads(answer.body.splitlines()[-1])["error"]
        wait_until(lambda: router.metrics().sum("penstock_buffered_bytes") == 0, 20, "all is given back")


def in_form(delta, stream):
    """An answer of the engine with these fields of its message."""
    choice = {"index": 0, "delta" if stream else "message": delta, "finish_reason": "stop"}
    answer = {"id": "x", "object": "chat.completion.chunk" if stream else "chat.completion", "choices": [choice]}
    if not stream:
        return http(200, answer)
    return STREAM_HEAD + chunk("data: " + json.dumps(answer) + "\n\n") + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"


@pytest.fixture(scope="module")
def served(folder):
    with ScriptedEngine() as scripted, Router(folder, [scripted]) as router:
        yield scripted, router


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("delta", [{"content": [{"type": "image"}]}, {"content": 5}, {"tool_calls": [
    {"index": i, "function": {"name": "f", "arguments": "{}"}} for i in range(1100)]}], ids=["image", "number", "calls"])
def test_what_ollamas_dialect_cannot_say_is_garbage(served, delta, stream):
    scripted, router = served
    scripted.script = in_form(delta, stream)
    garbage = router.metrics().sum("penstock_engine_errors_total", kind="garbage")
    answer = send(router.address, request_bytes("/api/chat", {**WHOLE, "stream": stream}), timeout=20)
    assert answer.status == 502
    assert "this dialect cannot say" in json.loads(answer.body)["error"]
    assert router.metrics().sum("penstock_engine_errors_total", kind="garbage") == garbage + 1


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("index", [10**9, -1])
def test_a_call_of_any_index_and_a_list_of_texts_reach_ollamas_client(served, index, stream):
    scripted, router = served
    scripted.script = in_form({"content": [{"type": "text", "text": "yes"}], "tool_calls": [
        {"index": index, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}, stream)
    answer = send(router.address, request_bytes("/api/chat", {**WHOLE, "stream": stream}), timeout=20)
    messages = [json.loads(row)["message"] for row in answer.body.splitlines()]
    assert answer.status == 200 and "".join(each["content"] for each in messages) == "yes"
    assert [each["tool_calls"][0]["function"]["name"] for each in messages if "tool_calls" in each] == ["f"]
