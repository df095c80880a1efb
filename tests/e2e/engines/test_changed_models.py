"""Models that come and go while their engine runs: the fleet follows, and keeps what it knows where a reading fails."""
import json
import socket

import pytest
from processes import Router, wait_until
from raw_http import chat, read_answer, request_bytes, send
from scripted_engine import STREAM_HEAD, ScriptedEngine, chunk, event, http

DONE = {"id": "x", "object": "chat.completion", "choices": [{}]}


def listed(*names, context=4096):
    cards = [{"id": name, "object": "model", "max_model_len": context} for name in names]
    return http(200, {"object": "list", "data": cards})


def ask(router, model):
    return send(router.address, request_bytes(body=chat(model=model, max_tokens=5)))


DENIAL = http(404, {"error": {"message": "The model `old` does not exist.", "type": "NotFoundError"}})


def deny_old(router, engine):
    """The engine denies a model that it listed: its pages are read again at once."""
    script, engine.script = engine.script, DENIAL
    assert ask(router, "old").status == 404
    engine.script = script


def wait_for_polls(router):
    """Until the counts of the engine are known."""
    polls = router.metrics().sum("penstock_engine_polls_total", result="ok")
    wait_until(lambda: router.metrics().sum("penstock_engine_polls_total", result="ok") > polls + 1, 20, router.log)


def models(router):
    return [card["id"] for card in json.loads(router.get("/v1/models")[2])["data"]]


def rereads(router, result):
    return router.metrics().sum("penstock_engine_rereads_total", result=result)


def wait_for_models(router, *names, seconds=20):
    wait_until(lambda: models(router) == list(names), seconds, lambda: f"{models(router)}\n{router.log()[-2000:]}")


@pytest.fixture
def engine():
    with ScriptedEngine() as running:
        running.pages["/v1/models"] = listed("base", "old")
        running.script = http(200, DONE)
        yield running


@pytest.fixture
def router(folder, engine):
    """Its polls are quick, and so are its readings of the models: one in six seconds or so."""
    config = f"replicas:\n  - {{id: a, url: '{engine.url}', kv_tokens: 100000}}\npoll: {{interval: 50ms}}\n"
    with Router(folder, config=config) as running:
        assert models(running) == ["base", "old"]
        yield running


def test_an_engine_without_the_configured_model_is_warned_of(folder, engine):
    """An alias of an engine may have any name, so requests go on; a typo should not go unseen."""
    config = f"replicas:\n  - {{id: a, url: '{engine.url}', model: bases, kv_tokens: 100000}}\n"
    with Router(folder, config=config) as router:
        router.wait_for_log("engine does not list the model `bases` of the configuration: requests for it go to `base`")
        assert ask(router, "bases").status == 200


def test_models_that_come_and_go_are_found_without_a_request(router, engine):
    assert ask(router, "young").status == 404
    engine.pages["/v1/models"] = listed("young", "base")
    wait_for_models(router, "base", "young")
    assert ask(router, "young").status == 200
    calls = engine.calls
    answer = ask(router, "old")
    assert answer.status == 404 and answer.json()["error"]["code"] == "model_not_found"
    assert engine.calls == calls
    queues = {labels["model"] for name, labels, _ in router.metrics().samples if name == "penstock_queue_requests"}
    assert queues == {"base", "young"}
    router.wait_for_log("engine changed: engine is openai with model base, young")


def test_a_model_that_the_engine_denies_is_looked_for_at_once(folder, engine):
    with Router(folder, [engine]) as router:
        engine.pages["/v1/models"] = listed("base")
        deny_old(router, engine)
        wait_for_models(router, "base", seconds=2)
        calls = engine.calls
        assert ask(router, "old").status == 404
        assert engine.calls == calls
        engine.script = DENIAL
        # An engine that denies what it lists is not read with every request.
        before = sum(rereads(router, result) for result in ("same", "changed", "failed"))
        for _ in range(50):
            assert ask(router, "base").status == 404
        assert sum(rereads(router, result) for result in ("same", "changed", "failed")) <= before + 2


def test_a_new_context_counts(router, engine):
    long_prompt = request_bytes(body=chat("word " * 8000, model="base", max_tokens=5))
    assert send(router.address, long_prompt).status == 400
    engine.pages["/v1/models"] = listed("base", "old", context=65536)
    deny_old(router, engine)
    wait_until(lambda: send(router.address, long_prompt).status == 200, 20, router.log)


