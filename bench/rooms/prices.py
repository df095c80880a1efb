"""Cost of active tokens on a fleet of two kinds of GPU: bench/rooms/prices.sh writes the prices of bench/results/gpus.md.

The cost in use counts the seconds in which a GPU works; idle ones are free for others. Each figure is the mean of three
seeds.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import mean_of, over_seeds, simulate  # noqa: E402

SCENARIO = SCENARIOS / "engines/prices.yaml"
PRICES = {name: float(price) for name, price in re.findall(r"id: (\w+), kind: \w+, price: ([\d.]+)", SCENARIO.read_text())}
UNUSED = ("idle", "asleep", "down", "blocked", "elsewhere")
SEEDS = (1, 2, 3)
SECONDS = 300
LOADS = [("azure-conv", rate) for rate in (0.5, 1, 2, 4, 6, 8)] + [("chat", rate) for rate in (1, 2)]
POLICIES = ("penstock", "penstock:without=price")


def run(trace, rate, policy, seed):
    return simulate(SCENARIO, f"generate:{trace}", policy=policy, rate=rate, seed=seed, duration=f"{SECONDS}s")


def hours_in_use(result, kind):
    return sum(sum(seconds for state, seconds in states.items() if state not in UNUSED) / 3600
               for gpu, states in result["gpu_seconds"].items() if gpu.startswith(kind))


def cost(result):
    """Of a million active tokens, counting GPUs in use."""
    spent = sum(PRICES[gpu] * hours_in_use(result, gpu) for gpu in result["gpu_seconds"])
    return spent / (result["active_tokens_per_s"] * SECONDS) * 1e6


def print_row(trace, rate, policy, results):
    mean = mean_of(results)
    print(f"| {trace} | {rate:g} | `{policy}` | {100 * mean(lambda r: r['on_time_share']):.2f} % "
          f"| {mean(lambda r: r['active_tokens_per_s']):.0f} | {mean(cost):.3f} "
          f"| {60 * mean(lambda r: hours_in_use(r, 'h')):.1f} | {60 * mean(lambda r: hours_in_use(r, 'a')):.1f} "
          f"| {mean(lambda r: r['ttft_s']['p99']):.2f} s |", flush=True)


def main():
    print("| trace | rate | policy | on time | active tokens/s | cost in use of a million | H100 minutes | A10 minutes | TTFT p99 |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for each, results in over_seeds(run, [(*load, policy) for load in LOADS for policy in POLICIES], SEEDS):
        print_row(*each, results)


if __name__ == "__main__":
    main()
