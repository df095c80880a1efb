"""A real engine that commands start and stop, and a real vLLM that sleeps by its own requests."""
import json
import os

import pytest
from engines import CACHE, HERE, MODEL, call, installed
from processes import Router, free_port, wait_until

ASK = {"model": MODEL, "messages": [{"role": "user", "content": "Say something."}], "max_tokens": 8}


@pytest.fixture
def commands(folder):
    if not installed("light"):
        pytest.skip("no llama-server: run scripts/real_env.sh light")
    port = free_port()
    pid = folder / f"sleeper-{port}.pid"
    python, server, model = CACHE / "light/bin/python", HERE / "llama_server.py", CACHE / "model/model.gguf"
    start = f"echo $$ > {pid}; exec {python} {server} {model} {port} > {folder}/sleeper-{port}.log 2>&1"
    stop = f"kill $(cat {pid})"
    yield pid, (
        f"replicas:\n  - id: sleeper\n    url: http://127.0.0.1:{port}\n    model: {MODEL}\n"
        f"    sleep: {{after: 1s, wake: 5s, timeout: 60s, by: command, start: '{start}', stop: '{stop}'}}\n"
    )
    if pid.exists() and runs(pid):
        os.kill(int(pid.read_text()), 9)


def runs(pid):
    return os.path.exists(f"/proc/{pid.read_text().strip()}")


def test_commands_start_llama_server_for_a_request_and_stop_it_when_it_is_idle(folder, commands):
    pid, config = commands
    patient = "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\n"
    with Router(folder, config=config + patient) as router:
        assert not pid.exists(), "it sleeps until somebody asks for it"
        for count in (1, 2):
            status, _, answer = call(router.address, "/v1/chat/completions", ASK)
            assert status == 200, answer
            wait_until(lambda: not runs(pid), 30, "the engine is stopped")
            router.wait_for_count("penstock_sleeps_total", count, result="ok")
        assert router.metrics().sum("penstock_wakes_total", result="ok") == 2
        assert "is down" not in router.log()


def sleeps(engine):
    return json.loads(call(engine.address, "/is_sleeping")[2])["is_sleeping"]


@pytest.mark.long
def test_an_idle_vllm_sleeps_by_its_own_requests_and_wakes_for_a_request(folder, vllms):
    engine = vllms[0]
    config = (
        f"replicas:\n  - {{id: sleeper, url: '{engine.url}', engine: vllm, model: {MODEL}, sleep: {{after: 1s, wake: 2s}}}}\n"
        "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\n"
    )
    try:
        with Router(folder, config=config) as router:
            for count in (1, 2):
                status, _, answer = call(router.address, "/v1/chat/completions", ASK)
                assert status == 200, answer
                router.wait_for_count("penstock_sleeps_total", count, result="ok")
                assert sleeps(engine)
            assert router.metrics().sum("penstock_wakes_total", result="ok") >= 1
            assert "is down" not in router.log()
    finally:
        call(engine.address, "/wake_up", b"")
