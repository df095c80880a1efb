"""The soak behind bench/soak.sh: rounds of short requests, streams and vanishing clients; memory and leftovers.

A run without an argument, when it passes, replaces the table of bench/results/soak.md.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import topics  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
STUB_PORT = 19301
PORT = 19302
ROUNDS = 20
DEFAULT_REQUESTS = 1_000_000

CONFIG = """
listen: 127.0.0.1:{port}
threads: 1
replicas:
  - {{id: s1, url: http://127.0.0.1:{stub}, engine: openai, model: stub, kv_tokens: 100000000, max_context: 100000,
     max_seqs: 4096, max_batched_tokens: 1000000}}
classes:
  standard: {{ttft: 60s, tpot: 10s, queue: 60s, default: true}}
limits: {{idle_timeout: 2s}}
"""


def load(*arguments):
    result = subprocess.run([str(BUILD / "bench/proxy/proxy_client"), "--port", str(PORT), *map(str, arguments)],
                            stdout=subprocess.PIPE, check=False)
    if result.returncode != 0:
        sys.exit(f"soak: the load failed: {arguments}")
    return json.loads(result.stdout)["requests"]


def vanish(count):
    """Clients that ask for a stream and leave within it."""
    body = b'{"model":"stub","stream":true,"messages":[{"role":"user","content":"hello"}]}'
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    head += b"x-stub: 1000000,1000\r\nContent-Length: %d\r\n\r\n" % len(body)
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", PORT)) as client:
            client.sendall(head + body)
            client.recv(1024)
    return count


def metrics():
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics") as answer:
        return answer.read().decode()


def metric(text, name):
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def answers():
    try:
        return load("--connections", 1, "--requests", 1, "--seconds", 1) > 0
    except SystemExit:
        return False


def settled(pid, before):
    """Waits until idle connections are closed."""
    end = time.monotonic() + 15
    while time.monotonic() < end and descriptors(pid) > before:
        time.sleep(0.2)


def main():
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_REQUESTS
    share = max(1, requests // ROUNDS)
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "soak.yaml")
        config.write_text(CONFIG.format(port=PORT, stub=STUB_PORT))
        stub = subprocess.Popen([str(BUILD / "bench/proxy/proxy_stub"), str(STUB_PORT)])
        router = subprocess.Popen([str(BUILD / "penstock"), "serve", "--config", str(config)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not answers():
                if router.poll() is not None:
                    sys.exit("soak: the router ended")
                time.sleep(0.2)
            time.sleep(7)
            idle = descriptors(router.pid)
            began = time.monotonic()
            done = 0
            memory = []
            for _ in range(ROUNDS):
                done += load("--connections", 64, "--requests", share // 2, "--seconds", 600)
                done += load("--connections", 64, "--requests", share // 2, "--events", 5, "--interval", 500, "--seconds", 600)
                done += vanish(20)
                memory.append(resident(router.pid))
            settled(router.pid, idle)
            text = metrics()
            settled(router.pid, idle)
            quarter = ROUNDS // 4
            second = sum(memory[quarter:2 * quarter]) / quarter
            last = sum(memory[-quarter:]) / quarter
            promised = metric(text, "penstock_pool_promised_[a-z]+")
            left = descriptors(router.pid) - idle
            table = ["| requests | seconds | resident, second quarter | resident, last quarter | growth | promised "
                     "| descriptors left | connections |", "|---:|---:|---:|---:|---:|---:|---:|---:|",
                     f"| {done:,} | {time.monotonic() - began:.0f} | {second / 2**20:.2f} MiB | {last / 2**20:.2f} MiB "
                     f"| {(last / second - 1) * 100:+.2f} % | {promised:.0f} | {left} "
                     f"| {metric(text, 'penstock_connections_open'):.0f} |"]
            print("\n".join(table))
            if last > 1.02 * second:
                findings.append("memory grows")
            if promised != 0:
                findings.append("a lease is left")
            if left > 0:
                findings.append("descriptors are left")
        finally:
            router.send_signal(signal.SIGTERM)
            stub.kill()
            try:
                if router.wait(30) != 0:
                    findings.append(f"the router ended with {router.returncode}")
            except subprocess.TimeoutExpired:
                router.kill()
                findings.append("the router does not end")
    if findings:
        sys.exit("soak: " + ", ".join(findings))
    if len(sys.argv) == 1:
        topics.write("soak", "soak", [topics.statement("bench/soak.sh"), "", *table])


main()
