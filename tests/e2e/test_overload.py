"""Load over the router's limits: it refuses fast, and other requests stay fast."""
import socket
import threading
import time

import pytest
from processes import Engine, Router, replicas, wait_until
from raw_http import chat, request_bytes, send

pytestmark = pytest.mark.alone


def timed(action):
    begin = time.monotonic()
    value = action()
    return value, time.monotonic() - begin


@pytest.fixture(scope="module")
def slow_engine(folder):
    with Engine(folder, max_seqs=1) as running:
        yield running


def test_a_full_queue_refuses_at_once_and_stays_responsive(folder, slow_engine):
    limit = 20
    config = replicas([slow_engine], max_seqs=1) + f"limits: {{max_queued_requests: {limit}}}\n"
    with Router(folder, config=config) as router:
        asking = [socket.create_connection(router.address, timeout=30) for _ in range(limit + 1)]
        for connection in asking:
            connection.sendall(request_bytes(body=chat(max_tokens=6000, stream=True)))
        router.wait_for_count("penstock_queued_requests", limit)
        assert router.metrics().sum("penstock_fill_ratio", of="queued_requests") == 1
        for _ in range(10):
            answer, seconds = timed(lambda: send(router.address, request_bytes(body=chat(max_tokens=1))))
            assert answer.status == 429
            assert answer.headers["x-penstock-reason"] == "queue_full"
            assert int(answer.headers["retry-after"]) >= 1
            assert seconds < 1
        for path in ("/healthz", "/metrics"):
            (status, _, _), seconds = timed(lambda: router.get(path))
            assert status == 200 and seconds < 1, path
        asking.pop().close()
        wait_until(lambda: router.metrics().sum("penstock_queued_requests") < limit, 20, "one place is free")
        late = socket.create_connection(router.address, timeout=30)
        late.sendall(request_bytes(body=chat(max_tokens=1)))
        router.wait_for_count("penstock_queued_requests", limit)
        for connection in [*asking, late]:
            connection.close()
        router.wait_for_nothing([slow_engine])


def test_readers_that_take_nothing_hold_up_nobody(folder):
    with Engine(folder, max_seqs=64, time_scale=20) as engine:
        with Router(folder, config=replicas([engine]) + "limits: {write_timeout: 2s}\n") as router:
            stuck = []
            for _ in range(8):
                connection = socket.socket()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                connection.connect(router.address)
                connection.sendall(request_bytes(body=chat(max_tokens=6000, stream=True)))
                stuck.append(connection)
            wait_until(lambda: engine.running() >= 8, 20, "they run")
            for _ in range(5):
                answer, seconds = timed(lambda: send(router.address, request_bytes(body=chat(max_tokens=20))))
                assert answer.status == 200 and seconds < 3
            for connection in stuck:
                connection.close()
            router.wait_for_nothing([engine])


@pytest.mark.parametrize("words", [b"", b"POST /v1/chat/completions HT"], ids=["silent", "half a head"])
def test_connections_without_a_request_make_room_for_one_with_a_request(folder, slow_engine, words):
    with Router(folder, config=replicas([slow_engine]) + "limits: {max_connections: 50}\n") as router:
        held = []
        for _ in range(120):  # Those beyond the limit are for health and metrics.
            connection = socket.create_connection(router.address, timeout=5)
            connection.sendall(words)
            held.append(connection)
        for _ in range(5):
            wait_until(lambda: send(router.address, request_bytes(body=chat(max_tokens=1))).status == 200, 5, "room")
        for connection in held:
            connection.close()


def test_a_flood_of_connections_leaves_health_and_metrics_reachable(folder, slow_engine):
    with Router(folder, config=replicas([slow_engine]) + "limits: {max_connections: 50}\n") as router:
        stop = threading.Event()

        def flood():
            while not stop.is_set():
                try:
                    send(router.address, request_bytes("/v1/models", method="GET"), timeout=5)
                except (OSError, AssertionError):
                    pass

        held = [socket.create_connection(router.address, timeout=5) for _ in range(48)]
        for connection in held:  # An idle connection would make room.
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nContent-Length: 10\r\n\r\n")
        floods = [threading.Thread(target=flood) for _ in range(8)]
        for thread in floods:
            thread.start()
        try:
            for _ in range(10):
                (status, _, _), seconds = timed(lambda: router.get("/healthz"))
                assert status == 200 and seconds < 2
            wait_until(lambda: router.metrics().sum("penstock_turned_away_total", limit="connections") > 0, 20, "some are refused")
        finally:
            stop.set()
            for thread in floods:
                thread.join()
            for connection in held:
                connection.close()
        # The router has noticed by then that the clients are gone.
        wait_until(
            lambda: send(router.address, request_bytes(body=chat(max_tokens=1))).status == 200, 20, "there is room again"
        )
