"""Cost of active tokens on a fleet of two kinds of GPU: bench/rooms/prices.sh writes the prices of bench/results/gpus.md.

The cost in use counts the seconds in which a GPU works; idle ones are free for others. Each figure is the mean of three
seeds. The best rival is the cheapest one with 99 % on time. It runs on all GPUs, and on the cheapest part of the fleet,
chosen by hand for each load.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import FEW, config_file, mean_of, over_seeds, simulate  # noqa: E402

SCENARIO = SCENARIOS / "engines/prices.yaml"
PRICES = {name: float(price) for name, price in re.findall(r"id: (\w+), kind: \w+, price: ([\d.]+)", SCENARIO.read_text())}
UNUSED = ("idle", "asleep", "down", "blocked", "elsewhere")
SEEDS = (1, 2, 3)
SECONDS = 300
LOADS = [("azure-conv", rate) for rate in (0.5, 1, 2, 4, 6, 8)] + [("chat", rate) for rate in (1, 2)]
POLICIES = ("penstock", "penstock:without=price")
# Numbers of H100 and A10.
ALL = (2, 6)
PARTS = [(0, 4), (0, 6), (1, 0), (1, 2), (1, 4), (1, 6), (2, 0), (2, 2), (2, 4)]
BY_HAND = ("least_load", "past_future")


def fleet(h100, a10):
    """The scenario with the first GPUs of each kind."""
    unused = [f"id: h{i}," for i in range(h100, ALL[0])] + [f"id: a{i}," for i in range(a10, ALL[1])]
    return "".join(line for line in SCENARIO.read_text().splitlines(True) if not any(each in line for each in unused))


def run(trace, rate, part, policy, seed):
    with config_file(fleet(*part)) as config:
        return simulate(config, f"generate:{trace}", policy=policy, rate=rate, seed=seed, duration=f"{SECONDS}s")


def hours_in_use(result, kind):
    return sum(sum(seconds for state, seconds in states.items() if state not in UNUSED) / 3600
               for gpu, states in result["gpu_seconds"].items() if gpu.startswith(kind))


def cost(result):
    """Of a million active tokens, counting GPUs in use."""
    spent = sum(PRICES[gpu] * hours_in_use(result, gpu) for gpu in result["gpu_seconds"])
    return spent / (result["active_tokens_per_s"] * SECONDS) * 1e6


def on_time(result):
    return result["on_time_share"]


def cheapest(load, rows):
    """The part and policy of the rows that costs least with 99 % on time, in a list. Empty if none has that."""
    costs = {}
    for each, results in over_seeds(run, [(*load, *row) for row in rows], SEEDS):
        if mean_of(results)(on_time) >= 0.99:
            costs[each[2:]] = mean_of(results)(cost)
    return sorted(costs, key=costs.get)[:1]


def rivals(load):
    return cheapest(load, [(ALL, policy) for policy in FEW]) + cheapest(load, [(part, policy) for part in PARTS
                                                                               for policy in BY_HAND])


def print_row(trace, rate, part, policy, results):
    mean = mean_of(results)
    where = "" if part == ALL else f" on {part[0]} H100, {part[1]} A10"
    print(f"| {trace} | {rate:g} | `{policy}`{where} | {100 * mean(on_time):.2f} % "
          f"| {mean(lambda r: r['active_tokens_per_s']):.0f} | {mean(cost):.3f} "
          f"| {60 * mean(lambda r: hours_in_use(r, 'h')):.1f} | {60 * mean(lambda r: hours_in_use(r, 'a')):.1f} "
          f"| {mean(lambda r: r['ttft_s']['p99']):.2f} s |", flush=True)


def main():
    print("| trace | rate | policy | on time | active tokens/s | cost in use of a million | H100 minutes | A10 minutes | TTFT p99 |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for load in LOADS:
        rows = [(ALL, policy) for policy in POLICIES] + rivals(load)
        for each, results in over_seeds(run, [(*load, *row) for row in rows], SEEDS):
            print_row(*each, results)


if __name__ == "__main__":
    main()
