"""The proxy benchmark: the same traffic directly, through nginx, HAProxy and Penstock. Run by bench/proxy.sh.

A whole run of a part replaces that part's tables in bench/results/proxy.md or gateways.md.

Proxies have core 0, the stub and the client core 1. CPU time is the scheduler's account of the proxy's threads
(/proc/PID/task/*/schedstat) over the measured window; the host's noise changes it less than wall time.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import gateways
from proxies import BUILD, PROXIES, STUB_PORTS, WAYS, Held, Proxy, client, wait_for

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import topics  # noqa: E402

# Requests per second of the goal for added latency: it depends on no proxy's own rate.
FIXED_RATE = 10_000


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


def latency(proxies, rounds, seconds, load, rate):
    found = alternate(proxies, rounds,
                      lambda proxy: client(proxy, "--connections", 64, "--seconds", seconds, "--rate", rate))
    direct = found["direct"]
    return table(f"Latency at {load} ({rate:.0f} requests/s, Poisson), added to the direct connection:",
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
            rates = {}
            if "short" in wanted:
                found, tables["short"] = short_requests(proxies, rounds, seconds)
                rates = {f"{whose}'s rate": median(found[whose], "rate") for whose in ("nginx", "penstock")}
            if "half" in wanted:
                tables["half"] = [line for whose, rate in rates.items()
                                  for line in latency(proxies, rounds, seconds, f"half of {whose}", rate / 2)]
                tables["fixed"] = latency(proxies, rounds, seconds, "a fixed rate", FIXED_RATE)
            if "streams" in wanted:
                tables["streams"] = streams(proxies, rounds, seconds, 100, 20_000)
            if "prompts" in wanted:
                tables["prompts"] = prompts(proxies, max(1, rounds - 2), seconds / 2)
            for proxy in proxies:
                proxy.stop()
            if "waiting" in wanted:
                tables["waiting"] = waiting(folder, rounds, seconds)
            if "scaling" in wanted:
                tables["scaling"] = scaling(folder, rounds, seconds, max(rates.values(), default=2 * FIXED_RATE) / 4)
            if "gateways" in wanted:
                tables["gateways"] = llm_gateways(folder, max(1, rounds - 2), seconds / 2)
            if "memory" in wanted:
                # Penstock gives one address three quarters of its connections.
                most = min(10_000, (os.sysconf("SC_OPEN_MAX") - 1000) // 2 * 3 // 4)
                tables["memory"] = memory(folder, (1000,) if options.quick else (1000, most))
        finally:
            for proxy in list(Proxy.running):
                proxy.stop()
            stub.kill()
    if not options.quick:
        record(options.only, tables)


if __name__ == "__main__":
    main()
