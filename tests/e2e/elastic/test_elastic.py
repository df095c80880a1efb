"""Engines with limits in elastic memory: the real binary, simulated engines, and real files in kvcached's layout."""
import contextlib
import os
import socket
import sys
import threading

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from processes import Engine, Router, wait_until  # noqa: E402
from raw_http import chat, request_bytes, send  # noqa: E402
from segment_file import GB, LAYOUT, Segment  # noqa: E402

MODELS = {"a": "llama-3.1-8b", "b": "mistral-7b"}
CLASSES = "classes: {standard: {ttft: 60s, tpot: 1s, queue: 120s, default: true}}\n"


@pytest.fixture(scope="module")
def engines(folder):
    with Engine(folder, MODELS["a"], name="a") as a, Engine(folder, MODELS["b"], name="b") as b:
        yield {"a": a, "b": b}


def config(engines, segments, mode="read", elastic_kv="12GB"):
    rows = "".join(
        f"  - {{id: {name}, url: '{engines[name].url}', gpus: [g], model: {MODELS[name]}, "
        f"elastic: {{segment: {segment.path}}}}}\n"
        for name, segment in segments.items()
    )
    gpu = f"gpus: [{{id: g, kind: a100-80, elastic_kv: {elastic_kv}, elastic: {mode}}}]\n"
    return f"poll: {{interval: 50ms}}\n{gpu}{CLASSES}replicas:\n{rows}"


@pytest.fixture
def segments(tmp_path):
    return {name: Segment(tmp_path / f"kvcached_{name}", 6 * GB) for name in MODELS}


