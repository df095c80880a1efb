"""Clients that others write work against the router: answers, streams, tools, errors, retries and jobs."""
import pytest
from processes import MODEL, Router, replicas
from programs import KINDS, Program
from raw_http import chat, request_bytes, send

PER_MINUTE = 1200
CONFIG = f"""
tenants:
  - {{name: any, keys: [any]}}
  - {{name: limited, keys: [limited], tokens_per_minute: {PER_MINUTE}}}
"""


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def router(folder, engine, kind):
    config = f"{replicas([engine])}state: {{path: {folder}/{kind.name}}}\n{CONFIG}"
    with Router(folder, config=config) as running:
        yield running


@pytest.fixture(scope="module")
def program(kind, router):
    running = Program(kind, router.url, MODEL)
    yield running
    running.close()


def test_chat(program):
    answer = program.ask("chat")
    assert answer["text"]
    assert answer["tokens"] == 8


def test_stream(program):
    answer = program.ask("stream")
    assert answer["pieces"] > 1
    assert answer["text"] == program.ask("chat")["text"]


def test_tool(program):
    answer = program.ask("tool")
    assert answer["name"] == "open_gate"
    assert answer["arguments"].keys() == {"centimetres"}, "as the tool's schema asks for"
    assert isinstance(answer["arguments"]["centimetres"], int)


def test_a_missing_model_is_the_clients_own_error(kind, program):
    answer = program.ask("missing_model")
    assert (answer["error"], answer["status"]) == kind.missing_model


def test_a_prompt_above_the_context_is_the_clients_own_error(kind, program):
    answer = program.ask("bad_request")
    assert (answer["error"], answer["status"]) == kind.bad_request


def spend(router):
    """Takes all tokens of the limited tenant and some more. Returns the seconds to wait that a refusal names."""

    def ask(words):
        body = request_bytes(body=chat("river " * words, max_tokens=8), headers={"Authorization": "Bearer limited"})
        return send(router.address, body)

    assert ask(PER_MINUTE + 40).status == 200
    router.wait_for_nothing()
    refused = ask(1)
    assert refused.status == 429
    return int(refused.headers["retry-after"])


def refusals(router):
    return router.metrics().sum("penstock_refusals_total", reason="tenant_tokens")


def test_retry_after_is_honoured(program, router):
    wait = spend(router)
    assert wait > 3, "longer than any client waits by itself"
    before = refusals(router)
    assert program.ask("retry")["seconds"] > wait - 1
    assert refusals(router) == before + 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.jobs], ids=lambda kind: kind.name, indirect=True, scope="module")
def test_a_job_of_files_and_batches(program):
    answer = program.ask("job")
    text = program.ask("chat")["text"]
    assert answer == {"status": "completed", "texts": {"a": text, "b": text}}
