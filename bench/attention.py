"""The quadratic part of prefill: bench/attention.sh writes bench/results/attention.md.

Each row is a window at a share of its knee. It shows the share of the feasible requests that are on time, as the mean of
some seeds. The first figure has engines whose prompts take the same time per token (`linear_prefill`), the second those of
the cost model.
"""

import statistics

from policy_scenarios import ALL
from simulator import config_file, from_second, over_seeds, simulate

POLICIES = ["penstock", "penstock:without=attention", "least_request", "dynamo_cost", "past_future"]
SEEDS = [1, 2, 3]
# Scenario, window, load over the knee, the knee of a linear engine.
ROWS = [("long-context", 0, 0.8, 1.04), ("long-context", 1, 0.8, 1.61), ("long-prompts", 0, 0.8, 1.01),
        ("ample", 0, 1.0, 2.95)]


def linear(fleet):
    """The configuration with linear engines."""
    text = fleet.read_text()
    assert "simulated: {}" in text, fleet
    return text.replace("simulated: {}", "simulated: {linear_prefill: true}")


def share(row, kind, policy, seed):
    name, index, load, knee = row
    scenario = next(each for each in ALL if each.name == name)
    window = scenario.windows[index]
    with config_file(linear(scenario.fleet)) as copy:
        result = simulate(copy if kind == "linear" else scenario.fleet, window.trace, from_=from_second(window.start),
                          duration=f"{window.seconds}s", rate=f"{load * knee:.6g}", policy=policy, seed=seed)
    return result["feasible"]["on_time_share"]


def main():
    runs = [(row, kind, policy) for row in ROWS for kind in ("linear", "quadratic") for policy in POLICIES]
    shares = {run: 100 * statistics.mean(found) for run, found in over_seeds(share, runs, SEEDS)}
    print("| window, load, in % on time | " + " | ".join(f"`{policy}`" for policy in POLICIES) + " |")
    print("|---|" + "---:|" * len(POLICIES))
    for row in ROWS:
        name, index, load, _ = row
        cells = [f"{shares[row, 'linear', policy]:.1f} to {shares[row, 'quadratic', policy]:.1f}" for policy in POLICIES]
        print(f"| {name} {index + 1}, {load:g}x | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
