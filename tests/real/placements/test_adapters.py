"""LoRA adapters of a real vLLM: listed ones share the replica of their base, others are loaded for waiting requests.

With -s, the tests print the figures of the loads.
"""
import json
import subprocess
import time

import pytest
from engines import BLOCK, BLOCKS, CACHE, HERE, MODEL, Vllm, call, installed
from processes import Router, wait_until
from test_failures import Stream

pytestmark = pytest.mark.long

# Those that `--max-lora-rank` allows, and one that is wider. The engine has `sql` from its start.
MOST_RANK = 8
ADAPTERS = ("sql:1:4", "law:2:4", "art:3:8", f"wide:4:{2 * MOST_RANK}")
# Two blocks of the router's index at least.
LONG = "and so on " * 480
# A path without an adapter, and an adapter that is too wide: the engine's answer, and the result that Penstock counts.
FAULTS = [("ghost", 404, "refused"), ("wide", 500, "server")]


@pytest.fixture(scope="module")
def adapters(folder):
    if not installed("vllm"):
        pytest.skip("no vLLM: run scripts/real_env.sh vllm")
    made = folder / "adapters"
    subprocess.run([CACHE / "vllm/bin/python", HERE / "placements/make_adapter.py", made, *ADAPTERS], check=True)
    return made


