"""LoRA adapters: listed ones share their base's replica, configured ones are loaded for waiting requests."""
import http.client
import json
import time

import pytest
from fleet_file import MODEL, FleetEngines
from processes import Router, wait_until
from raw_http import chat, events, request_bytes, send

ONE = f"replicas:\n  - {{id: a, url: 'http://127.0.0.1:{{port0}}', gpus: [g0], model: {MODEL}, simulated: {{}}}}\n"
TWO = ONE + f"  - {{id: b, url: 'http://127.0.0.1:{{port1}}', gpus: [g1], model: {MODEL}, simulated: {{}}}}\n"
QUICK = "poll: {interval: 50ms}\n"


def adapters(*names, load="300ms"):
    lines = [f"  - {{name: {name}, path: /adapters/{name}, model: {MODEL}, load: {load}}}\n" for name in names]
    return "adapters:\n" + "".join(lines)


def ask(router, model, **more):
    return send(router.address, request_bytes(body=chat(model=model, max_tokens=5, **more)), timeout=30)


def post(engines, path, body, engine=0):
    connection = http.client.HTTPConnection("127.0.0.1", engines.ports[engine], timeout=30)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status


def load(engines, name, engine=0):
    body = {"lora_name": name, "lora_path": f"/adapters/{name}"}
    assert post(engines, "/v1/load_lora_adapter", body, engine) == 200


def cards(router):
    return {card["id"]: card for card in json.loads(router.get("/v1/models")[2])["data"]}


def without(engines, text):
    """The configuration of the router, which is not that of the engines."""
    return QUICK + text + engines.replicas


def test_an_adapter_that_an_engine_lists_shares_its_replica(folder):
    with FleetEngines(folder, TWO, adapters("sql")) as engines:
        load(engines, "sql", engine=1)
        with Router(folder, config=without(engines, "")) as router:
            wait_until(lambda: "sql" in cards(router), 20, router.log)
            card = cards(router)["sql"]
            assert (card["parent"], card["root"]) == (MODEL, "/adapters/sql")
            assert "parent" not in cards(router)[MODEL]
            for _ in range(4):
                assert ask(router, "sql").status == 200
            metrics = router.wait_for_nothing()
            assert metrics.sum("penstock_replica_requests_total", replica="b") == 4, "only b has it"
            assert metrics.sum("penstock_replica_requests_total", replica="a") == 0
            assert 'pool="sql"' not in router.get("/metrics")[2]


def test_a_request_waits_while_its_adapter_is_loaded(folder):
    with FleetEngines(folder, ONE, adapters("sql")) as engines:
        with Router(folder, config=without(engines, adapters("sql"))) as router:
            assert engines.models() == [MODEL]
            answer = ask(router, "sql", stream=True)
            assert answer.status == 200 and len(events(answer.body)) >= 5
            assert engines.models() == [MODEL, "sql"]
            assert ask(router, MODEL).status == 200
            router.wait_for_log("adapter sql was loaded after")
            metrics = router.metrics()
            assert metrics.sum("penstock_adapter_loads_total", replica="a", result="ok") == 1
            assert metrics.sum("penstock_adapter_load_seconds_sum", replica="a") >= 0.3
            router.wait_for_nothing()


def test_a_sleeping_engine_with_the_adapter_does_not_stop_an_awake_one_from_loading_it(folder):
    sleep = "sleep: {after: 500ms, wake: 20s, timeout: 60s}, simulated"
    with FleetEngines(folder, ONE + TWO[len(ONE):].replace("simulated", sleep), adapters("sql")) as engines:
        load(engines, "sql", engine=1)
        with Router(folder, config=without(engines, adapters("sql"))) as router:
            router.wait_for_count("penstock_replica_asleep", 1)
            began = time.monotonic()
            assert ask(router, "sql").status == 200
            assert time.monotonic() - began < 10, "it waited for the wake"


def test_the_adapter_that_was_used_longest_ago_makes_room(folder):
    names = ("red", "blue", "green")
    with FleetEngines(folder, ONE, adapters(*names, load="100ms")) as engines:
        config = without(engines, adapters(*names, load="100ms")).replace("simulated: {}", "simulated: {}, max_adapters: 2")
        with Router(folder, config=config) as router:
            for name in ("red", "blue", "red", "green"):
                assert ask(router, name).status == 200
            assert sorted(engines.models()[1:]) == ["green", "red"]
            assert ask(router, "blue").status == 200, "it is loaded again"
            assert sorted(engines.models()[1:]) == ["blue", "green"]


def test_a_failed_load_is_an_error_of_that_adapter_only(folder):
    with FleetEngines(folder, ONE, adapters("sql")) as engines:
        with Router(folder, config=without(engines, adapters("sql", "ghost"))) as router:
            refused = ask(router, "ghost")
            assert refused.status == 503, refused.body
            error = json.loads(refused.body)["error"]
            assert "No engine could load the adapter `ghost`" in error["message"]
            assert int(refused.headers["retry-after"]) >= 1
            assert ask(router, MODEL).status == 200
            assert ask(router, "sql").status == 200
            router.wait_for_log("adapter ghost was not loaded: POST /v1/load_lora_adapter: status 404")
            assert router.metrics().sum("penstock_adapter_loads_total", result="refused") >= 1
            router.wait_for_nothing()


def test_an_adapter_that_somebody_unloads_is_loaded_again(folder):
    with FleetEngines(folder, ONE, adapters("sql", load="100ms")) as engines:
        with Router(folder, config=without(engines, adapters("sql", load="100ms"))) as router:
            assert ask(router, "sql").status == 200
            assert post(engines, "/v1/unload_lora_adapter", {"lora_name": "sql"}) == 200
            ask(router, "sql")  # The engine denies it: the list is read again.
            wait_until(lambda: ask(router, "sql").status == 200, 20, router.log)


@pytest.mark.parametrize("name", ["nobody", "SQL"])
def test_an_adapter_that_nobody_knows_is_no_model(folder, name):
    with FleetEngines(folder, ONE, adapters("sql")) as engines:
        with Router(folder, config=without(engines, adapters("sql"))) as router:
            assert ask(router, name).status == 404
