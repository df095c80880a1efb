"""One model on the data-parallel ranks of two nodes of real vLLM: each node counts its own ranks from 0."""
import pytest
from engines import MODEL, Vllm, call, installed
from processes import Router, free_port, wait_until

pytestmark = pytest.mark.long

ASKED = 8


@pytest.fixture(scope="module")
def nodes(folder):
    """Two of four ranks on each node; a node routes to its own ranks only."""
    if not installed("vllm"):
        pytest.skip("no vLLM: run scripts/real_env.sh vllm")
    flags = ("--data-parallel-size", "4", "--data-parallel-size-local", "2", "--data-parallel-hybrid-lb", "--data-parallel-address",
             "127.0.0.1", "--data-parallel-rpc-port", str(free_port()), "--api-server-count", "1")
    with Vllm(folder, "vllm-first", *flags, "--data-parallel-start-rank", "0") as first:
        with Vllm(folder, "vllm-second", *flags, "--data-parallel-start-rank", "2") as second:
            yield [first.wait(), second.wait()]


def test_the_ranks_of_a_second_node_are_named_as_it_counts_them(folder, nodes):
    config = f"replicas: [{{id: node, url: '{nodes[1].url}', model: {MODEL}}}]\n"
    with Router(folder, config=config) as router:
        router.wait_for_count("penstock_replica_up", 2, seconds=60)
        for number in range(ASKED):
            body = {"model": MODEL, "prompt": f"Say {number}", "max_tokens": 8}
            status, _, answer = call(router.address, "/v1/completions", body, timeout=120)
            assert status == 200, answer
        router.wait_for_nothing()
        sent = {rank: router.metrics().sum("penstock_replica_requests_total", replica=f"node/{rank}") for rank in "23"}
        assert sum(sent.values()) == ASKED

        def served():
            page = nodes[1].metrics()
            return {rank: page.sum("vllm:request_success_total", engine=rank) for rank in "23"}

        wait_until(lambda: served() == sent, 20, lambda: f"{served()} {sent}")
