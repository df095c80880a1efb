"""Whole answers of 30 MB that become answers of another dialect hold no loop: a neighbour's stream goes on."""
import concurrent.futures
import json

import pytest
from neighbour import connect, longest_pause, resident_bytes
from processes import Router, wait_until
from raw_http import read_answer, request_bytes
from scripted_engine import MODEL, ScriptedEngine, beside, http

MIB = 1 << 20
SIZE = 30_000_000
ASKED = {"model": MODEL, "messages": [{"role": "user", "content": "Say much."}], "stream": False}


def whole(content):
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()


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


WAYS = {
    "messages": ("/v1/messages", {**ASKED, "max_tokens": 5}, lambda answer: answer["content"][0]["text"]),
    "ollama": ("/api/chat", ASKED, lambda answer: answer["message"]["content"]),
}


def ask(router, path, body):
    with connect(router) as connection:
        connection.sendall(request_bytes(path, body=body, headers={"Connection": "close"}))
        answer = read_answer(connection)
    assert answer.status == 200, answer.body[:300]
    return answer.json()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [10, 70_000, 300_000, 3_000_000])
def test_a_translated_answer_has_all_of_its_text(router, scripted, way, size):
    path, body, text = WAYS[way]
    content = ("a word \u00e9\n\"" * (size // 10 + 1))[:size]
    scripted.script = http(200, whole(content))
    assert text(ask(router, path, body)) == content


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.alone
def test_a_long_answer_that_is_translated_holds_no_loop(router, scripted, way):
    path, body, _ = WAYS[way]
    scripted.script = http(200, whole("x" * SIZE))

    def translate():
        with connect(router) as connection:
            connection.sendall(request_bytes(path, body=body, headers={"Connection": "close"}))
            size = 0
            while more := connection.recv(1 << 20):
                size += len(more)
        assert size > SIZE

    assert longest_pause(router, translate, enough=0.05) < 0.05


@pytest.mark.unsanitized
def test_the_memory_of_long_answers_goes_back(router, scripted):
    path, body, text = WAYS["messages"]
    scripted.script = http(200, whole("x" * SIZE))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(len(text(answer)) == SIZE for answer in pool.map(lambda _: ask(router, path, body), range(8)))
    router.wait_for_count("penstock_buffered_bytes", 0)
    wait_until(lambda: resident_bytes(router) < 300 * MIB, 20, "the memory is given back")


@pytest.mark.unsanitized
@pytest.mark.parametrize("way", WAYS)
def test_clients_that_leave_a_long_answer_leave_nothing_behind(router, scripted, way):
    path, body, _ = WAYS[way]
    scripted.script = http(200, whole("x" * SIZE))
    before = scripted.calls
    for _ in range(3):
        with connect(router) as connection:
            connection.sendall(request_bytes(path, body=body))
            wait_until(lambda: router.buffered() > 4 * MIB, 20, "the answer is on its way")
    router.wait_for_count("penstock_buffered_bytes", 0)
    assert scripted.calls > before
    assert resident_bytes(router) < 400 * MIB
