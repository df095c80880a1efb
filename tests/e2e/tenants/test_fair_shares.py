"""A flooding tenant beside a quiet one, through the real binary: shares keep the quiet one's first token near."""
import socket
import statistics
import threading
import time

import pytest
from processes import Engine, Router, replicas, wait_until
from raw_http import chat, request_bytes, send

# The engine runs about a dozen of these at a time, so three quarters of the flood wait in the router.
FLOOD = 48
ASKED = 9
BODY = {"prompt": "river " * 200, "max_tokens": 60}
CONFIG = """
fairness: %s
tenants:
  - {name: flood, keys: [flood-key]}
  - {name: quiet, keys: [quiet-key]}
"""


def request_of(tenant, **more):
    return request_bytes(body=chat(**BODY, **more), headers={"authorization": f"Bearer {tenant}-key"})


class Flood:
    """Always as many requests as threads."""

    def __init__(self, router):
        self.stopped = threading.Event()
        self.served = []
        self.threads = [threading.Thread(target=self.run, args=(router,)) for _ in range(FLOOD)]
        for thread in self.threads:
            thread.start()

    def run(self, router):
        while not self.stopped.is_set():
            self.served.append(send(router.address, request_of("flood"), timeout=60).status)

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


def first_token(router):
    """Seconds to the first text of a stream of the quiet tenant."""
    began = time.monotonic()
    with socket.create_connection(router.address, timeout=60) as connection:
        connection.sendall(request_of("quiet", stream=True))
        data = b""
        while b'"content":"' not in data.replace(b'"content":""', b""):  # The first event has the role only.
            more = connection.recv(65536)
            assert more, data
            data += more
        return time.monotonic() - began


def quiet_median(folder, engine, fairness):
    config = replicas([engine], max_seqs=12) + CONFIG % fairness
    with Router(folder, config=config) as router:
        router.wait_for_count("penstock_replica_up", 1)
        flood = Flood(router)
        try:
            wait_until(lambda: flood.served.count(200) > FLOOD, 60, router.log)
            median = statistics.median(first_token(router) for _ in range(ASKED))
        finally:
            flood.stop()
        router.wait_for_nothing([engine])
    return median


@pytest.mark.alone
def test_shares_keep_the_first_token_of_a_quiet_tenant_near(folder):
    with Engine(folder, seed=3) as engine:
        none = quiet_median(folder, engine, "none")
        for fairness in ("weighted", "leads"):
            shared = quiet_median(folder, engine, fairness)
            # Alone in its share, it waits for a row of the batch; else for those that came before it, three times over.
            assert shared < none / 2, f"{fairness}: {shared:.2f} s, none: {none:.2f} s"
