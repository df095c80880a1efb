"""The fewest GPUs for the multi-model hour: bench/rooms/gpus.sh writes bench/results/gpus.md.

Each row is a rate and a window of the trace. It shows the GPUs of `penstock simulate --plan`: those of one fleet per model,
and those of a shared one. A figure is the median of some seeds with an interval. Each seed has a window of its own.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS, Window  # noqa: E402
from simulator import in_parallel, simulate  # noqa: E402

TRACE = "servegen_multimodel_1h_a.csv.gz"


def plan(rate, window, options):
    # Windows of different seeds overlap by nine tenths at the lowest rate, not at all at the highest.
    return simulate(SCENARIOS / "multi-model.yaml", window.trace, "--plan", gpu="h200", from_=f"{window.start}.001s", rate=rate,
                    duration=f"{options.seconds}s", seeds=options.seeds, shift=f"{options.shift}s")


def text(fleet):
    low, high = fleet["interval"]
    return f"{fleet['gpus']}" + (f" ({low:.0f}-{high:.0f})" if high > low else "")


def main():
    parser = argparse.ArgumentParser(prog="bench/rooms/gpus.sh")
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shift", type=int, default=60)
    parser.add_argument("--rates", type=lambda text: [float(part) for part in text.split(",")], default=[0.1, 0.25, 1.0])
    options = parser.parse_args()
    windows = [Window(TRACE, 0, "multi-model"), Window(TRACE, 1800, "multi-model")]
    print("| rate | window | one model per GPU | colocated and routed | saving |")
    print("|---:|---|---:|---:|---:|")
    for (rate, window, _), found in in_parallel(plan, [(rate, window, options) for rate in options.rates for window in windows]):
        print(f"| {rate:g} | {window.name} | {text(found['dedicated'])} | {text(found['colocated'])} | "
              f"{100 * found['saving']:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
