"""`penstock engine` plays down_from, down_to, sleep_after and host_time, as `penstock simulate` does."""
import time

from fleet_file import MODEL, FleetEngines
from processes import Router, wait_until
from raw_http import chat, request_bytes, send

LINES = f"replicas:\n  - {{id: a, url: 'http://127.0.0.1:{{port0}}', gpus: [g0], model: {MODEL}, simulated: {{PLAY}}}}\n"


def test_an_engine_is_down_for_its_time_and_comes_back(folder):
    lines = LINES.replace("PLAY", "down_from: 3s, down_to: 5s")
    with FleetEngines(folder, lines) as engines, Router(folder, config="poll: {interval: 50ms}\n" + engines.replicas) as router:
        router.wait_for_count("penstock_replica_up", 1)
        router.wait_for_count("penstock_replica_up", 0)
        router.wait_for_count("penstock_replica_up", 1)
        assert send(router.address, request_bytes(body=chat(max_tokens=3)), timeout=30).status == 200


def test_an_idle_engine_takes_its_wake_time_for_the_next_request(folder):
    lines = LINES.replace("PLAY", "sleep_after: 500ms, wake: 2s")
    with FleetEngines(folder, lines) as engines, Router(folder, config="poll: {interval: 50ms}\n" + engines.replicas) as router:
        # Polls are no use of the engine: it is idle for 20 of them.
        wait_until(lambda: router.metrics().sum("penstock_engine_polls_total", result="ok") >= 20, 20, router.log)
        began = time.monotonic()
        assert send(router.address, request_bytes(body=chat(max_tokens=3)), timeout=30).status == 200
        assert time.monotonic() - began >= 1.9


def test_a_request_takes_its_time_in_the_api_server(folder):
    lines = LINES.replace("PLAY", "host_time: 1s, time_scale: 2")
    with FleetEngines(folder, lines) as engines:
        address = ("127.0.0.1", engines.ports[0])
        began = time.monotonic()
        assert send(address, request_bytes(body=chat(max_tokens=1)), timeout=30).status == 200
        assert time.monotonic() - began >= 0.5
        began = time.monotonic()
        assert engines.models() == [MODEL]
        assert time.monotonic() - began < 0.5, "pages take no time"
