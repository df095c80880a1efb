"""The data-parallel ranks of a real vLLM are separate pools behind one URL, and a header names the rank of a request.

With -s, the tests print how the requests are spread.
"""
import itertools
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from engines import BLOCK, BLOCKS, MODEL, Vllm, call, installed
from processes import Router, free_port, wait_until
from test_failures import Stream

pytestmark = pytest.mark.long

RANKS = ("0", "1")
HEADER = "X-data-parallel-rank"
POOL = BLOCK * BLOCKS
# About half of a pool: 2400 tokens, and as many as fit behind them.
HALF = "and so on " * 800
LARGE = {"model": MODEL, "max_tokens": 1600, "ignore_eos": True}
# Two blocks of the router's index at least.
LONG = "and so on " * 480
SAID = [{"role": "user", "content": "Tell me of the river."}]
# The endpoints where vLLM reads the header.
NAMED = {
    "/v1/completions": {"prompt": "the river and the stone", "max_tokens": 24},
    "/v1/chat/completions": {"messages": SAID, "max_tokens": 24},
    "/v1/messages": {"messages": SAID, "max_tokens": 24},
}
numbers = itertools.count()


def free_pair():
    """A free port whose next one is free, too: each rank publishes at a port of its own."""
    while True:
        first = free_port()
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", first + 1))
            except OSError:
                continue
        return first


@pytest.fixture(scope="module")
def events():
    return {key: f"tcp://127.0.0.1:{free_pair()}" for key in ("endpoint", "replay")}


@pytest.fixture(scope="module")
def engine(folder, events):
    """Two ranks, and two API servers, as vLLM starts them without --api-server-count."""
    if not installed("vllm"):
        pytest.skip("no vLLM: run scripts/real_env.sh vllm")
    settings = {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": events["endpoint"].replace("127.0.0.1", "*"),
                "replay_endpoint": events["replay"].replace("127.0.0.1", "*")}
    flags = ("--data-parallel-size", "2", "--enable-prompt-tokens-details", "--kv-events-config", json.dumps(settings))
    with Vllm(folder, "vllm-ranks", *flags) as running:
        yield running.wait()


@pytest.fixture
def router(folder, engine, events):
    config = (
        "poll: {interval: 100ms}\n"
        f"replicas:\n  - id: dp\n    url: '{engine.url}'\n    model: {MODEL}\n"
        f"    kv_events: {{endpoint: '{events['endpoint']}', replay: '{events['replay']}'}}\n"
        "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\n"
    )
    with Router(folder, config=config) as running:
        running.wait_for_count("penstock_replica_up", 2, seconds=60)
        running.wait_for_count("penstock_kv_event_followed", 2, seconds=60)
        yield running
        assert "is down" not in running.log()


def at_engine(engine, name):
    """A figure of the engine by rank."""
    metrics = engine.metrics()
    return {rank: metrics.sum("vllm:" + name, engine=rank) for rank in RANKS}


def in_ledger(router, name, label="pool", **more):
    """A figure of the router by rank."""
    metrics = router.metrics()
    return {rank: metrics.sum("penstock_" + name, **{label: f"dp/{rank}"}, **more) for rank in RANKS}


def asked(address, path, body, **headers):
    status, fields, answer = call(address, path, {"model": MODEL, "temperature": 0, **body}, headers=headers, timeout=300)
    assert status == 200, answer
    return fields, json.loads(answer)


def rank_of(receipt):
    replica, _, rank = json.loads(receipt)["replica"].partition("/")
    assert replica == "dp" and rank in RANKS
    return rank


def through(router, path, body):
    """(rank, answer) of a request whose client names a rank, too."""
    fields, answer = asked(router.address, path, body, **{HEADER: "0", "x-penstock-receipt": "1"})
    return rank_of(fields["x-penstock-receipt"]), answer


def opened(router):
    """(rank, stream) of a large request that has its first tokens. No other one begins as its prompt does."""
    stream = Stream(router.address, "/v1/completions", {**LARGE, "prompt": f"number {next(numbers)} {HALF}"}, timeout=300)
    pieces = iter(stream)
    for _ in range(20):
        next(pieces)
    return rank_of(stream.response.getheader("x-penstock-receipt")), stream


def test_each_rank_of_a_real_vllm_is_a_pool_behind_one_url(router):
    metrics = router.metrics()
    pools = {labels["pool"]: value for name, labels, value in metrics.samples if name == "penstock_pool_capacity_tokens"}
    assert pools == {"dp/0": POOL, "dp/1": POOL}
    assert {labels["replica"] for name, labels, _ in metrics.samples if name == "penstock_replica_up"} == set(pools)
    assert [card["id"] for card in json.loads(call(router.address, "/v1/models")[2])["data"]] == [MODEL]


