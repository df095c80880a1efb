"""A real Ollama behind the router: its models, answers, cancels, and the sleep of its models."""
import http.client
import json
import os
import signal
import subprocess
import time

import pytest
from answers import seen
from engines import CONTEXT, call, children, installed
from ollama_engine import CHATS, EMBEDDINGS, Ollama, program
from processes import BINARY, Router

pytestmark = pytest.mark.long

SAY = [{"role": "user", "content": "the river and the stone"}]
BIG, SMALL = CHATS
PATIENT = "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\n"
CASES = {
    "chat": ("/v1/chat/completions", {"messages": SAY, "max_tokens": 12}),
    "chat, stream": ("/v1/chat/completions", {"messages": SAY, "max_tokens": 12, "stream": True}),
    "chat, stream with usage": (
        "/v1/chat/completions", {"messages": SAY, "max_tokens": 12, "stream": True, "stream_options": {"include_usage": True}}),
    "chat, logprobs": ("/v1/chat/completions", {"messages": SAY, "max_tokens": 3, "logprobs": True, "top_logprobs": 2}),
    "completion": ("/v1/completions", {"prompt": "the river", "max_tokens": 12}),
    "completion, stream with usage": (
        "/v1/completions", {"prompt": "the river", "max_tokens": 12, "stream": True, "stream_options": {"include_usage": True}}),
    "response": ("/v1/responses", {"input": "the river", "max_output_tokens": 8}),
    "message": ("/v1/messages", {"messages": SAY, "max_tokens": 8}),
    "message, stream": ("/v1/messages", {"messages": SAY, "max_tokens": 8, "stream": True}),
    "wrong field": ("/v1/chat/completions", {"messages": SAY, "temperature": "x"}),
    "embedding": ("/v1/embeddings", {"model": f"{EMBEDDINGS}:latest", "input": "the river"}),
    "embeddings": ("/v1/embeddings", {"model": f"{EMBEDDINGS}:latest", "input": ["the river", "a stone"]}),
}
# Only what a router cannot know is missing in its answer: the tokens of a context that Ollama gives up anyway.
UNKNOWN = ("created_at", "context", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration",
           "prompt_eval_cached_tokens")


@pytest.fixture(scope="module")
def ollama(folder):
    if program() is None:
        pytest.skip("no Ollama: PENSTOCK_OLLAMA names none, and none is in the path")
    if not installed("light"):
        pytest.skip("no model: run scripts/real_env.sh light")
    with Ollama(folder) as engine:
        yield engine.wait().with_models()


@pytest.fixture(scope="module")
def router(ollama, folder):
    """In front of all models."""
    with Router(folder, config=f"replicas: [{{id: all, url: '{ollama.url}'}}]\n{PATIENT}") as running:
        running.wait_for_count("penstock_replica_up", 1)
        yield running


@pytest.fixture
def sleepers(ollama, folder):
    """One of the three models has room at a time."""
    ollama.unload_all()
    rows = "".join(
        f"  - {{id: {name}, url: '{ollama.url}', gpus: [g], model: {name}, resident: 20GB, kv_tokens: {CONTEXT}, "
        f"sleep: {{after: 60s, wake: 2s, timeout: 60s}}}}\n" for name in (*CHATS, EMBEDDINGS))
    config = f"gpus: [{{id: g, kind: a100-80, memory: 30GB}}]\n{PATIENT}replicas:\n{rows}"
    with Router(folder, config=config) as running:
        running.wait_for_count("penstock_replica_asleep", 3)
        yield running, config


def lines(body):
    return [{key: value for key, value in json.loads(line).items() if key not in UNKNOWN} for line in body.splitlines()]


def text_of(stream):
    """The text of a stream of chat or text, as far as it goes."""
    text = ""
    for line in stream.decode().splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:]).get("choices") or []:
                text += choice.get("text") or (choice.get("delta") or {}).get("content") or ""
    return text


def router_stream(router, path, body):
    """A response whose first bytes were read."""
    connection = http.client.HTTPConnection(*router.address, timeout=120)
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    assert response.status == 200
    response.first = response.read(600)
    return response


