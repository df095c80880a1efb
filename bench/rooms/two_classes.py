"""Parking and eviction together, on and off: bench/eviction.sh writes their table to bench/results/eviction.md.

The tenant of short answers is background work, the other tenants are interactive. Every figure is the median of three
seeds. The last row is the rival with the most of these on time with seed 1. Needs the recorded trace.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS, TRACES  # noqa: E402
from simulator import FEW, best_rival, median_of, over_seeds, simulate  # noqa: E402

TRACE = TRACES / "servegen_r1_4h_a.csv.gz"
SEEDS = (1, 2, 3)
RATE = 1.35
POLICIES = ("penstock", "penstock:without=parking", "penstock:without=eviction", "penstock:without=parking+eviction")


def run(policy, seed):
    return simulate(SCENARIOS / "clients/parking-and-eviction.yaml", TRACE, from_="7200s", duration="1800s", rate=RATE,
                    policy=policy, seed=seed)


def row(policy, results):
    median = median_of(results)
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
    rival = best_rival(lambda policy: run(policy, SEEDS[0]), lambda result: result["per_class"]["standard"]["on_time_share"], FEW)
    for (policy,), results in over_seeds(run, [(policy,) for policy in (*POLICIES, rival)], SEEDS):
        row(policy, results)


if __name__ == "__main__":
    main()
