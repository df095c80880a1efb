"""Models that commands of the operator start and stop, with the real binary."""
import os
import signal
import socket
import threading

import pytest
from openai import APIStatusError, OpenAI
from processes import BINARY, Engine, Router, free_port, wait_until
from raw_http import chat, request_bytes
from scripted_engine import ScriptedEngine, http

CHAT = "llama-3.1-8b"
CODE = "qwen2.5-7b"


def ask(router, model=CHAT):
    with OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0, timeout=60) as client:
        messages = [{"role": "user", "content": "Say something."}]
        return client.chat.completions.create(model=model, messages=messages, max_tokens=5)


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


def test_an_engine_that_answers_with_errors_is_not_asleep(folder):
    """It holds its memory; a proxy that says that nobody is behind it does not."""
    with ScriptedEngine() as engine:
        sleep = "{after: 60s, by: command, start: 'true', stop: 'true'}"
        config = f"replicas: [{{id: a, url: '{engine.url}', engine: vllm, model: m, kv_tokens: 100000, sleep: {sleep}}}]\n"
        card = http(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})
        engine.pages["/v1/models"] = card
        with Router(folder, config=config) as router:
            router.wait_for_log("replica is up")
            engine.pages = dict.fromkeys(("/v1/models", "/health", "/metrics"), http(500, {}))
            router.wait_for_log("replica is down")
            assert router.metrics().sum("penstock_replica_asleep") == 0 and "found asleep" not in router.log()
            engine.pages = dict.fromkeys(engine.pages, http(502, {}))
            router.wait_for_count("penstock_replica_asleep", 1)


def test_an_engine_that_dies_is_started_again_for_the_next_request(folder):
    pid, config = commands(folder)
    with Router(folder, config=config) as router:
        assert ask(router).usage.completion_tokens == 5
        os.kill(int(pid.read_text()), 9)
        router.wait_for_count("penstock_replica_asleep", 1)
        assert ask(router).usage.completion_tokens == 5
        os.kill(int(pid.read_text()), 9)


def two_models_on_one_gpu(folder):
    """Only one of the models fits. The start of the second one leaves a mark where a process of the first one lives."""
    first, both = folder / "first.pid", folder / "both"
    checks = {CHAT: f"echo $$ > {first}", CODE: f"kill -0 $(cat {first}) && touch {both}"}
    text = (
        "gpus: [{id: gpu0, kind: h100}]\nlimits: {hang_after: 2s}\n"
        "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\nreplicas:\n"
    )
    for model, check in checks.items():
        port = free_port()
        pid = folder / f"{model}.pid"
        start = f"{check}; echo $$ > {pid}; exec {BINARY} engine --listen 127.0.0.1:{port} --model {model} --gpu a100-80"
        text += (
            f"  - {{id: {model}, url: 'http://127.0.0.1:{port}', gpus: [gpu0], model: {model}, kv_memory: 40GB,\n"
            f"     sleep: {{after: 1h, wake: 1s, timeout: 15s, by: command, start: '{start}', stop: 'kill $(cat {pid})'}}}}\n"
        )
    return first, both, text


def test_a_model_that_hangs_keeps_its_memory_until_its_process_has_ended(folder):
    first, both, config = two_models_on_one_gpu(folder)
    with Router(folder, config=config) as router:
        assert ask(router).usage.completion_tokens == 5
        hanging = int(first.read_text())
        os.kill(hanging, signal.SIGSTOP)
        router.wait_for_count("penstock_replica_up", 0, replica=CHAT)
        assert router.metrics().sum("penstock_replica_asleep", replica=CHAT) == 0, "a hang is no sleep"
        answers = []
        other = threading.Thread(target=lambda: answers.append(ask(router, CODE)))
        other.start()
        router.wait_for_log("engine hangs and may hold its memory")
        router.wait_for_count("penstock_replica_asleep", 1, replica=CHAT)
        other.join()
        assert answers[0].usage.completion_tokens == 5
        assert not both.exists(), "the second model was started beside the first one"
        assert not os.path.exists(f"/proc/{hanging}")
        assert ask(router).usage.completion_tokens == 5, "a new process of the first model serves"
        os.kill(int(first.read_text()), 9)


