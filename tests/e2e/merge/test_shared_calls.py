"""Callers, engines and reloads that could harm the requests of a shared call."""
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from embedding_engine import EmbeddingEngine, ask, burst, check, config_of, merged, request_for
from processes import Router, wait_until
from raw_http import request_bytes
from scripted_engine import MODEL, http


def apart(engine):
    """Every call had the inputs of one request."""
    return all(len(call) == 1 for call in engine.inputs)


def test_a_name_of_a_member_cannot_stand_for_another_member(router, engine):
    forged = request_bytes(path="/v1/embeddings", body={"model": MODEL, "input": "x", "dimensions:8\nencoding_format": "float"})
    honest = [request_for(text, dimensions=8, encoding_format="float") for text in ("one", "two", "three")]
    # The first of its kind goes alone; the others gather.
    answers = burst(router, engine, [honest[0], forged, *honest[1:]])
    assert [answer.status for answer in answers] == [200] * 4
    assert not any("x" in call and len(call) > 1 for call in engine.inputs), engine.inputs


def test_a_request_that_repeats_a_member_goes_alone(router, engine):
    body = '{"model":"%s","input":"%s","dimensions":4,"dimensions":8}'
    requests = [request_bytes(path="/v1/embeddings", body=(body % (MODEL, text)).encode()) for text in ("one", "two", "three")]
    answers = burst(router, engine, requests)
    assert {answer.status for answer in answers} <= {200, 400}
    assert apart(engine), engine.inputs


def test_a_shared_call_names_no_caller_and_brings_no_headers_back(router, engine):
    def reply(inputs, fields):
        answer = EmbeddingEngine.embeddings(inputs, fields)
        return answer.replace(b"\r\n", b"\r\nx-ratelimit-limit: 7\r\nx-seen: somebody\r\n", 1)

    def asking(text):
        own = {"user-agent": f"agent-{text}", "traceparent": "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01", "accept-language": text}
        return request_bytes(path="/v1/embeddings", body={"model": MODEL, "input": text}, headers=own)

    answers = burst(router, engine, [asking(text) for text in ("one", "two", "three")], reply)
    assert [answer.status for answer in answers] == [200] * 3
    shared = [head for head, call in zip(engine.heads, engine.inputs) if len(call) > 1]
    assert shared, engine.inputs
    for head in shared:
        assert not {"user-agent", "traceparent", "accept-language", "x-request-id"} & set(head), head
    alone = sum(len(call) == 1 for call in engine.inputs[1:])
    assert sum("x-seen" in answer.headers for answer in answers) == alone


def test_requests_of_different_baggage_stay_apart(router, engine):
    requests = [request_bytes(path="/v1/embeddings", body={"model": MODEL, "input": text}, headers={"baggage": f"user={text}"})
                for text in ("one", "two", "three")]
    answers = burst(router, engine, requests)
    assert [answer.status for answer in answers] == [200] * 3
    assert apart(engine), engine.inputs


def large(inputs, fields):
    """More than a shared answer may have, also for two inputs."""
    entries = ",".join('{"object":"embedding","index":%d,"embedding":[%s0.5]}' % (i, "0.25," * 120_000) for i in range(len(inputs)))
    return http(200, ('{"object":"list","data":[%s],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}' % entries).encode())


def test_large_embeddings_are_not_shared_and_the_next_call_knows(folder, engine):
    with Router(folder, config=config_of(engine)) as router:
        router.wait_for_count("penstock_replica_up", 1)
        for _ in range(4):  # Each halves the inputs of a call until one is left.
            answers = burst(router, engine, [request_for(text) for text in ("one", "two", "three", "four")], large)
            assert [answer.status for answer in answers] == [200] * 4
            assert all(len(answer.body) > 500_000 for answer in answers)
        assert merged(router, "merged") == 0 and merged(router, "sent_alone") > 0
        before = merged(router, "sent_alone")
        burst(router, engine, [request_for(text) for text in ("one", "two", "three", "four")], large)
        assert merged(router, "sent_alone") == before, "nothing is tried together any more"


def test_a_slow_shared_call_ends_at_the_deadline_and_the_replica_stays_up(folder, engine):
    limits = "limits: {first_byte_timeout: 2s, answer_timeout: 2s}\n"
    with Router(folder, config=config_of(engine, limits)) as router:
        router.wait_for_count("penstock_replica_up", 1)
        let_go = threading.Event()

        def reply(inputs, fields):
            if len(inputs) > 1:
                let_go.wait(30)
            return EmbeddingEngine.embeddings(inputs, fields)

        began = time.monotonic()
        answers = burst(router, engine, [request_for(text) for text in ("one", "two", "three")], reply)
        took = time.monotonic() - began
        let_go.set()
        assert {answer.status for answer in answers} <= {200, 504}
        assert 504 in {answer.status for answer in answers}
        assert took < 8, "one deadline, not one for each way of asking"
        assert merged(router, "deserted") > 0
        assert router.metrics().sum("penstock_replica_up") == 1
        check(ask(router, "after"), ["after"])


@pytest.mark.parametrize("changed", ["connect_timeout: 4s", "body_timeout: 17s"])
def test_a_reload_during_a_shared_call_that_fails_loses_nothing(folder, engine, changed):
    with Router(folder, config=config_of(engine, "limits: {connect_timeout: 3s}\n")) as router:
        router.wait_for_count("penstock_replica_up", 1)
        shared, go_on = threading.Event(), threading.Event()

        def reply(inputs, fields):
            if len(inputs) > 1:
                shared.set()
                go_on.wait(30)
                return http(500, {"error": {"message": "no"}})
            return EmbeddingEngine.embeddings(inputs, fields)

        def reload():
            assert shared.wait(20)
            router.write_config(config_of(engine, f"limits: {{{changed}}}\n"))
            router.process.send_signal(signal.SIGHUP)
            router.wait_for_count("penstock_config_reloads_total", 1, result="ok")
            for i in range(4):  # The first one makes the new pool of connections.
                assert ask(router, f"other {i}", dimensions=3).status == 200
            go_on.set()

        with ThreadPoolExecutor(1) as pool:
            reloaded = pool.submit(reload)
            answers = burst(router, engine, [request_for(text) for text in ("one", "two", "three")], reply)
            reloaded.result()
        for answer, text in zip(answers, ("one", "two", "three")):
            check(answer, [text])
        assert router.process.poll() is None
        wait_until(lambda: router.in_flight() == 0, 10, lambda: "requests stay in flight")
