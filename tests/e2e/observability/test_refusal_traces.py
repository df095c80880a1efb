"""A refusal leaves its trace wherever it happens: in the counters, in the log and in the access line."""
import hashlib
import json
import re
import socket

import pytest
from processes import Router, replicas, wait_until
from raw_http import read_answer, request_bytes, send
from test_log import access_lines, lines_of

PATHS = ["/v1/models", "/v1/models/any", "/v1/files", "/v1/batches", "/api/tags", "/v1/responses/resp_1", "/penstock/state"]
ADMIN = hashlib.sha256(b"key-of-admin").hexdigest()
KEYS = f"tenants: [{{name: team, keys: [key-of-team]}}]\nadmin_keys: ['sha256:{ADMIN}']\nlog: {{access: true}}\n"
BOUNDARY = "penstock-boundary"


def connect(router):
    return socket.create_connection(router.address, timeout=30)


@pytest.fixture(scope="module")
def keyed(folder, engine):
    with Router(folder, config=replicas([engine]) + KEYS + f"state: {{path: {folder}/refusal-jobs}}\n") as running:
        yield running


@pytest.mark.parametrize("path", PATHS)
def test_a_wrong_key_is_counted_and_named(keyed, path):
    def count():
        return keyed.metrics().sum("penstock_refusals_total", reason="invalid_key")

    def named(event):
        return [line for line in lines_of(keyed.log()) if line["event"] == event and line.get("request") == name]

    before, name = count(), "r" + path.replace("/", "-")
    answer = send(keyed.address, request_bytes(path, b"", "GET", {"Authorization": "Bearer wrong", "x-request-id": name}), "GET")
    assert answer.status == 401 and answer.headers["x-penstock-reason"] == "invalid_key"
    wait_until(lambda: count() == before + 1, 20, keyed.log)
    wait_until(lambda: named("access"), 20, keyed.log)
    assert named("access")[0]["reason"] == "invalid_key"
    # Five lines a second are written.
    (refused,) = named("refuse") or [{}]
    assert refused.get("reason", "invalid_key") == "invalid_key" and refused.get("client", "127.0.0.1") == "127.0.0.1"


def test_a_flood_of_wrong_keys_is_a_few_lines(folder, engine):
    with Router(folder, config=replicas([engine]) + KEYS) as router:
        for _ in range(40):
            assert send(router.address, request_bytes("/v1/models", b"", "GET", {"Authorization": "Bearer x"}), "GET").status == 401
        wait_until(lambda: router.metrics().sum("penstock_refusals_total", reason="invalid_key") == 40, 20, router.log)
        refused = [line for line in lines_of(router.log()) if line["event"] == "refuse"]
        assert 5 <= len(refused) <= 20
        assert {line["reason"] for line in refused} == {"invalid_key"} and "Bearer" not in router.log()


def test_the_line_of_an_upload_has_all_its_bytes(folder, engine):
    config = replicas([engine]) + "log: {access: true}\n" + f"state: {{path: {folder}/line-jobs}}\n"
    field = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    file = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    body = (field + file).encode() + json.dumps({"a": "x" * 700_000}).encode() + f"\r\n--{BOUNDARY}--\r\n".encode()
    with Router(folder, config=config) as router:
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        answer = send(router.address, request_bytes("/v1/files", body, headers=headers), timeout=60)
        assert answer.status == 200, answer.body
        (line,) = access_lines(router, 1)
        assert line["bytes_received"] == len(body)


def test_a_path_in_the_log_has_no_user_and_no_fragment(folder, engine):
    with Router(folder, config=replicas([engine]) + "log: {access: true}\n") as router:
        send(router.address, b"GET http://user:secret@h/v1/models HTTP/1.1\r\nHost: h\r\n\r\n", "GET")
        send(router.address, b"GET /v1/models#secret HTTP/1.1\r\nHost: h\r\n\r\n", "GET")
        assert {line["path"] for line in access_lines(router, 2)} == {"/v1/models"}
        assert "secret" not in router.log()


def test_the_missing_body_of_a_refused_request_is_too_slow(folder, engine):
    limits = "limits: {body_timeout: 1s}\n"
    with Router(folder, config=replicas([engine]) + limits) as router, connect(router) as connection:
        connection.sendall(b"POST /v1/nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345")
        assert read_answer(connection).status == 404
        assert connection.recv(1) == b""
        wait_until(lambda: router.metrics().sum("penstock_bad_input_total", kind="too_slow") == 1, 20, router.log)


def test_answered_refusals_do_not_hold_a_drain_or_a_place(folder, engine):
    limits = "limits: {max_connections: 8}\n"
    with Router(folder, config=replicas([engine]) + limits) as router:
        held = [connect(router) for _ in range(6)]
        for connection in held:
            connection.sendall(b"POST /v1/nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n")
            assert read_answer(connection).status == 404
        # More than one address may have: the oldest of them go.
        assert all(router.get("/v1/models")[0] == 200 for _ in range(4))
        with_places = [connect(router) for _ in range(4)]
        for connection in with_places:
            connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n")
            assert read_answer(connection).status == 200
        assert router.stop() == 0
        # The last answer may still be counted when its client has read it.
        assert re.search("draining, (0 requests|1 request) to finish", router.log()), router.log()
        for connection in [*held, *with_places]:
            connection.close()
