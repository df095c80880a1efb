"""A client that reads none of its answers while the router drains."""
import signal
import socket
import time

import pytest
from processes import Engine, Router, replicas, wait_until


def unread_by(client, router):
    """The bytes that the router's kernel holds for a client."""
    with open("/proc/net/tcp") as connections:
        for line in connections:
            _, here, there, _, queues, *_ = line.split()
            if here.endswith(f":{router.port:04X}") and there.endswith(f":{client.getsockname()[1]:04X}"):
                return int(queues.split(":")[0], 16)
    return 0


@pytest.mark.parametrize("path", ["/metrics", "/v1/models"])
def test_a_client_that_reads_none_of_its_answers_does_not_hold_a_drain(folder, path):
    with Engine(folder) as engine:
        router = Router(folder, config=replicas([engine]) + "limits: {drain_timeout: 4s}\n")
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(router.address)
            client.sendall(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode() * 6000)
            seen = []
            wait_until(lambda: seen.append(unread_by(client, router)) or (seen[-1] > 50_000 and seen.count(seen[-1]) >= 100),
                       20, lambda: f"the answers wait for room: {seen[-1]}")
            router.signal(signal.SIGTERM)
            began = time.monotonic()
            assert router.stop() == 3, router.log()
            assert time.monotonic() - began < 3.5
        assert "draining, 1 request to finish" in router.log()
        assert "1 request was cut" in router.log()
