"""Engines that answer and are slow, or stand still in bursts: found, spared, and back once they are well."""
import contextlib
import signal
import threading

import pytest
from processes import MODEL, Engine, Process, Router, free_port, wait_until
from raw_http import chat, request_bytes, send

# Minutes of real time: engines recover slowly. The simulation has the rules in its short tests.
pytestmark = pytest.mark.long

GPUS = "gpus: [{id: node1/gpu0, kind: a100-80}, {id: node2/gpu0, kind: a100-80}, {id: node3/gpu0, kind: a100-80}]\n"


def fleet(urls):
    rows = "".join(
        f"  - {{id: r{i}, url: '{url}', gpus: [node{i + 1}/gpu0], engine: vllm, model: {MODEL}, kv_tokens: 100000}}\n"
        for i, url in enumerate(urls)
    )
    return f"{GPUS}replicas:\n{rows}classes: {{standard: {{ttft: 5s, tpot: 60ms, queue: 30s, default: true}}}}\n"


@contextlib.contextmanager
def traffic(router, streams=9):
    """So many clients with one request after the other."""
    over = threading.Event()

    def ask():
        while not over.is_set():
            body = request_bytes(body=chat(model=MODEL, max_tokens=60, stream=True))
            with contextlib.suppress(OSError):
                send(router.address, body, timeout=60)

    clients = [threading.Thread(target=ask) for _ in range(streams)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        over.set()
        for client in clients:
            client.join()


def ended(router):
    """Requests that ended, of r0 and of all replicas."""
    metrics = router.metrics()
    return (metrics.sum("penstock_replica_requests_total", replica="r0"), metrics.sum("penstock_replica_requests_total"))


def share_of_first(router, requests=60):
    """The share of r0 in the next requests."""
    own, total = ended(router)
    wait_until(lambda: ended(router)[1] >= total + requests, 120, "requests end")
    own_now, total_now = ended(router)
    return (own_now - own) / (total_now - total)


def derate(router):
    return router.metrics().sum("penstock_replica_derate", replica="r0")


def test_an_engine_that_is_slow_for_a_time_gets_less_and_then_its_share_again(folder):
    port = free_port()
    config = folder / "slow.yaml"
    config.write_text(
        f"gpus: [{{id: g, kind: a100-80}}]\nreplicas:\n  - {{id: slow, url: 'http://127.0.0.1:{port}', gpus: [g], "
        f"model: {MODEL}, kv_tokens: 100000, simulated: {{slowdown: 6, from: 12s, to: 40s}}}}\n"
    )
    with Process(["engine", "--config", str(config)], port, folder / "slow.log") as slow:
        slow.wait_for("/health")
        with Engine(folder, name="b", kv_tokens=100000) as b, Engine(folder, name="c", kv_tokens=100000) as c:
            with Router(folder, config=fleet([slow.url, b.url, c.url])) as router, traffic(router):
                router.wait_for_count("penstock_replica_up", 3)
                wait_until(lambda: derate(router) > 3, 60, "the slow engine is derated")
                router.wait_for_log("times slower than its peers (cause: replica)")
                found = router.metrics()
                assert found.sum("penstock_grey_failures_total", replica="r0", cause="replica") >= 1
                assert found.sum("penstock_grey_failures_total", cause="replica") == found.sum(
                    "penstock_grey_failures_total", replica="r0", cause="replica"
                ), "its peers are well"
                status, _, page = router.get("/penstock/fleet")
                assert status == 200 and '"grey_cause":"replica"' in page.replace(" ", "")
                assert share_of_first(router, 40) < 0.2
                wait_until(lambda: derate(router) == 1, 120, "it is well again")
                router.wait_for_log("replica is as fast as its peers again")
                wait_until(lambda: share_of_first(router) > 0.2, 60, "it has its share again")


def test_an_engine_that_stands_still_in_bursts_is_spared_and_comes_back(folder):
    engines = [Engine(folder, name=name, kv_tokens=100000) for name in "abc"]
    with contextlib.ExitStack() as stack:
        for engine in engines:
            stack.enter_context(engine)
        with Router(folder, config=fleet([e.url for e in engines])) as router, traffic(router):
            router.wait_for_count("penstock_replica_up", 3)
            wait_until(lambda: ended(router)[0] > 5, 60, "all work")
            over = threading.Event()

            def bursts():
                while not over.is_set():
                    engines[0].signal(signal.SIGSTOP)
                    over.wait(1.7)
                    engines[0].signal(signal.SIGCONT)
                    over.wait(0.6)

            burst = threading.Thread(target=bursts)
            burst.start()
            try:
                wait_until(lambda: derate(router) > 1.5, 60, "bursts are found")
                assert router.metrics().sum("penstock_grey_failures_total", replica="r0", cause="stall") >= 2
                assert share_of_first(router) < 0.25
            finally:
                over.set()
                burst.join()
            wait_until(lambda: derate(router) == 1, 120, "it is well again")
            wait_until(lambda: share_of_first(router) > 0.2, 60, "it has its share again")
