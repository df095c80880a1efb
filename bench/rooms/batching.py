"""Worth of waiting for a first prefill that others share: bench/rooms/batching.sh writes bench/results/batching.md.

Every figure is the median of three seeds.
"""

import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys


ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = ROOT / "build/release/penstock"
SEEDS = (1, 2, 3)
OWN = ("penstock", "penstock:without=company")
TABLES = {
    "fanout": [("fanout", "fanout", rate, OWN + ("cache_aware",)) for rate in (1, 2, 3)],
    "others": [("agentic", "agentic", 1.5, OWN), ("long-context", "documents", 1, OWN),
               ("long-context", "documents", 1.5, OWN), ("ample", "azure-conv", 6, OWN)],
}


def simulate(scenario, trace, rate, policy, seed):
    command = [PENSTOCK, "simulate", "--config", ROOT / f"bench/scenarios/{scenario}.yaml", "--trace",
               f"generate:{trace}", "--policy", policy, "--rate", rate, "--seed", seed, "--duration", "300s", "--json"]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def row(scenario, rate, policy, results):
    def median(figure):
        return statistics.median(figure(result) for result in results)

    print(f"| {scenario} | {rate:g} | `{policy}` | {100 * median(lambda r: r['on_time_share']):.1f} % "
          f"| {median(lambda r: r['active_tokens_per_s']):.0f} | {median(lambda r: r['cached_prompt_tokens']) / 1e6:.2f} "
          f"| {median(lambda r: r['ttft_s']['p50']):.2f} s | {median(lambda r: r['ttft_s']['p99']):.2f} s |")


def main():
    print("| scenario | rate | policy | on time | active tokens/s | prompt tokens cached (M) | TTFT p50 | p99 |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    runs = [(scenario, trace, rate, policy) for scenario, trace, rate, policies in TABLES[sys.argv[1]]
            for policy in policies]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda run: [simulate(*run, seed) for seed in SEEDS], runs))
    for (scenario, _, rate, policy), found in zip(runs, results):
        row(scenario, rate, policy, found)


if __name__ == "__main__":
    main()
