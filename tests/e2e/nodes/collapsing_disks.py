"""Three nodes with GPUs that look healthy. The disks of one collapse: its engine stands still in bursts, as when it reads
KV cache from a RAID in rebuild. The same requests run with and without the exporters of the nodes.

As a program it prints the table of bench/results/nodes.md: collapsing_disks.py [ROUNDS]
"""
import concurrent.futures
import contextlib
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from exporter import Exporter  # noqa: E402
from processes import MODEL, Process, Router, free_port, wait_until  # noqa: E402
from raw_http import chat, request_bytes, send  # noqa: E402

NODES = 3
CLIENTS = 6
STALL = "stall: 1500ms, stall_every: 3s"
WELL = b'node_md_state{device="md0",state="recovering"} 0\nnode_pressure_io_stalled_seconds_total 1\n'


def collapsing():
    """A page in whose time the disks stand still: the RAID is in rebuild, and every task waits for it."""
    begun = time.monotonic()

    def answer(handler):
        stalled = 0.8 * (time.monotonic() - begun)
        page = f'node_md_state{{device="md0",state="recovering"}} 1\nnode_pressure_io_stalled_seconds_total {stalled}\n'
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(page.encode())

    return answer


def replica(number, url, more):
    return (f"  - {{id: r{number}, url: '{url}', gpus: [node{number + 1}/gpu0], model: {MODEL}, "
            f"kv_tokens: 100000{more}}}\n")


GPUS = f"gpus: [{', '.join(f'{{id: node{i + 1}/gpu0, kind: a100-80}}' for i in range(NODES))}]\n"


@contextlib.contextmanager
def engines(folder):
    """The urls of the engines, of which the first has collapsing disks."""
    ports = [free_port() for _ in range(NODES)]
    rows = "".join(replica(i, f"http://127.0.0.1:{port}", f", simulated: {{{STALL if i == 0 else ''}}}")
                   for i, port in enumerate(ports))
    path = folder / f"engines-{ports[0]}.yml"
    path.write_text(f"{GPUS}replicas:\n{rows}")
    with Process(["engine", "--config", str(path)], ports[0], folder / f"engines-{ports[0]}.log") as process:
        process.wait_for("/health")
        yield [f"http://127.0.0.1:{port}" for port in ports]


def configuration(urls, exporters):
    """The router's file, with the exporters where there are any."""
    nodes = "".join(f"  - {{id: node{i + 1}, exporters: [{{kind: node_exporter, url: '{each.url}', every: 200ms, timeout: 200ms}}]}}\n"
                    for i, each in enumerate(exporters))
    rows = "".join(replica(i, url, ", engine: vllm") for i, url in enumerate(urls))
    models = f"models: [{{name: {MODEL}, storage: true}}]\n"
    return f"{GPUS}{models}replicas:\n{rows}" + (f"nodes:\n{nodes}" if exporters else "")


def derate(router):
    return router.metrics().sum("penstock_replica_node_derate", replica="r0")


def times_of(router, requests):
    """Seconds of whole answers, sorted: so many requests by CLIENTS clients, one after the other each."""

    def ask(_):
        began = time.monotonic()
        answer = send(router.address, request_bytes(body=chat(model=MODEL, max_tokens=4)), timeout=60)
        assert answer.status == 200, answer.body
        return time.monotonic() - began

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        return sorted(clients.map(ask, range(requests)))


def run(folder, requests, signal):
    """(sorted times, share of the requests that the node with the collapsing disks got)."""
    with contextlib.ExitStack() as stack:
        urls = stack.enter_context(engines(folder))
        pages = [collapsing(), WELL, WELL] if signal else []
        exporters = [stack.enter_context(Exporter(page)) for page in pages]
        router = stack.enter_context(Router(folder, config=configuration(urls, exporters)))
        router.wait_for_count("penstock_replica_up", NODES)
        if signal:
            wait_until(lambda: derate(router) > 1, 20, "the node is derated")
        times = times_of(router, requests)
        router.wait_for_count("penstock_replica_requests_total", requests)
        return times, router.metrics().sum("penstock_replica_requests_total", replica="r0") / requests


def quantile(times, share):
    return times[min(len(times) - 1, int(share * len(times)))]


def main():
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print("| exporters | requests | share of the sick node | p50 | p90 | p99 |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for signal in (False, True):
            times, share = run(pathlib.Path(folder), requests, signal)
            figures = " | ".join(f"{quantile(times, each):.2f} s" for each in (0.5, 0.9, 0.99))
            print(f"| {'read' if signal else 'not read'} | {requests} | {100 * share:.0f} % | {figures} |")


if __name__ == "__main__":
    main()
