"""The proxy benchmark: the same traffic directly, through nginx, HAProxy and Penstock. Run by bench/proxy.sh.

A whole run of a part replaces that part's tables in bench/results/proxy.md or gateways.md.

Proxies have core 0, the stub and the client core 1. CPU time is the scheduler's account of the proxy's threads
(/proc/PID/task/*/schedstat) over the measured window; the host's noise changes it less than wall time.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import gateways

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import topics  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
RIVALS = ROOT / "build/tools/rivals"
STUB_PORTS = (19101, 19102, 19103)
PORTS = {"direct": 19101, "nginx": 19110, "haproxy": 19120, "penstock": 19130,
         **{name: 19140 + 10 * i for i, name in enumerate(gateways.NAMES)}}
WAYS = ("direct", "nginx", "haproxy", "penstock")
PROXIES = WAYS[1:]

NGINX = """
daemon off; worker_processes {threads}; worker_rlimit_nofile {files}; pid {folder}/nginx.pid; error_log stderr crit;
events {{ worker_connections {files}; multi_accept on; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  keepalive_requests 1000000000; keepalive_timeout 75s; tcp_nodelay on;
  client_max_body_size 64m; client_body_buffer_size 64k;
  upstream engines {{ least_conn; {servers} keepalive 512; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://engines; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 600s;
    }}
  }}
}}
"""

HAPROXY = """
global
  maxconn {connections}
  nbthread {threads}
  stats socket {folder}/haproxy.sock
defaults
  mode http
  timeout connect 3s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 75s
  option http-no-delay
  http-reuse always
frontend clients
  bind 127.0.0.1:{port} backlog 4096
  default_backend engines
backend engines
  balance leastconn
{servers}
"""

# Full admission: classes refuse late requests, every request is forecast, leased, placed and recorded.
PENSTOCK = """
listen: 127.0.0.1:{port}
threads: {threads}
gpus:
  - {{id: a, kind: h100}}
  - {{id: b, kind: h100}}
replicas:
  - {{id: s1, url: http://127.0.0.1:{first}, gpus: [a], engine: openai, model: stub, kv_tokens: 400000000,
     max_context: 2000000, max_seqs: 65536, max_batched_tokens: 16777216}}
  - {{id: s2, url: http://127.0.0.1:{second}, gpus: [b], engine: openai, model: stub, kv_tokens: 400000000,
     max_context: 2000000, max_seqs: 65536, max_batched_tokens: 16777216}}
  - {{id: p1, url: http://127.0.0.1:{third}, gpus: [b], engine: openai, model: parked, kv_tokens: 100000,
     max_context: 100000, max_seqs: 1}}
classes:
  standard: {{ttft: 600s, tpot: 100s, queue: 600s, default: true}}
