"""The estimate of a shadow against a run of its policy on the same trace: bench/rooms/shadow.sh writes bench/results/shadow.md."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import simulate  # noqa: E402

PAIRS = [("round_robin", "penstock"), ("least_request", "penstock"), ("threshold_gate", "penstock"), ("penstock", "round_robin")]
# Scenario, trace, rates: below the knee, near it and above.
RUNS = [
    ("ample", "azure-conv", (4, 10)),
    ("tight", "azure-conv", (1.5, 3)),
    ("code", "azure-code", (1, 3)),
    ("mixture", "mixture", (2, 5)),
]


def share(run):
    return f"{100 * run['on_time_share']:.1f} %"


def main():
    print("| scenario, rate | in charge | shadow | agree | in charge: as it was, copy | shadow: estimate, alone | error: points, tokens |")
    print("|---|---|---|---:|---:|---:|---:|")
    for scenario, trace, rates in RUNS:
        for rate in rates:
            for decides, shadow in PAIRS:
                found = simulate(SCENARIOS / f"{scenario}.yaml", f"generate:{trace}", rate=rate, duration="120s",
                                 policy=decides, shadow=shadow)["shadow"]
                if found["unavailable"]:
                    print(f"| {scenario}, {rate} | `{decides}` | `{shadow}` | | {found['unavailable']} | | |", flush=True)
                    continue
                estimate, alone = found["shadow_on_copy"], found["shadow_alone"]
                points = 100 * (estimate["on_time_share"] - alone["on_time_share"])
                tokens = 100 * (estimate["active_tokens_per_s"] / max(1, alone["active_tokens_per_s"]) - 1)
                print(f"| {scenario}, {rate} | `{decides}` | `{shadow}` | {100 * found['agreed'] / found['compared']:.0f} % "
                      f"| {share(found['real'])}, {share(found['decides_on_copy'])} | {share(estimate)}, {share(alone)} "
                      f"| {points:+.1f}, {tokens:+.1f} % |", flush=True)


if __name__ == "__main__":
    main()