@pytest.mark.parametrize("page", [
    http(500, {"error": {"message": "busy"}}), http(200, b"<html>"), listed(), http(200, b'{"data": [{"id": "ba'), b"", http(401, {}),
], ids=["500", "html", "empty", "cut", "closed", "denied"])
def test_a_reading_that_fails_changes_nothing(folder, engine, page):
    """The engine is no generic one, so its polls read other pages than the list of models."""
    engine.pages["/metrics"] = http(200, b"vllm:num_requests_running 0\n", "text/plain")
    config = f"replicas:\n  - {{id: a, url: '{engine.url}', engine: vllm, kv_tokens: 100000}}\n"
    with Router(folder, config=config) as router:
        engine.pages["/v1/models"] = page
        deny_old(router, engine)
        wait_until(lambda: rereads(router, "failed") >= 1, 20, router.log)
        assert models(router) == ["base", "old"]
        assert ask(router, "old").status == 200
        assert router.metrics().sum("penstock_replica_up") == 1


def test_a_running_stream_of_a_model_that_vanished_goes_on(router, engine):
    engine.script = STREAM_HEAD + chunk(event("one"))
    engine.hang = True
    with socket.create_connection(router.address, timeout=20) as stream:
        stream.sendall(request_bytes(body=chat(model="old", max_tokens=50, stream=True)))
        text = b""
        while b"one" not in text:
            text += stream.recv(65536)
        engine.pages["/v1/models"] = listed("base")
        deny_old(router, engine)
        wait_for_models(router, "base")
        assert router.metrics().sum("penstock_replica_running_requests") == 1
        assert ask(router, "old").status == 404
        engine.last_words = chunk(event(" two", "stop")) + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"
        engine.let_go()
        while not text.endswith(b"0\r\n\r\n"):
            text += stream.recv(65536)
        assert b" two" in text and b"[DONE]" in text and b'"error"' not in text


def test_a_request_that_waits_for_a_model_that_vanishes_gets_404(folder, engine):
    counts = "vllm:prompt_tokens_total {}\nvllm:num_requests_running 1\n"
    engine.pages["/metrics"] = http(200, counts.format(5000).encode(), "text/plain")
    engine.script = STREAM_HEAD + chunk(event("one"))
    engine.hang = True
    config = f"replicas:\n  - {{id: a, url: '{engine.url}', engine: vllm, kv_tokens: 100000, max_seqs: 1}}\n"
    with Router(folder, config=config) as router, socket.create_connection(router.address, timeout=20) as stream:
        stream.sendall(request_bytes(body=chat(model="base", max_tokens=50, stream=True)))
        assert b"200 OK" in stream.recv(65536)
        with socket.create_connection(router.address, timeout=20) as waiting:
            waiting.sendall(request_bytes(body=chat(model="old", max_tokens=5)))
            router.wait_for_count("penstock_queued_requests", 1)
            wait_for_polls(router)
            engine.pages["/v1/models"] = listed("base")
            engine.pages["/metrics"] = http(200, counts.format(0).encode(), "text/plain")  # It is another process.
            answer = read_answer(waiting)
        assert answer.status == 404 and answer.json()["error"]["code"] == "model_not_found", answer.body
        engine.let_go()


def test_an_engine_that_was_restarted_with_another_model_is_known_again(folder):
    """It comes back between two polls: its counts tell, for no poll fails."""
    with ScriptedEngine() as engine:
        counts = "vllm:prompt_tokens_total {}\nvllm:num_requests_running 0\n"
        engine.pages["/metrics"] = http(200, counts.format(5000).encode(), "text/plain")
        engine.pages["/v1/models"] = listed("first")
        engine.script = http(200, DONE)
        config = f"replicas:\n  - {{id: a, url: '{engine.url}', engine: vllm, kv_tokens: 100000}}\n"
        with Router(folder, config=config) as router:
            assert ask(router, "first").status == 200
            wait_for_polls(router)
            engine.pages["/v1/models"] = listed("second")
            engine.pages["/metrics"] = http(200, counts.format(0).encode(), "text/plain")
            wait_for_models(router, "second", seconds=5)
            assert ask(router, "second").status == 200
            assert ask(router, "first").status == 404


def test_an_engine_with_very_many_models_has_a_warning(folder):
    with ScriptedEngine() as engine:
        engine.pages["/v1/models"] = listed(*(f"m{i}" for i in range(1003)))
        config = f"replicas: [{{id: a, url: {engine.url}, engine: openai}}]\n"
        with Router(folder, config=config) as router:
            router.wait_for_log("engine lists too many models: the last 3 are left out")
            wait_until(lambda: len(models(router)) == 1000, 20, router.log)