"""


class Proxy:
    """One running proxy: its processes and where it listens."""

    running = []
    patience = 60  # Seconds until it answers: a gateway in Python loads for long.

    def __init__(self, name, folder, threads=1):
        self.name = name
        self.port = PORTS[name]
        self.process = None
        self.flags = []
        if name == "direct":
            return
        files = os.sysconf("SC_OPEN_MAX")
        first, second, third = STUB_PORTS
        nginx_servers = "".join(f"server 127.0.0.1:{port} max_fails=0; " for port in (first, second))
        haproxy_servers = "\n".join(f"  server s{port} 127.0.0.1:{port}" for port in (first, second))
        values = dict(port=self.port, threads=threads, folder=folder, files=files, connections=(files - 100) // 2,
                     first=first, second=second, third=third)
        environment = dict(os.environ)
        config = pathlib.Path(folder, f"{name}.conf")
        if name == "nginx":
            config.write_text(NGINX.format(servers=nginx_servers, **values))
            command = [RIVALS / "usr/sbin/nginx", "-p", folder, "-c", config]
        elif name == "haproxy":
            config.write_text(HAPROXY.format(servers=haproxy_servers, **values))
            command = [RIVALS / "usr/sbin/haproxy", "-db", "-q", "-f", config]
            environment["LD_LIBRARY_PATH"] = str(RIVALS / "usr/lib/x86_64-linux-gnu")
        elif name in gateways.NAMES:
            command = gateways.command(name, self.port, (first, second), folder)
            environment = gateways.environment()
            self.flags = gateways.client_flags(name, (first, second))
        else:
            config.write_text(PENSTOCK.format(**values))
            command = [os.environ.get("PENSTOCK", BUILD / "penstock"), "serve", "--config", config]
        self.start(command, environment, folder, threads)

    def start(self, command, environment, folder, threads):
        name = self.name
        core = "0" if threads == 1 else "0,1"
        self.process = subprocess.Popen(["taskset", "-c", core, *map(str, command)], env=environment,
                                        stdout=subprocess.DEVNULL, stderr=open(pathlib.Path(folder, f"{name}.err"), "w"))
        Proxy.running.append(self)
        wait_for(self.port, self.patience)
        self.ready()
        if self.process.poll() is not None:
            sys.exit(f"{name} ended at once; is its port taken?")

    def ready(self):
        """Until a request is answered with 200."""
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            if client(self, "--seconds", 0.01, "--connections", 1, quiet=True)["requests"] > 0:
                return
            time.sleep(0.1)
        sys.exit(f"{self.name} does not answer")

    def pids(self):
        if self.process is None:
            return []
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def resident(self):
        """Bytes in memory that are its own."""
        total = 0
        for pid in self.pids():
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Private_Clean:", "Private_Dirty:")):
                    total += int(line.split()[1]) * 1024
        return total

    def stop(self):
        if self in Proxy.running:
            Proxy.running.remove(self)
            self.process.send_signal(signal.SIGINT if self.name == "penstock" else signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def wait_for(port, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    sys.exit(f"nothing listens on {port}")


def client_command(proxy, arguments):
    pids = [part for pid in proxy.pids() for part in ("--pid", str(pid))]
    return ["taskset", "-c", "1", str(BUILD / "bench/proxy/proxy_client"), "--port", str(proxy.port), *pids,
            *proxy.flags, *map(str, arguments)]


def client(proxy, *arguments, quiet=False):
    result = subprocess.run(client_command(proxy, arguments), stdout=subprocess.PIPE, check=False,
                            stderr=subprocess.DEVNULL if quiet else None)
    if result.returncode != 0 and not quiet:
        sys.exit(f"{proxy.name}: the load failed: {arguments}")
    answer = json.loads(result.stdout)
    answer["cpu_per_request"] = answer["cpu_us"] / max(1, answer["requests"])
    answer["cpu_per_event"] = answer["cpu_us"] / max(1, answer["events"])
    answer["rate"] = answer["requests"] / max(1e-9, answer["seconds"])
    return answer


class Held:
    """Open streams, or waiting requests, until it is left."""

    def __init__(self, proxy, *arguments):
        self.process = subprocess.Popen(client_command(proxy, ("--mode", "hold", *arguments)), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.result = json.loads(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.communicate("\n")


def alternate(proxies, rounds, measure):
    """measure(proxy) for each in turn, `rounds` times; lists by name."""
    found = {proxy.name: [] for proxy in proxies}
    for turn in range(rounds):
        order = proxies if turn % 2 == 0 else proxies[::-1]
        for proxy in order:
            found[proxy.name].append(measure(proxy))
    return found


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def paired(found, name, key, base="nginx"):
    """The median of the ratios of runs of one round."""
    return statistics.median(a[key] / b[key] for a, b in zip(found[name], found[base]))


def table(title, head, rows):
    """The lines of one table, which are printed too."""
    lines = ["", title, "", "| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|",
             *("| " + " | ".join(row) + " |" for row in rows)]
    print("\n".join(lines), flush=True)
    return lines


def short_requests(proxies, rounds, seconds):
    found = alternate(proxies, rounds, lambda proxy: client(proxy, "--connections", 32, "--seconds", seconds))
    lines = table("Short requests, 1 KB prompts, 32 connections, closed loop:",
                  ["way", "CPU us/request", "to nginx", "requests/s on one core"],
                  [[name, f"{median(rows, 'cpu_per_request'):.1f}" if name != "direct" else "",
                    f"{paired(found, name, 'cpu_per_request'):.2f}" if name != "direct" else "",
                    f"{median(rows, 'rate'):.0f}"] for name, rows in found.items()])
    return found, lines


def half_load(proxies, rounds, seconds, whose, rate):
    found = alternate(proxies, rounds,
                      lambda proxy: client(proxy, "--connections", 64, "--seconds", seconds, "--rate", rate))
    direct = found["direct"]
    return table(f"Latency at half of {whose} ({rate:.0f} requests/s, Poisson), added to the direct connection:",
                 ["way", "p50 us", "added p50 us", "p99 us", "added p99 us", "CPU us/request", "to nginx"],
                 [[name, f"{median(rows, 'p50_us'):.0f}", f"{median(rows, 'p50_us') - median(direct, 'p50_us'):.0f}",
                   f"{median(rows, 'p99_us'):.0f}", f"{median(rows, 'p99_us') - median(direct, 'p99_us'):.0f}",
                   f"{median(rows, 'cpu_per_request'):.1f}" if name != "direct" else "",
                   f"{paired(found, name, 'cpu_per_request'):.2f}" if name != "direct" else ""]
                  for name, rows in found.items()])


def streams(proxies, rounds, seconds, count, interval):
    found = alternate(proxies, rounds, lambda proxy: client(proxy, "--mode", "stream", "--connections", count,
                                                            "--interval", interval, "--seconds", seconds))
    return table(f"Streams: {count} open, one event of 210 bytes each per {interval / 1000:.0f} ms, in step:",
                 ["way", "CPU us/event", "to nginx", "gap p99 ms", "first event p50 ms", "first event p99 ms"],
                 [[name, f"{median(rows, 'cpu_per_event'):.2f}" if name != "direct" else "",
                   f"{paired(found, name, 'cpu_per_event'):.2f}" if name != "direct" else "",
                   f"{median(rows, 'gap_p99_us') / 1000:.2f}", f"{median(rows, 'first_p50_us') / 1000:.2f}",
                   f"{median(rows, 'first_p99_us') / 1000:.2f}"] for name, rows in found.items()])


def memory(folder, counts):
    rows = []
    for name in PROXIES:
        cells = [name]
        for count in counts:
            proxy = Proxy(name, folder)
            before = proxy.resident()
            with Held(proxy, "--connections", count):
                cells.append(f"{(proxy.resident() - before) / count / 1024:.1f}")
            proxy.stop()
        rows.append(cells)
    return table("Private memory per open stream, KiB (prompts of 1 KB, a fresh process for each figure):",
                 ["way", *(f"{count} streams" for count in counts)], rows)


def prompts(proxies, rounds, seconds):
    rows = []
    for size in (4 << 10, 64 << 10, 1 << 20):
        found = alternate(proxies, rounds,
                          lambda proxy: client(proxy, "--connections", 1, "--seconds", seconds, "--prompt", size))
        direct = median(found["direct"], "p50_us")
        rows += [[f"{size >> 10} KB", name, f"{median(runs, 'p50_us') - direct:.0f}", f"{median(runs, 'p99_us'):.0f}",
                  f"{median(runs, 'cpu_per_request'):.0f}"] for name, runs in found.items() if name != "direct"]
    return table("Prompt sizes, one connection:", ["prompt", "way", "added p50 us", "p99 us", "CPU us/request"], rows)


def waiting(folder, rounds, seconds):
    """One request runs on the other model's replica either way: it alone, or with so many behind it."""
    proxy = Proxy("penstock", folder)
    rows = {0: [], 1000: []}
    for _ in range(rounds):
        for count, runs in rows.items():
            with Held(proxy, "--model", "parked", "--connections", count + 1):
                time.sleep(0.3)
                runs.append(client(proxy, "--connections", 32, "--seconds", seconds))
            time.sleep(0.3)
    proxy.stop()
    return table("Penstock with requests waiting for another model on the same GPU:",
                 ["waiting", "CPU us/request", "requests/s"],
                 [[str(count), f"{median(runs, 'cpu_per_request'):.1f}", f"{median(runs, 'rate'):.0f}"]
                  for count, runs in rows.items()])