def ask(router, model):
    body = {"model": model, "input": "the"} if model == EMBEDDINGS else {"model": model, "messages": SAY, "max_tokens": 4}
    status, _, answer = call(router.address, "/v1/embeddings" if model == EMBEDDINGS else "/v1/chat/completions", body)
    assert status == 200, answer


def test_kind_and_models_are_found(router):
    router.wait_for_log("engine is ollama", "at most 3 sequences")
    models = json.loads(router.get("/v1/models")[2])["data"]
    assert {model["id"] for model in models} == {f"{name}:latest" for name in (*CHATS, EMBEDDINGS)}


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_engines_own(ollama, router, case):
    path, body = CASES[case]
    body = {"model": f"{SMALL}:latest", "temperature": 0, **body}
    call(ollama.address, path, body)
    direct = seen(*call(ollama.address, path, body))
    assert seen(*call(router.address, path, body)) == direct


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("path", "body"), [("/api/chat", {"messages": SAY}), ("/api/generate", {"prompt": "the river"})])
def test_an_answer_in_its_own_dialect_is_the_engines_own(ollama, router, path, body, stream):
    body = {"model": SMALL, "stream": stream, "options": {"num_predict": 8, "temperature": 0}, **body}
    direct, through = call(ollama.address, path, body), call(router.address, path, body)
    assert (through[0], lines(through[2])) == (direct[0], lines(direct[2]))


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_cancelled_stream_leaves_the_engine_free(ollama, router, path):
    """Ollama runs one request of a model at a time: the next would wait for seconds behind the first."""
    body = {"model": SMALL, "messages": SAY, "prompt": "the river", "max_tokens": 3500, "stream": True, "temperature": 0}
    connection = router_stream(router, path, body)
    connection.close()
    begun = time.monotonic()
    short = {**body, "max_tokens": 1, "stream": False}
    assert call(ollama.address, path, short)[0] == 200
    assert time.monotonic() - begun < 3
    router.wait_for_count("penstock_replica_running_requests", 0)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_stream_whose_runner_dies_never_gets_the_wrong_text(ollama, router, path):
    body = {"model": SMALL, "messages": SAY, "prompt": "the river", "max_tokens": 400, "stream": True, "temperature": 0}
    whole = text_of(call(ollama.address, path, body)[2])
    response = router_stream(router, path, body)
    for pid in children(ollama.process.pid)[1:]:
        os.kill(pid, signal.SIGKILL)
    text = text_of(response.first + response.read())
    assert text and whole.startswith(text)
    ask(router, SMALL)


def test_models_take_turns_in_the_memory(ollama, sleepers):
    router, _ = sleepers
    for model in (SMALL, EMBEDDINGS, BIG, EMBEDDINGS):
        ask(router, model)
        assert ollama.loaded() == {f"{model}:latest"}
    assert router.metrics().sum("penstock_wakes_total", result="ok") == 4
    assert router.metrics().sum("penstock_sleeps_total", result="ok") == 3
    assert "did not" not in router.log()


def test_a_model_that_somebody_unloads_is_found_asleep_and_woken(ollama, sleepers):
    router, _ = sleepers
    ask(router, BIG)
    ollama.unload_all()
    router.wait_for_count("penstock_replica_asleep", 3)
    ask(router, BIG)
    assert router.metrics().sum("penstock_wakes_total", replica=BIG, result="ok") == 2


def test_an_engine_that_is_killed_and_started_again_serves_again(ollama, sleepers):
    router, _ = sleepers
    ask(router, BIG)
    ollama.kill()
    router.wait_for_count("penstock_replica_up", 0, seconds=30)
    ollama.start().wait()
    router.wait_for_count("penstock_replica_up", 3, seconds=60)
    ask(router, BIG)


def test_the_check_knows_the_models_without_their_tags(sleepers, folder):
    path = folder / "ollama.yaml"
    path.write_text(sleepers[1])
    checked = subprocess.run([BINARY, "check", "--live", str(path)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
