"""A real vLLM that publishes the events of its prefix cache: what it evicts is known to the router."""
import json
import time

import pytest
from engines import MODEL, Vllm, call, installed
from processes import Router, free_port, wait_until

pytestmark = pytest.mark.long

# 63 blocks of 32 tokens: two prompts at a time.
BLOCKS = 64
# About 900 tokens of the small model, and two blocks of the router's index at least.
WORDS = 480


@pytest.fixture(scope="module")
def publisher(folder):
    """The engine, and the keys of a replica that follows it."""
    if not installed("vllm"):
        pytest.skip("no vLLM: run scripts/real_env.sh vllm")
    events, replay = f"tcp://127.0.0.1:{free_port()}", f"tcp://127.0.0.1:{free_port()}"
    settings = {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": events.replace("127.0.0.1", "*"),
                "replay_endpoint": replay.replace("127.0.0.1", "*")}
    flags = ("--kv-events-config", json.dumps(settings), "--num-gpu-blocks-override", str(BLOCKS), "--max-model-len", "1500",
             "--enable-prompt-tokens-details")
    with Vllm(folder, "vllm-events", *flags) as engine:
        yield engine.wait(), f"kv_events: {{endpoint: '{events}', replay: '{replay}'}}"


@pytest.fixture
def router(folder, publisher):
    engine, keys = publisher
    config = (
        f"replicas:\n  - {{id: a, url: '{engine.url}', engine: vllm, model: {MODEL}, {keys}}}\n"
        "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\n"
    )
    with Router(folder, config=config) as running:
        running.wait_for_count("penstock_replica_up", 1, seconds=60)
        running.wait_for_count("penstock_kv_event_followed", 1, seconds=60)
        yield running


def ask(address, name, **more):
    body = {"model": MODEL, "prompt": f"{name} " + "and so on " * WORDS, "max_tokens": 8, **more}
    status, _, answer = call(address, "/v1/completions", body, timeout=300)
    assert status == 200, answer
    return json.loads(answer)["usage"]


def confirmed(router):
    return router.metrics().sum("penstock_kv_event_confirmed_blocks")


def counted(router, name, **labels):
    return router.metrics().sum(name, **labels)


def test_evicted_prefixes_of_a_real_vllm_are_known_within_a_second(publisher, router):
    engine, _ = publisher
    assert ask(router.address, "first")["prompt_tokens"] > 500
    wait_until(lambda: confirmed(router) >= 2, 20, router.log)
    assert counted(router, "penstock_kv_event_matches_total", result="named") >= 1
    # Others, past the router, take the whole cache.
    for other in ("second", "third", "fourth"):
        ask(engine.address, other)
    evicted = time.monotonic()
    wait_until(lambda: confirmed(router) == 0, 20, router.log)
    # The metrics are counted twice a second.
    assert time.monotonic() - evicted < 1.5
    before = counted(router, "penstock_prefix_expected_tokens_total")
    ask(router.address, "first")
    assert counted(router, "penstock_prefix_expected_tokens_total") == before, "nothing of it is expected any more"
    wait_until(lambda: confirmed(router) >= 2, 20, router.log)
    ask(router.address, "first")
    assert counted(router, "penstock_prefix_expected_tokens_total") > before + 400
    assert counted(router, "penstock_kv_event_resyncs_total", cause="loss") == 0
    assert counted(router, "penstock_kv_event_batches_total", result="garbage") == 0


def test_a_session_of_a_client_passes_and_the_length_binds(publisher, router):
    def judged():
        return counted(router, "penstock_kv_event_matches_total")

    # A request whose events come late, as on a busy machine, stays without a match.
    for attempt in range(5):
        before = judged()
        ask(router.address, f"fifth {attempt}", session_id="of a client")
        wait_until(lambda: judged() > before, 60, router.log)
        if counted(router, "penstock_kv_event_matches_total", result="by_length"):
            break
    assert counted(router, "penstock_kv_event_matches_total", result="by_length") >= 1, router.metrics().text
    assert confirmed(router) >= 2


def test_a_cleared_cache_is_known(publisher, router):
    engine, _ = publisher
    ask(router.address, "sixth")
    wait_until(lambda: confirmed(router) >= 2, 20, router.log)
    status, _, _ = call(engine.address, "/reset_prefix_cache", b"")
    assert status == 200
    ask(engine.address, "seventh")  # vLLM tells it with its next step.
    wait_until(lambda: confirmed(router) == 0, 20, router.log)
    assert counted(router, "penstock_kv_events_total", kind="cleared") >= 1