def scaling(folder, rounds, seconds, rate):
    rows = []
    for name in ("nginx", "penstock"):
        found = {1: [], 2: []}
        for _ in range(rounds):
            for threads in found:
                proxy = Proxy(name, folder, threads)
                found[threads].append(client(proxy, "--connections", 64, "--seconds", seconds, "--rate", rate))
                proxy.stop()
        one, two = (median(found[threads], "cpu_per_request") for threads in found)
        rows.append([name, f"{one:.1f}", f"{two:.1f}", f"{two / one:.2f}"])
    return table(f"CPU us/request with two threads against one, at {rate:.0f} requests/s:",
                 ["way", "one thread", "two threads", "ratio"], rows)


def gateway(name, folder, rounds, seconds):
    """One row: it runs alone, as gateways cost enough for that to make no difference."""
    proxy = Proxy(name, folder)
    try:
        client(proxy, "--connections", 8, "--seconds", seconds)
        short = [client(proxy, "--connections", 32, "--seconds", seconds) for _ in range(rounds)]
        alone = [client(proxy, "--connections", 1, "--seconds", seconds) for _ in range(rounds)]
        streamed = [client(proxy, "--mode", "stream", "--connections", 20, "--interval", 20_000, "--seconds", seconds)
                    for _ in range(rounds) if name not in gateways.WITHOUT_STREAMS]
    finally:
        proxy.stop()
    row = [name, f"{median(short, 'cpu_per_request'):.0f}", f"{median(short, 'rate'):.0f}",
           f"{median(alone, 'p50_us') / 1000:.2f}"]
    if not streamed:
        return [*row, "fails", "", ""]
    return [*row, f"{median(streamed, 'first_p50_us') / 1000:.1f}", f"{median(streamed, 'cpu_per_event'):.1f}",
            f"{median(streamed, 'gap_p99_us') / 1000:.1f}"]


