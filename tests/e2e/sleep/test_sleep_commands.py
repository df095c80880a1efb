"""Models that commands of the operator start and stop, with the real binary."""
import os

import pytest
from openai import APIStatusError, OpenAI
from processes import BINARY, Router, free_port, wait_until

CHAT = "llama-3.1-8b"


def ask(router):
    with OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0, timeout=60) as client:
        messages = [{"role": "user", "content": "Say something."}]
        return client.chat.completions.create(model=CHAT, messages=messages, max_tokens=5)


def commands(folder, after="60s", start=None):
    """A configuration with a model that commands start and stop, and its port."""
    port = free_port()
    pid = folder / f"engine-{port}.pid"
    run = f"exec {BINARY} engine --listen 127.0.0.1:{port} --model {CHAT} --gpu a100-80"
    start = start or f"echo $$ > {pid}; {run}"
    stop = f"kill $(cat {pid}) && rm {pid}"
    return pid, (
        f"replicas:\n  - id: chat\n    url: http://127.0.0.1:{port}\n    model: {CHAT}\n"
        f"    sleep: {{after: {after}, wake: 1s, timeout: 15s, by: command, start: '{start}', stop: '{stop}'}}\n"
    )


def runs(pid):
    return pid.exists() and os.path.exists(f"/proc/{pid.read_text().strip()}")


def test_commands_start_a_model_for_a_request_and_stop_it_when_it_is_idle(folder):
    pid, config = commands(folder, after="500ms")
    with Router(folder, config=config) as router:
        router.wait_for_count("penstock_replica_asleep", 1)
        assert not pid.exists()
        assert ask(router).usage.completion_tokens == 5
        router.wait_for_log("engine is vllm")
        wait_until(lambda: not runs(pid), 20, "the engine is stopped")
        router.wait_for_count("penstock_sleeps_total", 1, result="ok")
        assert ask(router).usage.completion_tokens == 5
        assert "is down" not in router.log()
        router.wait_for_count("penstock_sleeps_total", 2, result="ok")


def test_an_engine_that_dies_is_started_again_for_the_next_request(folder):
    pid, config = commands(folder)
    with Router(folder, config=config) as router:
        assert ask(router).usage.completion_tokens == 5
        os.kill(int(pid.read_text()), 9)
        router.wait_for_count("penstock_replica_asleep", 1)
        assert ask(router).usage.completion_tokens == 5
        os.kill(int(pid.read_text()), 9)


def test_a_start_command_that_fails_is_an_error_with_its_last_output(folder):
    _, config = commands(folder, start="echo the disk is gone; exit 7")
    with Router(folder, config=config) as router:
        with pytest.raises(APIStatusError) as failed:
            ask(router)
        assert failed.value.status_code in (429, 503), failed.value
        router.wait_for_log("the start command ended with status 7; its last output: the disk is gone")
        assert router.metrics().sum("penstock_wakes_total", result="command") >= 1
