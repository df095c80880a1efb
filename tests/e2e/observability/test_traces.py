"""Traces: the context of the client goes on to the engine, spans reach the collector, and no collector touches a request."""
import json

import pytest
from collector import Collector, attributes, parsed
from processes import MODEL, Router, free_port, replicas, wait_until
from raw_http import chat, request_bytes, send
from scripted_engine import ScriptedEngine, http
from scripted_engine import MODEL as SCRIPTED

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{PARENT}-01"
NOT_SAMPLED = f"00-{TRACE}-{PARENT}-00"


def tracing(collector, **more):
    keys = {"endpoint": collector.url, "interval": "50ms", "sample": 1, **more}
    return "tracing: " + json.dumps(keys) + "\n"


def ask(router, stream=True, status=200, model=MODEL, **headers):
    answer = send(router.address, request_bytes(body=chat(model=model, stream=stream, max_tokens=5), headers=headers), timeout=30)
    assert answer.status == status, (answer.headers, answer.body)
    return answer


def spans_of(collector, count, seconds=20):
    wait_until(lambda: len(collector.spans()) >= count, seconds, lambda: f"{count} spans, not {collector.requests}")
    return collector.spans()


def by_name(spans):
    return {span.name: span for span in spans}


def test_a_span_names_the_method_and_the_path_of_the_client(folder):
    routes = "routes: [{path: /own/*, model: \"fixed:scripted\", methods: [GET]}]\n"
    with Collector() as collector, ScriptedEngine() as engine:
        engine.pages["/own/a/b?q=1"] = http(200, {})
        engine.script = http(200, {"choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}]})
        with Router(folder, config=replicas([engine]) + routes + tracing(collector)) as router:
            assert send(router.address, request_bytes("/own/a/b?q=1", b"", "GET"), "GET").status == 200
            seen = attributes(by_name(spans_of(collector, 2))["GET /own/*"])
            assert seen["http.request.method"] == "GET"
            assert (seen["http.route"], seen["url.path"]) == ("/own/*", "/own/a/b")
            assert send(router.address, request_bytes("/api/chat", {**chat(model=SCRIPTED), "stream": False})).status == 200
            wait_until(lambda: "POST /api/chat" in by_name(collector.spans()), 20, "a span of Ollama's path")


def test_a_request_has_spans_for_itself_its_wait_and_its_attempt(folder, engine):
    with Collector() as collector, Router(folder, config=replicas([engine]) + tracing(collector, service_name="gate-1")) as router:
        answer = ask(router, traceparent=SAMPLED, tracestate="a=1", **{"x-request-id": "r-1", "x-penstock-receipt": "1"})
        spans = by_name(spans_of(collector, 3))
        assert set(spans) == {"POST /v1/chat/completions", "queue", f"chat {MODEL}"}
        server, queue, attempt = spans["POST /v1/chat/completions"], spans["queue"], spans[f"chat {MODEL}"]
        for span in (server, queue, attempt):
            assert span.trace_id.hex() == TRACE and span.trace_state == "a=1"
            assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert server.parent_span_id.hex() == PARENT
        assert queue.parent_span_id == server.span_id and attempt.parent_span_id == server.span_id
        assert queue.end_time_unix_nano == attempt.start_time_unix_nano
        seen = attributes(server)
        assert seen["http.request.method"] == "POST" and seen["http.response.status_code"] == 200
        assert seen["gen_ai.operation.name"] == "chat" and seen["gen_ai.request.model"] == MODEL
        assert seen["gen_ai.usage.output_tokens"] == 5 and seen["gen_ai.usage.input_tokens"] > 0
        assert seen["gen_ai.request.max_tokens"] == 5 and seen["gen_ai.response.finish_reasons"] == ["length"]
        assert seen["penstock.request.id"] == "r-1" and seen["client.address"] == "127.0.0.1"
        assert [event.name for event in server.events] == ["first_token"]
        tried = attributes(attempt)
        assert tried["gen_ai.provider.name"] == "vllm" and tried["http.response.status_code"] == 200
        receipt = json.loads(answer.headers["x-penstock-receipt"])
        assert receipt["request"] == "r-1" and receipt["trace"] == TRACE
        path, headers, document = collector.requests[0]
        assert path == "/v1/traces" and headers["Content-Type"] == "application/json"
        resource = parsed(document).resource_spans[0].resource
        assert attributes(resource)["service.name"] == "gate-1"
        router.wait_for_count("penstock_trace_spans_total", 3, result="exported")


def test_the_choice_of_the_client_counts(folder, engine):
    with Collector() as collector, Router(folder, config=replicas([engine]) + tracing(collector, sample=0)) as router:
        ask(router, traceparent=NOT_SAMPLED)
        ask(router)
        ask(router, traceparent=SAMPLED)
        spans = spans_of(collector, 3)
        assert len(spans) == 3 and {span.trace_id.hex() for span in spans} == {TRACE}


def test_a_refusal_ends_the_trace_with_its_reason(folder, engine):
    with Collector() as collector, Router(folder, config=replicas([engine]) + tracing(collector)) as router:
        answer = ask(router, status=404, model="nobody", traceparent=SAMPLED)
        assert answer.headers["x-penstock-trace"] == TRACE
        server = by_name(spans_of(collector, 1))["POST /v1/chat/completions"]
        seen = attributes(server)
        assert seen["penstock.reason"] == "unknown_model" and seen["error.type"] == "unknown_model"
        assert server.events[-1].name == "end" and server.status.code == 0


def test_each_attempt_has_a_span_and_the_engine_is_below_it(folder):
    engines = [ScriptedEngine(), ScriptedEngine()]
    with Collector() as collector:
        with Router(folder, config=replicas(engines) + tracing(collector)) as router:
            wait_until(lambda: router.metrics().sum("penstock_replica_up") == 2, 20, "both replicas are up")
            for engine in engines:
                engine.script = b"HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            answer = send(router.address, request_bytes(body=chat(model=SCRIPTED, stream=True), headers={"traceparent": SAMPLED}))
            assert answer.status >= 500
            spans = spans_of(collector, 3)
            attempts = [span for span in spans if span.name == f"chat {SCRIPTED}"]
            assert len(attempts) >= 2
            for number, span in enumerate(sorted(attempts, key=lambda span: span.start_time_unix_nano), 1):
                assert attributes(span)["penstock.attempt"] == number
                assert span.status.code == 2 and attributes(span)["http.response.status_code"] == 500
            server = by_name(spans)["POST /v1/chat/completions"]
            assert server.status.code == 2


def trace_at_engine(engine, router, *headers):
    """traceparent and tracestate as the engine got them."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    data = request_bytes(body=chat(model=SCRIPTED)).replace(b"\r\n\r\n", b"\r\n" + lines.encode() + b"\r\n", 1)
    assert send(router.address, data).status == 200
    head = engine.heads[-1].lower().split("\r\n")
    found = dict(line.split(": ", 1) for line in head if line.startswith("trace"))
    return found.get("traceparent"), found.get("tracestate")


@pytest.fixture(scope="module")
def listening():
    with ScriptedEngine() as engine:
        answer = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]}
        engine.script = http(200, answer)
        yield engine


def test_the_context_goes_on_without_a_collector_too(folder, listening):
    with Router(folder, [listening]) as router:
        parent, state = trace_at_engine(listening, router, ("traceparent", SAMPLED), ("tracestate", "a=1"), ("TraceState", "b=2"))
        assert (parent, state) == (SAMPLED, "a=1,b=2")
        later = f"cc-{TRACE}-{PARENT}-09-more"
        assert trace_at_engine(listening, router, ("traceparent", later)) == (later, None)
        assert trace_at_engine(listening, router) == (None, None)
        assert trace_at_engine(listening, router, ("tracestate", "a=1")) == (None, None)


BAD = ["00-1", SAMPLED.upper(), f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", SAMPLED + "-more", ""]


def test_an_invalid_context_is_left_out_without_a_collector(folder, listening):
    with Router(folder, [listening]) as router:
        for bad in BAD:
            assert trace_at_engine(listening, router, ("traceparent", bad), ("tracestate", "a=1")) == (None, None), bad


def test_an_invalid_context_is_replaced_with_one(folder, listening):
    with Collector() as collector, Router(folder, config=replicas([listening]) + tracing(collector)) as router:
        for bad in BAD:
            parent, state = trace_at_engine(listening, router, ("traceparent", bad), ("tracestate", "a=1"))
            assert len(parent) == 55 and TRACE not in parent and state is None, bad


def test_a_caller_without_a_key_cannot_ask_for_spans(folder, engine):
    section = replicas([engine]) + "tenants: [{name: team-a, keys: [sk-team-a]}]\n"
    with Collector() as collector, Router(folder, config=section + tracing(collector, sample=0)) as router:
        ask(router, status=401, traceparent=f"00-{'1' * 32}-{PARENT}-01")
        ask(router, status=404, model="nobody", traceparent=SAMPLED, Authorization="Bearer sk-team-a")
        spans = spans_of(collector, 1)
        assert {span.trace_id.hex() for span in spans} == {TRACE}


def test_a_bad_state_is_left_out(folder, listening):
    with Router(folder, [listening]) as router:
        parent, state = trace_at_engine(listening, router, ("traceparent", SAMPLED), ("tracestate", "NO GOOD=1"))
        assert TRACE in parent and state is None


def test_the_engine_is_below_the_span_of_its_attempt(folder, listening):
    with Collector() as collector, Router(folder, config=replicas([listening]) + tracing(collector)) as router:
        parent, _ = trace_at_engine(listening, router, ("traceparent", SAMPLED))
        attempt = by_name(spans_of(collector, 3))[f"chat {SCRIPTED}"]
        assert parent == f"00-{TRACE}-{attempt.span_id.hex()}-01"


def test_spans_wait_while_the_collector_is_busy_and_arrive_then(folder, engine):
    script = [(503, {"Retry-After": "1"}, b"<html>busy</html>"), (429, {}, b""), (200, {}, b"garbage")]
    with Collector(script) as collector, Router(folder, config=replicas([engine]) + tracing(collector)) as router:
        ask(router)
        spans_of(collector, 3)
        assert len(collector.requests) == 3
        router.wait_for_count("penstock_trace_spans_total", 3, result="exported")


def test_a_full_batch_does_not_cut_the_pause_short_that_the_collector_asks_for(folder, engine):
    script = [(503, {"Retry-After": "30"}, b"")] * 100
    with Collector(script) as collector, Router(folder, config=replicas([engine]) + tracing(collector)) as router:
        ask(router)
        wait_until(lambda: collector.requests, 20, "the collector got a request")
        for _ in range(300):  # More than a batch.
            ask(router, status=404, model="nobody", stream=False)
        assert len(collector.requests) == 1


@pytest.mark.parametrize("status", [400, 500])
def test_spans_that_the_collector_refuses_are_counted_and_told_of_once(folder, engine, status):
    with Collector([(status, {}, b"no")] * 2) as collector, Router(folder, config=replicas([engine]) + tracing(collector)) as router:
        ask(router)
        router.wait_for_count("penstock_trace_spans_total", 3, result="failed")
        ask(router)
        router.wait_for_count("penstock_trace_spans_total", 6, result="failed")
        ask(router)
        router.wait_for_count("penstock_trace_spans_total", 3, result="exported")
        router.wait_for_log("the trace collector takes spans again")
        assert router.log().count("takes no spans") == 1 and f"status {status}" in router.log()


def test_rejected_spans_are_counted(folder, engine):
    answer = json.dumps({"partialSuccess": {"rejectedSpans": "2", "errorMessage": "two are odd"}}).encode()
    with Collector([(200, {}, answer)]) as collector, Router(folder, config=replicas([engine]) + tracing(collector)) as router:
        ask(router)
        router.wait_for_count("penstock_trace_spans_total", 2, result="rejected")
        router.wait_for_count("penstock_trace_spans_total", 1, result="exported")


def test_a_collector_that_is_not_there_costs_spans_only(folder, engine):
    section = f"tracing: {{endpoint: http://127.0.0.1:{free_port()}, sample: 1, interval: 10ms}}\n"
    with Router(folder, config=replicas([engine]) + section) as router:
        for _ in range(20):
            ask(router)


def test_a_collector_that_never_answers_holds_neither_a_request_nor_the_end(folder, engine):
    with Collector() as collector:
        collector.go_on.clear()
        with Router(folder, config=replicas([engine]) + tracing(collector)) as router:
            ask(router)
            wait_until(lambda: collector.requests, 20, "the collector got a request")
            for _ in range(20):
                ask(router)
            assert router.stop(10) == 0


def test_the_last_spans_leave_before_the_router_ends(folder, engine):
    with Collector() as collector:
        with Router(folder, config=replicas([engine]) + tracing(collector, interval="60s")) as router:
            ask(router)
            assert router.stop() == 0
        assert len(collector.spans()) == 3


def test_headers_for_the_collector_are_secrets(folder, engine, monkeypatch):
    monkeypatch.setenv("COLLECTOR_TOKEN", "t0p-s3cret")
    more = {"headers": {"authorization": "Bearer ${COLLECTOR_TOKEN}"}}
    with Collector() as collector, Router(folder, config=replicas([engine]) + tracing(collector, **more)) as router:
        ask(router)
        spans_of(collector, 3)
        assert collector.requests[0][1]["authorization"] == "Bearer t0p-s3cret"
        assert "t0p-s3cret" not in router.log()
