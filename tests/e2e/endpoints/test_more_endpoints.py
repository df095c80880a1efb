"""Endpoints beside generation: each goes by model to an engine that has it, and a missing one is named."""
import json

import httpx
import pytest
from processes import MODEL, Engine, Router, wait_until
from raw_http import request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import ScriptedEngine, http

BODIES = {
    "/score": {"text_1": "the river", "text_2": ["the stone", "the bank of the river"]},
    "/v1/score": {"query": "the river", "items": ["the stone"], "label_token_ids": [1, 2]},
    "/rerank": {"query": "the river", "documents": ["the stone"]},
    "/v1/rerank": {"query": "the river", "documents": [{"text": "the stone"}]},
    "/v2/rerank": {"query": "the river", "documents": ["the stone"]},
    "/pooling": {"input": "the river"},
    "/classify": {"input": ["the river", "the stone"]},
    "/v1/moderations": {"input": [{"type": "text", "text": "the river"}]},
    "/tokenize": {"prompt": "the river"},
    "/detokenize": {"tokens": [1, 2, 3]},
}


TGI = {"model_id": SCRIPTED, "max_total_tokens": 4096, "max_input_tokens": 4095, "version": "3.0.0"}


@pytest.fixture(scope="module")
def scripted(folder):
    with ScriptedEngine() as engine, Router(folder, [engine], port=None) as router:
        yield engine, router


def post(router, path, **fields):
    answer = send(router.address, request_bytes(path, fields))
    return answer.status, answer.headers, answer.json()


@pytest.mark.parametrize("path", list(BODIES))
def test_an_engine_of_the_model_answers(scripted, path):
    engine, router = scripted
    engine.script = http(200, {"object": "list", "data": [path], "usage": {"prompt_tokens": 7, "total_tokens": 7}})
    status, _, answer = post(router, path, model=SCRIPTED, **BODIES[path])
    assert status == 200, answer
    assert answer["data"] == [path]
    router.wait_for_nothing()


LISTS = [path for path in BODIES if path != "/v1/moderations"]


@pytest.mark.parametrize("path", LISTS)
def test_an_answer_may_be_a_list(scripted, path):
    """SGLang ranks in a list, and so does llama-server for `texts`."""
    engine, router = scripted
    engine.script = http(200, [{"score": 0.9, "index": 0}, {"score": 0.1, "index": 1}])
    status, _, answer = post(router, path, model=SCRIPTED, **BODIES[path])
    assert (status, answer) == (200, [{"score": 0.9, "index": 0}, {"score": 0.1, "index": 1}])
    router.wait_for_nothing()


@pytest.mark.parametrize("path", ["/detokenize", "/v1/detokenize"])
def test_the_text_of_tokens_may_be_a_bare_string(scripted, path):
    engine, router = scripted
    engine.script = http(200, b' "the \\"river\\" runs"\n')
    answer = send(router.address, request_bytes(path, {"model": SCRIPTED, "tokens": [1, 2, 3]}))
    assert (answer.status, answer.body) == (200, b' "the \\"river\\" runs"\n')
    for body in (b'"the river', b'"the" "river"', b"7", b"null"):
        engine.script = http(200, body)
        assert post(router, path, model=SCRIPTED, tokens=[1])[0] == 502, body
    router.wait_for_count("penstock_replica_up", 1)


@pytest.mark.parametrize("more", [{}, {"input": "Hello"}], ids=["alone", "beside input"])
def test_a_prompt_that_the_engine_has_stored_reaches_it(scripted, more):
    engine, router = scripted
    named = {"id": "pmpt_1", "version": "2", "variables": {"city": "Oslo"}}
    engine.script = http(200, {"id": "resp_1", "object": "response", "status": "completed", "output": []})
    status, _, answer = post(router, "/v1/responses", model=SCRIPTED, prompt=named, **more)
    assert status == 200, answer
    assert json.loads(engine.last.partition(b"\r\n\r\n")[2])["prompt"] == named
    engine.script = http(400, {"error": {"message": "no stored prompts here", "type": "invalid_request_error"}})
    status, _, answer = post(router, "/v1/responses", model=SCRIPTED, prompt=named, **more)
    assert (status, answer["error"]["message"]) == (400, "no stored prompts here")


