"""Worth of a pool for each data-parallel rank: bench/engines/ranks.sh writes bench/results/engines/ranks.md.

Policies know each rank, or take the ranks of an engine for one pool (`penstock simulate --one-pool`). Every figure is
the median of three seeds.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import median_of, over_seeds, simulate  # noqa: E402

FLEET = SCENARIOS / "engines/ranks.yaml"
SEEDS = (1, 2, 3)
# Policy, knows the ranks.
WAYS = [("penstock", True), ("penstock", False), ("past_future", True), ("mc_sf", True), ("dynamo_cost", True),
        ("least_request", True), ("least_request", False)]
LOADS = {
    "chat": [("azure-conv", 6), ("azure-conv", 9), ("azure-conv", 10), ("chat", 6)],
    "prompts": [("fanout", 2), ("fanout", 3), ("long-prompts", 2), ("long-prompts", 3)],
}


def run(trace, rate, policy, ranks, seed):
    return simulate(FLEET, f"generate:{trace}", *([] if ranks else ["--one-pool"]), policy=policy, rate=rate, seed=seed,
                    duration="60s" if trace == "azure-conv" else "120s")


def row(trace, rate, policy, ranks, results):
    median = median_of(results)
    print(f"| {trace}, {rate}x | `{policy}` | {'each rank' if ranks else 'one pool'} | {100 * median(lambda r: r['on_time_share']):.1f} % "
          f"| {median(lambda r: r['active_tokens_per_s']):.0f} | {median(lambda r: r['preemptions']):.0f} "
          f"| {median(lambda r: r['cached_prompt_tokens']) / 1e6:.2f} | {median(lambda r: r['ttft_s']['p99']):.2f} s |", flush=True)


def main():
    print("| load | policy | sees | on time | active tokens/s | preemptions | prompt tokens cached (M) | TTFT p99 |")
    print("|---|---|---|---:|---:|---:|---:|---:|")
    runs = [(*load, *way) for load in LOADS[sys.argv[1]] for way in WAYS]
    for (trace, rate, policy, ranks), found in over_seeds(run, runs, SEEDS, workers=1):
        row(trace, rate, policy, ranks, found)


if __name__ == "__main__":
    main()
