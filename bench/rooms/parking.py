"""Worth of parking: bench/rooms/parking.sh writes a table of bench/results/ablations.md.

The rows are both windows of the reasoning and of the multi-model trace, at multiples of their rates. Streams lend their
memory, or never do.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import ALL as SCENARIOS  # noqa: E402
from simulator import from_second, mean_of, over_seeds, simulate  # noqa: E402

NAMES = ("reasoning", "multi-model")
LOADS = (1.0, 1.25, 1.5, 2.0)
POLICIES = ("penstock", "penstock:without=parking")


def windows(options):
    for scenario in SCENARIOS:
        if scenario.name in NAMES:
            for window in scenario.windows:
                yield scenario, window, window.seconds * options.part


def seeds(scenario, options):
    return range(1, (1 if scenario.heavy else options.seeds) + 1)


def print_loads(options):
    print("| window | rate | policy | on time | active tokens/s | recomputed/s | preempted |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for scenario, window, seconds in windows(options):
        def run(load, policy, seed):
            return simulate(scenario.fleet, window.trace, from_=from_second(window.start), duration=f"{seconds:g}s",
                            rate=f"{load:g}", policy=policy, seed=seed)

        runs = [(load, policy) for load in LOADS for policy in POLICIES]
        for (load, policy), results in over_seeds(run, runs, seeds(scenario, options), options.workers):
            mean = mean_of(results)
            print(f"| {scenario.name}, from {window.start} s | {load:g} | `{policy}` "
                  f"| {100 * mean(lambda r: r['feasible']['on_time_share']):.1f} % "
                  f"| {mean(lambda r: r['active_tokens_per_s']):.0f} | {mean(lambda r: r['recomputed_tokens_per_s']):.0f} "
                  f"| {mean(lambda r: r['preemptions'] or 0):.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench/rooms/parking.sh")
    parser.add_argument("--part", type=float, default=1.0, help="of each window's length")
    parser.add_argument("--seeds", type=int, default=5, help="of the multi-model windows; reasoning has one")
    parser.add_argument("--workers", type=int, default=2)
    print_loads(parser.parse_args())


if __name__ == "__main__":
    main()
