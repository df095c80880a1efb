"""Every GPU-second of a running router has a state: /metrics, /penstock/fleet and the wall clock agree."""
import json
import signal
import threading
import time

import pytest
from processes import Engine, Router, get, replicas, wait_until
from raw_http import chat, request_bytes, send

pytestmark = pytest.mark.alone

STATES = {"productive", "full", "slow", "for_nobody", "blocked", "waiting", "elsewhere", "idle", "asleep", "down"}
# A tight class, so that a stopped engine is late soon.
CLASSES = "classes: {standard: {ttft: 1s, tpot: 100ms, queue: 60s, default: true}}\n"


def fleet(router):
    status, _, text = get(router.address, "/penstock/fleet")
    assert status == 200
    return json.loads(text)


@pytest.fixture(scope="module")
def routed(folder):
    with Engine(folder) as engine:
        config = ("gpus: [{id: node1/gpu0, kind: a100-80, memory: 80GiB, price: 36}]\n" + CLASSES
                  + f"replicas:\n  - {{id: chat-a, url: 'http://127.0.0.1:{engine.port}', gpus: [node1/gpu0]}}\n")
        with Router(folder, config=config) as router:
            yield router, engine


def test_the_states_add_up_to_wall_time(routed):
    router, _ = routed
    assert send(router.address, request_bytes(body=chat("Hello", max_tokens=50, stream=True))).status == 200
    before, began = fleet(router)["gpu_time"]["seconds"], time.monotonic()
    wait_until(lambda: time.monotonic() > began + 3 or None, 10, "three seconds")
    after, took = fleet(router)["gpu_time"]["seconds"], time.monotonic() - began
    assert set(after) == STATES
    # Both snapshots may be a second old, more on a busy machine.
    assert abs(sum(after.values()) - sum(before.values()) - took) < 2.5
    metrics = router.metrics()
    by_state = {state: metrics.sum("penstock_gpu_seconds_total", state=state, gpu="node1/gpu0") for state in STATES}
    assert sum(by_state.values()) >= sum(after.values()) - 1e-3
    assert by_state["productive"] > 0.1 and by_state["idle"] > 1
    waiting = metrics.sum("penstock_gpu_input_wait_seconds_total")
    assert waiting == pytest.approx(by_state["blocked"] + by_state["waiting"] + by_state["elsewhere"] + by_state["idle"], abs=1e-3)
    assert fleet(router)["gpu_time"]["productive_gpu_hours"] * 3600 >= by_state["productive"] * 0.999


def test_a_price_gives_a_cost(routed):
    router, _ = routed
    time_of_gpus = fleet(router)["gpu_time"]
    assert time_of_gpus["cost_per_hour"] == 36
    assert time_of_gpus["cost"] == pytest.approx(sum(time_of_gpus["seconds"].values()) / 100, rel=0.01)
    assert router.metrics().sum("penstock_gpu_cost_total", gpu="node1/gpu0") > 0


def test_productive_time_is_full_while_a_request_waits_for_memory(folder):
    patient = "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\n"
    with Engine(folder, kv_tokens=1600) as engine:
        config = ("gpus: [{id: node1/gpu0, kind: a100-80, memory: 80GiB}]\n" + patient
                  + f"replicas:\n  - {{id: chat-a, url: 'http://127.0.0.1:{engine.port}', gpus: [node1/gpu0]}}\n")
        with Router(folder, config=config) as router:
            body = request_bytes(body=chat("word " * 700, max_tokens=100, stream=True))
            senders = [threading.Thread(target=send, args=(router.address, body), kwargs={"timeout": 60}) for _ in range(6)]
            for sender in senders:
                sender.start()
            wait_until(lambda: router.metrics().sum("penstock_gpu_seconds_total", state="full") > 0.5, 30, "a full GPU")
            for sender in senders:
                sender.join()
            metrics = router.wait_for_nothing([engine])
            assert fleet(router)["gpu_time"]["seconds"]["full"] > 0.5
            assert metrics.sum("penstock_gpu_seconds_total", state="blocked") < metrics.sum("penstock_gpu_seconds_total", state="full")


def test_overdue_work_is_slow_and_its_tokens_are_waste(routed):
    router, engine = routed
    request = threading.Thread(target=lambda: send(router.address, request_bytes(body=chat("Hello", max_tokens=400, stream=True))))
    before = router.metrics().sum("penstock_gpu_seconds_total", state="slow")
    request.start()
    wait_until(lambda: router.in_flight() > 0, 20, "the request runs")
    engine.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: router.metrics().sum("penstock_gpu_seconds_total", state="slow") > before + 0.5, 30, "late work")
    finally:
        engine.signal(signal.SIGCONT)
    request.join()
    router.wait_for_nothing([engine])
    idle = router.metrics().sum("penstock_gpu_seconds_total", state="idle")
    wait_until(lambda: router.metrics().sum("penstock_gpu_seconds_total", state="idle") > idle, 20, "the GPU is idle again")
    wait_until(lambda: fleet(router)["gpu_time"]["wasted_tokens"]["late"] > 0, 20, "late tokens are waste")
