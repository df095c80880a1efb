"""A reset that comes together with data is noticed at once: of clients and of engines, in the clear and over TLS.

The deadlines of the router are a minute here, so only the reset itself can end a request.
"""
import json
import socket
import ssl
import struct
import threading
import time

import pytest
from processes import ROOT, Process, free_port, wait_until
from raw_http import chat, request_bytes
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, event

TLS = ROOT / "tests/data/tls"
PATIENCE = 20  # Seconds for what a busy machine does slowly: connecting, asking.
SOON = 2  # Seconds from a reset to its end here. A turn of the loop is meant; the rest is for a busy machine.
LIMITS = "limits: {first_byte_timeout: 60s, gap_timeout: 60s, write_timeout: 60s, keepalive_after: 60s}\n"


def reset(connection):
    """Closes with a reset. Bytes that were just sent travel right before it."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class SecureEngine(ScriptedEngine):
    """The same over TLS."""

    def __init__(self):
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(TLS / "server.pem", TLS / "server.key")
        super().__init__()

    def url_of(self):
        return f"https://127.0.0.1:{self.address[1]}"

    def _serve(self, connection):
        try:
            super()._serve(self._tls.wrap_socket(connection, server_side=True))
        except OSError:
            connection.close()


class ResetRouter(Process):
    """A router with both listeners, in the clear or over TLS, and the status pages beside them."""

    def __init__(self, folder, engine, secure):
        self.client_port, admin = free_port(), free_port()
        path = folder / f"resets-{self.client_port}.yml"
        engine_tls = f", tls: {{ca: {TLS}/ca.pem}}" if secure else ""
        listener_tls = f"tls: {{certificate: {TLS}/server.pem, key: {TLS}/server.key}}\n" if secure else ""
        path.write_text(
            f"listen: 127.0.0.1:{self.client_port}\nadmin_listen: 127.0.0.1:{admin}\n{listener_tls}{LIMITS}"
            f"replicas:\n  - {{id: r, url: '{engine.url}', engine: openai, model: {MODEL}, kv_tokens: 1000000{engine_tls}}}\n"
        )
        self.secure = secure
        super().__init__(["serve", "--config", str(path)], admin, folder / f"resets-{self.client_port}.log")
        self.wait_for("/readyz")

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.client_port), timeout=20)
        if not self.secure:
            return plain
        return ssl.create_default_context(cafile=TLS / "ca.pem").wrap_socket(plain, server_hostname="127.0.0.1")

    def in_flight(self):
        metrics = self.metrics()
        return metrics.sum("penstock_replica_running_requests") + metrics.sum("penstock_queued_requests")


@pytest.fixture(scope="module", params=[False, True], ids=["clear", "tls"])
def engine(request):
    with (SecureEngine() if request.param else ScriptedEngine()) as running:
        running.secure = request.param
        yield running


@pytest.fixture(scope="module")
def router(folder, engine):
    with ResetRouter(folder, engine, engine.secure) as running:
        yield running


@pytest.fixture(autouse=True)
def whole_again(router, engine):
    engine.script, engine.reset, engine.hang, engine.goodbye = b"", False, False, False
    router.wait_for_count("penstock_replica_up", 1)
    yield
    engine.let_go()


def answers(router, data, count):
    """The bytes of `count` answers, and the seconds from the time when all were asked for until the last of them ended."""
    found = [b""] * count
    asked = threading.Barrier(count + 1)

    def ask(i):
        with router.connect() as connection:
            connection.settimeout(30)
            connection.sendall(data)
            asked.wait(PATIENCE)
            try:
                while more := connection.recv(65536):
                    found[i] += more
            except OSError:
                pass

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    asked.wait(PATIENCE)
    begin = time.monotonic()
    for thread in threads:
        thread.join(40)
    return found, time.monotonic() - begin


def test_clients_that_die_with_more_bytes_while_they_wait_are_noticed(router, engine):
    engine.hang = True
    before = engine.calls
    data = request_bytes(body=chat(model=MODEL, max_tokens=5))
    connections = [router.connect() for _ in range(20)]
    for connection in connections:
        connection.sendall(data)
    wait_until(lambda: engine.calls == before + 20, PATIENCE, "the engine has all requests")
    for connection in connections:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\n")
        reset(connection)
    wait_until(lambda: router.in_flight() == 0, SOON, lambda: f"{router.in_flight()} dead clients wait")
    assert engine.calls == before + 20, "a request of a dead client was sent again"


def test_clients_that_die_with_more_bytes_in_a_stream_are_noticed(router, engine):
    engine.script = STREAM_HEAD + chunk(event("a"))
    engine.hang = True
    data = request_bytes(body=chat(model=MODEL, max_tokens=5, stream=True))
    connections = [router.connect() for _ in range(20)]
    for connection in connections:
        connection.sendall(data)
    for connection in connections:
        assert connection.recv(65536)
    for connection in connections:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\n")
        reset(connection)
    wait_until(lambda: router.in_flight() == 0, SOON, lambda: f"{router.in_flight()} dead clients are streamed to")


def test_streams_that_the_engine_resets_end(router, engine):
    engine.script = STREAM_HEAD + b"".join(chunk(event("a")) for _ in range(3))
    engine.reset = True
    found, seconds = answers(
        router, request_bytes(body=chat(model=MODEL, max_tokens=50, stream=True), headers={"Connection": "close"}), 12)
    assert seconds < SOON, f"the last stream took {seconds:.1f} s"
    assert all(b'"error"' in answer for answer in found), found


def test_answers_without_a_length_that_a_reset_cuts_are_errors(router, engine):
    whole = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "a"}}]}
    engine.script = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(whole).encode()
    engine.reset = True
    found, seconds = answers(
        router, request_bytes(body=chat(model=MODEL, max_tokens=5), headers={"Connection": "close"}), 8)
    assert seconds < SOON, f"the last answer took {seconds:.1f} s"
    assert all(answer.startswith(b"HTTP/1.1 502") for answer in found), found


def test_an_answer_without_a_length_that_ends_in_order_is_whole(router, engine):
    whole = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "a"}}]}
    engine.script = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(whole).encode()
    engine.goodbye = engine.secure
    found, _ = answers(router, request_bytes(body=chat(model=MODEL, max_tokens=5), headers={"Connection": "close"}), 1)
    assert found[0].startswith(b"HTTP/1.1 200"), found


def test_clients_that_die_with_their_request_are_noticed(router, engine):
    # The last test: its requests may reach the engine after it.
    engine.hang = True
    data = request_bytes(body=chat(model=MODEL, max_tokens=5))
    for _ in range(20):
        connection = router.connect()
        connection.sendall(data)
        reset(connection)
    wait_until(lambda: router.in_flight() == 0, SOON, lambda: f"{router.in_flight()} dead clients are served")
