"""A background answer makes room for an interactive request, and its client sees one unbroken answer."""
import threading

import pytest
from openai import OpenAI
from processes import Engine, Router, replicas, wait_until

TOKENS = 500
BEGUN = 40
# Of the pool of 2,000 tokens, the job and the interactive prompt do not fit beside each other.
JOB = {"model": "llama-3.1-8b", "prompt": "mountain " * 400, "max_tokens": TOKENS}
BURST = {"model": "llama-3.1-8b", "prompt": "river " * 1300, "max_tokens": 20}
CLASSES = """
classes:
  interactive: {ttft: 5s, tpot: 100ms, queue: 30s, default: true}
  background: {ttft: 1h, tpot: 1s, queue: 24h, evictable: %s}
"""


def small_engine(folder, name):
    return Engine(folder, name=name, seed=5, kv_tokens=2000, time_scale=2)


def client_of(url):
    return OpenAI(base_url=url + "/v1", api_key="x", max_retries=0, timeout=120)


def job_of(url, begun=None):
    """(text, usage) of the background answer; `begun` is set when it has made some tokens."""
    text, usage = "", None
    stream = client_of(url).completions.create(
        **JOB, stream=True, stream_options={"include_usage": True}, extra_headers={"x-penstock-class": "background"})
    for count, event in enumerate(stream):
        if begun is not None and count == BEGUN:
            begun.set()
        text += event.choices[0].text or "" if event.choices else ""
        usage = event.usage or usage
    return text, usage


def in_thread(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return lambda: (thread.join(), results[0])[1]


def test_a_burst_takes_the_place_of_a_job_that_goes_on_later(folder):
    with small_engine(folder, "alone") as alone:
        truth, _ = job_of(alone.url)
    with small_engine(folder, "shared") as engine, Router(folder, config=replicas([engine]) + CLASSES % "true") as router:
        begun = threading.Event()
        job = in_thread(lambda: job_of(router.url, begun))
        assert begun.wait(60)
        answer = client_of(router.url).completions.create(**BURST)
        assert answer.usage.completion_tokens == BURST["max_tokens"]
        evicted = router.metrics().sum("penstock_evicted_total")
        text, usage = job()
        assert (text, usage.completion_tokens) == (truth, TOKENS)
        assert evicted == 1
        assert engine.metrics().sum("vllm:num_preemptions_total") == 0


def test_a_job_of_a_class_that_is_not_evictable_runs_to_its_end(folder):
    with small_engine(folder, "shared") as engine, Router(folder, config=replicas([engine]) + CLASSES % "false") as router:
        begun = threading.Event()
        job = in_thread(lambda: job_of(router.url, begun))
        assert begun.wait(60)
        burst = in_thread(lambda: client_of(router.url).completions.create(**BURST))
        wait_until(lambda: router.metrics().sum("penstock_queued_requests") == 1, 20, "the burst waits")
        _, usage = job()
        assert usage.completion_tokens == TOKENS
        assert burst().usage.completion_tokens == BURST["max_tokens"]
        assert router.metrics().sum("penstock_evicted_total") == 0
