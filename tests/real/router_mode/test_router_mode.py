"""A real llama-server that loads and unloads its models by order. PENSTOCK_LLAMA_SERVER names it, else the path has it."""
import json
import os
import shutil
import signal

import pytest
from engines import CACHE, CONTEXT, RealEngine, call, children, installed
from processes import Router, free_port, get, wait_until

pytestmark = pytest.mark.long

MODELS = ("big", "small")
SAY = [{"role": "user", "content": "the river and the stone"}]


def program():
    return os.environ.get("PENSTOCK_LLAMA_SERVER") or shutil.which("llama-server")


class LlamaRouter(RealEngine):
    def __init__(self, folder):
        port = free_port()
        models = folder / f"models-{port}"
        models.mkdir()
        for name in MODELS:
            shutil.copy(CACHE / "model/model.gguf", models / f"{name}.gguf")
        command = [program(), "--models-dir", str(models), "--no-models-autoload", "--host", "127.0.0.1", "--port", str(port),
                   "-c", str(CONTEXT), "-t", "1", "--offline"]
        super().__init__("router-mode", command, port, folder / f"router-mode-{port}.log")

    def states(self):
        return {model["id"]: model["status"]["value"] for model in json.loads(get(self.address, "/models")[2])["data"]}

    def loaded(self):
        return {name for name, state in self.states().items() if state == "loaded"}


@pytest.fixture(scope="module")
def server(folder):
    if program() is None:
        pytest.skip("no llama-server: PENSTOCK_LLAMA_SERVER names none, and none is in the path")
    if not installed("light"):
        pytest.skip("no model: run scripts/real_env.sh light")
    with LlamaRouter(folder) as engine:
        yield engine.wait()


@pytest.fixture
def router(server, folder):
    """One of both models has room at a time."""
    for name in server.loaded():
        call(server.address, "/models/unload", {"model": name})
    wait_until(lambda: not server.loaded(), 30, "no model is loaded")
    rows = "".join(
        f"  - {{id: {name}, url: '{server.url}', gpus: [g], model: {name}, resident: 20GB, kv_tokens: {CONTEXT}, "
        f"sleep: {{after: 60s, wake: 2s, timeout: 60s}}}}\n" for name in MODELS)
    config = ("gpus: [{id: g, kind: a100-80, memory: 30GB}]\n"
              f"classes: {{standard: {{ttft: 60s, tpot: 1s, queue: 60s, default: true}}}}\nreplicas:\n{rows}")
    with Router(folder, config=config) as running:
        running.wait_for_count("penstock_replica_asleep", 2)
        yield running


def ask(router, model):
    status, _, answer = call(router.address, "/v1/chat/completions", {"model": model, "messages": SAY, "max_tokens": 4})
    assert status == 200, answer


def test_models_take_turns_in_the_memory(server, router):
    for model in ("small", "big", "small"):
        ask(router, model)
        assert server.loaded() == {model}
    assert router.metrics().sum("penstock_wakes_total", result="ok") == 3
    assert router.metrics().sum("penstock_sleeps_total", result="ok") == 2


def test_a_model_that_somebody_unloads_serves_the_next_request(server, router):
    ask(router, "big")
    assert call(server.address, "/models/unload", {"model": "big"})[0] == 200
    ask(router, "big")
    assert router.metrics().sum("penstock_wakes_total", replica="big", result="ok") == 2


def test_a_model_whose_process_dies_is_loaded_again(server, router):
    ask(router, "big")
    for pid in children(server.process.pid)[1:]:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: server.states()["big"] == "unloaded", 30, "its end is seen")
    ask(router, "big")
