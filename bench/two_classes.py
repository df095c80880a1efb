"""Parking and eviction together, on and off: bench/eviction.sh writes their table to bench/results/eviction.md.

The tenant of short answers is background work, the other tenants are interactive. Every figure is the median of three
seeds. Needs the recorded trace.
"""

import concurrent.futures
import json
import statistics
import subprocess

from policy_scenarios import ROOT, SCENARIOS, TRACES

PENSTOCK = ROOT / "build/release/penstock"
TRACE = TRACES / "servegen_r1_4h_a.csv.gz"
SEEDS = (1, 2, 3)
RATE = 1.35
POLICIES = ("penstock", "penstock:without=parking", "penstock:without=eviction", "penstock:without=parking+eviction")


def simulate(policy, seed):
    command = [PENSTOCK, "simulate", "--config", SCENARIOS / "clients/parking-and-eviction.yaml", "--trace", TRACE, "--from", "7200s",
               "--duration", "1800s", "--rate", RATE, "--policy", policy, "--seed", seed, "--json"]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def row(policy, results):
    def median(figure):
        return statistics.median(figure(result) for result in results)

    users, jobs = [lambda result, name=name: result["per_class"][name] for name in ("standard", "background")]
    print(f"| `{policy}` | {100 * median(lambda r: users(r)['on_time_share']):.1f} % "
          f"| {median(lambda r: users(r)['active_tokens_per_s']):,.0f} | {median(lambda r: users(r)['ttft_s']['p99']):.2f} s "
          f"| {100 * median(lambda r: jobs(r)['on_time_share']):.1f} % "
          f"| {median(lambda r: jobs(r)['active_tokens_per_s']):,.0f} | {median(lambda r: jobs(r)['ttft_s']['p99']):.0f} s "
          f"| {median(lambda r: r['recomputed_tokens_per_s']):.0f} |")


def main():
    if not TRACE.exists():
        raise SystemExit(f"{TRACE} is missing")
    print("| policy | users on time | active tokens/s | p99 TTFT | background on time | active tokens/s | p99 TTFT "
          "| tokens computed again/s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    runs = [(policy, seed) for policy in POLICIES for seed in SEEDS]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = dict(zip(runs, pool.map(lambda run: simulate(*run), runs)))
    for policy in POLICIES:
        row(policy, [results[policy, seed] for seed in SEEDS])


if __name__ == "__main__":
    main()
