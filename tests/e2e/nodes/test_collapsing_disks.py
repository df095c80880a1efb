"""Three nodes whose GPUs look healthy, and the disks of one collapse: the exporters' signal saves its users' first tokens.

The KV cache of the model lies on the disks. A request on the sick node waits for them in front of its first step. So no step
is slow, and nothing on the GPUs shows it.
"""
import concurrent.futures
import contextlib
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))

from exporter import Exporter  # noqa: E402
from processes import Process, Router, free_port, wait_until  # noqa: E402
from raw_http import chat, request_bytes, send  # noqa: E402

MODEL = "qwen2.5-7b"
DISK_WAIT = 3  # Seconds.
REQUESTS = 120
GPUS = "gpus: [{id: node1/gpu0, kind: a100-80}, {id: node2/gpu0, kind: a100-80}, {id: node3/gpu0, kind: a100-80}]\n"


def replica(i, port, simulated=""):
    return (f"  - {{id: r{i}, url: 'http://127.0.0.1:{port}', gpus: [node{i}/gpu0], engine: vllm, model: {MODEL}, "
            f"kv_tokens: 100000{simulated}}}\n")


@contextlib.contextmanager
def engines(folder):
    ports = [free_port() for _ in range(3)]
    waits = ["0s", "0s", f"{DISK_WAIT}s"]
    rows = "".join(replica(i + 1, port, f", simulated: {{host_time: {wait}}}")
                   for i, (port, wait) in enumerate(zip(ports, waits, strict=True)))
    (folder / "engines.yml").write_text(GPUS + "replicas:\n" + rows)
    with Process(["engine", "--config", str(folder / "engines.yml")], ports[0], folder / "engines.log") as running:
        running.wait_for("/health")
        yield ports


def busy_disk(started):
    """The page of a node_exporter whose disk is busy all the time."""
    def answer(handler):
        page = f'node_disk_io_time_seconds_total{{device="nvme0n1"}} {time.monotonic() - started}\n'.encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(page)))
        handler.end_headers()
        handler.wfile.write(page)
    return answer


def first_tokens(folder, ports, exporter):
    """Seconds to the first token of each request, twelve at a time."""
    url = exporter.url if exporter else ""
    signals = f"nodes: [{{id: node3, exporters: [{{kind: node_exporter, url: '{url}', every: 200ms}}]}}]\n"
    config = GPUS + f"models: [{{name: {MODEL}, storage: true}}]\n" + (signals if exporter else "")
    config += "replicas:\n" + "".join(replica(i + 1, port) for i, port in enumerate(ports))
    with Router(folder, config=config) as router:
        router.wait_for_count("penstock_replica_up", 3)
        if exporter:
            wait_until(lambda: router.metrics().sum("penstock_replica_storage_pressure", replica="r3") > 0.5, 20, "a signal")

        def ask(i):
            started = time.monotonic()
            body = chat(model=MODEL, max_tokens=1, messages=[{"role": "user", "content": f"question {i} " + "word " * 300}])
            assert send(router.address, request_bytes(body=body), timeout=60).status == 200
            return time.monotonic() - started

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            return sorted(pool.map(ask, range(REQUESTS)))


def test_the_signal_of_the_disks_saves_the_first_tokens_of_their_users(folder):
    with engines(folder) as ports, Exporter(busy_disk(time.monotonic())) as exporter:
        blind = first_tokens(folder, ports, None)
        warned = first_tokens(folder, ports, exporter)
    late = [sum(seconds > DISK_WAIT for seconds in run) for run in (blind, warned)]
    print(f"of {REQUESTS} requests, {late[0]} waited for the disks without the signal, {late[1]} with it; the slowest first "
          f"tokens took {blind[-1]:.2f} and {warned[-1]:.2f} s")
    assert late[0] > 0
    assert late[1] == 0
