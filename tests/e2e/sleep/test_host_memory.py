"""The memory of a node for sleeping models: the level of each sleep, and the wake that fits it."""
import contextlib
import json
import signal
import subprocess

import pytest
from many_models import Vllm
from processes import BINARY, Router, wait_until
from raw_http import chat, request_bytes, send

MODELS = ("llama-3.1-8b", "qwen2.5-7b")  # Weights of 16.1 and 15.2 GB.
BY_HOST = ["/wake_up"]
BY_DISK = ["/wake_up?tags=weights", "/collective_rpc", "/wake_up?tags=kv_cache"]


@contextlib.contextmanager
def engines():
    with Vllm(MODELS[0]) as first, Vllm(MODELS[1]) as second:
        yield [first, second]


def config(servers, memory, sleep="", after="300ms"):
    rows = "".join(
        f"  - {{id: {server.models[0]}, url: '{server.url}', gpus: [n1/gpu0], model: {server.models[0]}, "
        f"kv_memory: 10GB, sleep: {{after: {after}, wake: 200ms, timeout: 20s{sleep}}}}}\n"
        for server in servers
    )
    node = f"nodes: [{{id: n1, sleep_memory: {memory}}}]\n" if memory else ""
    return f"gpus: [{{id: n1/gpu0, kind: h200, memory: 140GB}}]\n{node}replicas:\n{rows}"


def ask(router, server):
    answer = send(router.address, request_bytes(body=chat(model=server.models[0], max_tokens=4)), timeout=30)
    assert answer.status == 200, answer.body
    assert answer.json()["choices"][0]["message"]["content"] == server.models[0]
    assert server.early == [], "it was asked without its weights"


def by_level(servers):
    """The server that sleeps at level 1, and that at level 2."""
    levels = {server.level: server for server in servers}
    assert set(levels) == {1, 2}, levels
    return levels[1], levels[2]


def test_a_model_without_room_on_its_node_sleeps_at_level_2_and_wakes_from_disk(folder):
    with engines() as servers:
        with Router(folder, config=config(servers, "20GB")) as router:
            router.wait_for_count("penstock_replica_asleep", 2)
            on_host, on_disk = by_level(servers)
            assert on_host.paths() == ["/sleep?level=1"] and on_disk.paths() == ["/sleep?level=2"]
            metrics = router.metrics()
            assert metrics.sum("penstock_node_sleep_memory_bytes", node="n1") == 20e9
            used = metrics.sum("penstock_node_sleep_memory_used_bytes", node="n1")
            assert 15e9 < used < 16.2e9, used
            host = json.loads(router.get("/penstock/fleet")[2])["hosts"]
            assert host == [{"name": "n1", "sleep_memory": 20_000_000_000, "sleep_memory_used": int(used), "lacking": 0}]
            ask(router, on_host)
            ask(router, on_disk)
            assert on_host.paths()[:1] == BY_HOST
            assert on_disk.paths()[:3] == BY_DISK
            router.wait_for_count("penstock_replica_asleep", 2)
            assert by_level(servers) == (on_host, on_disk), "what an engine holds stays with it"
        with Router(folder, config=config(servers, "20GB")) as router:
            wait_until(lambda: router.metrics().sum("penstock_replica_asleep") == 2, 30, "they are found asleep")
            router.wait_for_count("penstock_node_sleep_memory_used_bytes", used)
            on_host.verbs, on_disk.verbs = [], []
            ask(router, on_disk)
            ask(router, on_host)
            assert on_disk.paths()[:3] == BY_DISK and on_host.paths()[:1] == BY_HOST


def test_an_engine_that_does_not_tell_its_level_is_woken_by_the_deeper_one(folder):
    with engines() as servers:
        for server in servers:
            server.tells = False
            server.verb("/sleep?level=2", {})
        with Router(folder, config=config(servers, "40GB", after="60s")) as router:
            wait_until(lambda: router.metrics().sum("penstock_replica_asleep") == 2, 30, "they are found asleep")
            assert router.metrics().sum("penstock_node_sleep_memory_used_bytes") > 30e9, "both may hold memory"
            for server in servers:
                ask(router, server)
                assert server.paths() == BY_DISK


def test_a_model_with_a_fixed_level_stays_awake_without_room(folder):
    with engines() as servers, Router(folder, config=config(servers, "20GB", sleep=", level: 1")) as router:
        router.wait_for_count("penstock_replica_asleep", 1)
        wait_until(lambda: router.metrics().sum("penstock_node_sleep_memory_lacking") == 1, 20, "one lacks room")
        assert sorted(server.level for server in servers) == [0, 1]
        for server in servers:
            ask(router, server)


def test_without_a_bound_all_sleep_at_level_1(folder):
    with engines() as servers, Router(folder, config=config(servers, None)) as router:
        router.wait_for_count("penstock_replica_asleep", 2)
        assert [server.level for server in servers] == [1, 1]
        assert router.metrics().sum("penstock_node_sleep_memory_bytes") == 0


def test_a_reload_that_lowers_the_bound_takes_nothing_from_those_asleep(folder):
    with engines() as servers, Router(folder, config=config(servers, "40GB")) as router:
        router.wait_for_count("penstock_replica_asleep", 2)
        assert [server.level for server in servers] == [1, 1]
        router.write_config(config(servers, "1GB"), router.port)
        router.signal(signal.SIGHUP)
        router.wait_for_count("penstock_node_sleep_memory_bytes", 1e9)
        assert router.metrics().sum("penstock_node_sleep_memory_used_bytes") > 30e9
        for server in servers:
            server.verbs = []
            ask(router, server)
            assert server.paths()[:1] == BY_HOST


@pytest.mark.parametrize("memory, finding", [("0GB", "sleep_memory: 0B is outside"), ("1GB", "does not hold the weights of all 2")])
def test_check_tells_of_a_bound_that_holds_too_little(folder, memory, finding):
    path = folder / "penstock.yaml"
    with engines() as servers:
        path.write_text(config(servers, memory))
    checked = subprocess.run([BINARY, "check", str(path)], capture_output=True, text=True, timeout=30)
    assert finding in checked.stdout + checked.stderr


@pytest.mark.parametrize("wake, warns", [("9s", False), ("10s", True)])
def test_check_tells_of_a_queue_time_that_ends_before_the_wake(folder, wake, warns):
    path = folder / "penstock.yaml"
    path.write_text("replicas: [{id: a, url: 'http://127.0.0.1:9', model: m, engine: vllm, sleep: {wake: %s}}]\n"
                    "classes: {standard: {queue: 10s}}\n" % wake)
    checked = subprocess.run([BINARY, "check", str(path)], capture_output=True, text=True, timeout=30)
    said = checked.stdout + checked.stderr
    assert ("standard: queue of 10s is not longer than the wake of m" in said) == warns, said


@pytest.mark.parametrize("engine, warns", [("vllm", False), ("tgi", True)])
def test_check_tells_of_an_engine_that_can_never_sleep(folder, engine, warns):
    path = folder / "penstock.yaml"
    path.write_text("replicas: [{id: a, url: 'http://127.0.0.1:9', model: m, engine: %s, sleep: {}}]\n" % engine)
    checked = subprocess.run([BINARY, "check", str(path)], capture_output=True, text=True, timeout=30)
    assert ("it can never sleep: engines of the kind tgi" in checked.stdout + checked.stderr) == warns
    assert checked.returncode == 0
