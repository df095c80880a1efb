"""Configured routes: other paths of engines pass with the limits, keys and tenants of the router."""
import json
import socket
import subprocess

import pytest
from processes import BINARY, Router, replicas, wait_until
from raw_http import request_bytes, send
from scripted_engine import MODEL, ScriptedEngine, http

ROUTES = """
routes:
  - {path: /v1/videos, cost: prompt, fields: [prompt, style], model: "body:model"}
  - {path: /v1/videos/*, methods: [GET, DELETE], model: "query:model"}
  - {path: /generate, model: "fixed:scripted", cost: tokens, tokens: 500}
  - {path: /upload, model: "body:engine"}
tenants:
  - {name: team, keys: [secret], tokens_per_minute: 10k}
models: [{name: nice-name, aliases: [scripted]}]
"""
KEY = {"Authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def routed(folder):
    with ScriptedEngine() as engine:
        config = replicas([engine], model="nice-name", max_context=4096) + ROUTES.replace("secret]", "\"${TEST_KEY}\"]")
        with Router(folder, config=config) as router:
            yield engine, router


@pytest.fixture(scope="module", autouse=True)
def key_in_environment():
    import os

    os.environ["TEST_KEY"] = "secret"
    yield
    del os.environ["TEST_KEY"]


def ask(router, path, body=b"", method="POST", headers=None):
    return send(router.address, request_bytes(path, body, method, {**KEY, **(headers or {})}), method)


def body_of(engine):
    return engine.last.partition(b"\r\n\r\n")[2]


def test_a_post_passes_byte_for_byte_but_for_the_model(routed):
    engine, router = routed
    engine.script = http(200, b"\x00\x01 film", kind="video/mp4", more="x-film: 7\r\n")
    answer = ask(router, "/v1/videos?size=2", b'{"prompt": "a river",  "model" : "nice-name"}')
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"\x00\x01 film", "video/mp4")
    assert answer.headers["x-film"] == "7"
    assert engine.last.startswith(b"POST /v1/videos?size=2 HTTP/1.1")
    assert json.loads(body_of(engine))["prompt"] == "a river"
    assert b'"prompt": "a river",  "model" : ' in body_of(engine)


def test_a_status_of_success_stays(routed):
    engine, router = routed
    engine.script = http(202, {"id": "v1"})
    assert ask(router, "/v1/videos", {"prompt": "x", "model": "nice-name"}).status == 202


@pytest.mark.parametrize("kind", ["application/json", "video/mp4"])
def test_a_status_of_success_stays_where_the_answer_is_long(routed, kind):
    engine, router = routed
    engine.script = http(202, b"[" + b"7," * 900_000 + b"7]", kind=kind)
    answer = ask(router, "/v1/videos", {"prompt": "x", "model": "nice-name"}, headers={"Accept-Encoding": "gzip"})
    assert (answer.status, len(answer.body)) == (202, 1_800_003)


def test_one_caller_takes_no_more_free_places_than_it_leaves(folder):
    config = """
threads: 1
routes: [{path: /own, model: "fixed:scripted"}]
tenants: [{name: a, keys: [a-key]}, {name: b, keys: [b-key]}]
"""

    def begin(router, key):
        connection = socket.create_connection(router.address, timeout=20)
        connection.sendall(request_bytes("/own", {}, headers={"Authorization": f"Bearer {key}"}))
        return connection

    with ScriptedEngine() as engine:
        engine.hang, engine.last_words = True, http(200, {})
        with Router(folder, config=replicas([engine]) + config) as router:
            first = [begin(router, "a-key") for _ in range(32)]
            wait_until(lambda: engine.calls == 32, 20, "32 requests")
            for connection in [begin(router, "a-key") for _ in range(3)]:
                assert b" 429 " in connection.recv(100)
                connection.close()
            other = begin(router, "b-key")
            wait_until(lambda: engine.calls == 33, 20, "one of another caller")
            engine.let_go()
            for connection in [*first, other]:
                assert b" 200 " in connection.recv(100)
                connection.close()


