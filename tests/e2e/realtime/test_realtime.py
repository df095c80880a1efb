"""WebSockets pass through with a lease, limits and metrics of their own."""
import base64
import contextlib
import os
import signal
import socket
import time

import pytest
from processes import Router, replicas, wait_until
from realtime_engine import MODEL, RealtimeEngine
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect


@pytest.fixture(scope="module")
def voice():
    with RealtimeEngine() as running:
        yield running


@pytest.fixture
def router(folder, voice):
    with Router(folder, config=replicas([voice])) as running:
        yield running
        running.wait_for_count("penstock_realtime_open", 0)
        running.wait_for_nothing()


def link(router, model=MODEL, **more):
    more = {"open_timeout": 20, "close_timeout": 5, "proxy": None, "max_size": None, **more}
    return connect(f"ws://127.0.0.1:{router.port}/v1/realtime?model={model}", **more)


def refused(router, **more):
    with pytest.raises(InvalidStatus) as caught:
        link(router, **more)
    return caught.value.response


def raw(router, *fields, line="GET /v1/realtime?model=voice-1 HTTP/1.1", after=b""):
    """The status line of the answer to a head."""
    head = "\r\n".join([line, "Host: x", *fields, "", ""]).encode()
    with socket.create_connection(router.address, timeout=20) as connection:
        connection.sendall(head + after)
        return connection.recv(65536).split(b"\r\n")[0].decode()


UPGRADE = ("Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
           "Sec-WebSocket-Key: " + base64.b64encode(bytes(16)).decode())


def test_messages_pass_both_ways(router, voice):
    with link(router, subprotocols=["realtime"]) as client:
        assert client.subprotocol == "realtime"
        for text in ["hello", "ä" * 1000, "x" * 300_000]:
            client.send(text)
            assert client.recv(timeout=20) == "echo: " + text
        for size in [0, 1, 65_536, 3_000_000]:
            data = os.urandom(size)
            client.send(data)
            assert client.recv(timeout=20) == data
        client.ping().wait(20)
    path, head = voice.heads[-1]
    assert path == f"/v1/realtime?model={MODEL}"
    router.wait_for_count("penstock_realtime_total", 1)
    assert router.metrics().sum("penstock_realtime_bytes_total") > 6_000_000
    router.wait_for_count("penstock_requests_total", 1, endpoint="realtime", outcome="ok")


def test_a_close_of_the_engine_reaches_the_client_with_its_code(router):
    with link(router) as client:
        client.send("close")
        with pytest.raises(ConnectionClosed) as caught:
            client.recv(timeout=20)
    assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (4001, "asked for it")
    wait_until(lambda: router.metrics().sum("penstock_realtime_total") == 1, 20, router.log)


def test_an_open_socket_has_a_lease_and_a_line_of_the_log(folder, voice):
    with Router(folder, config=replicas([voice], kv_tokens=100_000) + "log: {access: true}\n") as router:
        with link(router) as client:
            client.send("hello")
            client.recv(timeout=20)
            router.wait_for_count("penstock_replica_running_requests", 1)
            router.wait_for_count("penstock_realtime_open", 1)
            assert router.promised() > 0
        router.wait_for_nothing()
        router.wait_for_log('"path":"/v1/realtime"', '"status":101', f'"model":"{MODEL}"')


def test_the_engine_is_left_when_the_client_vanishes(router, voice):
    with link(router, close_timeout=0.1) as client:
        client.send("silent")
        wait_until(lambda: voice.open == 1, 20, "no connection at the engine")
        client.socket.shutdown(socket.SHUT_RDWR)
    wait_until(lambda: voice.open == 0, 20, "the engine still has the connection")


def test_a_socket_without_traffic_ends(folder, voice):
    with Router(folder, config=replicas([voice]) + "realtime: {idle: 1s}\n") as router:
        with link(router, ping_interval=None) as client:
            client.send("hello")
            client.recv(timeout=20)
            with pytest.raises(ConnectionClosed):
                client.recv(timeout=20)
        router.wait_for_count("penstock_realtime_total", 1, end="idle")


def test_a_socket_ends_after_its_longest_time(folder, voice):
    with Router(folder, config=replicas([voice]) + "realtime: {time: 1s}\n") as router:
        with link(router) as client:
            with pytest.raises(ConnectionClosed):
                while True:
                    client.send("hello")
                    client.recv(timeout=20)
        router.wait_for_count("penstock_realtime_total", 1, end="time")


