"""Pages of other origins: preflights, answers, streams and errors, by the configuration."""
import pytest
from processes import Router, replicas
from raw_http import chat, request_bytes, send

ORIGIN = {"Origin": "https://chat.example.org"}
CORS = """
cors: {origins: ["https://chat.example.org"], headers: [authorization, content-type], expose: [x-trace], max_age: 5m}
"""


@pytest.fixture(scope="module")
def open_router(folder, engine):
    with Router(folder, config=replicas([engine]) + CORS) as router:
        yield router


def ask(router, path="/v1/chat/completions", body=None, method="POST", headers=None):
    data = request_bytes(path, chat(max_tokens=4) if body is None else body, method, {**ORIGIN, **(headers or {})})
    return send(router.address, data, method)


def preflight(router, path="/v1/chat/completions", method="POST", headers=None):
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "content-type"}
    return ask(router, path, b"", "OPTIONS", {**asked, **(headers or {})})


def test_a_preflight_is_answered_without_a_body(open_router):
    answer = preflight(open_router)
    assert answer.status == 204
    assert "content-length" not in answer.headers
    assert answer.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert answer.headers["access-control-allow-methods"] == "POST"
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
    assert answer.headers["access-control-max-age"] == "300"
    assert "Origin" in answer.headers["vary"].split(", ")


@pytest.mark.parametrize("body", [chat(max_tokens=4), chat(max_tokens=4, stream=True), b"{", chat(model="stranger")],
                         ids=["whole", "stream", "error", "refusal"])
def test_every_answer_may_be_read(open_router, body):
    answer = ask(open_router, body=body)
    assert answer.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert "x-request-id" in answer.headers["access-control-expose-headers"]
    assert "x-trace" in answer.headers["access-control-expose-headers"]
    assert "Origin" in answer.headers["vary"].split(", ")


def test_a_fault_before_the_body_may_be_read_too(open_router):
    answer = ask(open_router, headers={"Content-Length": "99999999999"})
    assert answer.status == 413
    assert answer.headers["access-control-allow-origin"] == ORIGIN["Origin"]


def test_the_list_of_models_may_be_read(open_router):
    assert "access-control-allow-origin" in ask(open_router, "/v1/models", b"", "GET").headers


def test_another_origin_may_not_read(open_router):
    for answer in [ask(open_router, headers={"Origin": "https://evil.example"}),
                   preflight(open_router, headers={"Origin": "https://evil.example"})]:
        assert not any(name.startswith("access-control") for name in answer.headers)
        assert "Origin" in answer.headers["vary"].split(", ")


def test_the_page_and_the_metrics_stay_with_their_own_origin(open_router):
    for path in ["/metrics", "/penstock/state", "/healthz"]:
        assert not any(name.startswith("access-control") for name in ask(open_router, path, b"", "GET").headers)


def test_an_unknown_path_is_404_that_may_be_read(open_router):
    answer = ask(open_router, "/v1/nothing", {})
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (404, ORIGIN["Origin"])


def test_nothing_is_said_without_the_section(router):
    answer = ask(router)
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert "Origin" not in answer.headers.get("vary", "")
    assert preflight(router).status == 405


def test_everybody_is_a_star_that_varies_by_no_origin(folder, engine):
    with Router(folder, config=replicas([engine]) + "cors: {origins: ['*']}\n") as router:
        answer = ask(router)
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "Origin" not in answer.headers.get("vary", "")
        assert preflight(router).headers["access-control-allow-headers"] == "content-type"
