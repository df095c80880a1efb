"""Requests that need storage go where it is left; exporters that lie, lag or hang cannot stop them, and others never notice."""
import concurrent.futures
import contextlib
import json
import os
import sys
import threading

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from exporter import Exporter  # noqa: E402
from processes import MODEL, Engine, Router, wait_until  # noqa: E402
from raw_http import chat, request_bytes, send  # noqa: E402

OVER = threading.Event()  # Never set.
RULES = "rules: [{metric: disk_busy, above: 0, effect: storage}, {metric: cpu_busy, above: 0, effect: cpu}]"


def fleet(engines, exporter):
    gpus = ", ".join(f"{{id: node{i}/gpu0, kind: a100-80}}" for i in range(len(engines)))
    rows = "".join(f"  - {{id: r{i}, url: '{e.url}', gpus: [node{i}/gpu0], engine: vllm, model: {MODEL}, kv_tokens: 100000}}\n"
                   for i, e in enumerate(engines))
    exporters = f"[{{kind: prometheus, url: '{exporter.url}', every: 200ms, {RULES}}}]"
    return f"gpus: [{gpus}]\nnodes: [{{id: node0, exporters: {exporters}}}]\nreplicas:\n{rows}"


@contextlib.contextmanager
def two(folder, exporter):
    with contextlib.ExitStack() as stack:
        engines = [stack.enter_context(Engine(folder, name=name, kv_tokens=100000)) for name in "ab"]
        router = stack.enter_context(Router(folder, config=fleet(engines, exporter)))
        router.wait_for_count("penstock_replica_up", 2)
        yield router


def left(router, resource, node="node0"):
    return router.metrics().sum("penstock_node_left_ratio", node=node, resource=resource)


def taken_by_first(router, need, at_once):
    """The requests that the replica of the watched node took, of six one after the other or at once."""
    before = router.metrics().sum("penstock_replica_requests_total", replica="r0")
    headers = {"x-penstock-storage": need} if need else {}
    data = request_bytes(body=chat(model=MODEL, max_tokens=20), headers=headers)
    with concurrent.futures.ThreadPoolExecutor(6 if at_once else 1) as pool:
        answers = list(pool.map(lambda _: send(router.address, data, timeout=30), range(6)))
    assert {answer.status for answer in answers} == {200}
    return router.metrics().sum("penstock_replica_requests_total", replica="r0") - before


def serves_alike(router, need):
    """Requests at once go to both nodes."""
    return 0 < taken_by_first(router, need, at_once=True) < 6


def avoids(router, need):
    return taken_by_first(router, need, at_once=False) == 0


def test_a_need_of_storage_keeps_away_from_a_busy_disk_and_nothing_else_does(folder):
    with Exporter(b"disk_busy 0\n") as exporter, two(folder, exporter) as router:
        wait_until(lambda: router.metrics().sum("penstock_node_scrapes_total", node="node0", result="ok") > 0, 20, "a page")
        assert serves_alike(router, "heavy")
        exporter.page = b"disk_busy 0.9\ncpu_busy 0.25\n"
        wait_until(lambda: left(router, "storage") == pytest.approx(0.1), 20, "the disk is busy")
        assert left(router, "io_cpu") == 0.75
        assert left(router, "storage", "node1") == 1
        assert avoids(router, "some")
        assert avoids(router, "heavy")
        assert serves_alike(router, "none")
        assert serves_alike(router, None)
        _, _, page = router.get("/penstock/fleet")
        nodes = json.loads(page)["nodes"]
        assert [node["name"] for node in nodes] == ["node0", "node1"]
        assert nodes[0]["left"] == {"memory": 1, "compute": 1, "storage": 0.1, "io_cpu": 0.75}


def test_a_busy_cpu_counts_as_a_busy_disk_does(folder):
    with Exporter(b"cpu_busy 0.95\n") as exporter, two(folder, exporter) as router:
        wait_until(lambda: left(router, "io_cpu") < 0.1, 20, "the CPU is busy")
        assert avoids(router, "some")
        assert serves_alike(router, None)


def html(handler):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b"<html><body>disk_busy 0.9</body></html>\n")


def hang(handler):
    OVER.wait(30)


def drip(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(b"disk_busy 0.9\n")
        OVER.wait(0.05)


@pytest.mark.parametrize("page", [html, hang, drip])
def test_an_exporter_that_went_bad_loses_its_word(folder, page):
    with Exporter(b"disk_busy 0.9\n") as exporter, two(folder, exporter) as router:
        wait_until(lambda: left(router, "storage") < 0.2, 20, "the disk is busy")
        exporter.page = page
        wait_until(lambda: left(router, "storage") == 1, 20, "old samples have no effect")
        assert serves_alike(router, "heavy")


def test_a_lie_beyond_all_bounds_takes_no_node_out(folder):
    with Exporter(b"disk_busy 1e308\ncpu_busy 1e308\n") as exporter, two(folder, exporter) as router:
        wait_until(lambda: left(router, "storage") == 0, 20, "it says that nothing is left")
        assert serves_alike(router, None)
        assert avoids(router, "heavy")
