"""Two real vLLM that hand a cache over by NixlConnector, on processors: one computes the prompt, the other one answers."""
import contextlib
import json

import pytest
from engines import CACHE, MODEL, VLLM_ENVIRONMENT, Vllm, call, installed
from processes import Router, free_port

pytestmark = pytest.mark.long

CONNECTOR = {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_buffer_device": "cpu"}
FLAGS = ("--kv-transfer-config", json.dumps(CONNECTOR), "--enable-prompt-tokens-details")


def vllm(folder, name):
    variables = {
        "PYTHONPATH": f"{CACHE / 'nixl'}:{VLLM_ENVIRONMENT['PYTHONPATH']}",
        "VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1",
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(free_port()),
        "UCX_TLS": "tcp,self,shm",
    }
    return Vllm(folder, name, *FLAGS, variables=variables)


@pytest.fixture(scope="module")
def engines(folder):
    if not installed("vllm") or not installed("nixl"):
        pytest.skip("no vLLM with NIXL: run scripts/real_env.sh nixl")
    with contextlib.ExitStack() as running:
        both = [running.enter_context(vllm(folder, name)) for name in ("prefill", "decode")]
        yield [engine.wait() for engine in both]


@pytest.fixture
def router(folder, engines):
    prefill, decode = engines
    config = (
        "replicas:\n"
        f"  - {{id: prefill, url: '{prefill.url}', model: {MODEL}, role: prefill}}\n"
        f"  - {{id: decode, url: '{decode.url}', model: {MODEL}, role: decode, max_batched_tokens: 256}}\n"
        "classes: {standard: {ttft: 60s, tpot: 1s, queue: 60s, default: true}}\n"
    )
    with Router(folder, config=config) as running:
        running.wait_for_count("penstock_replica_up", 2, seconds=60)
        yield running


def ask(address, name, stream=False):
    body = {"model": MODEL, "prompt": f"{name} " + "and so on " * 300, "temperature": 0, "max_tokens": 12, "stream": stream}
    status, headers, answer = call(address, "/v1/completions", body, headers={"x-penstock-receipt": "1"}, timeout=300)
    assert status == 200, answer
    return headers, answer.decode()


def text_of(stream):
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    return "".join(choice["text"] for event in events for choice in event["choices"])


def ask_until_handed_over(address, name, stream):
    """On busy cores a prefill would end or ends too late, and the decode engine computes the prompt. The prompt's name."""
    for attempt in range(5):
        asked = f"{name} {attempt}"
        headers, answer = ask(address, asked, stream)
        receipt = json.loads(headers["x-penstock-receipt"])
        assert receipt["replica"] == "decode", receipt
        if "prefill" in receipt:
            assert receipt["prefill"]["replica"] == "prefill", receipt
            if receipt["prefill"]["handed_over"]:
                return asked, answer
    raise AssertionError("no prompt was handed over")


def test_a_cache_that_was_handed_over_gives_the_undisturbed_answer(engines, router):
    prefill, _ = engines
    one, answer = ask_until_handed_over(router.address, "one", stream=False)
    whole = json.loads(answer)
    two, stream = ask_until_handed_over(router.address, "two", stream=True)
    # The prefill engine alone, by its own cache.
    assert json.loads(ask(prefill.address, one)[1])["choices"] == whole["choices"]
    assert json.loads(ask(prefill.address, two)[1])["choices"][0]["text"] == text_of(stream)
    assert whole["usage"]["prompt_tokens"] > 800
    assert whole["usage"]["prompt_tokens_details"]["cached_tokens"] == 0, "of the prefill engine"
    metrics = router.wait_for_nothing()
    # On busy cores, a decode engine may fail to load a cache. The receipt of that request names none.
    assert metrics.sum("penstock_handovers_total", result="handed_over") >= 2, "each told by its receipt"
    # A poll may time out on busy cores.
    for kind in ("closed", "garbage", "hung", "server"):
        assert metrics.sum("penstock_engine_errors_total", kind=kind) == 0, router.log()


def test_a_cache_that_is_not_there_is_an_error_of_the_engine(engines, router):
    _, decode = engines
    dead = {"do_remote_prefill": True, "do_remote_decode": False, "remote_block_ids": [[1, 2, 3]], "remote_engine_id": "none",
            "remote_request_id": "x", "remote_host": "127.0.0.1", "remote_port": 1, "tp_size": 1, "remote_num_tokens": 900}
    body = {"model": MODEL, "prompt": "three " + "and so on " * 300, "max_tokens": 2, "kv_transfer_params": dead}
    assert call(decode.address, "/v1/completions", body)[0] == 500, "as engines behave without a router"
    # A client cannot name a cache.
    assert call(router.address, "/v1/completions", body)[0] == 200