def test_a_get_and_a_delete_name_their_model_in_the_query(routed):
    engine, router = routed
    engine.pages["/v1/videos/7?model=nice-name"] = http(200, {"state": "done"})
    engine.pages["/v1/videos/7?model=scripted"] = http(200, {"state": "done"})
    assert ask(router, "/v1/videos/7?model=nice-name", method="GET").json() == {"state": "done"}
    engine.script = http(200, {"deleted": True})
    assert ask(router, "/v1/videos/7?model=nice-name", method="DELETE").json() == {"deleted": True}
    assert engine.last.startswith(b"DELETE /v1/videos/7?model=")


def test_the_cost_of_a_prompt_is_charged_to_its_tenant(routed):
    engine, router = routed
    engine.script = http(200, {})
    answer = ask(router, "/v1/videos", {"prompt": "word " * 20_000, "model": "nice-name"})
    assert (answer.status, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    left = router.metrics().sum("penstock_tenant_available_tokens", tenant="team")
    assert ask(router, "/generate", {"anything": 1}).status == 200
    assert router.metrics().sum("penstock_tenant_available_tokens", tenant="team") < left


def test_a_form_names_its_model_in_a_part(routed):
    engine, router = routed
    engine.script = http(200, {"ok": True})
    form = b'--B\r\nContent-Disposition: form-data; name="engine"\r\n\r\nnice-name\r\n--B--\r\n'
    answer = ask(router, "/upload", form, headers={"Content-Type": "multipart/form-data; boundary=B"})
    assert answer.status == 200, answer.body
    assert b'name="engine"' in body_of(engine)


@pytest.mark.parametrize("case", [
    ("POST", "/v1/videos", b"{", 400, "invalid_json"),
    ("POST", "/v1/videos", b"[]", 400, "invalid_json"),
    ("POST", "/v1/videos", b'{"model": "nice-name"}', 400, "missing_required_parameter"),
    ("POST", "/v1/videos", b'{"prompt": "x"}', 400, "missing_required_parameter"),
    ("POST", "/v1/videos", b'{"prompt": "x", "model": 7}', 400, "invalid_type"),
    ("POST", "/v1/videos", b'{"prompt": "x", "model": "a", "mod\\u0065l": "b"}', 400, "duplicate_key"),
    ("POST", "/v1/videos", b'{"prompt": "x", "model": "stranger"}', 404, "model_not_found"),
    ("POST", "/v1/videos", b'{"prompt": "\xff", "model": "nice-name"}', 400, "invalid_json"),
    ("PUT", "/v1/videos", b"{}", 405, "method_not_allowed"),
    ("GET", "/v1/videos/7", b"", 400, "missing_required_parameter"),
    ("GET", "/v1/videos/7?model=a&model=b", b"", 400, "duplicate_key"),
    ("GET", "/v1/videos/7?model=%zz", b"", 400, "missing_required_parameter"),
    ("GET", "/v1/videos/../models?model=nice-name", b"", 404, "not_found"),
    ("GET", "/v1/videos/%2e%2e/models?model=nice-name", b"", 404, "not_found"),
    ("GET", "/v1/videos/..%2fmodels?model=nice-name", b"", 404, "not_found"),
    ("GET", "/v1/films/7?model=nice-name", b"", 404, "not_found"),
], ids=lambda case: f"{case[0]} {case[1]} {case[2][:40]!r}")
def test_bad_input_is_named(routed, case):
    engine, router = routed
    method, path, body, status, code = case
    calls = engine.calls
    answer = ask(router, path, body, method)
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)
    assert engine.calls == calls


def test_a_body_of_another_type_is_refused_where_the_model_is_in_it(routed):
    _, router = routed
    answer = ask(router, "/v1/videos", b"hello", headers={"Content-Type": "text/plain"})
    assert (answer.status, answer.json()["error"]["code"]) == (415, "unsupported_media_type")


def test_a_wrong_method_names_all_methods_of_the_path(routed):
    _, router = routed
    answer = ask(router, "/v1/videos/7", b"{}")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, DELETE")


