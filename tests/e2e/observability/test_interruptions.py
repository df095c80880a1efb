"""The trace of a request that makes room for another one and goes on later."""
import json
import threading

from collector import Collector, attributes
from openai import OpenAI
from processes import Engine, Router, replicas, wait_until

BEGUN = 40
JOB = {"model": "llama-3.1-8b", "prompt": "mountain " * 400, "max_tokens": 500}
BURST = {"model": "llama-3.1-8b", "prompt": "river " * 1300, "max_tokens": 20}
SECTION = """
classes:
  interactive: {ttft: 5s, tpot: 100ms, queue: 30s, default: true}
  background: {ttft: 1h, tpot: 1s, queue: 24h, evictable: true}
"""


def run_job(client, begun):
    stream = client.completions.create(**JOB, stream=True, extra_headers={"x-penstock-class": "background", "x-request-id": "job"})
    for count, _ in enumerate(stream):
        if count == BEGUN:
            begun.set()


def test_an_evicted_request_has_two_waits_two_attempts_and_both_events(folder):
    with Engine(folder, name="shared", seed=5, kv_tokens=2000, time_scale=2) as engine, Collector() as collector:
        tracing = "tracing: " + json.dumps({"endpoint": collector.url, "interval": "50ms", "sample": 1}) + "\n"
        with Router(folder, config=replicas([engine]) + SECTION + tracing) as router:
            client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0, timeout=120)
            begun = threading.Event()
            job = threading.Thread(target=run_job, args=(client, begun))
            job.start()
            assert begun.wait(60)
            client.completions.create(**BURST)
            job.join()

            def servers():
                return [span for span in collector.spans() if attributes(span).get("penstock.request.id") == "job"]

            wait_until(servers, 20, "the trace of the job")
            (server,) = servers()
            own = [span for span in collector.spans() if span.trace_id == server.trace_id and span != server]
            waits = sorted((span for span in own if span.name == "queue"), key=lambda span: span.start_time_unix_nano)
            attempts = sorted((span for span in own if span.name != "queue"), key=lambda span: span.start_time_unix_nano)
            assert len(waits) == 2 and len(attempts) == 2
            assert [event.name for event in sorted(server.events, key=lambda event: event.time_unix_nano)] == [
                "first_token", "evicted", "resumed"]
            assert attributes(attempts[0])["error.type"] == "aborted" and "error.type" not in attributes(attempts[1])
            assert attempts[0].end_time_unix_nano <= waits[1].start_time_unix_nano
            assert waits[1].end_time_unix_nano == attempts[1].start_time_unix_nano
            assert attributes(attempts[1])["http.request.resend_count"] == 1
