"""Engines that die or stand still in the middle of a chat of Ollama's own dialect: the client sees one unbroken answer."""
import json
import signal

import httpx
import pytest
from processes import MODEL, Engine, Router, replicas

TOKENS = 400
ASKED = {"model": MODEL, "messages": [{"role": "user", "content": "Tell me of the river."}],
         "options": {"num_predict": TOKENS}}
LIMITS = "limits: {first_byte_timeout: 30s, gap_timeout: 1s, connect_timeout: 1s}\n"


def kill(engine):
    engine.kill()


def hang(engine):
    engine.signal(signal.SIGSTOP)


@pytest.mark.parametrize("harm", [kill, hang])
def test_a_chat_of_ollamas_dialect_goes_on_elsewhere(folder, harm):
    options = {"seed": 5, "kv_tokens": 20000}
    with Engine(folder, name="truth", time_scale=100, seed=5) as engine:
        truth = httpx.post(engine.url + "/v1/chat/completions", timeout=60, json={
            "model": MODEL, "messages": ASKED["messages"], "max_tokens": TOKENS}).json()
    with Engine(folder, name="a", **options) as a, Engine(folder, name="b", **options) as b:
        with Router(folder, config=replicas([a, b]) + LIMITS) as router:
            router.wait_for_count("penstock_replica_up", 2)
            lines = []
            with httpx.stream("POST", router.url + "/api/chat", json=ASKED, timeout=60) as answer:
                for line in answer.iter_lines():
                    lines.append(json.loads(line))
                    if len(lines) == 20:
                        harm(next(engine for engine in (a, b) if engine.running() > 0))
            assert "".join(line["message"]["content"] for line in lines) == truth["choices"][0]["message"]["content"]
            assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
            assert (lines[-1]["done_reason"], lines[-1]["eval_count"]) == ("length", TOKENS)
            assert router.wait_for_nothing().sum("penstock_resumes_total", result="continued") == 1
        for engine in (a, b):
            if engine.process.poll() is None:
                engine.signal(signal.SIGCONT)
