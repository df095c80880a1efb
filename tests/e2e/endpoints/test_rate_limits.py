"""Headers that tell a tenant its limits, the date of answers, and what /v1/models says of a model."""
import datetime
import email.utils
import time

import pytest
from openai import OpenAI
from processes import MODEL, Router, replicas
from raw_http import chat, request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import ScriptedEngine, http

TENANTS = """
tenants:
  - {name: small, keys: ["sha256:97558b8c36b68cce8881012c851e2bac285a1516e0e1202fc944e9df2970548c"]}
  - {name: team, keys: ["file:team.key"], tokens_per_minute: 60k, max_concurrent: 5}
"""
KEY = {"Authorization": "Bearer team-secret"}


@pytest.fixture(scope="module")
def limited(folder, engine):
    (folder / "team.key").write_text("team-secret")
    with Router(folder, config=replicas([engine]) + TENANTS) as router:
        yield router


def ask(router, body, headers=KEY):
    return send(router.address, request_bytes(body=body, headers=headers))


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_tells_what_is_left(limited, stream):
    headers = ask(limited, chat(max_tokens=8, stream=stream)).headers
    assert headers["x-ratelimit-limit-requests"] == "5"
    assert headers["x-ratelimit-remaining-requests"] == "4"
    assert headers["x-ratelimit-reset-requests"] == "0s"
    assert headers["x-ratelimit-limit-tokens"] == "60000"
    assert 0 < int(headers["x-ratelimit-remaining-tokens"]) < 60000
    assert headers["x-ratelimit-reset-tokens"][-1] == "s"


def test_a_refusal_tells_it_too(limited):
    first = ask(limited, chat("word " * 30000, max_tokens=1))
    answer = ask(limited, chat("word " * 80000, max_tokens=1))
    assert (first.status, answer.status) in [(200, 429), (400, 400)]
    if answer.status == 429:
        assert answer.headers["x-ratelimit-limit-tokens"] == "60000"
        assert "m" in answer.headers["x-ratelimit-reset-tokens"] or "s" in answer.headers["x-ratelimit-reset-tokens"]


def test_the_sdk_reads_them(limited):
    client = OpenAI(base_url=limited.url + "/v1", api_key="team-secret")
    raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=chat()["messages"], max_tokens=2)
    assert raw.headers["x-ratelimit-limit-requests"] == "5"


def test_an_engines_own_limits_reach_nobody(folder):
    whole = {"id": "c", "object": "chat.completion", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}]}
    with ScriptedEngine() as engine, Router(folder, [engine]) as router:
        engine.script = http(200, whole, more="X-RateLimit-Remaining-Requests: 7\r\nx-model-time: 3\r\n")
        headers = ask(router, chat(model=SCRIPTED), {}).headers
        assert headers["x-model-time"] == "3"
        assert not any(name.startswith("x-ratelimit") for name in headers)


def test_a_tenant_without_limits_gets_none(router):
    assert not any(name.startswith("x-ratelimit") for name in ask(router, chat(max_tokens=2), {}).headers)


@pytest.mark.parametrize("request_of", [
    request_bytes(body=chat(max_tokens=2)), request_bytes(body=chat(max_tokens=2, stream=True)), request_bytes(body=b"{"),
    request_bytes("/healthz", method="GET"), b"nonsense\r\n\r\n"
], ids=["whole", "stream", "error", "page", "malformed"])
def test_every_answer_has_the_date(router, request_of):
    answer = send(router.address, request_of)
    when = email.utils.parsedate_to_datetime(answer.headers["date"])
    assert abs((datetime.datetime.now(datetime.timezone.utc) - when).total_seconds()) < 60
    assert answer.headers["date"].endswith(" GMT")


def test_models_tell_state_context_and_abilities(router):
    client = OpenAI(base_url=router.url + "/v1", api_key="none")
    listed = client.models.list().data[0]
    one = client.models.retrieve(MODEL)
    assert listed.id == one.id == MODEL
    for model in [listed, one]:
        assert model.owned_by == "vllm", "as its engine says"
        assert 0 < model.created <= time.time()
        assert model.state == "up"
        assert model.max_model_len > 0
        assert {"chat", "embeddings", "transcriptions"} <= set(model.capabilities)


def test_a_model_without_an_engine_is_down(folder, engine):
    config = replicas([engine]) + "  - {url: http://127.0.0.1:9, model: absent, engine: vllm}\n"
    with Router(folder, config=config) as router:
        client = OpenAI(base_url=router.url + "/v1", api_key="none")
        assert client.models.retrieve("absent").state == "down"
