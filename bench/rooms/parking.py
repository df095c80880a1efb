"""Worth of parking: bench/rooms/parking.sh writes a table of bench/results/ablations.md.

The rows are both windows of the reasoning and of the multi-model trace, at multiples of their rates. Streams lend their
memory, or never do. With --carried, a row has the rates at which 99 % of the feasible requests are on time; bench/rooms/parking.sh
--carried writes them.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import ALL as SCENARIOS  # noqa: E402
from policy_tables import interval_text  # noqa: E402
from simulator import from_second, in_parallel, mean_of, over_seeds, simulate  # noqa: E402

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


def print_carried(options):
    print("| window | `penstock` | `penstock:without=parking` | ratio |")
    print("|---|---:|---:|---:|")
    for scenario, window, seconds in windows(options):
        # A search makes some forty runs.
        seconds *= 0.2 if scenario.heavy else 1

        def run(policy):
            return simulate(scenario.fleet, window.trace, "--carried", from_=from_second(window.start),
                            duration=f"{seconds:g}s", rate="1", seeds=str(options.seeds), shift=f"{window.shift}s", policy=policy)

        found = [result for _, result in in_parallel(run, [(policy,) for policy in POLICIES], options.workers)]
        cells = [f"{each['carried']:.2f}{interval_text(min(each['by_seed']), max(each['by_seed']))}" for each in found]
        print(f"| {scenario.name}, from {window.start} s | {cells[0]} | {cells[1]} "
              f"| {found[0]['carried'] / found[1]['carried']:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench/rooms/parking.sh")
    parser.add_argument("--part", type=float, default=1.0, help="of each window's length")
    parser.add_argument("--seeds", type=int, default=5, help="of the multi-model windows; reasoning has one")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--carried", action="store_true", help="the loads carried")
    options = parser.parse_args()
    (print_carried if options.carried else print_loads)(options)


if __name__ == "__main__":
    main()
