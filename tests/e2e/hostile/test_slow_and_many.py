"""A client that reads in drips ends and frees its memory at the engine; a flood of connections leaves room to connect."""
import contextlib
import socket
import statistics
import subprocess
import sys
import threading
import time

import pytest
from processes import Engine, Router, get, replicas, wait_until
from raw_http import chat, request_bytes
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, event

# More than the sockets between engine and client hold.
LONG_STREAM = STREAM_HEAD + chunk(event("word " * 4000)) * 3200 + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"
PAUSE = 1.0  # limits.write_timeout, in seconds.


class Drip:
    """Reads a piece at a time. `window`: bytes that its kernel holds for it; many, where it is not set."""

    def __init__(self, address, piece=65536, every=0.01, window=None):
        self.piece, self.every = piece, every
        self.connection = socket.socket()
        if window:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.connection.settimeout(20)
        self.connection.connect(address)
        self.connection.sendall(request_bytes(body=chat(model=MODEL, max_tokens=4000, stream=True)))
        self.reads = 0
        self.longest = 0.0
        self.ended = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        last = time.monotonic()
        with contextlib.suppress(OSError):
            while not self._stop.wait(self.every) and self.connection.recv(self.piece):
                now = time.monotonic()
                self.longest = max(self.longest, now - last)
                self.reads += 1
                last = now
        self.ended.set()

    def close(self):
        self._stop.set()
        self._thread.join()
        self.connection.close()


def drip_router(folder, engine, least_rate):
    limits = f"limits: {{write_timeout: {PAUSE}s, min_answer_rate: {least_rate}}}\n"
    fleet = f"replicas: [{{id: r, url: '{engine.url}', engine: openai, model: {MODEL}, kv_tokens: 100000}}]\n"
    return Router(folder, config=fleet + limits)


@pytest.fixture
def long_engine():
    with ScriptedEngine() as engine:
        engine.script = LONG_STREAM
        yield engine


def test_a_drip_below_the_least_rate_ends_and_its_lease_is_free(folder, long_engine):
    with drip_router(folder, long_engine, "256MiB") as router:
        drip = Drip(router.address)
        try:
            wait_until(lambda: router.in_flight() == 1, 20, "it runs")
            wait_until(lambda: router.metrics().sum("penstock_requests_total", outcome="client_gone") == 1, 15,
                       lambda: f"the drip ends; {drip.reads} reads")
            assert drip.reads > 5 and drip.longest < PAUSE, "it took bytes all the time"
            router.wait_for_nothing()
            wait_until(lambda: router.metrics().sum("penstock_connections_open") <= 1, 20, "its connection is closed")
        finally:
            drip.close()


def test_a_slow_reader_above_the_least_rate_may_go_on(folder, long_engine):
    with drip_router(folder, long_engine, "1KiB") as router:
        drip = Drip(router.address, piece=32768, every=0.1)
        try:
            assert not drip.ended.wait(6 * PAUSE), f"it takes bytes all the time: {drip.reads} reads"
            assert router.in_flight() == 1
        finally:
            drip.close()
        router.wait_for_nothing()


def test_a_steady_reader_whose_kernel_shows_no_room_for_long_may_go_on(folder, long_engine):
    """The router's kernel tells of room when 64 KiB are gone, and this reader needs three seconds for them."""
    with drip_router(folder, long_engine, "1KiB") as router:
        drip = Drip(router.address, piece=2048, every=0.1, window=4096)
        try:
            assert not drip.ended.wait(8 * PAUSE), f"it takes bytes all the time: {drip.reads} reads"
            assert router.in_flight() == 1
        finally:
            drip.close()
        router.wait_for_nothing()


def test_without_a_least_rate_a_drip_may_go_on(folder, long_engine):
    with drip_router(folder, long_engine, "0B") as router:
        drip = Drip(router.address)
        try:
            assert not drip.ended.wait(4 * PAUSE), "it takes bytes all the time"
            assert router.in_flight() == 1
        finally:
            drip.close()
        router.wait_for_nothing()


FLOOD = """
import collections, socket, sys
address, open_at_most = ("127.0.0.1", int(sys.argv[1])), 200
held = collections.deque()
print("begun", flush=True)
while True:
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(address)
    held.append(client)
    if len(held) > open_at_most:
        held.popleft().close()
"""


@pytest.mark.unsanitized
def test_a_healthy_client_connects_during_a_flood_of_connections(folder):
    with Engine(folder) as engine, Router(folder, config=replicas([engine])) as router:
        flood = subprocess.Popen([sys.executable, "-c", FLOOD, str(router.port)], stdout=subprocess.PIPE, text=True)
        try:
            assert flood.stdout.readline() == "begun\n"
            taken = []
            end = time.monotonic() + 60
            while len(taken) < 40 or router.metrics().sum("penstock_connections_total") < 1000:
                began = time.monotonic()
                status, _, _ = get(router.address, "/healthz", timeout=10)
                taken.append(time.monotonic() - began)
                assert status == 200
                assert time.monotonic() < end, "the flood is none"
        finally:
            flood.kill()
            flood.wait()
        assert statistics.median(taken) < 1 and max(taken) < 5, sorted(taken)[-5:]
        router.wait_for_nothing([engine])
