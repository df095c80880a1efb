"""Instructions of the router per short request and per relayed event: bench/proxy/instructions.py BINARY...

Valgrind's callgrind counts the instructions of each binary in front of the same stub. The difference of a long and a short
run leaves out the start and the end of the process. An idle run gives the cost of a second without traffic, which is left
out too. One connection and one stream at a time, so nothing is batched. Each figure is the median of three.
The stub and the client are targets of the release preset (proxy_stub, proxy_client).
"""

import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from proxies import BUILD, PENSTOCK, STUB_PORTS, wait_for

PORT = 19140
TRIES = 3
IDLE_SECONDS = (1, 6)
SHORT_REQUESTS = (200, 1700)
EVENTS = (100, 3100)


def wait_until_ready(seconds=120):
    """All replicas are up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=60) as page:
            up = re.findall(r"^penstock_replica_up{.*} (\d)", page.read().decode(), re.MULTILINE)
        if up and all(value == "1" for value in up):
            return
        time.sleep(0.1)
    sys.exit("the replicas do not come up")


def send(requests, events, router):
    command = [BUILD / "bench/proxy/proxy_client", "--port", PORT, "--connections", 1, "--requests", requests,
               "--seconds", 300, "--events", events, "--interval", 1000, "--pid", router.pid]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, timeout=400)


class Counted:
    """The instructions of a binary under callgrind."""

    def __init__(self, binary, folder):
        first, second, third = STUB_PORTS
        config = pathlib.Path(folder, "penstock.yaml")
        config.write_text(PENSTOCK.format(port=PORT, threads=1, first=first, second=second, third=third))
        self.command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(binary), "serve", "--config",
                        str(config)]
        few, many = (self.run(lambda _, s=seconds: time.sleep(s)) for seconds in IDLE_SECONDS)
        self.per_second = (many[0] - few[0]) / (many[1] - few[1])

    def run(self, work):
        """The instructions of one run of the router, and its seconds."""
        router = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            wait_for(PORT, 120)
            wait_until_ready()
            begin = time.monotonic()
            work(router)
            seconds = time.monotonic() - begin
        finally:
            router.terminate()
        return int(re.search(r"Collected : (\d+)", router.communicate(timeout=120)[1]).group(1)), seconds

    def per_unit(self, counts, work):
        """The instructions of one more unit of work."""
        figures = []
        for _ in range(TRIES):
            few, many = (self.run(lambda router, n=count: work(n, router)) for count in counts)
            spent = many[0] - few[0] - (many[1] - few[1]) * self.per_second
            figures.append(spent / (counts[1] - counts[0]))
        return statistics.median(figures)


def main():
    binaries = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or [BUILD / "penstock"]
    stub = subprocess.Popen([str(BUILD / "bench/proxy/proxy_stub"), *map(str, STUB_PORTS)])
    try:
        for port in STUB_PORTS:
            wait_for(port)
        with tempfile.TemporaryDirectory() as folder:
            for binary in binaries:
                counted = Counted(binary, folder)
                short = counted.per_unit(SHORT_REQUESTS, lambda n, router: send(n, 0, router))
                event = counted.per_unit(EVENTS, lambda n, router: send(1, n, router))
                print(f"{binary}: {short:,.0f} instructions per short request, {event:,.0f} per event", flush=True)
    finally:
        stub.terminate()
        stub.wait()


if __name__ == "__main__":
    main()
