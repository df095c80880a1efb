"""The memory of replicas that end, drain, hang or fail to wake, beside a neighbour that needs it."""
import signal

from many_models import Vllm
from processes import Router
from raw_http import chat, request_bytes, send

# One model has room at a time.
HEAD = "gpus: [{id: g, kind: a100-80, memory: 30GB}]\npoll: {interval: 100ms}\nlimits: {hang_after: 60s}\n" \
       "classes: {standard: {ttft: 20s, tpot: 1s, queue: 60s, default: true}}\nreplicas:\n"
SLEEP = "{after: 60s, wake: 200ms, timeout: 5s, level: 1}"


def row(server, more=""):
    return (f"  - {{id: {server.models[0]}, url: '{server.url}', gpus: [g], model: {server.models[0]}, resident: 20GB, "
            f"kv_tokens: 10000, sleep: {SLEEP}{more}}}\n")


def answer_of(router, model):
    return send(router.address, request_bytes(body=chat(model=model, max_tokens=4)), timeout=60)


def expect_served(router, model):
    answer = answer_of(router, model)
    assert answer.status == 200, answer.body


def expect_honest_refusal(router, model):
    answer = answer_of(router, model)
    assert answer.status == 503, answer.body
    assert int(answer.headers["retry-after"]) >= 1
    assert b"could not be woken" in answer.body


class Pair:
    """Two engines on one GPU, of which the second sleeps, and a router."""

    def __init__(self, folder, first=None):
        self.first, self.second = first or Vllm("first"), Vllm("second")
        self.second.verb("/sleep?level=1", {})
        self.router = Router(folder, config=HEAD + row(self.first) + row(self.second))

    def __enter__(self):
        self.router.__enter__()
        self.router.wait_for_count("penstock_replica_up", 2)
        self.router.wait_for_count("penstock_replica_asleep", 1, replica="second")
        return self

    def __exit__(self, *arguments):
        self.router.__exit__(*arguments)
        self.first.__exit__()
        self.second.__exit__()


def test_an_engine_that_ends_gives_its_memory_to_its_neighbour(folder):
    with Pair(folder) as pair:
        expect_served(pair.router, "first")
        pair.first.end()
        pair.router.wait_for_log("engine has ended: its memory counts as free")
        expect_served(pair.router, "second")
        assert answer_of(pair.router, "first").status == 503
        assert pair.router.metrics().sum("penstock_wakes_total", replica="first") == 0, "there is nothing to wake"


def test_an_engine_that_is_deaf_keeps_its_memory_and_its_neighbour_is_refused(folder):
    with Pair(folder) as pair:
        pair.first.hearing.clear()
        pair.router.wait_for_count("penstock_replica_up", 0, replica="first")
        expect_honest_refusal(pair.router, "second")
        assert pair.router.metrics().sum("penstock_replica_asleep", replica="first") == 0
        pair.first.hearing.set()
        pair.router.wait_for_count("penstock_replica_up", 1, replica="first")
        expect_served(pair.router, "second")
        assert pair.first.paths() == ["/sleep?level=1"]


def test_an_idle_replica_that_drains_gives_its_memory_to_its_neighbour(folder):
    with Pair(folder) as pair:
        pair.router.write_config(HEAD + row(pair.first, ", drain: true") + row(pair.second))
        pair.router.signal(signal.SIGHUP)
        pair.router.wait_for_log("replica drains")
        expect_served(pair.router, "second")
        assert pair.first.paths() == ["/sleep?level=1"]
        assert answer_of(pair.router, "first").status == 503