def test_a_stop_that_does_nothing_ends_a_start_that_is_the_engine(folder):
    first, both, config = two_models_on_one_gpu(folder)
    config = config.replace(f"kill $(cat {folder / (CHAT + '.pid')})", "true")
    with Router(folder, config=config) as router:
        assert ask(router).usage.completion_tokens == 5
        process = int(first.read_text())
        assert ask(router, CODE).usage.completion_tokens == 5
        assert not both.exists() and not os.path.exists(f"/proc/{process}")
        assert router.metrics().sum("penstock_sleeps_total", replica=CHAT, result="ok") == 1


def test_an_engine_that_no_stop_reaches_holds_up_its_neighbour_for_two_tries(folder):
    _, _, config = two_models_on_one_gpu(folder)
    config = config.replace(f"kill $(cat {folder / (CHAT + '.pid')})", "true").replace("timeout: 15s", "timeout: 2s")
    with Engine(folder, CHAT) as engine:
        # Somebody else started the first model.
        port = config.split("url: 'http://127.0.0.1:")[1].split("'")[0]
        with Router(folder, config=config.replace(f"127.0.0.1:{port}'", f"127.0.0.1:{engine.port}'")) as router:
            router.wait_for_count("penstock_replica_asleep", 1, replica=CODE)
            for _ in range(2):
                with pytest.raises(APIStatusError) as failed:
                    ask(router, CODE)
                assert failed.value.status_code == 503 and "could not be woken" in failed.value.message
                assert int(failed.value.response.headers["retry-after"]) >= 1
            router.wait_for_log("replica did not sleep: the engine still answers after its stop command ended")
            assert router.metrics().sum("penstock_sleeps_total", replica=CHAT, result="unchanged") >= 2
            assert router.metrics().sum("penstock_wakes_total", replica=CODE) == 0
            assert ask(router).usage.completion_tokens == 5, "the first model serves"


def test_a_model_that_is_silent_for_a_while_goes_on(folder):
    first, _, config = two_models_on_one_gpu(folder)
    with Router(folder, config=config.replace("hang_after: 2s", "hang_after: 60s")) as router:
        assert ask(router).usage.completion_tokens == 5
        process = int(first.read_text())
        os.kill(process, signal.SIGSTOP)
        router.wait_for_count("penstock_replica_up", 0, replica=CHAT)
        os.kill(process, signal.SIGCONT)
        router.wait_for_count("penstock_replica_up", 1, replica=CHAT)
        assert ask(router).usage.completion_tokens == 5
        assert router.metrics().sum("penstock_wakes_total", replica=CHAT) == 1
        os.kill(process, 9)


def test_a_replica_that_leaves_during_its_wake_leaves_no_start_command(folder):
    pid, stopped = folder / "leaving.pid", folder / "stopped"
    with Engine(folder, CODE) as engine:
        other = f"replicas:\n  - {{id: code, url: '{engine.url}'}}\n"
        sleep = f"by: command, timeout: 60s, start: 'echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 1000', stop: 'touch {stopped}'"
        leaving = f"  - {{id: chat, url: 'http://127.0.0.1:{free_port()}', model: {CHAT}, sleep: {{{sleep}}}}}\n"
        with Router(folder, config=other + leaving) as router:
            with socket.create_connection(router.address) as client:
                client.sendall(request_bytes(body=chat("Say something.", model=CHAT)))
                wait_until(pid.exists, 20, "the start command runs")
                router.write_config(other)
                router.signal(signal.SIGHUP)
                wait_until(lambda: stopped.exists() and not runs(pid), 20, "it is ended, and the stop command ran")
            assert ask(router, CODE).usage.completion_tokens == 5


def test_a_start_command_that_fails_is_an_error_with_its_last_output(folder):
    _, config = commands(folder, start="echo the disk is gone; exit 7")
    with Router(folder, config=config) as router:
        with pytest.raises(APIStatusError) as failed:
            ask(router)
        assert failed.value.status_code in (429, 503), failed.value
        router.wait_for_log("the start command ended with status 7; its last output: the disk is gone")
        assert router.metrics().sum("penstock_wakes_total", result="command") >= 1
