"""Worth of parking: bench/rooms/parking.sh writes a table of bench/results/ablations.md.

The rows are both windows of the reasoning and of the multi-model trace, at multiples of their rates. Streams lend their
memory, or never do.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from policy_scenarios import ALL as SCENARIOS  # noqa: E402

PENSTOCK = pathlib.Path(os.environ.get("PENSTOCK", ROOT / "build/release/penstock"))
NAMES = ("reasoning", "multi-model")
LOADS = (1.0, 1.25, 1.5, 2.0)
POLICIES = ("penstock", "penstock:without=parking")


def simulate(scenario, window, policy, rate, seed, seconds):
    start = ["--from", f"{window.start}s"] if window.start else []
    command = [PENSTOCK, "simulate", "--config", scenario.fleet, "--trace", window.trace, *start, "--duration", f"{seconds:g}s",
               "--rate", f"{rate:g}", "--policy", policy, "--seed", seed, "--json"]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def windows(options):
    for scenario in SCENARIOS:
        if scenario.name in NAMES:
            for window in scenario.windows:
                yield scenario, window, window.seconds * options.part


def seeds(scenario, options):
    return range(1, (1 if scenario.heavy else options.seeds) + 1)


def print_loads(options, pool):
    print("| window | rate | policy | on time | active tokens/s | recomputed/s | preempted |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for scenario, window, seconds in windows(options):
        for load in LOADS:
            for policy in POLICIES:
                def one(seed):
                    return simulate(scenario, window, policy, load, seed, seconds)

                runs = list(pool.map(one, seeds(scenario, options)))

                def mean(figure):
                    return statistics.mean(figure(run) for run in runs)

                print(f"| {scenario.name}, from {window.start} s | {load:g} | `{policy}` "
                      f"| {100 * mean(lambda r: r['feasible']['on_time_share']):.1f} % "
                      f"| {mean(lambda r: r['active_tokens_per_s']):.0f} | {mean(lambda r: r['recomputed_tokens_per_s']):.0f} "
                      f"| {mean(lambda r: r['preemptions'] or 0):.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench/rooms/parking.sh")
    parser.add_argument("--part", type=float, default=1.0, help="of each window's length")
    parser.add_argument("--seeds", type=int, default=5, help="of the multi-model windows; reasoning has one")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        print_loads(options, pool)


if __name__ == "__main__":
    main()
