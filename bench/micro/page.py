#!/usr/bin/env python3
"""The CPU time of the page: a router with 256 replicas, without viewers and with ten.

    bench/micro/page.py [SECONDS]    prints a share of one core for each, by the clock of the router's process

The engines are simulated, in a process of their own. They are polled once a minute; a round with these polls stands out.
"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PENSTOCK_BINARY", str(ROOT / "build/release/penstock"))
REPLICAS, VIEWERS, PORT = 256, 10, 20400


def configuration():
    gpus = "".join(f"  - {{id: node{i // 8}/gpu{i % 8}, kind: h100, memory: 80GB}}\n" for i in range(REPLICAS))
    replicas = "".join(
        f"  - {{id: replica-{i}, url: 'http://127.0.0.1:{PORT + 1 + i}', gpus: [node{i // 8}/gpu{i % 8}], model: llama-3.1-8b, simulated: {{}}}}\n"
        for i in range(REPLICAS))
    return f"listen: 127.0.0.1:{PORT}\npoll: {{interval: 60s}}\ngpus:\n{gpus}replicas:\n{replicas}"


def cpu_seconds(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


class Viewer(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", PORT))
        self.socket.sendall(b"GET /penstock/events HTTP/1.1\r\nHost: penstock\r\n\r\n")
        self.bytes = 0
        self.snapshots = 0
        self.start()

    def run(self):
        while data := self.socket.recv(1 << 20):
            self.bytes += len(data)
            self.snapshots += data.count(b"event: snapshot")


def share_of_a_core(router, seconds):
    before, began = cpu_seconds(router.pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(router.pid) - before) / (time.monotonic() - began)


def wait_ready():
    for _ in range(600):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=2).read()
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the router is not ready")


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "fleet.yaml"
        file.write_text(configuration())
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        engines = subprocess.Popen([BINARY, "engine", "--config", str(file)], **quiet)
        router = subprocess.Popen([BINARY, "serve", "--config", str(file)], **quiet)
        try:
            wait_ready()
            time.sleep(20)  # Discovery ends.
            for _ in range(3):  # In turn, as other work of the machine changes.
                alone = share_of_a_core(router, seconds)
                viewers = [Viewer() for _ in range(VIEWERS)]
                time.sleep(2)
                watched = share_of_a_core(router, seconds)
                size = viewers[0].bytes / max(1, viewers[0].snapshots)
                print(f"{REPLICAS} replicas, no viewer: {alone:.2%} of a core; {VIEWERS} viewers: {watched:.2%}; "
                      f"the page takes {watched - alone:.2%}; {size / 1000:.0f} kB per snapshot", flush=True)
                for viewer in viewers:
                    viewer.socket.shutdown(socket.SHUT_RDWR)
                time.sleep(1)
        finally:
            router.terminate()
            engines.terminate()
            router.wait(20)
            engines.wait(20)


main()
