"""Worth of waiting for a first prefill that others share: bench/rooms/batching.sh writes bench/results/batching.md.

Every figure is the median of three seeds. The last row of a load is the rival with the most requests on time with seed 1.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import best_rival, median_of, over_seeds, simulate  # noqa: E402

SEEDS = (1, 2, 3)
OWN = ("penstock", "penstock:without=company")
TABLES = {
    "fanout": [("fanout", "fanout", rate, OWN + ("cache_aware",)) for rate in (1, 2, 3)],
    "others": [("agentic", "agentic", 1.5, OWN), ("long-context", "documents", 1, OWN),
               ("long-context", "documents", 1.5, OWN), ("ample", "azure-conv", 6, OWN)],
}


def run(scenario, trace, rate, policy, seed):
    return simulate(SCENARIOS / f"{scenario}.yaml", f"generate:{trace}", policy=policy, rate=rate, seed=seed, duration="300s")


def row(scenario, rate, policy, results):
    median = median_of(results)
    print(f"| {scenario} | {rate:g} | `{policy}` | {100 * median(lambda r: r['on_time_share']):.1f} % "
          f"| {median(lambda r: r['active_tokens_per_s']):.0f} | {median(lambda r: r['cached_prompt_tokens']) / 1e6:.2f} "
          f"| {median(lambda r: r['ttft_s']['p50']):.2f} s | {median(lambda r: r['ttft_s']['p99']):.2f} s |")


def main():
    print("| scenario | rate | policy | on time | active tokens/s | prompt tokens cached (M) | TTFT p50 | p99 |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    runs = []
    for *load, policies in TABLES[sys.argv[1]]:
        rival = best_rival(lambda policy: run(*load, policy, SEEDS[0]), lambda result: result["on_time_share"])
        runs += [(*load, policy) for policy in dict.fromkeys((*policies, rival))]
    for (scenario, _, rate, policy), found in over_seeds(run, runs, SEEDS):
        row(scenario, rate, policy, found)


if __name__ == "__main__":
    main()
