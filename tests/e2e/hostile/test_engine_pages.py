"""Pages of an engine beside its API: one that fails, or is too long, costs the figures on it and nothing else."""
import json

import pytest
from processes import Router
from raw_http import chat, events, request_bytes, send
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, event, http

LOAD = http(200, b"vllm:num_requests_running 1\nvllm:kv_cache_usage_perc 0.5\n", "text/plain")
BAD = {
    "an error": http(500, {}),
    "busy": http(503, {}),
    "moved": http(302, b"", more="Location: /elsewhere\r\n"),
    "no HTTP": b"nonsense\r\n\r\n",
    "5 MiB": http(200, b"x" * (5 << 20), "text/plain"),
    "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nvllm:",
}


def fleet(engine, kind="vllm"):
    return f"replicas: [{{id: a, url: '{engine.url}', engine: {kind}, model: {MODEL}, kv_tokens: 100000}}]\n"


def polls(router):
    return router.metrics().sum("penstock_engine_polls_total")


@pytest.mark.parametrize("name", BAD)
def test_a_bad_page_of_load_does_not_take_a_healthy_engine_down(folder, name):
    with ScriptedEngine() as engine:
        engine.script = STREAM_HEAD + chunk(event("well") + event("", "stop") + "data: [DONE]\n\n") + b"0\r\n\r\n"
        engine.pages = {"/metrics": LOAD}
        with Router(folder, config=fleet(engine)) as router:
            router.wait_for_count("penstock_replica_up", 1)
            engine.pages = {"/metrics": BAD[name]}
            router.wait_for_log("engine lives, but load is unknown: ")
            read = polls(router)
            while polls(router) < read + 12:
                answer = send(router.address, request_bytes(body=chat(model=MODEL, max_tokens=5, stream=True)), timeout=20)
                assert (answer.status, len(events(answer.body)) > 0) == (200, True), answer.body
            assert router.metrics().sum("penstock_replica_up") == 1


@pytest.mark.parametrize("strange", [rb"lora\ud800", b"lora\xff", rb"lora\u0007"], ids=["lone surrogate", "no UTF-8", "control"])
def test_a_strange_name_in_the_list_of_models_is_left_out_and_named_and_the_others_serve(folder, strange):
    with ScriptedEngine() as engine:
        engine.script = STREAM_HEAD + chunk(event("well") + event("", "stop") + "data: [DONE]\n\n") + b"0\r\n\r\n"
        models = b'{"data": [{"id": "%s", "max_model_len": 8192}, {"id": "%s"}]}' % (MODEL.encode(), strange)
        engine.pages = {"/metrics": LOAD, "/v1/models": http(200, models)}
        with Router(folder, config=fleet(engine)) as router:
            router.wait_for_log('nobody can ask for are left out: \\"lora')
            assert send(router.address, request_bytes(body=chat(model=MODEL, max_tokens=5, stream=True)), timeout=20).status == 200
            assert [model["id"] for model in json.loads(router.get("/v1/models")[2])["data"]] == [MODEL]
            (pool,) = json.loads(router.get("/penstock/fleet")[2])["pools"]
            assert pool["report_age_s"] is None or pool["report_age_s"] < 60


def test_the_age_of_a_report_that_never_came_is_null(folder):
    with ScriptedEngine() as engine:
        with Router(folder, config=fleet(engine, "openai")) as router:
            router.wait_for_count("penstock_replica_up", 1)
            (pool,) = json.loads(router.get("/penstock/fleet")[2])["pools"]
            assert pool["report_age_s"] is None


def test_an_engine_whose_health_page_says_that_it_is_dead_goes_down(folder):
    with ScriptedEngine() as engine:
        engine.pages = {"/metrics": LOAD}
        with Router(folder, config=fleet(engine)) as router:
            router.wait_for_count("penstock_replica_up", 1)
            engine.pages = {"/metrics": BAD["an error"], "/health": http(503, {})}
            router.wait_for_count("penstock_replica_up", 0)


def test_vectors_as_bytes_pass_as_they_are(folder):
    with ScriptedEngine() as engine:
        engine.script = http(200, bytes(range(256)), "application/octet-stream")
        with Router(folder, config=fleet(engine)) as router:
            router.wait_for_count("penstock_replica_up", 1)
            body = {"model": MODEL, "input": "hello", "encoding_format": "bytes"}
            answer = send(router.address, request_bytes(path="/v1/embeddings", body=body))
            assert (answer.status, answer.body) == (200, bytes(range(256)))
            assert router.wait_for_nothing().sum("penstock_engine_errors_total") == 0