def test_more_sockets_than_the_limit_are_turned_away(folder, voice):
    with Router(folder, config=replicas([voice]) + "realtime: {connections: 1}\n") as router:
        with link(router):
            answer = refused(router)
            assert answer.status_code == 503 and answer.headers["retry-after"]
        router.wait_for_count("penstock_turned_away_total", 1, limit="realtime")
        router.wait_for_count("penstock_realtime_open", 0)
        with link(router) as client:
            client.send("again")
            assert client.recv(timeout=20) == "echo: again"


def test_one_caller_leaves_a_quarter_of_the_sockets(folder, voice):
    tenants = "tenants:\n  - {name: a, keys: [secret-a]}\n  - {name: b, keys: [secret-b]}\n"
    of = {name: {"additional_headers": {"Authorization": f"Bearer secret-{name}"}} for name in "ab"}
    with Router(folder, config=replicas([voice]) + tenants + "realtime: {connections: 4}\n") as router:
        with contextlib.ExitStack() as held:
            for _ in range(3):
                held.enter_context(link(router, **of["a"]))
            answer = refused(router, **of["a"])
            assert answer.status_code == 503 and answer.headers["x-penstock-reason"] == "realtime"
            assert answer.headers["retry-after"]
            held.enter_context(link(router, **of["b"]))
            router.wait_for_count("penstock_realtime_open", 4)
            router.wait_for_count("penstock_turned_away_total", 1, limit="realtime")
        router.wait_for_count("penstock_realtime_open", 0)
        with link(router, **of["a"]) as client:
            client.send("again")
            assert client.recv(timeout=20) == "echo: again"


def test_keys_that_a_caller_makes_up_are_no_callers(folder, voice):
    made_up = ({"additional_headers": {"Authorization": f"Bearer made-up-{count}"}} for count in range(10))
    with Router(folder, config=replicas([voice]) + "realtime: {connections: 4}\n") as router:
        with contextlib.ExitStack() as held:
            for _ in range(3):
                held.enter_context(link(router, **next(made_up)))
            assert refused(router, **next(made_up)).status_code == 503


def test_a_client_that_takes_nothing_stops_the_engine_and_holds_little_memory(router):
    with link(router, max_queue=1) as client:
        client.send("flood")
        router.wait_for_count("penstock_realtime_open", 1)

        def passed():
            return router.metrics().sum("penstock_realtime_bytes_total", to="client")

        last = -1
        while last != (now := passed()):
            last = now
            time.sleep(0.2)  # The flow has stopped when two looks are equal.
        assert last < 256 * 65536 * 0.9
        assert sum(len(client.recv(timeout=20)) for _ in range(257)) == 256 * 65536 + 3


