"""Exporters of nodes: a signal derates and closes replicas before their users notice; a bad exporter changes nothing."""
import contextlib
import json
import os
import sys
import threading

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from exporter import Exporter  # noqa: E402
from processes import MODEL, ROOT, Engine, Router, wait_until  # noqa: E402
from raw_http import chat, request_bytes, send  # noqa: E402

GPUS = "gpus: [{id: node1/gpu0, kind: a100-80}, {id: node2/gpu0, kind: a100-80}, {id: node3/gpu0, kind: a100-80}]\n"
REBUILD = b'node_md_state{device="md0",state="recovering"} 1\n'
OVER = threading.Event()  # Never set: its wait is the pace of a slow exporter.
WELL = b'node_md_state{device="md0",state="recovering"} 0\n'


def fleet(engines, exporter, more, every):
    rows = "".join(
        f"  - {{id: r{i}, url: '{e.url}', gpus: [node{i + 1}/gpu0], engine: vllm, model: {MODEL}, kv_tokens: 100000}}\n"
        for i, e in enumerate(engines)
    )
    node = f"nodes:\n  - id: node1\n    exporters: [{{kind: node_exporter, url: '{exporter.url}', every: {every}{more}}}]\n"
    return f"{GPUS}{node}replicas:\n{rows}"


@contextlib.contextmanager
def three(folder, exporter, more="", every="200ms"):
    with contextlib.ExitStack() as stack:
        engines = [stack.enter_context(Engine(folder, name=name, kv_tokens=100000)) for name in "abc"]
        router = stack.enter_context(Router(folder, config=fleet(engines, exporter, more, every)))
        router.wait_for_count("penstock_replica_up", 3)
        yield router


def derate(router, replica="r0"):
    return router.metrics().sum("penstock_replica_node_derate", replica=replica)


def scrapes(router, result):
    return router.metrics().sum("penstock_node_scrapes_total", node="node1", result=result)


def ask(router):
    assert send(router.address, request_bytes(body=chat(model=MODEL, max_tokens=2)), timeout=30).status == 200


def test_a_raid_in_rebuild_derates_its_node_and_the_end_of_the_rebuild_ends_that(folder):
    with Exporter(WELL) as exporter, three(folder, exporter) as router:
        wait_until(lambda: scrapes(router, "ok") > 0, 20, "the exporter is read")
        assert derate(router) == 1
        exporter.page = REBUILD
        wait_until(lambda: derate(router) == 1.5, 20, "the node is derated")
        assert derate(router, "r1") == 1
        router.wait_for_log("begins: node_md_state state=recovering above 0: derate 1.5")
        status, _, page = router.get("/penstock/fleet")
        first = next(r for r in json.loads(page)["replicas"] if r["name"] == "r0")
        assert (first["node_derate"], first["storage_pressure"], first["derate"]) == (1.5, 0.5, 1)
        exporter.page = WELL
        wait_until(lambda: derate(router) == 1, 20, "the node is well")


def test_an_inactive_raid_closes_its_node(folder):
    with Exporter(b'node_md_state{device="md0",state="inactive"} 1\n') as exporter, three(folder, exporter) as router:
        wait_until(lambda: router.metrics().sum("penstock_replica_node_closed", replica="r0") == 1, 20, "it is closed")
        before = router.metrics().sum("penstock_replica_requests_total", replica="r0")
        for _ in range(12):
            ask(router)
        assert router.metrics().sum("penstock_replica_requests_total", replica="r0") == before


def html(handler):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b"<html><body class='x'>\n<h1>It works!</h1>\n</body></html>\n")


def hundred_megabytes(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"some_metric 1\n" * 74899)


def drip(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(b"a")
        OVER.wait(0.05)


def hang(handler):
    OVER.wait(30)


def labels(handler):
    handler.send_response(200)
    handler.end_headers()
    for i in range(20_000):
        handler.wfile.write(f'node_md_state{{device="md{i}",state="recovering"}} 1\n'.encode())


@pytest.mark.parametrize(
    ("page", "result"),
    [(html, "garbage"), (b"other_metric 1\n", "garbage"), (hundred_megabytes, "too_large"), (drip, "timeout"), (hang, "timeout"), (labels, "too_large")],
)
def test_a_hostile_exporter_has_no_effect_and_stops_no_request(folder, page, result):
    # A reading lasts `every` at most. A slow machine needs long for the bytes of a page that is too large.
    every = "60s" if result == "too_large" else "200ms"
    with Exporter(page) as exporter, three(folder, exporter, ", timeout: " + every, every) as router:
        wait_until(lambda: scrapes(router, result) > 0, 90, f"the page ends as {result}")
        for _ in range(6):
            ask(router)
        assert derate(router) == 1
        assert router.metrics().sum("penstock_node_stale", node="node1") == 1
        router.wait_for_log(f"cannot be read: {result}")


def test_values_that_are_no_numbers_have_no_effect(folder):
    page = b'node_md_state{device="md0",state="recovering"} NaN\nnode_md_state{device="md0",state="inactive"} -Inf\n'
    with Exporter(page) as exporter, three(folder, exporter) as router:
        wait_until(lambda: scrapes(router, "ok") > 2, 20, "the exporter is read")
        assert derate(router) == 1


def test_an_exporter_that_goes_silent_loses_its_effect(folder):
    with Exporter(REBUILD) as exporter, three(folder, exporter) as router:
        wait_until(lambda: derate(router) == 1.5, 20, "the node is derated")
        exporter.page = hang
        wait_until(lambda: derate(router) == 1, 20, "old samples have no effect")


def test_an_https_exporter_is_verified(folder):
    tls = ROOT / "tests/data/tls"
    with Exporter(REBUILD, tls / "server.pem", tls / "server.key") as exporter:
        with three(folder, exporter, f", tls: {{ca: {tls}/other-ca.pem}}") as router:
            wait_until(lambda: scrapes(router, "unreachable") > 0, 20, "a stranger signed the certificate")
            assert derate(router) == 1
        with three(folder, exporter, f", tls: {{ca: {tls}/ca.pem}}") as router:
            wait_until(lambda: derate(router) == 1.5, 20, "its authority is trusted")


def test_a_built_in_rule_that_is_disabled_has_no_effect(folder):
    with Exporter(REBUILD) as exporter, three(folder, exporter, ", disable: [md_rebuild]") as router:
        wait_until(lambda: scrapes(router, "ok") > 2, 20, "the exporter is read")
        assert derate(router) == 1
