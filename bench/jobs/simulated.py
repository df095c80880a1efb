"""A job beside interactive load in virtual time: the table `simulated` of bench/results/jobs/jobs.md.

The fleet and the requests are those of jobs.py: two engines, streams at 4 per second, and more lines than the engines can
take. The share of the idle tokens is the rest of all tokens over the tokens of the job alone less those of the streams alone.
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = ROOT / "build/release/penstock"
RATE, LINES_PER_SECOND = 4, 64

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


def lines(seed, seconds):
    chance = random.Random(seed + 1000)
    for i in range(int(LINES_PER_SECOND * seconds)):
        yield max(0, i - 150) / LINES_PER_SECOND, "background", chance.randrange(115, 315), 100


def simulate(folder, name, policy, seed, seconds):
    trace = pathlib.Path(folder) / f"{name}-{seed}.csv"
    rows = [*(streams(seed, seconds) if name != "job" else []), *(lines(seed, seconds) if name != "alone" else [])]
    trace.write_text("arrival_s,model,tenant,prompt_tokens,output_tokens,class,max_output\n" + "".join(
        f"{at:.6f},,{kind},{prompt},{output},{kind},{output}\n" for at, kind, prompt, output in sorted(rows)))
    command = [PENSTOCK, "simulate", "--config", f"{folder}/fleet.yaml", "--trace", trace, "--duration", f"{seconds}s", "--policy", policy,
               "--seed", seed, "--json"]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--policies", nargs="+", default=["penstock", "penstock:without=newcomers"])
    options = parser.parse_args()
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
