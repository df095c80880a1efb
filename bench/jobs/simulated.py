"""A job beside interactive load in virtual time: the tables `simulated` and `day` of bench/results/jobs/jobs.md.

The fleet and the requests are those of jobs.py: two engines, streams at 4 per second, and more lines than the engines can
take. The share of the idle tokens is the rest of all tokens over the tokens of the job alone less those of the streams alone.
In the table `day` the rate of the streams rises from none to 16 per second and falls again, in each of two short days.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = ROOT / "build/release/penstock"
RATE, LINES_PER_SECOND = 4, 64
DAY_SECONDS, DAYS, PEAK_RATE, BIN_SECONDS = 600, 2, 16, 20

FLEET = """gpus: [{id: gpu0, kind: a100-80}, {id: gpu1, kind: a100-80}]
replicas:
  - {id: r0, gpus: [gpu0], model: llama-3.1-8b, kv_tokens: 60000, max_seqs: 64, simulated: {max_seqs: 64}}
  - {id: r1, gpus: [gpu1], model: llama-3.1-8b, kv_tokens: 60000, max_seqs: 64, simulated: {max_seqs: 64}}
classes:
  interactive: {ttft: 60s, tpot: 10s, queue: 600s, default: true}
  background: {ttft: 10h, tpot: 10s, queue: 24h, evictable: true}
trace: {models: {"": llama-3.1-8b}}
"""


def streams(seed, seconds):
    chance = random.Random(seed)
    at = chance.expovariate(RATE)
    while at < seconds:
        yield at, "interactive", min(5000, int(chance.lognormvariate(6, 1))) + 12, chance.randrange(20, 80)
        at += chance.expovariate(RATE)


def streams_of_days(seed, seconds):
    """A rate that rises and falls: of the arrivals at the highest rate each stays with the chance of its time."""
    chance = random.Random(seed)
    at = chance.expovariate(PEAK_RATE)
    while at < seconds:
        prompt, output = min(5000, int(chance.lognormvariate(6, 1))) + 12, chance.randrange(20, 80)
        if chance.random() < (1 - math.cos(2 * math.pi * at / DAY_SECONDS)) / 2:
            yield at, "interactive", prompt, output
        at += chance.expovariate(PEAK_RATE)


def lines(seed, seconds):
    chance = random.Random(seed + 1000)
    for i in range(int(LINES_PER_SECOND * seconds)):
        yield max(0, i - 150) / LINES_PER_SECOND, "background", chance.randrange(115, 315), 100


def simulate(folder, name, policy, seed, seconds, arrivals=streams, more=()):
    trace = pathlib.Path(folder) / f"{name}-{seed}.csv"
    rows = [*(arrivals(seed, seconds) if name != "job" else []), *(lines(seed, seconds) if name != "alone" else [])]
    trace.write_text("arrival_s,model,tenant,prompt_tokens,output_tokens,class,max_output\n" + "".join(
        f"{at:.6f},,{kind},{prompt},{output},{kind},{output}\n" for at, kind, prompt, output in sorted(rows)))
    command = [PENSTOCK, "simulate", "--config", f"{folder}/fleet.yaml", "--trace", trace, "--duration", f"{seconds}s", "--policy", policy,
               "--seed", seed, "--json", *more]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def tokens_by_time(log):
    """Output tokens per class and bin, by the end of their request; and (arrival, TTFT) of the streams."""
    bins = {"interactive": [0] * (DAYS * DAY_SECONDS // BIN_SECONDS), "background": [0] * (DAYS * DAY_SECONDS // BIN_SECONDS)}
    arrived, ttft = {}, []
    for line in open(log):
        source, at, kind, *words = line.split()
        if source != "event":
            continue
        at = int(at) / 1e9
        if kind == "arrived":
            arrived[words[0]] = ("interactive" if words[2] == "0" else "background", at)
        elif kind == "first-token" and arrived[words[0]][0] == "interactive":
            ttft.append((arrived[words[0]][1], at - arrived[words[0]][1]))
        elif kind == "closed" and at < DAYS * DAY_SECONDS:
            bins[arrived[words[0]][0]][int(at / BIN_SECONDS)] += int(words[3])
    return bins, ttft


def day(seed):
    """The tokens of a job in the quarters of a day, from the least busy to the busiest."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="penstock-jobs-") as folder:
        (pathlib.Path(folder) / "fleet.yaml").write_text(FLEET)
        for name in ("alone", "job", "beside"):
            log = f"{folder}/{name}.log"
            simulate(folder, name, "penstock", seed, DAYS * DAY_SECONDS, streams_of_days, ("--log", log))
            found[name] = tokens_by_time(log)
    own, both = found["alone"][0]["interactive"], found["beside"][0]
    full = sum(found["job"][0]["background"]) / len(own)
    order = sorted(range(len(own)), key=lambda i: own[i])
    print("| quarter of the time | streams, tokens/s | job, tokens/s | of the job's tokens | of the idle tokens | p99 TTFT over alone |")
    print("|---|---:|---:|---:|---:|---:|")
    for number, name in enumerate(("least busy", "second", "third", "busiest")):
        part = order[number * len(own) // 4:(number + 1) * len(own) // 4]
        stream, job = (sum(tokens[i] for i in part) / len(part) for tokens in (own, both["background"]))
        p99 = [statistics.quantiles([took for at, took in found[name][1] if int(at / BIN_SECONDS) in part], n=100)[98]
               for name in ("alone", "beside")]
        print(f"| {name} | {stream / BIN_SECONDS:.0f} | {job / BIN_SECONDS:.0f} | {100 * job * len(part) / sum(both['background']):.1f} % "
              f"| {100 * job / (full - stream):.1f} % | {100 * (p99[1] / p99[0] - 1):+.1f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--day", action="store_true", help="the table `day`, of the first seed")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--policies", nargs="+", default=["penstock", "penstock:without=newcomers"])
    options = parser.parse_args()
    if options.day:
        return day(1)
    seeds = range(1, options.seeds + 1)
    keys = [("alone", "penstock"), ("job", "penstock"), *(("beside", policy) for policy in options.policies)]
    runs = [(name, policy, seed) for name, policy in keys for seed in seeds]
    with tempfile.TemporaryDirectory(prefix="penstock-jobs-") as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        (pathlib.Path(folder) / "fleet.yaml").write_text(FLEET)
        results = dict(zip(runs, pool.map(lambda run: simulate(folder, *run, options.seconds), runs)))
    print("| policy | p99 TTFT over alone, by seed | mean | p50 over alone | of the idle tokens |")
    print("|---|---|---:|---:|---:|")
    for policy in options.policies:
        p99, p50, idle = [], [], []
        for seed in seeds:
            alone, job, both = results["alone", "penstock", seed], results["job", "penstock", seed], results["beside", policy, seed]
            before, now = alone["per_class"]["interactive"]["ttft_s"], both["per_class"]["interactive"]["ttft_s"]
            p99.append(100 * (now["p99"] / before["p99"] - 1))
            p50.append(1000 * (now["p50"] - before["p50"]))
            own = alone["total_tokens_per_s"]
            idle.append(100 * (both["total_tokens_per_s"] - own) / (job["total_tokens_per_s"] - own))
        print(f"| `{policy}` | {', '.join(f'{x:+.1f}' for x in p99)} % | {statistics.mean(p99):+.1f} % | "
              f"{statistics.mean(p50):+.1f} ms | {statistics.mean(idle):.1f} % |")


if __name__ == "__main__":
    main()
