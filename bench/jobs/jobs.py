"""A job beside interactive load, a job alone, a job's memory and its prefixes: bench/jobs/run.sh writes bench/results/jobs/jobs.md.

Engines are simulated in real time, and the router is the real binary. `jobs.py TABLE` prints one table.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from clients import Api, Interactive, direct  # noqa: E402
from processes import BINARY, MODEL, Metrics, free_port, get  # noqa: E402

PREFIX = "You are a careful clerk. Read the record and say what it is about. "


def line(number, content, max_tokens):
    body = {"model": MODEL, "messages": [{"role": "user", "content": content}], "max_tokens": max_tokens}
    return {"custom_id": f"r{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}


def lines_of(count, seed, words=200, max_tokens=100):
    """Prompts that share nothing but their first words."""
    chance = random.Random(seed)
    return [line(i, f"Record {chance.random():.9f}. " + "word " * chance.randrange(words // 2, words * 3 // 2), max_tokens)
            for i in range(count)]


class Fleet:
    """Two simulated engines and a router in front of them, in a folder of their own."""

    def __init__(self, folder, engines=2, **options):
        self.folder = pathlib.Path(folder)
        self.options = {"kv_tokens": 60_000, "max_seqs": 64, **options}
        self.engines = [free_port() for _ in range(engines)]
        self.port = free_port()
        self.processes = []

    def __enter__(self):
        for i, port in enumerate(self.engines):
            arguments = ["engine", "--listen", f"127.0.0.1:{port}", "--model", MODEL, "--gpu", "a100-80", "--seed", str(i + 1)]
            for key, value in self.options.items():
                arguments += ["--" + key.replace("_", "-"), str(value)]
            self.start(arguments)
        for port in self.engines:
            self.await_page(port, "/health")
        replicas = "".join(f"  - {{url: http://127.0.0.1:{port}, max_seqs: {self.options['max_seqs']}}}\n" for port in self.engines)
        config = self.folder / "router.yaml"
        config.write_text(f"listen: 127.0.0.1:{self.port}\nthreads: 1\nreplicas:\n{replicas}state: {{path: {self.folder / 'state'}}}\n")
        self.router = self.start(["serve", "--config", str(config)])
        self.await_page(self.port, "/readyz")
        self.api = Api(self.port)
        return self

    def start(self, arguments):
        log = open(self.folder / f"{len(self.processes)}.log", "wb")
        self.processes.append(subprocess.Popen([BINARY, *arguments], stdout=log, stderr=subprocess.STDOUT))
        return self.processes[-1]

    @staticmethod
    def await_page(port, path):
        while get(("127.0.0.1", port), path)[0] != 200:
            time.sleep(0.05)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def metrics(self):
        return Metrics(get(("127.0.0.1", self.port), "/metrics", timeout=60)[2])

    def engine_sum(self, name):
        return sum(Metrics(get(("127.0.0.1", port), "/metrics", timeout=60)[2]).sum(name) for port in self.engines)

    def generated(self):
        return self.engine_sum("vllm:generation_tokens_total")

    def megabytes(self):
        pages = int(pathlib.Path(f"/proc/{self.router.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextlib.contextmanager
def fleet(**options):
    with tempfile.TemporaryDirectory(prefix="penstock-jobs-") as folder, Fleet(folder, **options) as made:
        yield made


def rate_of(made, seconds):
    """Tokens per second that the engines generate from now on."""
    before, began = made.generated(), time.monotonic()
    time.sleep(seconds)
    return (made.generated() - before) / (time.monotonic() - began)


def beside(seconds, rate, short, seed=1):
    """The interactive class alone and beside a job, in turn; and the part of the idle tokens that the job takes."""
    with fleet() as made:
        load = Interactive(made.port, rate, seconds, short)
        load.run(seed + 100)  # The router learns the fleet.
        batch = made.api.begin(lines_of(10_000, seed))
        time.sleep(10)
        full = rate_of(made, seconds)
        results = []
        for turn in range(2):
            before, began = made.metrics(), time.monotonic()
            with_job = load.run(seed + turn)
            after, took = made.metrics(), time.monotonic() - began
            job = (after.sum("penstock_batch_tokens_total", kind="output") - before.sum("penstock_batch_tokens_total", kind="output")) / took
            evicted = after.sum("penstock_evicted_total") - before.sum("penstock_evicted_total")
            results.append((with_job, job, evicted, load.pause))
        made.api.cancel(batch)
        alone = []
        for turn in range(2):
            before, began = made.generated(), time.monotonic()
            first = load.run(seed + turn)
            alone.append((first, (made.generated() - before) / (time.monotonic() - began), load.pause))
    print("| arrivals | interactive p50 TTFT | p99 TTFT | over alone | interactive tokens/s | job tokens/s | of the idle tokens | evictions | longest pause of the client |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    print(f"| none: the job alone | | | | | {full:.0f} | 100.0 % | | |")
    for turn, ((with_job, job, evicted, pause), (first, own, pause_alone)) in enumerate(zip(results, alone)):
        p50, p99 = statistics.median(first), statistics.quantiles(first, n=100)[98]
        print(f"| seed {turn + 1}, alone | {p50:.3f} s | {p99:.3f} s | | {own:.0f} | | | | {pause_alone:.3f} s |")
        now50, now99 = statistics.median(with_job), statistics.quantiles(with_job, n=100)[98]
        print(f"| seed {turn + 1}, beside the job | {now50:.3f} s | {now99:.3f} s | {100 * (now99 / p99 - 1):+.1f} % | {own:.0f} "
              f"| {job:.0f} | {100 * job / (full - own):.1f} % | {evicted:.0f} "
              f"| {pause:.3f} s |")


def alone(count):
    """The same lines as a job, and all at once to the engines."""
    lines = lines_of(count, 7)
    print("| way | lines | seconds | tokens/s | of the direct way |")
    print("|---|---:|---:|---:|---:|")
    with fleet() as made:
        before, began = made.generated(), time.monotonic()
        asyncio.run(direct(made.engines, lines))
        took = time.monotonic() - began
        offline = (made.generated() - before) / took
    print(f"| straight to the engines, half of the lines each | {count} | {took:.1f} | {offline:.0f} | 100.0 % |")
    with fleet() as made:
        before, began = made.generated(), time.monotonic()
        made.api.finish(made.api.begin(lines))
        took = time.monotonic() - began
        rate = (made.generated() - before) / took
    print(f"| a job, upload and validation included | {count} | {took:.1f} | {rate:.0f} | {100 * rate / offline:.1f} % |")


def memory(counts):
    """The resident memory of the router while it takes, checks and runs a job."""
    print("| lines | input | before | after the upload | most in validation | most while it runs | lines that ran |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for count in counts:
        with fleet(time_scale=50, max_seqs=256) as made:
            start = made.megabytes()
            path = made.folder / "input.jsonl"
            with open(path, "w") as out:
                for i in range(count):
                    out.write(json.dumps(line(i, f"Record {i}. " + "word " * 20, 1)) + "\n")
            size = path.stat().st_size / 1e6
            batch = made.api.begin_file(path)
            uploaded = made.megabytes()
            checking = running = uploaded
            end = time.monotonic() + 60 + count / 20_000
            while time.monotonic() < end:
                status = made.api.batch(batch)["status"]
                if status == "validating":
                    checking = max(checking, made.megabytes())
                    end = time.monotonic() + 60
                elif status == "completed":
                    break
                else:
                    running = max(running, made.megabytes())
                time.sleep(0.2)
            ran = made.api.batch(batch)["request_counts"]["completed"]
        print(f"| {count:,} | {size:.0f} MB | {start:.0f} MB | {uploaded:.0f} MB | {checking:.0f} MB | {running:.0f} MB | {ran:,} |", flush=True)


def prefixes(count, groups=100):
    """Lines of many groups in a random order; those of a group share a long beginning. The cache holds a few groups."""
    chance = random.Random(5)
    long = ["".join(f"{PREFIX}Group {g}, rule {k}. " for k in range(40)) for g in range(groups)]
    lines = [line(i, long[chance.randrange(groups)] + f"Record {i}.", 20) for i in range(count)]
    print("| order | lines | prompt tokens | from the cache | computed |")
    print("|---|---:|---:|---:|---:|")
    for name, way in (("of the file, straight to the engines", "direct"), ("of the job", "job")):
        with fleet(kv_tokens=20_000, max_seqs=16) as made:
            if way == "direct":
                asyncio.run(direct(made.engines, lines))
            else:
                made.api.finish(made.api.begin(lines))
            asked = made.engine_sum("vllm:prefix_cache_queries_total")
            hits = made.engine_sum("vllm:prefix_cache_hits_total")
        print(f"| {name} | {count} | {asked:.0f} | {hits:.0f} ({100 * hits / asked:.1f} %) | {asked - hits:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["beside", "alone", "memory", "prefixes"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=4)
    parser.add_argument("--short", action="store_true", help="short interactive prompts")
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--counts", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    if options.table == "beside":
        beside(options.seconds, options.rate, options.short)
    elif options.table == "alone":
        alone(options.lines)
    elif options.table == "memory":
        memory(options.counts)
    else:
        prefixes(options.lines)


if __name__ == "__main__":
    main()
