"""A stream of a real vLLM that is far ahead of its due times lends its memory, and comes back to its prefix cache.

With -s, the test prints the figures of bench/results/ablations.md.
"""
import threading
import time

import pytest
from engines import MODEL, Vllm, call, installed
from processes import Router, replicas, wait_until
from test_failures import Stream

pytestmark = pytest.mark.long

# 63 blocks of 32 tokens.
BLOCKS = 64
TOKENS = 1800
FAR_AHEAD = 1000
# The pool has no room for it beside the stream as far as it has come.
CROWD = {"model": MODEL, "prompt": "river " * 1000, "max_tokens": 20, "ignore_eos": True}
STREAM = {"model": MODEL, "prompt": "the river and the stone", "temperature": 0, "max_tokens": TOKENS, "ignore_eos": True,
          "stream_options": {"include_usage": True}}
CLASSES = "classes: {standard: {ttft: 60s, tpot: 40ms, queue: 300s, default: true, parking: %s}}\n"


@pytest.fixture(scope="module")
def small(folder):
    if not installed("vllm"):
        pytest.skip("no vLLM: run scripts/real_env.sh vllm")
    flags = ("--num-gpu-blocks-override", str(BLOCKS), "--max-model-len", "2000")
    with Vllm(folder, "vllm-parking", *flags) as engine:
        yield engine.wait()


class Crowd(threading.Thread):
    """One large request, and its time."""

    def __init__(self, router):
        super().__init__()
        self.router, self.status, self.seconds = router, None, None

    def run(self):
        began = time.monotonic()
        self.status = call(self.router.address, "/v1/completions", CROWD, timeout=300)[0]
        self.seconds = time.monotonic() - began


def cached(engine):
    """(tokens of prompts, those found in the prefix cache) so far."""
    metrics = engine.metrics()
    return [metrics.sum("vllm:prefix_cache_" + part + "_total") for part in ("queries", "hits")]


def crowded(router):
    """(text, stream, crowd, longest pause): the crowd comes when the stream is far ahead."""
    stream, crowd = Stream(router.address, "/v1/completions", STREAM, timeout=300), Crowd(router)
    pieces, longest, last = [], 0, None
    for piece in stream:
        now = time.monotonic()
        longest, last = max(longest, now - (last or now)), now
        pieces.append(piece)
        if len(pieces) == FAR_AHEAD:
            crowd.start()
    crowd.join()
    return "".join(pieces), stream, crowd, longest


def test_a_parked_stream_finds_its_prefix_in_the_cache_of_a_real_vllm(small, folder):
    truth = "".join(Stream(small.address, "/v1/completions", STREAM))
    found = {}
    for parking in ("false", "true"):
        assert call(small.address, "/reset_prefix_cache", b"")[0] == 200
        with Router(folder, config=replicas([small]) + CLASSES % parking) as router:
            wait_until(lambda: router.metrics().sum("penstock_replica_up", model=MODEL) == 1, 60, router.log)
            before = cached(small)
            text, stream, crowd, pause = crowded(router)
            assert text == truth and stream.finish == "length" and crowd.status == 200
            assert stream.usage["completion_tokens"] == TOKENS
            metrics = router.wait_for_nothing([small])
            queries, hits = (after - start for after, start in zip(cached(small), before))
            found[parking] = metrics.sum("penstock_parked_total")
            print(f"\nparking {parking}: parked {found[parking]:.0f}, crowd {crowd.seconds:.1f} s, longest pause of the stream "
                  f"{pause:.1f} s, prompt tokens {queries:.0f}, of them cached {hits:.0f}")
    assert found == {"false": 0, "true": 1}
    # The stream had FAR_AHEAD tokens and more when it was parked. The crowd takes its last blocks at most.
    assert hits > FAR_AHEAD - 150
