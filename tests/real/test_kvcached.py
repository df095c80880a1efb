"""The router against segments that kvcached's own code writes and reads."""
import json
import os
import pathlib
import subprocess
import uuid

import pytest
from kvcached_source import fetch
from processes import Engine, Router, wait_until

CACHE = pathlib.Path(os.environ.get("PENSTOCK_REAL", pathlib.Path(__file__).resolve().parents[2] / "build/real"))
GB = 10**9
MODELS = {"a": "llama-3.1-8b", "b": "mistral-7b"}

# One engine's bookkeeping by kvcached's own tracker. Each line is an order, and is answered by a line.
TRACKER = """
import json, sys
from kvcached.cli.utils import get_kv_cache_limit, update_kv_cache_limit
from kvcached.mem_info_tracker import MemInfoTracker
name, total = sys.argv[1], int(sys.argv[2])
tracker = MemInfoTracker(total)
out = sys.stdout
sys.stdout = sys.stderr
print("ready", file=out, flush=True)
for line in sys.stdin:
    verb, *numbers = json.loads(line)
    if verb == "use":
        tracker.update_memory_usage(*numbers)
    if verb == "limit":
        update_kv_cache_limit(name, *numbers)
    info = get_kv_cache_limit(name)
    target = tracker.check_and_get_resize_target(total // 64, 32)
    print(json.dumps([info.total_size, info.used_size, info.prealloc_size, target]), file=out, flush=True)
"""


class Tracker:
    def __init__(self, python, path, total):
        self.name = f"penstock_test_{uuid.uuid4().hex}"
        environment = {**os.environ, "PYTHONPATH": path, "KVCACHED_IPC_NAME": self.name}
        self.process = subprocess.Popen([python, "-c", TRACKER, self.name, str(total)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout.readline() == "ready\n"

    def tell(self, *words):
        """(limit, used, preallocated, the engine's own resize target per layer and buffer; None: no resize)"""
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)


@pytest.fixture(scope="module")
def kvcached():
    try:
        return fetch(CACHE / "kvcached")
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"kvcached cannot be downloaded: {error}")


def config(engines, trackers, mode):
    rows = "".join(
        f"  - {{id: {name}, url: '{engines[name].url}', gpus: [g], model: {MODELS[name]}, "
        f"elastic: {{segment: {tracker.name}}}}}\n"
        for name, tracker in trackers.items()
    )
    return f"poll: {{interval: 50ms}}\ngpus: [{{id: g, kind: a100-80, elastic_kv: 12GB, elastic: {mode}}}]\nreplicas:\n{rows}"


@pytest.fixture
def engines(folder):
    with Engine(folder, MODELS["a"], name="a") as a, Engine(folder, MODELS["b"], name="b") as b:
        yield {"a": a, "b": b}


def test_the_router_reads_what_kvcached_writes(folder, engines, kvcached):
    with Tracker(*kvcached, 8 * GB) as a, Router(folder, config=config(engines, {"a": a}, "read")) as router:
        router.wait_for_count("penstock_elastic_limit_bytes", 8 * GB, replica="a")
        a.tell("use", 3 * GB, GB)
        router.wait_for_count("penstock_elastic_used_bytes", 3 * GB, replica="a")
        router.wait_for_count("penstock_elastic_preallocated_bytes", GB, replica="a")
        a.tell("limit", 5 * GB)
        router.wait_for_count("penstock_pool_capacity_bytes", 5 * GB, pool="a")


def test_kvcached_obeys_the_limits_that_the_router_writes(folder, engines, kvcached):
    # Together the limits are more than the memory, so the router brings them down.
    with Tracker(*kvcached, 12 * GB) as a, Tracker(*kvcached, 12 * GB) as b:
        assert a.tell("use", GB, 0)[3] is None, "the engine has the limit that it began with"
        with Router(folder, config=config(engines, {"a": a, "b": b}, "manage")):
            wait_until(lambda: a.tell("look")[0] + b.tell("look")[0] <= 12 * GB, 30, "the limits fit")
            limit, used, _, target = a.tell("look")
            assert GB <= limit < 12 * GB and used == GB
            assert target == limit // 64, "kvcached resizes to the limit at its next allocation"
