"""Embedding requests that share a call to their engine: bench/engines/merged.sh writes bench/results/engines/merged.md.

Table `engine`: a simulated engine alone. Table `server`: behind an API server that takes its calls one after another
(api_server.py). Engine, API server and router are processes of their own on loopback. Ways run in turn, and every figure is
the median of some rounds. A round in which other programs take too much of the cores is measured again. The variables
PENSTOCK_BINARY or PENSTOCK name another program than that of build/release.
"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from embedding_load import closed_loop  # noqa: E402
from simulator import PENSTOCK, config_file  # noqa: E402

MODEL = "qwen2.5-0.5b"
ENGINE, ROUTER, SERVER = 19301, 19302, 19303
CALL_MS = 1
ROUNDS, SECONDS = 3, 2
CONNECTIONS = (1, 8, 32, 128)
OTHERS = 1.1  # Cores that other programs may take while a round is measured.
TRIES = 60
FLEET = """
gpus: [{{id: g0, kind: l4}}]
replicas: [{{id: e0, url: 'http://127.0.0.1:{engine}', gpus: [g0], engine: vllm, model: {model}, kv_tokens: 200000, simulated: {{}}}}]
"""
ROUTING = """
listen: 127.0.0.1:{router}
threads: 1
batching: {{embeddings: {merged}}}
gpus: [{{id: g0, kind: l4}}]
replicas: [{{id: e0, url: 'http://127.0.0.1:{address}', gpus: [g0], engine: vllm, model: {model}}}]
"""
WAYS = {"direct": None, "`penstock`, apart": "false", "`penstock`, merged": "true"}


def page(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def calls_at_engine():
    """The calls for embeddings that the engine has had."""
    return float(re.search(r'^http_requests_total\{handler="/v1/embeddings".*\} (\S+)$', page(ENGINE, "/metrics"), re.MULTILINE)[1])


def processor_time(process):
    """Seconds on a core, of all threads."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def busy_time():
    """Seconds that the cores of this machine were busy."""
    times = [int(part) for part in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(times) - times[3] - times[4]) / os.sysconf("SC_CLK_TCK")


def wait_for(port, path):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            page(port, path)
            return
        time.sleep(0.1)
    sys.exit(f"nothing answers on port {port}")


@contextlib.contextmanager
def started(command, port, path):
    """A process that has answered."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            sys.exit(f"port {port} is taken")
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, path)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def measure(way, connections, served):
    """The figures of one run, with fresh processes. `served`: the engine is behind the API server."""
    with contextlib.ExitStack() as running:
        address = SERVER if served else ENGINE
        values = dict(engine=ENGINE, router=ROUTER, address=address, model=MODEL, merged=WAYS[way])
        fleet = running.enter_context(config_file(FLEET.format(**values)))
        processes = [running.enter_context(started([PENSTOCK, "engine", "--config", fleet], ENGINE, "/health"))]
        front = []
        if served:
            server = pathlib.Path(__file__).with_name("api_server.py")
            front.append(running.enter_context(started([sys.executable, server, SERVER, ENGINE, CALL_MS], SERVER, "/health")))
        if WAYS[way]:
            routing = running.enter_context(config_file(ROUTING.format(**values)))
            processes.append(running.enter_context(started([PENSTOCK, "serve", "--config", routing], ROUTER, "/readyz")))
            time.sleep(1)

        def counters():
            own = sum(map(processor_time, [*processes, *front])) + time.process_time()
            return [busy_time() - own, calls_at_engine(), *map(processor_time, processes)]

        before, found = closed_loop(ROUTER if WAYS[way] else address, MODEL, connections, SECONDS, on_start=counters)
        others, calls, engine, *router = (after - then for after, then in zip(counters(), before))
        found["others"] = others / found["seconds"]
        found["rate"] = found["requests"] / found["seconds"]
        found["calls"] = calls / found["requests"]
        found["engine_us"] = 1e6 * engine / found["requests"]
        found["router_us"] = 1e6 * router[0] / found["requests"] if router else None
        return found


def measure_quietly(*run):
    """A run beside which the machine did little else."""
    for _ in range(TRIES):
        found = measure(*run)
        if found["others"] < OTHERS:
            return found
    sys.exit("other programs keep the machine busy")


def row(connections, way, runs):
    def median(figure):
        return statistics.median(run[figure] for run in runs)
    router = f"{median('router_us'):.0f}" if WAYS[way] else "–"
    print(f"| {connections} | {way} | {median('rate'):.0f} | {median('calls'):.2f} | {1e3 * median('p50'):.1f} ms "
          f"| {1e3 * median('p99'):.1f} ms | {median('engine_us'):.0f} | {router} | {sum(run['errors'] for run in runs)} |", flush=True)


def main():
    print("| connections | way | requests/s | calls of the engine per request | p50 | p99 | CPU of the engine, us/request "
          "| of the router | errors |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    for connections in CONNECTIONS:
        found = {way: [] for way in WAYS}
        for turn in range(ROUNDS):
            for way in list(WAYS)[::1 if turn % 2 == 0 else -1]:
                found[way].append(measure_quietly(way, connections, sys.argv[1] == "server"))
        for way, runs in found.items():
            row(connections, way, runs)


if __name__ == "__main__":
    main()
