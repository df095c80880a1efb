"""Data-parallel ranks: one address, a pool per rank, and a header that names the rank."""
from concurrent.futures import ThreadPoolExecutor

from fleet_file import MODEL, FleetEngines
from processes import Metrics, Router, wait_until
from raw_http import chat, request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import ScriptedEngine, http

RANKS = (
    f"replicas:\n  - {{id: dp, url: 'http://127.0.0.1:{{port0}}', gpus: [g0, g1], model: {MODEL}, kv_tokens: 20000, "
    "simulated: {ranks: 2}}\n"
)


def found_out(engines):
    """A configuration that says nothing of ranks: the metrics tell."""
    return f"poll: {{interval: 50ms}}\nreplicas:\n  - {{id: dp, url: 'http://127.0.0.1:{engines.ports[0]}', model: {MODEL}}}\n"


def pools(router):
    metrics = Metrics(router.get("/metrics")[2])
    names = ("dp", "dp/0", "dp/1")
    return {name: metrics.sum("penstock_pool_capacity_bytes", pool=name) for name in names}


def test_each_rank_is_a_pool_behind_one_address(folder):
    with FleetEngines(folder, RANKS) as engines, Router(folder, config=found_out(engines)) as router:
        wait_until(lambda: pools(router)["dp/1"] > 0, 20, lambda: f"{pools(router)}\n{router.log()[-2000:]}")
        sizes = pools(router)
        assert sizes["dp/0"] == sizes["dp/1"] and sizes["dp"] == 0
        router.wait_for_count("penstock_replica_up", 2)
        polls = {"replica": "dp/0", "result": "ok"}
        wait_until(lambda: router.metrics().sum("penstock_engine_polls_total", **polls) > 0, 20, router.log)


def test_requests_name_the_rank_that_the_core_chose(folder):
    with FleetEngines(folder, RANKS) as engines, Router(folder, config=found_out(engines)) as router:
        router.wait_for_count("penstock_replica_up", 2)

        def ask(number):
            headers = {"X-data-parallel-rank": "0", "Content-Type": "application/json"}
            body = chat(prompt=f"Say something about {number}.", max_tokens=200)
            return send(router.address, request_bytes(body=body, headers=headers), timeout=60).status

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(ask, range(16))) == {200}
        router.wait_for_nothing()
        metrics, engine = router.metrics(), Metrics(engines.page("/metrics"))
        for rank in ("0", "1"):
            sent = metrics.sum("penstock_replica_requests_total", replica=f"dp/{rank}")
            assert sent >= 4, "the header of a client does not steer the engine"
            assert engine.sum("vllm:request_success_total", engine=rank) == sent


def test_a_node_of_several_counts_its_ranks_from_its_first(folder):
    """With --data-parallel-hybrid-lb, the metrics have the numbers of all nodes and the header those of one."""
    page = "".join(f'vllm:num_requests_running{{engine="{rank}"}} 0\n'
                   f'vllm:cache_config_info{{block_size="16",engine="{rank}",kv_cache_size_tokens="20000"}} 1\n' for rank in (2, 3))
    with ScriptedEngine() as engine:
        engine.pages["/metrics"] = http(200, page.encode(), "text/plain")
        engine.script = http(200, {"choices": [{}]})
        config = f"replicas:\n  - {{id: dp, url: '{engine.url}', engine: vllm, model: {SCRIPTED}}}\n"
        with Router(folder, config=config) as router:
            router.wait_for_count("penstock_replica_up", 2)
            for _ in range(8):
                assert send(router.address, request_bytes(body=chat(model=SCRIPTED, max_tokens=5))).status == 200
            router.wait_for_nothing()
            sent = [router.metrics().sum("penstock_replica_requests_total", replica=f"dp/{rank}") for rank in (2, 3)]
        named = [line.split(":")[1].strip() for head in engine.heads for line in head.split("\r\n") if line.lower().startswith("x-data-parallel-rank")]
        assert [named.count(place) for place in ("0", "1")] == sent and sum(sent) == 8


def test_the_death_of_the_engine_takes_all_its_ranks_down(folder):
    with FleetEngines(folder, RANKS) as engines, Router(folder, config=found_out(engines)) as router:
        router.wait_for_count("penstock_replica_up", 2)
        engines.kill()
        router.wait_for_count("penstock_replica_up", 0)
        status = send(router.address, request_bytes(body=chat(max_tokens=3)), timeout=30).status
        assert status == 503


def test_adapters_that_an_engine_with_ranks_does_not_load_are_told(folder):
    adapters = f"adapters:\n  - {{name: sql, path: /adapters/sql, model: {MODEL}}}\n"
    with FleetEngines(folder, RANKS) as engines, Router(folder, config=adapters + found_out(engines)) as router:
        router.wait_for_count("penstock_replica_up", 2)
        wait_until(lambda: "it is not asked to load the adapters" in router.log(), 20, router.log)
        assert send(router.address, request_bytes(body=chat(model="sql", max_tokens=3)), timeout=30).status == 404
        assert send(router.address, request_bytes(body=chat(max_tokens=3)), timeout=30).status == 200
