"""An engine that tells smaller limits or fewer models once: nothing is refused for good before they are sure."""
import select
import socket

import pytest
from processes import Router, wait_until
from raw_http import chat, read_answer, request_bytes, send
from scripted_engine import ScriptedEngine, http
from test_changed_models import DONE, ask, deny_old, listed, models, rereads, wait_for_models

LONG = request_bytes(body=chat("river " * 3000, model="base", max_tokens=5))


@pytest.fixture
def engine():
    with ScriptedEngine() as running:
        running.pages["/v1/models"] = listed("base", "old", context=65536)
        running.script = http(200, DONE)
        yield running


@pytest.fixture
def router(folder, engine):
    with Router(folder, config=f"replicas:\n  - {{id: a, url: '{engine.url}', kv_tokens: 100000}}\npoll: {{interval: 50ms}}\n") as running:
        yield running


def dip(router, engine):
    """One reading finds a small context."""
    assert send(router.address, LONG).status == 200
    engine.pages["/v1/models"] = listed("base", "old", context=256)
    deny_old(router, engine)
    wait_until(lambda: "context 256 tokens" in router.log(), 20, router.log)


def waits(router):
    return router.metrics().sum("penstock_queued_requests") == 1


def readable(connection):
    return bool(select.select([connection], [], [], 0)[0])


def test_a_request_waits_while_smaller_limits_are_in_doubt(router, engine):
    dip(router, engine)
    # The core has the new fleet a moment after the log: until then a request is forwarded.
    answers = []
    while not answers or answers[-1] == 200:
        waiting = socket.create_connection(router.address, timeout=30)
        waiting.sendall(LONG)
        wait_until(lambda: waits(router) or readable(waiting), 20, router.log)
        if waits(router):
            break
        answers.append(read_answer(waiting).status)
        waiting.close()
    with waiting:
        assert set(answers) <= {200} and waits(router), answers
        assert ask(router, "base").status == 200  # A small one fits.
        engine.pages["/v1/models"] = listed("base", "old", context=65536)
        assert read_answer(waiting).status == 200


def test_smaller_limits_that_another_reading_confirms_are_final(router, engine):
    dip(router, engine)
    router.wait_for_log("engine confirms that it holds less")
    # The core has the new fleet a moment after the log.
    answers = []
    wait_until(lambda: answers.append(send(router.address, LONG)) or answers[-1].status != 200, 20, router.log)
    error = answers[-1].json()["error"]
    assert (answers[-1].status, error["code"]) == (400, "context_length_exceeded"), answers[-1].body


def test_a_model_that_one_reading_misses_is_served_on(router, engine):
    engine.pages["/v1/models"] = listed("base", context=65536)
    router.wait_for_log("engine lists `old` no more: requests go on until another reading confirms that")
    assert (models(router), ask(router, "old").status) == (["base", "old"], 200)
    engine.pages["/v1/models"] = listed("base", "old", context=65536)
    same = rereads(router, "same")
    wait_until(lambda: rereads(router, "same") > same, 20, router.log)
    assert (models(router), ask(router, "old").status) == (["base", "old"], 200)
    assert "engine changed" not in router.log()


def test_a_model_that_two_readings_miss_is_gone(router, engine):
    engine.pages["/v1/models"] = listed("base", context=65536)
    router.wait_for_log("engine lists `old` no more: requests go on until another reading confirms that")
    assert ask(router, "old").status == 200
    wait_for_models(router, "base")
    assert ask(router, "old").status == 404