@pytest.fixture(scope="module")
def engine(folder, adapters):
    flags = ("--enable-lora", "--max-loras", "2", "--max-lora-rank", str(MOST_RANK), "--lora-modules", f"sql={adapters}/sql",
             "--enable-prompt-tokens-details")
    with Vllm(folder, "vllm-lora", *flags, variables={"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}) as running:
        yield running.wait()


@pytest.fixture
def start(folder, engine, adapters):
    """start(names) is a router with these adapters in its configuration; the engine has only `sql` before and after."""
    running = []

    def router(*names, keys=""):
        lines = [f"  - {{name: {name}, path: '{adapters}/{name}', model: {MODEL}}}\n" for name in names]
        config = (
            f"replicas:\n  - {{id: a, url: '{engine.url}', engine: vllm, model: {MODEL}{keys}}}\n"
            "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\n"
        )
        running.append(Router(folder, config=("adapters:\n" + "".join(lines) if lines else "") + config))
        running[0].wait_for_count("penstock_replica_up", 1, seconds=60)
        return running[0]

    assert models(engine) == {MODEL, "sql"}
    yield router
    for each in running:
        assert each.stop() == 0, each.log()[-4000:]
    for name in models(engine) - {MODEL, "sql"}:
        unload(engine, name)


def models(server):
    return set(cards(server))


def cards(server):
    return {card["id"]: card for card in json.loads(call(server.address, "/v1/models")[2])["data"]}


def unload(engine, name):
    status, _, answer = call(engine.address, "/v1/unload_lora_adapter", {"lora_name": name})
    assert status == 200, answer


def asked(server, model, prompt="the river and the stone", **more):
    body = {"model": model, "prompt": prompt, "temperature": 0, "max_tokens": 12, **more}
    return call(server.address, "/v1/completions", body, timeout=300)


def answer(server, model, **more):
    status, _, body = asked(server, model, **more)
    assert status == 200, body
    return json.loads(body)


def text(server, model, **more):
    return answer(server, model, **more)["choices"][0]["text"]


def streamed(server, model):
    body = {"model": model, "messages": [{"role": "user", "content": "Say something."}], "temperature": 0, "max_tokens": 12}
    return "".join(Stream(server.address, "/v1/chat/completions", body))


def counted(router, name, **labels):
    return router.metrics().sum(name, **labels)


def test_an_adapter_that_a_real_vllm_lists_is_served_with_its_own_text(engine, start, adapters):
    router = start()
    wait_until(lambda: "sql" in models(router), 20, router.log)
    card = cards(router)["sql"]
    assert (card["parent"], card["root"]) == (MODEL, f"{adapters}/sql")
    assert models(router) == {MODEL, "sql"}
    for read in (text, streamed):
        own = {model: read(engine, model) for model in (MODEL, "sql")}
        assert own[MODEL] != own["sql"]
        assert {model: read(router, model) for model in own} == own
    router.wait_for_nothing([engine])
    metrics = router.metrics()
    assert {labels["pool"] for name, labels, _ in metrics.samples if name == "penstock_pool_capacity_tokens"} == {"a"}
    assert {labels["replica"] for name, labels, _ in metrics.samples if name == "penstock_replica_up"} == {"a"}
    assert metrics.sum("penstock_pool_capacity_tokens") == BLOCK * BLOCKS
    assert metrics.sum("penstock_replica_requests_total", replica="a", outcome="ok") == 4


def test_a_stream_of_an_adapter_takes_memory_of_its_base(engine, start):
    router = start()
    wait_until(lambda: "sql" in models(router), 20, router.log)
    body = {"model": "sql", "prompt": "the river", "max_tokens": 3000, "ignore_eos": True}
    stream = Stream(router.address, "/v1/completions", body)
    try:
        pieces = iter(stream)
        for _ in range(200):
            next(pieces)
        metrics = router.metrics()
        assert metrics.sum("penstock_replica_running_requests", replica="a", model=MODEL) == 1
        assert metrics.sum("penstock_pool_promised_blocks", pool="a") >= 200 / BLOCK
        # The engine's own figure of its pool, in the ledger of the base.
        wait_until(lambda: counted(router, "penstock_pool_reported_tokens", pool="a") >= 200, 20, router.log)
        assert counted(router, "penstock_pool_foreign_tokens", pool="a") == 0, "it is known as a request of this router"
        assert engine.running() == 1
    finally:
        stream.close()
    router.wait_for_nothing([engine])


def test_prompts_of_an_adapter_are_cached_apart_as_vllm_does(engine, start):
    router = start()
    wait_until(lambda: "sql" in models(router), 20, router.log)
    for model in (MODEL, "sql"):
        for cached in (False, True):
            before = counted(router, "penstock_prefix_expected_tokens_total")
            usage = answer(router, model, prompt="apart " + LONG)["usage"]
            expected = counted(router, "penstock_prefix_expected_tokens_total") - before
            found = usage["prompt_tokens_details"]["cached_tokens"]
            assert (expected > 400) == (found > 400) == cached, f"{model}: {expected} expected, {found} found"


def test_a_request_waits_while_a_real_vllm_loads_its_adapter(engine, start):
    router = start("law")
    assert "law" not in models(engine)
    began = time.monotonic()
    through = text(router, "law")
    seconds = time.monotonic() - began
    assert "law" in models(engine)
    assert through == text(engine, "law") != text(engine, MODEL)
    assert text(router, MODEL) == text(engine, MODEL)
    router.wait_for_log("adapter law was loaded after")
    metrics = router.wait_for_nothing([engine])
    assert metrics.sum("penstock_adapter_loads_total", replica="a", result="ok") == 1
    load = metrics.sum("penstock_adapter_load_seconds_sum", replica="a")
    assert 0 < load < seconds
    print(f"\nan adapter was loaded in {load:.3f} s; its request took {seconds:.3f} s")


@pytest.mark.parametrize(("name", "code", "result"), FAULTS)
def test_a_load_that_a_real_vllm_refuses_is_an_error_of_that_adapter_only(engine, start, name, code, result):
    router = start("law", name)
    status, headers, body = asked(router, name)
    error = json.loads(body)["error"]
    assert status == 503 and f"No engine could load the adapter `{name}`" in error["message"], body
    assert int(headers["retry-after"]) >= 1
    for other in (MODEL, "law", "sql"):
        assert text(router, other) == text(engine, other)
    router.wait_for_log(f"adapter {name} was not loaded: POST /v1/load_lora_adapter: status {code}")
    metrics = router.wait_for_nothing([engine])
    assert metrics.sum("penstock_adapter_loads_total", result=result) >= 1
    assert metrics.sum("penstock_adapter_loads_total", result="ok") == 1
    assert models(engine) == {MODEL, "sql", "law"}


def test_the_adapter_of_a_real_vllm_that_was_used_longest_ago_makes_room(engine, start):
    router = start("law", "art", keys=", max_adapters: 1")
    own = {}
    for name in ("law", "art", "law"):
        own[name] = text(router, name)
        assert models(engine) == {MODEL, "sql", name}, "`sql` is none of the configuration, so it stays"
    assert own["law"] == text(engine, "law") and own["law"] != own["art"]
    metrics = router.wait_for_nothing([engine])
    assert metrics.sum("penstock_adapter_loads_total", result="ok") == 3


def test_an_adapter_that_somebody_unloads_from_a_real_vllm_is_loaded_again(engine, start):
    router = start("law")
    first = text(router, "law")
    unload(engine, "law")
    asked(router, "law")  # The engine denies it: the list is read again.
    wait_until(lambda: asked(router, "law")[0] == 200, 20, router.log)
    assert text(router, "law") == first
    assert models(engine) == {MODEL, "sql", "law"}
    router.wait_for_count("penstock_adapter_loads_total", 2, result="ok")
