"""Engines that stop to work while their connections stay open: their requests go on elsewhere, soon."""
import signal
import threading
import time

import pytest
from openai import OpenAI
from processes import Engine, Router, replicas, wait_until
from raw_http import chat, events, request_bytes, send
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, event, http

METRICS = (
    "vllm:num_requests_running 1\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0.5\n"
    "vllm:prompt_tokens_total 100\nvllm:generation_tokens_total 100\n"
)


@pytest.mark.alone
def test_a_frozen_engine_loses_its_stream_as_soon_as_it_is_down(folder):
    with Engine(folder, name="a", seed=5, kv_tokens=20000) as a, Engine(folder, name="b", seed=5, kv_tokens=20000) as b:
        with Router(folder, config=replicas([a, b])) as router:
            router.wait_for_count("penstock_replica_up", 2)
            client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0)
            stream = client.chat.completions.create(
                model=a.model, messages=[{"role": "user", "content": "Tell me of the river."}], max_tokens=300, stream=True
            )
            times, frozen, down = [], None, []
            for count, _ in enumerate(stream):
                times.append(time.monotonic())
                if count == 20:
                    frozen = next(engine for engine in (a, b) if engine.running() > 0)
                    frozen.signal(signal.SIGSTOP)

                    def watch():
                        wait_until(lambda: router.metrics().sum("penstock_replica_up") == 1, 30, "it is down")
                        down.append(time.monotonic())

                    watcher = threading.Thread(target=watch)
                    watcher.start()
            watcher.join()
            frozen.signal(signal.SIGCONT)
            resumed = next(t for before, t in zip(times[20:], times[21:]) if t - before > 1)
            assert resumed - down[0] < 2, resumed - down[0]
            router.wait_for_count("penstock_resumes_total", 1, result="continued")
            router.wait_for_count("penstock_engine_errors_total", 1, kind="hung")


@pytest.mark.alone
def test_requests_of_a_frozen_only_replica_wait_for_it(folder):
    with Engine(folder, seed=5, kv_tokens=20000) as engine, Router(folder, [engine]) as router:
        answers = []

        def ask(stream):
            body = chat("Tell me of the river.", max_tokens=300, stream=stream)
            answers.append(send(router.address, request_bytes(body=body), timeout=60))

        asking = [threading.Thread(target=ask, args=(stream,)) for stream in (True, False)]
        for thread in asking:
            thread.start()
        wait_until(lambda: engine.running() == 2, 20, "both run")
        engine.signal(signal.SIGSTOP)
        wait_until(lambda: router.metrics().sum("penstock_replica_up") == 0, 30, "it is down")
        assert answers == []
        engine.signal(signal.SIGCONT)
        for thread in asking:
            thread.join()
        assert [answer.status for answer in answers] == [200, 200]
        assert all(b"error" not in answer.body for answer in answers)
        assert router.metrics().sum("penstock_requests_total", outcome="ok") == 2


# Before an engine's first step, the time of a prompt is a guess when its GPU is not configured.
@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_hung_worker_behind_live_pages_loses_its_requests_and_is_on_probation(folder, known):
    with ScriptedEngine() as hung, ScriptedEngine() as well:
        for engine in (hung, well):
            engine.pages = {"/metrics": http(200, METRICS.encode(), "text/plain")}
        words = "".join(event(f" w{i}") for i in range(8)) + event("", "stop") + "data: [DONE]\n\n"
        well.script = STREAM_HEAD + chunk(words) + b"0\r\n\r\n"
        hung.script, hung.hang = STREAM_HEAD + chunk(event("")), True
        rows = "".join(
            f"  - {{id: {name}, url: '{engine.url}', {f'gpus: [{name}], ' if known else ''}engine: vllm, model: {MODEL}, "
            "kv_tokens: 100000}\n"
            for name, engine in (("hung", hung), ("well", well))
        )
        gpus = "gpus: [{id: hung, kind: a100-80}, {id: well, kind: a100-80}]\n"
        config = (
            (gpus + f"models: [{{name: {MODEL}, shape: llama-3.1-8b}}]\n" if known else "")
            + f"replicas:\n{rows}"
            "limits: {hang_after: 1s}\n"
        )
        with Router(folder, config=config) as router:
            router.wait_for_count("penstock_replica_up", 2)
            body = request_bytes(body=chat(model=MODEL, max_tokens=50, stream=True))
            answers = []
            asking = [threading.Thread(target=lambda: answers.append(send(router.address, body, timeout=120))) for _ in range(4)]
            for thread in asking:
                thread.start()
            for thread in asking:
                thread.join()
            assert hung.calls > 0
            for answer in answers:
                assert answer.status == 200
                assert sum('" w' in data for data in events(answer.body)) == 8, answer.body
            metrics = router.wait_for_nothing()
            assert metrics.sum("penstock_engine_errors_total", replica="hung", kind="hung") > 0
            assert metrics.sum("penstock_engine_errors_total", replica="well") == 0
            router.wait_for_log("gave no sign of work", "replica is on probation")


