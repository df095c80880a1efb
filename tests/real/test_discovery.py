"""The router finds out by itself what an engine is, and its figures agree with the engine's own."""
import json
import threading

import pytest
from engines import BLOCK, BLOCKS, CONTEXT, call, wait_until_up
from processes import Router, wait_until

KINDS = ["llama", pytest.param("vllm", marks=pytest.mark.long)]
CAPACITY = {"llama": CONTEXT, "vllm": BLOCK * BLOCKS}
# llama-server tells its slots. vLLM tells the limit of its batch only where it can list the packages of its environment.
FACTS = {
    "llama": f" with model tiny: context {CONTEXT} tokens, KV memory {CONTEXT} tokens in blocks of 1, at most 4 sequences,",
    "vllm": f" with model tiny: context {CONTEXT} tokens, KV memory {BLOCK * BLOCKS} tokens in blocks of {BLOCK},",
}
NAMES = {"llama": "engine is llamacpp", "vllm": "engine is vllm 0.32.0"}
# (prompt, output, running) by the engine's own counters.
COUNTERS = {
    "llama": ("llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total", "llamacpp:requests_processing"),
    "vllm": ("vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_requests_running"),
}


def ask(router, prompt, tokens, **more):
    body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, **more}
    status, _, answer = call(router.address, "/v1/completions", body)
    assert status == 200, answer
    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_kind_model_context_blocks_and_capacity_are_found(through, kind):
    router = through(kind)
    router.wait_for_log("engine is")
    told = [line for line in router.log().splitlines() if "engine is" in line]
    assert len(told) == 1, router.log()
    message = json.loads(told[0])["message"]
    assert message.startswith(NAMES[kind]) and FACTS[kind] in message
    assert router.metrics().sum("penstock_pool_capacity_tokens") == CAPACITY[kind]
    models = json.loads(call(router.address, "/v1/models")[2])["data"]
    assert [(model["id"], model["max_model_len"]) for model in models] == [("tiny", CONTEXT)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_counts_of_tokens_are_the_engines(engines, folder, kind):
    engine = engines(kind)[0]
    with Router(folder, [engine]) as router:
        wait_until_up(router, 1)
        prompt, output, _ = COUNTERS[kind]
        before = engine.metrics()
        # Each prompt begins with another word, because llama-server does not count tokens of its cache.
        for number, word in enumerate(["river", "stone", "light", "water"]):
            ask(router, f" {word} and the" * (number + 3), 5 + number)
            ask(router, f" {word} was not" * (number + 3), 5 + number, stream=True)
        seen = router.wait_for_nothing([engine])
        after = engine.metrics()
        assert seen.sum("penstock_output_tokens_total") == after.sum(output) - before.sum(output)
        if kind == "vllm":
            assert seen.sum("penstock_prompt_tokens_total") == after.sum(prompt) - before.sum(prompt)


@pytest.mark.parametrize("kind", KINDS)
def test_running_requests_and_held_memory_follow_the_engine(engines, folder, kind):
    engine = engines(kind)[0]
    count, tokens = 3, 1200
    with Router(folder, [engine]) as router:
        wait_until_up(router, 1)
        threads = [threading.Thread(target=ask, args=(router, f" {word} the and", tokens), kwargs={"stream": True})
                   for word in ["river", "stone", "light"][:count]]
        for thread in threads:
            thread.start()
        metrics = None

        def all_run():
            nonlocal metrics
            metrics = router.metrics()
            return metrics.sum("penstock_replica_running_requests") == count and metrics.sum(
                "penstock_replica_prefilling_requests") == 0 and metrics.sum("penstock_pool_reported_tokens") > 0

        wait_until(all_run, 60, lambda: f"{count} requests run:\n{metrics.text}")
        if kind == "vllm":
            assert engine.metrics().sum(COUNTERS[kind][2]) == count
        # The report is as old as the poll; the ledger goes on with every token.
        held, reported = metrics.sum("penstock_pool_held_tokens"), metrics.sum("penstock_pool_reported_tokens")
        assert 0 < held <= CAPACITY[kind] and 0 < reported <= CAPACITY[kind]
        for thread in threads:
            thread.join()
        router.wait_for_nothing([engine], seconds=20)
        end = router.metrics()
        assert end.sum("penstock_replica_preemptions_total") == 0
