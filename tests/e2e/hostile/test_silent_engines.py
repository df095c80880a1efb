"""Engines and exporters that take no connection or never answer, and the end of the router."""
import signal
import socket
import time

import pytest
from processes import Router

SILENT = """
gpus: [{id: n/gpu0, kind: a100-80}]
replicas: [{id: r, url: 'http://127.0.0.1:PORT', engine: openai, kv_tokens: 1000, gpus: [n/gpu0]}]
nodes: [{id: n, exporters: [{url: 'http://127.0.0.1:PORT/metrics', kind: dcgm, timeout: 2s, every: 4s}]}]
"""


@pytest.mark.alone
@pytest.mark.parametrize("waits_for", ["answer", "connection"])
def test_the_end_waits_for_no_poll_that_hangs(folder, waits_for):
    # A full queue of connections lets no further one be made.
    with socket.create_server(("127.0.0.1", 0), backlog=0 if waits_for == "connection" else 64) as silent:
        filling = []
        if waits_for == "connection":
            for _ in range(3):
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex(silent.getsockname())
                filling.append(connection)
        with Router(folder, config=SILENT.replace("PORT", str(silent.getsockname()[1])), ready=False) as router:
            if waits_for == "answer":
                held = [silent.accept()[0] for _ in range(2)]
                assert all(connection.recv(4) == b"GET " for connection in held)
            else:
                router.wait_for("/healthz")
            router.signal(signal.SIGTERM)
            begun = time.monotonic()
            assert router.process.wait(20) == 0
            assert time.monotonic() - begun < 0.5
        for connection in filling:
            connection.close()