STILL = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="llama-3.1-8b"} 1.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="llama-3.1-8b"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="llama-3.1-8b"} 0.1
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="llama-3.1-8b"} 7.0
"""


def test_a_silent_socket_does_not_make_its_engine_suspect(folder):
    """The figures of an engine stand still while its sockets are silent."""
    config = "limits: {hang_after: 1s}\npoll: {interval: 200ms}\nrealtime: {idle: 8s}\n"
    with RealtimeEngine(name="llama-3.1-8b", metrics=STILL) as engine:
        with Router(folder, config=replicas([engine], engine="vllm", kv_tokens=100_000, gpus="[a]") +
                    "gpus: [{id: a, kind: a100-80}]\n" + config) as router:
            with link(router, model="llama-3.1-8b", ping_interval=None) as client:
                with pytest.raises(ConnectionClosed):
                    client.recv(timeout=30)
            router.wait_for_count("penstock_realtime_total", 1, end="idle")
            assert router.metrics().sum("penstock_replica_up") == 1
            assert "hung" not in router.log() and "probation" not in router.log(), router.log()


def test_a_terminated_router_ends_its_sockets_and_counts_them_as_cut(folder, voice):
    router = Router(folder, config=replicas([voice]) + "limits: {drain_timeout: 1s}\n")
    with link(router) as client:
        client.send("hello")
        client.recv(timeout=20)
        router.signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=20)
    assert router.process.wait(20) == 3, router.log()
    assert "1 request was cut" in router.log()
    wait_until(lambda: voice.open == 0, 20, "the engine still has the connection")


def test_keys_of_tenants_come_in_a_header_or_as_a_protocol(folder, voice):
    tenants = "tenants:\n  - {name: a, keys: [secret-a]}\n"
    with Router(folder, config=replicas([voice]) + tenants) as router:
        assert refused(router).status_code == 401
        with link(router, additional_headers={"Authorization": "Bearer secret-a"}):
            pass
        with link(router, subprotocols=["realtime", "openai-insecure-api-key.secret-a"]) as client:
            assert client.subprotocol == "realtime"
        assert all("secret-a" not in str(head) for _, head in voice.heads)
        router.wait_for_count("penstock_tenant_requests_total", 2, tenant="a", outcome="ok")


def test_an_engine_that_stays_with_http_is_an_error(folder):
    for status in (400, 404, 500):
        with RealtimeEngine(refuse=status) as engine, Router(folder, config=replicas([engine])) as router:
            assert refused(router).status_code >= 400
            assert router.metrics().sum("penstock_realtime_total") == 0
            router.wait_for_nothing()


def test_failed_handshakes_do_not_take_a_healthy_engine_down(folder):
    with RealtimeEngine(refuse=200) as engine, Router(folder, config=replicas([engine])) as router:
        router.wait_for_count("penstock_replica_up", 1)
        for _ in range(8):
            assert refused(router).status_code == 502
        assert router.wait_for_nothing().sum("penstock_replica_up") == 1
        assert "replica is down" not in router.log() and "probation" not in router.log()


@pytest.mark.parametrize("falsify", [{"Sec-WebSocket-Accept": "AAAA"}, {"Sec-WebSocket-Protocol": "evil"},
                                     {"Sec-WebSocket-Extensions": "x-evil"}], ids=lambda fields: next(iter(fields)).lower())
def test_a_handshake_that_does_not_fit_the_offer_fails(folder, voice, falsify):
    with RealtimeEngine(falsify=falsify) as bad:
        with Router(folder, config=replicas([bad])) as router:
            answer = refused(router)
            assert answer.status_code == 502 and b"handshake" in answer.body, answer.body
            router.wait_for_count("penstock_engine_errors_total", 1, kind="garbage")
            assert router.wait_for_nothing().sum("penstock_replica_up") == 1
            assert router.metrics().sum("penstock_realtime_total") == 0
        with Router(folder, config=replicas([bad, voice])) as router:
            router.wait_for_count("penstock_replica_up", 2)
            for _ in range(4):
                with link(router) as client:
                    client.send("hello")
                    assert client.recv(timeout=20) == "echo: hello"
            assert router.metrics().sum("penstock_engine_errors_total", kind="garbage") > 0


def test_a_handshake_that_an_engine_forbids_has_no_endpoint(folder):
    with RealtimeEngine(refuse=403) as engine, Router(folder, config=replicas([engine])) as router:
        assert refused(router).status_code == 404


def test_a_model_that_nobody_has_is_refused(router):
    assert refused(router, model="nobody").status_code == 404
    assert raw(router, *UPGRADE, line="GET /v1/realtime HTTP/1.1").startswith("HTTP/1.1 400")
    assert raw(router, *UPGRADE, line="GET /v1/realtime?model=a&model=b HTTP/1.1").startswith("HTTP/1.1 400")


def test_a_bad_handshake_is_named(router):
    assert raw(router).startswith("HTTP/1.1 426")
    assert raw(router, *UPGRADE[1:]).startswith("HTTP/1.1 426")
    assert raw(router, *UPGRADE[:2], "Sec-WebSocket-Version: 8", UPGRADE[3]).startswith("HTTP/1.1 426")
    assert raw(router, *UPGRADE[:3], "Sec-WebSocket-Key: short").startswith("HTTP/1.1 400")
    assert raw(router, *UPGRADE, UPGRADE[3]).startswith("HTTP/1.1 400")
    assert raw(router, *UPGRADE, line="POST /v1/realtime?model=voice-1 HTTP/1.1").startswith("HTTP/1.1 405")
    assert router.metrics().sum("penstock_bad_input_total", kind="malformed_http") == 5


def test_bytes_that_are_no_frames_end_at_the_engine_only(router):
    """Frames pass unread: the engine refuses them, and the router stays well."""
    for garbage in (b"\xff" * 5000, b"GET / HTTP/1.1\r\n\r\n", os.urandom(9000)):
        with socket.create_connection(router.address, timeout=20) as connection:
            connection.sendall("\r\n".join(["GET /v1/realtime?model=voice-1 HTTP/1.1", "Host: x", *UPGRADE, "", ""]).encode() + garbage)
            data = b""
            while chunk := connection.recv(65536):
                data += chunk
            assert data.startswith(b"HTTP/1.1 101")
    with link(router) as client:
        client.send("still there")
        assert client.recv(timeout=20) == "echo: still there"
