"""The data of the page: its documents, who may see them, their stream, and names and viewers that mean harm."""
import http.client
import json
import os
import re
import signal
import sys
import threading

import pytest
from processes import MODEL, Engine, Process, Router, free_port, get, replicas, wait_until
from raw_http import chat, request_bytes, send

sys.path.insert(0, os.path.dirname(__file__))

from description import DOCUMENT, faults, schema_of  # noqa: E402
from viewer import Viewer  # noqa: E402

DOCUMENTS = ["/penstock/fleet", "/penstock/requests", "/penstock/tenants", "/penstock/shadow", "/penstock/state"]
TENANT_KEY, ADMIN_KEY = "key-of-a-tenant", "key-of-an-admin"
TENANTS = f"tenants:\n  - {{name: team-a, keys: [{TENANT_KEY}], tokens_per_minute: 100000, max_concurrent: 9}}\n"


def document(server, path):
    status, headers, text = server.get(path)
    assert (status, headers.get("content-type")) == (200, "application/json"), text[:500]
    return json.loads(text)


def fresh(server, path, condition, seconds=20):
    """The document once the condition holds for it; a snapshot may be a second old."""
    return wait_until(lambda: (found := document(server, path)) and condition(found) and found, seconds,
                      lambda: document(server, path))


def asked(server, path, key=None):
    connection = http.client.HTTPConnection(*server.address, timeout=10)
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.fixture(scope="module")
def busy(folder):
    """A router whose engine has one row: of three long requests one runs and two wait."""
    with Engine(folder, max_seqs=1, name="narrow") as engine, Router(folder, config=replicas([engine], id="narrow", max_seqs=1)) as router:
        connections = []
        for i in range(3):
            connection = http.client.HTTPConnection(*router.address, timeout=60)
            connection.request("POST", "/v1/chat/completions", json.dumps(chat(f"Long {i}", max_tokens=4000, stream=True)),
                               {"Content-Type": "application/json", "x-request-id": f"long-{i}"})
            connections.append(connection)
            fresh(router, "/penstock/requests", lambda found: found["running_total"] + found["waiting_total"] == i + 1)  # noqa: B023
        yield router
        for connection in connections:
            connection.close()
        router.wait_for_nothing([engine])


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_is_as_described(busy, path):
    assert faults(document(busy, path), schema_of(path)) == []


def test_the_description_is_served_and_names_every_document(busy):
    assert document(busy, "/penstock/openapi.json") == DOCUMENT
    assert set(DOCUMENT["paths"]) == {*DOCUMENTS, "/penstock/events"}


def test_a_waiting_request_has_its_reason_and_its_place(busy):
    requests = fresh(busy, "/penstock/requests", lambda found: len(found["waiting"]) == 2)
    assert requests["waiting_total"] == 2 and [row["request"] for row in requests["running"]] == ["long-0"]
    first, second = sorted(requests["waiting"], key=lambda row: row["position"])
    assert (first["position"], second["position"]) == (1, 2)
    assert first["reason"] in ("sequences", "runway", "behind_others") and first["why"].endswith(".")
    assert requests["lanes"][0]["waiting"] == 2 and requests["lanes"][0]["oldest_wait_s"] > 0
    told = {decision["request"]: decision["event"] for decision in requests["decisions"] if "request" in decision}
    assert told["long-0"] == "forward" and told[second["request"]] == "park"


def test_the_fleet_has_gpus_pools_and_tokens(busy):
    fleet = fresh(busy, "/penstock/fleet", lambda found: found["pools"] and found["pools"][0]["held"] > 0)
    pool = fleet["pools"][0]
    assert fleet["gpus"][0]["parts"][0]["pool"] == pool["name"]
    assert pool["held"] <= pool["promised"] <= pool["capacity"]
    assert [point["in_s"] for point in pool["fan"]] == [5, 15, 30, 60]
    assert fleet["models"] == [{"name": MODEL, "replicas_up": 1}]
    fresh(busy, "/penstock/fleet", lambda found: found["tokens"]["active"] + found["tokens"]["late"] > 20)


def test_the_page_runs_no_script_but_its_own(busy):
    for path in ("/", "/penstock/"):
        status, headers, text = busy.get(path)
        assert status == 200 and headers["content-type"] == "text/html; charset=utf-8"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|https?:", text)
    script = busy.get("/penstock/page.js")[2]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


def test_the_stream_sends_the_newest_state(busy):
    with Viewer(busy.address) as viewer:
        assert viewer.status() == 200
        first, second = viewer.event(), viewer.event()
    assert faults(second, schema_of("/penstock/state")) == []
    assert second["fleet"]["sequence"] > first["fleet"]["sequence"]
    assert 0.9 < second["fleet"]["time"] - first["fleet"]["time"] < 10


def test_viewers_share_snapshots_and_are_bounded(busy):
    # The router may not have noticed yet that an earlier viewer left.
    fresh(busy, "/penstock/fleet", lambda found: found["router"]["viewers"] == 0)
    viewers = [Viewer(busy.address) for _ in range(32)]
    try:
        assert {viewer.status() for viewer in viewers} == {200}
        sequences = {viewer.event()["fleet"]["sequence"] for viewer in viewers}
        assert len(sequences) <= 4
        with Viewer(busy.address) as one_more:
            assert one_more.status() == 503
        fresh(busy, "/penstock/fleet", lambda found: found["router"]["viewers"] == 32)
    finally:
        for viewer in viewers:
            viewer.socket.close()
    fresh(busy, "/penstock/fleet", lambda found: found["router"]["viewers"] == 0)