def test_a_broken_list_is_no_answer(scripted):
    engine, router = scripted
    for body in (b'[{"score": 0.9}', b'["a" {}]', b"7"):
        engine.script = http(200, body)
        assert post(router, "/v1/rerank", model=SCRIPTED, **BODIES["/v1/rerank"])[0] == 502
    router.wait_for_count("penstock_replica_up", 1)


@pytest.mark.parametrize("path", [path for path in BODIES if "tokenize" not in path])
def test_a_prompt_is_required_where_it_costs_memory(scripted, path):
    _, router = scripted
    status, _, answer = post(router, path, model=SCRIPTED)
    assert (status, answer["error"]["code"]) == (400, "missing_required_parameter")


TEXT = {"type": "text", "text": "the river"}
PARTS = {"content": [TEXT, {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}}]}
SHAPES = {
    "chat embedding": ("/v1/embeddings", {"messages": [{"role": "user", "content": "the river"}]}),
    "embedding of parts": ("/v1/embeddings", {"input": [{"text": "the river"}, {"image": "https://example.invalid/a"}]}),
    "ranking of contents": ("/rerank", {"query": PARTS, "documents": [PARTS, "the stone"]}),
    "ranking of a content": ("/rerank", {"query": "the river", "documents": PARTS}),
    "ranking of lists of parts": ("/v1/rerank", {"query": [TEXT], "documents": [[TEXT], [TEXT, TEXT]]}),
    "ranking of texts": ("/v1/rerank", {"query": "the river", "texts": ["the stone"]}),
    "score of contents": ("/score", {"data_1": "the river", "data_2": PARTS}),
    "data of a plugin": ("/pooling", {"data": {"url": "https://example.invalid/a"}, "task": "plugin"}),
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_documented_shapes_reach_the_engine(scripted, shape):
    engine, router = scripted
    path, body = SHAPES[shape]
    engine.script = http(200, {"object": "list", "data": [shape]})
    status, _, answer = post(router, path, model=SCRIPTED, **body)
    assert status == 200, answer
    assert json.loads(engine.last.split(b"\r\n\r\n", 1)[1]) == {"model": SCRIPTED, **body}
    router.wait_for_nothing()


@pytest.mark.parametrize("prompt", [["the", 1, 2, "river"], [[1, "the river"], "the stone"],
                                    {"prompt_string": "the river", "multimodal_data": ["AAAA"]}], ids=str)
def test_prompts_of_texts_and_ids_reach_the_engine(scripted, prompt):
    engine, router = scripted
    engine.script = http(200, {"choices": [{"text": "a", "finish_reason": "stop"}]})
    status, _, answer = post(router, "/v1/completions", model=SCRIPTED, prompt=prompt, max_tokens=5)
    assert status == 200, answer
    router.wait_for_nothing()


def test_two_fields_for_one_prompt_are_refused(scripted):
    _, router = scripted
    status, _, answer = post(router, "/score", model=SCRIPTED, text_1="a", text_2="b", documents=["c"])
    assert (status, answer["error"]["code"], answer["error"]["param"]) == (400, "invalid_value", "documents")


def test_a_prompt_over_the_context_is_refused_before_any_engine_sees_it(scripted):
    engine, router = scripted
    calls = engine.calls
    for path, field in (("/classify", "input"), ("/pooling", "input"), ("/v1/moderations", "input")):
        status, _, answer = post(router, path, **{"model": SCRIPTED, field: "river " * 20000})
        assert (status, answer["error"]["code"]) == (400, "context_length_exceeded"), path
    status, _, _ = post(router, "/score", model=SCRIPTED, text_1="river " * 20000, text_2="stone")
    assert status == 400
    assert engine.calls == calls


def test_tokens_go_there_and_back(router):
    status, _, answer = post(router, "/tokenize", model=MODEL, prompt="the river and the stone")
    assert status == 200
    assert answer["count"] == len(answer["tokens"]) > 3
    status, _, back = post(router, "/detokenize", model=MODEL, tokens=answer["tokens"])
    assert (status, back["prompt"].strip()) == (200, "the river and the stone")


def test_tokens_are_counted_although_the_engine_is_full(folder):
    """A counted prompt takes no memory, so it waits for nobody and promises nothing."""
    with Engine(folder, name="small", kv_tokens=2048, max_seqs=1) as engine, Router(folder, [engine]) as router:
        with router_is_full(router):
            status, _, answer = post(router, "/tokenize", model=MODEL, prompt="the river " * 1000)
            assert (status, answer["count"] > 1000) == (200, True)
        router.wait_for_nothing([engine])
        router.wait_for_count("penstock_requests_total", 1, endpoint="tokenize", outcome="ok")


class router_is_full:
    """A stream that takes the only sequence of the engine."""

    def __init__(self, router):
        self.router = router

    def __enter__(self):
        body = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Tell me all."}]}
        self.context = httpx.stream("POST", self.router.url + "/v1/chat/completions", json=body, timeout=30,
                                    headers={"x-simulated-output-tokens": "1500"})
        self.stream = self.context.__enter__()
        next(self.stream.iter_bytes())

    def __exit__(self, *_):
        self.context.__exit__(None, None, None)


def test_an_engine_that_lacks_the_endpoint_is_passed_over(folder):
    """Of two kinds of engines that serve a model, the one with the endpoint gets the request."""
    with ScriptedEngine() as has, ScriptedEngine() as lacks:
        has.script = http(200, {"data": ["scored"], "tokens": [1]})
        lacks.script = http(500, {"error": {"message": "wrong engine"}})
        lacks.pages = {"/info": http(200, TGI)}
        config = f"replicas:\n  - {{id: plain, url: {lacks.url}}}\n  - {{id: whole, url: {has.url}}}\n"
        with Router(folder, config=config) as router:
            wait_until(lambda: router.metrics().sum("penstock_replica_up") == 2, 20, "both engines are known")
            for _ in range(8):
                for path in ("/score", "/tokenize"):
                    status, _, answer = post(router, path, model=SCRIPTED, **BODIES[path])
                    assert (status, answer.get("data")) == (200, ["scored"])
            assert lacks.calls == 0


@pytest.mark.parametrize("path", ["/v1/score", "/v2/rerank", "/tokenize"])
def test_an_older_engine_of_the_same_kind_is_passed_over(folder, path):
    """It answers 404 for a path that its kind has."""
    with ScriptedEngine() as newer, ScriptedEngine() as older:
        newer.script = http(200, {"data": ["done"], "tokens": [1]})
        older.script = http(404, {"detail": "Not Found"})
        with Router(folder, [older, newer]) as router:
            router.wait_for_count("penstock_replica_up", 2)
            for _ in range(8):
                assert post(router, path, model=SCRIPTED, **BODIES[path])[0] == 200
            assert router.metrics().sum("penstock_replica_up") == 2


def test_broken_pages_for_tokens_do_not_take_a_replica_down(folder):
    with ScriptedEngine() as engine, Router(folder, [engine]) as router:
        engine.script = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort"
        for _ in range(6):
            assert post(router, "/tokenize", model=SCRIPTED, prompt="the river")[0] == 502
        assert router.metrics().sum("penstock_replica_up") == 1
        assert "replica is down" not in router.log()


def test_a_path_that_no_engine_of_the_model_has_is_named(router):
    status, _, answer = post(router, "/v1/moderations", model=MODEL, input="the river")
    assert (status, answer["error"]["message"]) == (404, f"No engine of `{MODEL}` serves /v1/moderations.")


def test_a_path_that_is_not_routed_is_named(router):
    status, _, answer = post(router, "/v1/fine_tuning/jobs", model=MODEL)
    assert (status, answer["error"]["message"]) == (404, "Penstock does not route /v1/fine_tuning/jobs.")


def test_a_dead_engine_is_passed_over(folder):
    with Engine(folder, name="left") as left, Engine(folder, name="right") as right:
        with Router(folder, [left, right]) as router:
            left.kill()
            for _ in range(6):
                assert post(router, "/tokenize", model=MODEL, prompt="the river")[0] == 200
