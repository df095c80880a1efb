"""Embedding requests that wait for the same engine share a call, and each client gets its own answer."""
import contextlib
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from embedding_engine import EmbeddingEngine, ask, burst, check, config_of, merged, request_for
from processes import Router, wait_until
from raw_http import read_answer
from scripted_engine import http

REQUESTS = 6


def test_requests_that_wait_share_a_call_and_each_gets_its_own(router, engine):
    texts = [["a" * (10 * (i + 1)), "b" * (i + 1)] if i % 2 else ["a" * (10 * (i + 1))] for i in range(REQUESTS)]
    before = merged(router, "merged")
    answers = burst(router, engine, [request_for(own if len(own) > 1 else own[0]) for own in texts])
    assert merged(router, "merged") > before
    assert len(engine.inputs) < 1 + REQUESTS, engine.inputs
    shares = [check(answer, own) for answer, own in zip(answers, texts)]
    # The shares add up to what the engine counted.
    assert sum(shares) == sum(len(text) for own in texts for text in own)
    assert shares[5] > shares[0] > 0


def test_usage_of_lists_of_token_ids_is_that_of_each_request(router, engine):
    ids = [[7] * count for count in (1, 40, 3, 200, 17)]
    before = merged(router, "merged")
    answers = burst(router, engine, [request_for([own, own[:1]] if i % 2 else [own]) for i, own in enumerate(ids)])
    assert merged(router, "merged") > before
    for i, (answer, own) in enumerate(zip(answers, ids)):
        count = len(own) + i % 2
        assert check(answer, [own, own[:1]] if i % 2 else [own]) == count, answer.body
        assert answer.json()["usage"]["total_tokens"] == count


def test_an_idle_engine_gets_a_request_at_once(router, engine):
    engine.again()
    engine.hold.set()
    check(ask(router, "alone"), ["alone"])
    assert engine.inputs == [["alone"]]


def test_a_bad_input_fails_alone(router, engine):
    before = merged(router, "divided")
    texts = ["one", "poison", "three", "four", "five", "six", "seven", "eight"]
    answers = burst(router, engine, [request_for(text) for text in texts])
    assert merged(router, "divided") > before
    assert [answer.status for answer in answers] == [400 if text == "poison" else 200 for text in texts]
    assert "poison is no text" in answers[1].json()["error"]["message"]
    check(answers[2], ["three"])
    # The first request, the call, and its halves and theirs: no good input far from the bad one goes alone.
    assert max(len(call) for call in engine.inputs[2:] if "poison" not in call) > 1, engine.inputs


def test_requests_with_other_parameters_stay_apart(router, engine):
    answers = burst(router, engine, [request_for("one", encoding_format="base64"),
                                     request_for("two", encoding_format="base64"),
                                     request_for("three", dimensions=8), request_for("four", dimensions=16)])
    assert [answer.status for answer in answers] == [200] * 4
    assert answers[0].json()["data"][0]["embedding"] == "QUJDone"
    assert answers[1].json()["data"][0]["embedding"] == "QUJDtwo"
    assert all(len(call) == 1 or sorted(call) == ["one", "two"] for call in engine.inputs), engine.inputs


def short(inputs, fields):
    return EmbeddingEngine.embeddings(inputs[:1] if len(inputs) > 1 else inputs, fields)


def wrong_index(inputs, fields):
    answer = EmbeddingEngine.embeddings(inputs, fields)
    return answer.replace(b'"index":1', b'"index":7')


def twice(inputs, fields):
    return EmbeddingEngine.embeddings(inputs, fields).replace(b'"index":1', b'"index":0')


def no_json(inputs, fields):
    return EmbeddingEngine.embeddings(inputs, fields) if len(inputs) == 1 else http(200, b"<html>")


def server_error(inputs, fields):
    return EmbeddingEngine.embeddings(inputs, fields) if len(inputs) == 1 else http(500, {"error": {"message": "no"}})


def uneven(inputs, fields):
    return EmbeddingEngine.embeddings(inputs, fields).replace(b", -0.0]", b"      ]", 1 if len(inputs) > 1 else 0)


@pytest.mark.parametrize("fault", [short, wrong_index, twice, uneven, no_json, server_error])
def test_nothing_is_lost_when_the_shared_answer_is_bad(folder, engine, fault):
    texts = ["one", "two", "three"]
    with Router(folder, config=config_of(engine)) as router:
        router.wait_for_count("penstock_replica_up", 1)
        answers = burst(router, engine, [request_for(text) for text in texts], fault)
        for answer, text in zip(answers, texts):
            check(answer, [text])
        assert merged(router, "sent_alone") > 0
        router.wait_for_nothing()


def test_an_engine_whose_shared_answers_are_bad_gets_no_more_for_a_while(folder, engine):
    texts = ["one", "two", "three"]
    with Router(folder, config=config_of(engine)) as router:
        router.wait_for_count("penstock_replica_up", 1)
        for _ in range(3):
            answers = burst(router, engine, [request_for(text) for text in texts], short)
            for answer, text in zip(answers, texts):
                check(answer, [text])
        assert merged(router, "sent_alone") == len(texts), "the first ones only"
        assert router.log().count("answer to merged embedding requests is bad") == 1


def test_a_client_that_leaves_does_not_cancel_the_others(router, engine):
    engine.again()
    before = merged(router, "merged")
    held = threading.Event()

    def reply(inputs, fields):
        if len(inputs) > 1:
            held.wait(30)
        return EmbeddingEngine.embeddings(inputs, fields)

    engine.reply = reply
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as open_sockets:
        first = pool.submit(ask, router, "first")
        wait_until(lambda: engine.inputs, 10, lambda: "no first call")
        router.process.send_signal(signal.SIGSTOP)
        try:
            sockets = [open_sockets.enter_context(socket.create_connection(router.address, timeout=30)) for _ in range(3)]
            for connection, text in zip(sockets, ("one", "two", "three")):
                connection.sendall(request_for(text))
        finally:
            router.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(engine.inputs) >= 2, 10, lambda: f"calls: {engine.inputs}")
        engine.hold.set()
        assert first.result().status == 200
        sockets[0].close()
        wait_until(lambda: router.in_flight() == 2, 10, lambda: f"{router.in_flight()} requests in flight")
        held.set()
        for connection, text in zip(sockets[1:], ("two", "three")):
            check(read_answer(connection), [text])
    assert merged(router, "merged") > before
    router.wait_for_nothing()


def test_merging_can_be_switched_off(folder, engine):
    with Router(folder, config=config_of(engine, "batching: {embeddings: false}\n")) as router:
        router.wait_for_count("penstock_replica_up", 1)
        answers = burst(router, engine, [request_for(text) for text in ("one", "two", "three")])
        assert [answer.status for answer in answers] == [200] * 3
        assert all(len(call) == 1 for call in engine.inputs), engine.inputs
