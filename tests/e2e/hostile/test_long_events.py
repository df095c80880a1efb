"""Events of many megabytes in a stream reach their client whole, in each dialect, and hold no loop."""
import json
import socket

import pytest
from http2.http2_client import Http2Client
from neighbour import connect, longest_pause
from processes import Router, wait_until
from raw_http import read_answer, request_bytes
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, beside, chunk, event, http

PIECE = 64 << 10
ASKED = {"model": MODEL, "messages": [{"role": "user", "content": "Say much."}], "stream": True}
END = chunk(event("", "stop")) + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"


def stream(*events):
    text = "".join(events)
    return STREAM_HEAD + b"".join(chunk(text[i : i + PIECE]) for i in range(0, len(text), PIECE)) + END


def with_logprobs(content, count):
    """An event as an engine sends it that repeats a long prompt with its logprobs."""
    choice = {"index": 0, "delta": {"content": content}, "logprobs": {"content": [[1]] * count}, "finish_reason": None}
    return "data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}) + "\n\n"


@pytest.fixture(scope="module")
def scripted():
    with ScriptedEngine() as running:
        running.posts["/v1/messages"] = lambda body: http(404, {"detail": "Not Found"})
        yield running


@pytest.fixture(scope="module")
def router(folder, engine, scripted):
    with Router(folder, config=beside(engine, scripted)) as running:
        running.wait_for_count("penstock_replica_up", 2)
        yield running


def events_of(text):
    """The objects of the data lines."""
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ") and line != "data: [DONE]"]
    return [json.loads(line) for line in lines]


def chat_text(text):
    return "".join(each["choices"][0]["delta"].get("content") or "" for each in events_of(text))


def message_text(text):
    deltas = [each["delta"] for each in events_of(text) if each["type"] == "content_block_delta"]
    return "".join(delta["text"] for delta in deltas)


def ollama_text(text):
    return "".join(json.loads(line)["message"]["content"] for line in text.splitlines())


WAYS = {
    "chat": ("/v1/chat/completions", ASKED, chat_text),
    "messages": ("/v1/messages", {**ASKED, "max_tokens": 5}, message_text),
    "ollama": ("/api/chat", ASKED, ollama_text),
}


def ask(router, path, body):
    with connect(router) as connection:
        connection.sendall(request_bytes(path, body=body, headers={"Connection": "close"}))
        answer = read_answer(connection)
    assert answer.status == 200, answer.body[:300]
    return answer.body.decode()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [60_000, 66_000, 300_000, 5_000_000])
def test_a_long_event_reaches_its_client_between_its_neighbours(router, scripted, way, size):
    path, body, text = WAYS[way]
    long = ("a word \u00e9\n\"" * (size // 10 + 1))[:size]
    scripted.script = stream(event("first "), event(long), event(" then "), event(long), event(" last"))
    assert text(ask(router, path, body)) == f"first {long} then {long} last"


@pytest.mark.parametrize("way", ["chat", "messages"])
@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_a_long_event_waits_whole_for_a_client_that_reads_later(router, scripted, way, http2):
    path, body, text = WAYS[way]
    long = "0123456789" * 700_000
    scripted.script = stream(event("first "), event(long), event(" then "), event(long), event(" last"))

    def until_it_waits():
        wait_until(lambda: router.buffered() > 4 << 20, 20, "the event waits for its client")

    if http2:
        with Http2Client(router.address) as client:
            answer = client.send(body, path=path)
            until_it_waits()
            got = client.answer(answer, 60).body
    else:
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            connection.connect(router.address)
            connection.sendall(request_bytes(path, body=body, headers={"Connection": "close"}))
            until_it_waits()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            got = read_answer(connection).body
    assert text(got.decode()) == f"first {long} then {long} last"
    router.wait_for_count("penstock_buffered_bytes", 0)


@pytest.mark.parametrize("way", WAYS)
def test_a_long_event_that_is_not_json_ends_the_answer_with_an_error(router, scripted, way):
    path, body, _ = WAYS[way]
    scripted.script = stream(event("first "), "data: {" + "[" * 100_000 + "\n\n")
    with connect(router) as connection:
        connection.sendall(request_bytes(path, body=body, headers={"Connection": "close"}))
        answer = read_answer(connection)
    assert b"not JSON" in answer.body
    assert b"[[" not in answer.body


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.alone
@pytest.mark.unsanitized
def test_a_long_event_holds_no_loop(router, scripted, way):
    path, body, _ = WAYS[way]
    scripted.script = stream(event("first "), with_logprobs("word", 4_000_000), event(" last"))

    def read():
        assert len(ask(router, path, body)) > 100

    assert longest_pause(router, read, enough=0.1) < 0.1