def test_an_engine_that_makes_a_picture_in_silence_does_not_hang(folder):
    with ScriptedEngine() as engine:
        engine.pages = {"/metrics": http(200, METRICS.encode(), "text/plain")}
        engine.hang, engine.last_words = True, http(200, {"created": 1, "data": [{"b64_json": "AAAA"}]})
        config = (
            f"gpus: [{{id: gpu0, kind: a100-80}}]\nmodels: [{{name: {MODEL}, shape: llama-3.1-8b}}]\nreplicas:\n"
            f"  - {{id: a, url: '{engine.url}', gpus: [gpu0], engine: vllm, model: {MODEL}, kv_tokens: 100000}}\n"
            "limits: {hang_after: 1s}\n"
        )
        with Router(folder, config=config) as router:
            router.wait_for_count("penstock_replica_up", 1)
            answers = []
            request = request_bytes(path="/v1/images/generations", body={"model": MODEL, "prompt": "a penstock"})
            asking = threading.Thread(target=lambda: answers.append(send(router.address, request, timeout=60)))
            began = time.monotonic()
            asking.start()
            # As long as the test of a hung worker takes to find it, and half again.
            wait_until(lambda: time.monotonic() - began > 5, 20, "five seconds of silence")
            engine.let_go()
            asking.join()
            assert answers[0].status == 200
            metrics = router.wait_for_nothing()
            assert metrics.sum("penstock_engine_errors_total", kind="hung") == 0
            assert metrics.sum("penstock_replica_up") == 1


def test_a_worker_that_hangs_behind_the_first_token_of_a_picture_is_found(folder):
    with ScriptedEngine() as hung, ScriptedEngine() as well:
        for engine in (hung, well):
            engine.pages = {"/metrics": http(200, METRICS.encode(), "text/plain")}
        well.script = STREAM_HEAD + chunk(event("well") + event("", "stop") + "data: [DONE]\n\n") + b"0\r\n\r\n"
        hung.script, hung.hang = STREAM_HEAD + chunk(event("so")), True
        rows = "".join(
            f"  - {{id: {name}, url: '{engine.url}', gpus: [{name}], engine: vllm, model: {MODEL}, kv_tokens: 100000}}\n"
            for name, engine in (("hung", hung), ("well", well))
        )
        config = (
            "gpus: [{id: hung, kind: a100-80}, {id: well, kind: a100-80}]\n"
            f"models: [{{name: {MODEL}, shape: llama-3.1-8b}}]\nreplicas:\n{rows}limits: {{hang_after: 1s}}\n"
        )
        parts = [{"type": "text", "text": "what is it"}, {"type": "image_url", "image_url": {"url": "https://x.example/p.png"}}]
        with Router(folder, config=config) as router:
            router.wait_for_count("penstock_replica_up", 2)
            body = request_bytes(body=chat(model=MODEL, max_tokens=50, stream=True, messages=[{"role": "user", "content": parts}]))
            asking = [threading.Thread(target=send, args=(router.address, body), kwargs={"timeout": 60}) for _ in range(4)]
            for thread in asking:
                thread.start()
            router.wait_for_log("gave no sign of work")
            hung.let_go()
            for thread in asking:
                thread.join()