@pytest.mark.parametrize("path", list(NAMED))
def test_a_real_vllm_serves_each_request_by_the_rank_that_penstock_names(engine, router, path):
    before = at_engine(engine, "request_success_total")
    with ThreadPoolExecutor(8) as pool:
        ranks = [rank for rank, _ in pool.map(lambda _: through(router, path, NAMED[path]), range(24))]
    told = {rank: ranks.count(rank) for rank in RANKS}
    router.wait_for_nothing([engine])

    def served():
        return {rank: after - before[rank] for rank, after in at_engine(engine, "request_success_total").items()}

    wait_until(lambda: served() == told, 20, lambda: f"{served()} at the engine, {told} by the receipts")
    assert in_ledger(router, "replica_requests_total", "replica", outcome="ok") == told
    assert min(told.values()) >= 6, "the load is spread, and the header of a client steers nothing"
    print(f"\n{path}: {told}")


def test_the_text_of_both_ranks_is_the_engines_own(engine, router):
    body = {**NAMED["/v1/completions"], "logprobs": 2}
    own = [asked(engine.address, "/v1/completions", body, **{HEADER: rank})[1]["choices"] for rank in RANKS]
    assert own[0] == own[1]
    held, stream = opened(router)
    try:
        rank, answer = through(router, "/v1/completions", body)
        assert rank != held and answer["choices"] == own[0]
    finally:
        stream.close()
    router.wait_for_nothing([engine])
    assert through(router, "/v1/completions", body)[1]["choices"] == own[0]


def test_memory_of_one_rank_is_not_counted_as_that_of_the_other(engine, router):
    first, stream = opened(router)
    other = RANKS[1 - RANKS.index(first)]
    try:
        alone = {first: 1, other: 0}
        assert at_engine(engine, "num_requests_running") == alone
        assert in_ledger(router, "replica_running_requests", "replica") == alone
        used = at_engine(engine, "kv_cache_usage_perc")
        assert used[first] * POOL >= 2400 and used[other] == 0
        wait_until(lambda: in_ledger(router, "pool_reported_tokens")[first] >= used[first] * POOL - 1, 20, router.log)
        assert in_ledger(router, "pool_reported_tokens")[other] == 0
        promised = in_ledger(router, "pool_promised_blocks")
        assert promised[first] * BLOCK >= 2400 and promised[other] == 0
        second, beside = opened(router)
        try:
            assert second == other, "the rank that has room"
            assert in_ledger(router, "replica_running_requests", "replica") == {"0": 1, "1": 1}
            assert at_engine(engine, "num_requests_running") == {"0": 1, "1": 1}
            wait_until(lambda: min(in_ledger(router, "pool_reported_tokens").values()) >= 2400, 20, router.log)
        finally:
            beside.close()
        assert set(in_ledger(router, "pool_foreign_tokens").values()) == {0}
    finally:
        stream.close()
    router.wait_for_nothing([engine])
    wait_until(lambda: set(in_ledger(router, "pool_reported_tokens").values()) == {0}, 20, router.log)


def test_a_prompt_returns_to_the_rank_that_has_it_cached(engine, router):
    body = {"prompt": "returned " + LONG, "max_tokens": 8}
    held, stream = opened(router)
    try:
        rank, answer = through(router, "/v1/completions", body)
        assert rank != held and answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
        # The events of that rank have a port of their own.
        wait_until(lambda: in_ledger(router, "kv_event_confirmed_blocks", "replica")[rank] >= 2, 20, router.log)
    finally:
        stream.close()
    router.wait_for_nothing([engine])
    again, answer = through(router, "/v1/completions", body)
    assert again == rank and answer["usage"]["prompt_tokens_details"]["cached_tokens"] > 400
    assert in_ledger(router, "kv_event_matches_total", "replica", result="named")[rank] == 1
    assert set(in_ledger(router, "kv_event_unknown_chains_total", "replica").values()) == {0}


def test_a_response_counts_where_the_engine_has_it(engine, router):
    """vLLM reads no header of a response and chooses the rank itself."""
    body = {"model": MODEL, "input": HALF, "max_output_tokens": 1600}
    before = at_engine(engine, "request_success_total")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(call, router.address, "/v1/responses", body, {"x-penstock-receipt": "1"}, 300)
        running = wait_until(lambda: [rank for rank, count in at_engine(engine, "num_requests_running").items() if count], 60,
                             router.log)
        wait_until(lambda: in_ledger(router, "pool_reported_tokens")[running[0]] >= 2400, 60, router.log)
        foreign = in_ledger(router, "pool_foreign_tokens")
        status, fields, text = answer.result()
    assert status == 200, text
    told = rank_of(fields["x-penstock-receipt"])
    # Memory that the ledger has at the other rank is that of somebody else here, and room for nobody.
    assert (foreign[running[0]] >= 2000) == (running[0] != told)
    served = {rank: after - before[rank] for rank, after in at_engine(engine, "request_success_total").items()}
    assert served == {rank: int(rank == running[0]) for rank in RANKS}
    print(f"\na response: rank {told} by the receipt, rank {running[0]} at the engine, foreign tokens {foreign}")
    router.wait_for_nothing([engine])