def llm_gateways(folder, rounds, seconds):
    missing = [name for name in gateways.NAMES if not gateways.installed(name)]
    if missing:
        print(f"\nNot installed, skipped: {', '.join(missing)} (bench/proxy/install_gateways.sh).")
    found = [name for name in gateways.NAMES if name not in missing]
    if not found:
        return []
    return table("Gateways for LLMs, one after another; short requests over 32 connections and over one, 20 streams of an "
                 "event per 20 ms:",
                 ["way", "CPU us/request", "requests/s on one core", "p50 ms, one connection", "first event p50 ms",
                  "CPU us/event", "gap p99 ms"],
                 [gateway(name, folder, rounds, seconds) for name in ("nginx", "penstock", *found)])


def record(parts, tables):
    """Replaces the tables of the parts in their topic files."""
    source = topics.statement(f"bench/proxy.sh --only {parts}")
    for block, lines in tables.items():
        if lines:
            topics.write("gateways" if block == "gateways" else "proxy", block, [source, *lines])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs: under a minute")
    parser.add_argument("--only", default="short,half,streams,memory,prompts,waiting,scaling,gateways")
    options = parser.parse_args()
    wanted = options.only.split(",")
    tables = {}
    rounds, seconds = (1, 0.7) if options.quick else (5, 2)
    stub = subprocess.Popen(["taskset", "-c", "1", str(BUILD / "bench/proxy/proxy_stub"), *map(str, STUB_PORTS)])
    with tempfile.TemporaryDirectory() as folder:
        try:
            wait_for(STUB_PORTS[0])
            proxies = [Proxy(name, folder) for name in WAYS]
            rates = {"20,000": 20_000}
            if "short" in wanted:
                found, tables["short"] = short_requests(proxies, rounds, seconds)
                rates = {f"{whose}'s rate": median(found[whose], "rate") for whose in ("nginx", "penstock")}
            if "half" in wanted:
                tables["half" if "short" in wanted else "half-20000"] = [
                    line for whose, rate in rates.items() for line in half_load(proxies, rounds, seconds, whose, rate / 2)]
            if "streams" in wanted:
                tables["streams"] = streams(proxies, rounds, seconds, 100, 20_000)
            if "prompts" in wanted:
                tables["prompts"] = prompts(proxies, max(1, rounds - 2), seconds / 2)
            for proxy in proxies:
                proxy.stop()
            if "waiting" in wanted:
                tables["waiting"] = waiting(folder, rounds, seconds)
            if "scaling" in wanted:
                tables["scaling"] = scaling(folder, rounds, seconds, max(rates.values()) / 4)
            if "gateways" in wanted:
                tables["gateways"] = llm_gateways(folder, max(1, rounds - 2), seconds / 2)
            if "memory" in wanted:
                most = min(10_000, (os.sysconf("SC_OPEN_MAX") - 100) // 2)
                tables["memory"] = memory(folder, (1000,) if options.quick else (1000, most))
        finally:
            for proxy in list(Proxy.running):
                proxy.stop()
            stub.kill()
    if not options.quick:
        record(options.only, tables)


main()
