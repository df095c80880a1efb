"""The bands of the pool forecast at 10 s: bench/forecasts/calibration.sh writes the bands of bench/results/forecast.md.

A run has 1,200 s, so each pool compares 120 forecasts. Loads are parts of those that bench/policies.sh found.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import ALL  # noqa: E402
from policy_tables import ten_second_band  # noqa: E402
from simulator import from_second, in_parallel, simulate  # noqa: E402
from topics import read  # noqa: E402

SECONDS = 1200
LOADS = (0.7, 1.0, 1.25)
SCENARIOS = ("one-copy", "mps", "ample", "tight", "tight6", "elastic", "multi-model", "long-prompts", "mixture", "bursts")


def load_carried(scenario, window):
    for line in read("carried", "policies"):
        found = re.match(rf"\| {scenario}, {re.escape(window.name)} \| ([0-9.]+)", line)
        if found:
            return float(found[1])
    raise SystemExit(f"bench/results/carried.md has no row for {scenario}, {window.name}")


def run(scenario, window, load):
    rate = f"{load * load_carried(scenario.name, window):.4f}"
    return simulate(scenario.fleet, window.trace, *scenario.extra, rate=rate, from_=from_second(window.start),
                    duration=f"{SECONDS}s", policy="penstock")


def main():
    print("| scenario, window | load | error p90 | within, p90 over expected, over chance, bias |")
    print("|---|---:|---:|---:|")
    runs = [(each, each.windows[0], load) for each in ALL if each.name in SCENARIOS for load in LOADS]
    for (scenario, window, load), result in in_parallel(run, runs, workers=1):
        forecast = result["forecast"]
        print(f"| {scenario.name}, {window.name} | {load} | {100 * forecast['pool_error_10s_p90']:.1f} % "
              f"| {ten_second_band(forecast)} |", flush=True)


if __name__ == "__main__":
    main()