@contextlib.contextmanager
def many(router, count, model, tokens=3000, own_words=0):
    """Requests that run for a long time; their clients leave at the end. Each prompt begins with words of its own."""
    connections = [socket.create_connection(router.address) for _ in range(count)]
    for number, connection in enumerate(connections):
        prompt = f"Client {number} says. " * (own_words // 3) + "Say something long. " * 40
        body = chat(prompt, model=model, max_tokens=tokens, stream=True)
        connection.sendall(request_bytes(body=body))
    try:
        yield
    finally:
        for connection in connections:
            connection.close()
        router.wait_for_count("penstock_replica_running_requests", 0)


def running(router, replica):
    return router.metrics().sum("penstock_replica_running_requests", replica=replica)


def settled_running(router, replica, total):
    """The requests that run once each of them runs or waits."""

    def all_known():
        metrics = router.metrics()
        return metrics.sum("penstock_queued_requests") + metrics.sum("penstock_replica_running_requests") == total

    wait_until(all_known, 20, f"{total} requests at the router")
    return running(router, replica)


def ask(router, model=MODELS["a"]):
    return send(router.address, request_bytes(body=chat(model=model, max_tokens=4)), timeout=60).status


@pytest.mark.alone
def test_a_limit_that_falls_lets_fewer_in_and_one_that_rises_more(folder, engines, segments):
    segments["a"].set_limit(GB)
    with Router(folder, config=config(engines, segments)) as router:
        router.wait_for_count("penstock_elastic_limit_bytes", GB, replica="a")
        router.wait_for_count("penstock_pool_capacity_bytes", GB, pool="a")
        # A prompt of 900 tokens takes 0.12 GB, so those of all need 3 GB. With their outputs in full they need 8 GB.
        with many(router, 24, MODELS["a"], tokens=1500, own_words=600):
            few = settled_running(router, "a", 24)
            assert 1 <= few < 12
            segments["a"].set_limit(10 * GB)
            router.wait_for_count("penstock_replica_running_requests", 24, replica="a")


def test_memory_that_neighbours_preallocated_is_not_given_out(folder, engines, segments):
    segments["b"].store(segments["b"].path.read_bytes()[:16] + (5 * GB).to_bytes(8, sys.byteorder))
    with Router(folder, config=config(engines, segments)) as router:
        router.wait_for_count("penstock_elastic_preallocated_bytes", 5 * GB, replica="b")
        router.wait_for_count("penstock_pool_capacity_bytes", 7 * GB, pool="g")


IMPOSSIBLE_USE = LAYOUT.pack(6 * GB, 1 << 50, 0)


@pytest.mark.parametrize("garbage", [b"", b"x" * 10, b"\0" * 24, b"\xff" * 24, b"x" * 4096, IMPOSSIBLE_USE])
def test_garbage_is_counted_named_and_the_last_limit_kept(folder, engines, segments, garbage):
    with Router(folder, config=config(engines, segments)) as router:
        router.wait_for_count("penstock_pool_capacity_bytes", 6 * GB, pool="a")
        segments["a"].store(garbage)
        wait_until(lambda: router.metrics().sum("penstock_elastic_reads_total", replica="a", result="garbage") > 2, 20, "seen")
        router.wait_for_log(f"segment {segments['a'].path} cannot be read")
        assert router.metrics().sum("penstock_elastic_reads_total", replica="other") == 0, "each reading has a name"
        assert ask(router) == 200
        assert router.metrics().sum("penstock_pool_capacity_bytes", pool="a") == 6 * GB
        assert router.log().count("cannot be read") == 1, "logged once"


def test_a_file_that_vanishes_and_comes_back(folder, engines, segments):
    with Router(folder, config=config(engines, segments)) as router:
        router.wait_for_count("penstock_pool_capacity_bytes", 6 * GB, pool="a")
        os.unlink(segments["a"].path)
        router.wait_for_log("No such file")
        assert ask(router) == 200
        assert router.metrics().sum("penstock_elastic_limit_bytes", replica="a") == 6 * GB
        wait_until(lambda: router.metrics().sum("penstock_elastic_age_seconds", replica="a") > 0.2, 20, "it is old")
        Segment(segments["a"].path, 3 * GB)
        router.wait_for_count("penstock_pool_capacity_bytes", 3 * GB, pool="a")


def test_a_router_starts_without_the_files(folder, engines, segments):
    for segment in segments.values():
        os.unlink(segment.path)
    with Router(folder, config=config(engines, segments)) as router:
        wait_until(lambda: ask(router) == 200, 20, "it serves")
        assert not router.metrics().has("penstock_elastic_limit_bytes")
        warnings = [line for line in router.log().splitlines() if '"level":"warning"' in line]
        assert sum("cannot be read" in line for line in warnings) == len(segments)
        Segment(segments["b"].path, 2 * GB)
        router.wait_for_count("penstock_pool_capacity_bytes", 2 * GB, pool="b")


def test_a_lock_that_never_ends_stops_nothing(folder, engines, segments):
    with Router(folder, config=config(engines, segments)) as router:
        router.wait_for_count("penstock_pool_capacity_bytes", 6 * GB, pool="a")
        with segments["a"].hold():
            wait_until(lambda: router.metrics().sum("penstock_elastic_reads_total", replica="a", result="busy") > 3, 20, "busy")
            assert ask(router) == 200
            # The other engine is followed as before.
            segments["b"].set_limit(4 * GB)
            router.wait_for_count("penstock_pool_capacity_bytes", 4 * GB, pool="b")
        segments["a"].set_limit(5 * GB)
        router.wait_for_count("penstock_pool_capacity_bytes", 5 * GB, pool="a")


def test_reading_never_writes(folder, engines, segments):
    with Router(folder, config=config(engines, segments)) as router:
        with many(router, 60, MODELS["a"]):
            settled_running(router, "a", 60)
            before = router.metrics().sum("penstock_elastic_reads_total", replica="b", result="ok")
            wait_until(lambda: router.metrics().sum("penstock_elastic_reads_total", replica="b", result="ok") > before + 60, 20,
                       "three more seconds")
        assert [segment.limit for segment in segments.values()] == [6 * GB, 6 * GB]


@pytest.mark.alone
def test_memory_moves_to_the_engine_whose_requests_wait(folder, engines, segments):
    with Router(folder, config=config(engines, segments, mode="manage")) as router:
        router.wait_for_count("penstock_pool_capacity_bytes", 6 * GB, pool="a")
        with many(router, 60, MODELS["a"], tokens=8000):
            few = settled_running(router, "a", 60)
            assert few < 60
            wait_until(lambda: segments["a"].limit > 9 * GB, 30, lambda: f"limits {[each.values() for each in segments.values()]}")
            wait_until(lambda: running(router, "a") > few, 20, "more run")
            assert segments["a"].limit + segments["b"].limit <= 12 * GB
            assert segments["b"].limit >= 0.5 * GB
        assert router.metrics().sum("penstock_elastic_orders_total") >= 2
        assert router.metrics().sum("penstock_elastic_orders_failed_total") == 0
        assert ask(router, MODELS["b"]) == 200


def test_an_engine_whose_file_is_not_there_takes_nothing_from_its_neighbour(folder, engines, segments):
    os.remove(segments["b"].path)
    with Router(folder, config=config(engines, segments, mode="manage")) as router:
        router.wait_for_count("penstock_replica_up", 2)
        reads = router.metrics().sum("penstock_elastic_reads_total", replica="a")
        # A plan would be made after a second of reports.
        wait_until(lambda: router.metrics().sum("penstock_elastic_reads_total", replica="a") > reads + 60, 20, router.log)
        assert segments["a"].limit == 6 * GB
        assert router.metrics().sum("penstock_elastic_orders_total") == 0


def test_a_limit_that_does_not_read_back_is_an_event_and_the_engine_is_left_alone(folder, engines, segments):
    stop = threading.Event()

    def insist():
        # Nearly always unlocked, so that the router reads; far oftener than it does, so that it reads this limit.
        while not stop.wait(0.01):
            segments["b"].set_limit(6 * GB)

    other = threading.Thread(target=insist)
    with Router(folder, config=config(engines, segments, mode="manage")) as router:
        router.wait_for_count("penstock_pool_capacity_bytes", 6 * GB, pool="a")
        other.start()
        try:
            with many(router, 60, MODELS["a"], tokens=8000):
                router.wait_for_count("penstock_elastic_orders_failed_total", 1, replica="b", seconds=30)
                assert router.metrics().sum("penstock_elastic_orders_total", replica="b") == 1
                assert segments["a"].limit == 6 * GB, "nobody freed the memory"
                assert ask(router, MODELS["b"]) == 200
        finally:
            stop.set()
            other.join()
        assert "was written and reads back as" in router.log()