def test_a_key_is_needed_as_anywhere(routed):
    _, router = routed
    answer = send(router.address, request_bytes("/generate", {}))
    assert answer.status == 401


def test_an_engine_without_the_path_is_named(routed):
    engine, router = routed
    engine.script = http(404, {"detail": "Not Found"})
    answer = ask(router, "/generate", {"x": 1})
    assert answer.status == 404
    assert answer.json()["error"]["message"] == "No engine of `scripted` serves /generate."


@pytest.mark.parametrize(("path", "status"), [("/generate", 307), ("/upload", 301), ("/upload", 304), ("/upload", 307)])
def test_redirects_are_named_and_take_no_replica_down(routed, path, status):
    engine, router = routed
    engine.script = http(status, b"", more="Location: http://10.0.0.7/generate\r\n")
    faults = router.metrics().sum("penstock_engine_errors_total")
    calls = engine.calls
    for _ in range(4):
        answer = ask(router, path, {"engine": "nice-name"})
        error = answer.json()["error"]
        assert (answer.status, error["code"], answer.headers["x-should-retry"]) == (502, "engine_error", "false")
        assert f"redirects the request with status {status}" in error["message"]
        assert b"10.0.0.7" not in answer.body and "location" not in answer.headers
    assert engine.calls - calls == 4
    engine.script = http(200, {"ok": True})
    assert ask(router, path, {"engine": "nice-name"}).status == 200
    metrics = router.metrics()
    assert metrics.sum("penstock_replica_up") == 1
    assert metrics.sum("penstock_engine_errors_total") == faults


def test_a_post_that_the_engine_lost_is_not_sent_again(routed):
    engine, router = routed
    engine.script = b""
    calls = engine.calls
    answer = ask(router, "/generate", {"x": 1})
    assert (answer.status, engine.calls - calls) == (502, 1)
    assert answer.headers["x-should-retry"] == "false"


def test_an_answer_that_breaks_off_reaches_no_end(routed):
    engine, router = routed
    engine.script = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    with pytest.raises(AssertionError, match="without its last chunk|within a chunk"):
        ask(router, "/generate", {"x": 1})


def test_counts_have_names_of_their_own(routed):
    _, router = routed
    router.wait_for_nothing()
    metrics = router.metrics()
    assert metrics.sum("penstock_requests_total", endpoint="route") > 0
    assert metrics.sum("penstock_requests_total", endpoint="free_route") > 0


BAD_RULES = {
    "{path: v1/x}": "must begin with /",
    "{path: /v1/x/../y}": "no part . or ..",
    "{path: /v1//x}": "no empty part",
    "{path: /v1/*/x}": "letters, digits",
    "{path: /v1/chat/completions}": "takes /v1/chat/completions",
    "{path: /v1/*}": "takes /v1/",
    "{path: /metrics}": "takes /metrics",
    "{path: /x, methods: [PUT]}": 'unknown method "PUT"',
    "{path: /x, methods: []}": "must not be empty",
    "{path: /x, methods: [GET]}": "query:NAME or fixed:MODEL",
    "{path: /x, model: header}": "body:FIELD, query:NAME or fixed:MODEL",
    "{path: /x, cost: prompt}": "fields: is required with cost: prompt",
    "{path: /x, cost: tokens}": "tokens: is required with cost: tokens",
    "{path: /x, fields: [a]}": "needs cost: prompt",
    "{path: /x, tokens: 7}": "needs cost: tokens",
    "{path: /x}, {path: /x}": "first used by routes[0]",
    "{}": "path: is required",
}


@pytest.mark.parametrize("rule", list(BAD_RULES))
def test_a_bad_rule_is_a_finding_of_check(tmp_path, rule):
    path = tmp_path / "bad.yml"
    path.write_text(f"replicas: [{{url: http://127.0.0.1:9}}]\nroutes: [{rule}]\n")
    check = subprocess.run([BINARY, "check", path], capture_output=True, text=True, timeout=60, check=False)
    assert check.returncode != 0
    assert BAD_RULES[rule] in check.stdout + check.stderr