def test_names_of_clients_can_neither_break_nor_fill_a_document(folder, engine):
    with Router(folder, [engine]) as router:
        long = "<img src=x onerror=alert(1)>\"'\u202e\x01" + "x" * 900
        for name in ("</script><script>alert(1)</script>", long):
            assert send(router.address, request_bytes(body=chat(model=name))).status == 404
        raw = b'{"model":"\xff\xfe broken","messages":[]}'
        assert send(router.address, request_bytes(body=raw)).status == 400
        requests = fresh(router, "/penstock/requests", lambda found: len(found["decisions"]) >= 2)
        models = [decision.get("model", "") for decision in requests["decisions"]]
        assert "</script><script>alert(1)</script>" in models
        assert max(len(name.encode()) for name in models) <= 170
        for i in range(300):
            send(router.address, request_bytes(body=chat(model=f"{i}-" + "y" * 900)))
        assert faults(document(router, "/penstock/state"), schema_of("/penstock/state")) == []
        assert len(router.get("/penstock/requests")[2]) < 100_000


def test_a_viewer_that_stops_reading_is_dropped_and_slows_nobody(folder, engine):
    config = replicas([engine]) + "limits: {write_timeout: 1s}\n"
    with Router(folder, config=config) as router:
        # Many long names make the snapshots larger than what the sockets hold.
        for i in range(100):
            send(router.address, request_bytes(body=chat(model=f"{i}-" + "\x01" * 500)))
        with Viewer(router.address, receive_buffer=4096) as silent:
            fresh(router, "/penstock/fleet", lambda found: found["router"]["viewers"] == 1)
            wait_until(lambda: send(router.address, request_bytes(body=chat(max_tokens=2))).status == 200
                       and document(router, "/penstock/fleet")["router"]["viewers"] == 0, 120, "the viewer stays")
            silent.socket.setblocking(False)
        router.wait_for_nothing([engine])


@pytest.mark.parametrize("admin", ["", f"admin_keys: [{ADMIN_KEY}]\n"])
def test_tenants_do_not_see_each_other(folder, engine, admin):
    with Router(folder, config=replicas([engine]) + TENANTS + admin) as router:
        assert asked(router, "/") == 200
        for path in [*DOCUMENTS, "/penstock/events"]:
            assert asked(router, path) == 401
            assert asked(router, path, TENANT_KEY) == 401
        if not admin:
            return
        assert {asked(router, path, ADMIN_KEY) for path in DOCUMENTS} == {200}
        with Viewer(router.address, key=ADMIN_KEY) as viewer:
            assert viewer.status() == 200
            tenants = viewer.event()["tenants"]
        assert tenants["tenants"][0]["name"] == "team-a" and tenants["tenants"][0]["tokens_per_minute"] == 100000


def test_an_admin_listener_has_the_page_alone(folder, engine):
    clients, admin = free_port(), free_port()
    file = folder / "admin.yml"
    file.write_text(f"listen: 127.0.0.1:{clients}\nadmin_listen: 127.0.0.1:{admin}\n" + replicas([engine]) + TENANTS)
    with Process(["serve", "--config", str(file)], admin, folder / "admin.log") as router:
        router.wait_for("/readyz")
        assert {router.get(path)[0] for path in ["/", *DOCUMENTS]} == {200}
        assert {get(("127.0.0.1", clients), path)[0] for path in ["/", *DOCUMENTS]} == {404}


def test_a_refused_reload_is_told(folder, engine):
    with Router(folder, config=replicas([engine])) as router:
        good = document(router, "/penstock/fleet")["configuration"]
        assert (good["reloads"], good["last_error"], good["file"]) == (0, "", str(router.config_path))
        router.write_config("no_such_key: 1\n" + replicas([engine]))
        router.signal(signal.SIGHUP)
        bad = fresh(router, "/penstock/fleet", lambda found: found["configuration"]["reloads_refused"] > 0)["configuration"]
        assert "no_such_key" in bad["last_error"] and bad["last_error_at"] > bad["loaded_at"]
        router.write_config(replicas([engine]))
        router.signal(signal.SIGHUP)
        fresh(router, "/penstock/fleet", lambda found: found["configuration"]["last_error"] == "")


def test_viewers_do_not_keep_a_router_from_its_end(folder, engine):
    router = Router(folder, [engine])
    with router, Viewer(router.address) as viewer:
        assert viewer.status() == 200
        viewer.event()
        assert router.stop(seconds=5) == 0


def test_requests_and_viewers_at_once(folder, engine):
    """Sessions come and go while snapshots describe them."""
    with Router(folder, [engine]) as router:
        statuses = []

        def clients():
            for i in range(40):
                statuses.append(send(router.address, request_bytes(body=chat(f"Word {i}", max_tokens=4))).status)

        threads = [threading.Thread(target=clients) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert faults(document(router, "/penstock/state"), schema_of("/penstock/state")) == []
        for thread in threads:
            thread.join()
        assert statuses == [200] * 160
        router.wait_for_nothing([engine])
