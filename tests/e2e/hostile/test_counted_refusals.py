"""Every answer by which the router refuses a request is counted once, with its status, wherever the request ended."""
import collections
import socket

import pytest
from processes import Router, replicas, wait_until
from raw_http import chat, read_answer, request_bytes
from test_http_table import BODY, CHUNKED, GET, HOST, POST, TABLE, Stream, chunk

KEY = {"Authorization": "Bearer right"}
CONFIG = """
tenants: [{name: team, keys: [right]}]
limits: {max_body: 1MB, max_connections: 8, header_timeout: 1s, body_timeout: 1s}
"""
FORM = {"Content-Type": "multipart/form-data; boundary=b"}

# Requests that are refused, and the status of the refusal.
REFUSED = [
    ("a body too long by its length", request_bytes(headers={"Content-Length": "2000000", **KEY}), 413),
    ("a body too long in chunks", POST + b"Authorization: Bearer right\r\n" + CHUNKED + b"\r\n" + chunk(b" " * 2_000_000), 413),
    ("a head too long", GET + HOST + b"X-A: " + b"a" * 70_000 + b"\r\n\r\n", 431),
    ("a target too long", b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 431),
    ("no request line", b"nonsense\r\n\r\n", 400),
    ("no key", request_bytes(body=BODY), 401),
    ("no key, and leave to send is awaited", request_bytes(headers={"Content-Length": "9", "Expect": "100-continue"}), 401),
    ("no key for models", GET + HOST + b"\r\n", 401),
    ("no key for files", request_bytes("/v1/files", method="GET"), 401),
    ("no key for batches", request_bytes("/v1/batches", method="GET"), 401),
    ("no key for Ollama's models", request_bytes("/api/tags", method="GET"), 401),
    ("no key for Ollama's chat", request_bytes("/api/chat", body=BODY), 401),
    ("a text", request_bytes(body=BODY, headers={"Content-Type": "text/plain", **KEY}), 415),
    ("a coding that nobody knows", request_bytes(body=BODY, headers={"Content-Encoding": "br", **KEY}), 415),
    ("an unknown path", request_bytes("/v1/nothing", body=BODY, headers=KEY), 404),
    ("an unknown model", request_bytes(body=chat(model="none"), headers=KEY), 404),
    ("an unknown model by its path", request_bytes("/v1/models/none", method="GET", headers=KEY), 404),
    ("an unknown model of Ollama's", request_bytes("/api/show", body={"model": "none"}, headers=KEY), 404),
    ("another method", request_bytes(method="PUT", body=BODY, headers=KEY), 405),
    ("files, which are off", request_bytes("/v1/files", method="GET", headers=KEY), 501),
    ("an upload, which is off", request_bytes("/v1/files", body=b"--b", headers={**FORM, **KEY, "Content-Length": "99999"}), 501),
    ("batches, which are off", request_bytes("/v1/batches", method="GET", headers=KEY), 501),
    ("a WebSocket without its handshake", request_bytes("/v1/realtime?model=m", method="GET", headers=KEY), 426),
    ("a head that does not end", GET + HOST, 408),
    ("a body that does not end", request_bytes(headers={"Content-Length": "9", **KEY}), 408),
]


@pytest.fixture(scope="module")
def closed(folder, engine):
    with Router(folder, config=replicas([engine]) + CONFIG) as router:
        yield router


def refusals(router):
    """The refusals that the router counted, by status."""
    counts = collections.Counter()
    for name, labels, value in router.metrics().samples:
        if name == "penstock_responses_total" and labels["status"] >= "400":
            counts[int(labels["status"])] += int(value)
    return counts


def exchange(router, data, statuses):
    with socket.create_connection(router.address, timeout=20) as connection:
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The answer may come before everything was sent.
        stream = Stream(connection)
        assert [read_answer(stream).status for _ in statuses] == statuses


def assert_counts(router, before, expected):
    wait_until(lambda: refusals(router) - before == expected, 10,
               lambda: f"counted {dict(refusals(router) - before)}, not {dict(expected)}")


@pytest.mark.parametrize(("name", "data", "status"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refusal_is_counted_once(closed, name, data, status):
    before = refusals(closed)
    exchange(closed, data, [status])
    assert_counts(closed, before, collections.Counter({status: 1}))


def test_refusals_of_malformed_http_are_counted_once(router):
    before = refusals(router)
    expected = collections.Counter()
    for _, data, statuses, _ in TABLE:
        exchange(router, data, statuses)
        expected.update(status for status in statuses if status >= 400)
    assert_counts(router, before, expected)


def test_connections_that_find_no_place_are_counted(folder, engine):
    config = replicas([engine]) + "limits: {max_connections: 2}\n"
    with Router(folder, config=config) as router:
        before = refusals(router)
        uploads = [socket.create_connection(router.address, timeout=10) for _ in range(2)]
        for connection in uploads:
            connection.sendall(request_bytes(headers={"Content-Length": "9", "Expect": "100-continue"}))
            assert read_answer(connection).status == 100
        # Some get one of the places for pages and are refused by their request, the others at once.
        beyond = [socket.create_connection(router.address, timeout=10) for _ in range(24)]
        for connection in beyond:
            connection.sendall(GET + HOST + b"\r\n")
            assert read_answer(connection).status == 503
        for connection in uploads + beyond:
            connection.close()
        wait_until(lambda: refusals(router)[503] - before[503] == 24, 10, lambda: f"{refusals(router)}")


def test_a_probe_that_finds_no_replica_is_no_refusal(folder):
    with Router(folder, config="replicas: [{url: 'http://127.0.0.1:1'}]\n", ready=False) as router:
        before = refusals(router)
        assert router.get("/readyz")[0] == 503
        assert router.get("/nothing")[0] == 404
        assert_counts(router, before, collections.Counter({404: 1}))
