"""The quadratic part of prefill: bench/attention.sh writes bench/results/attention.md.

Each row is a window at a share of its knee. It shows the share of the feasible requests that are on time, as the mean of
some seeds. The first figure has engines whose prompts take the same time per token (`linear_prefill`), the second those of
the cost model.
"""

import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import tempfile

from policy_scenarios import ALL, ROOT

PENSTOCK = ROOT / "build/release/penstock"
POLICIES = ["penstock", "penstock:without=attention", "least_request", "dynamo_cost", "past_future"]
SEEDS = [1, 2, 3]
# Scenario, window, load over the knee, the knee of a linear engine.
ROWS = [("long-context", 0, 0.8, 1.04), ("long-context", 1, 0.8, 1.61), ("long-prompts", 0, 0.8, 1.01),
        ("ample", 0, 1.0, 2.95)]


def linear(fleet, folder):
    """A copy of the configuration whose engines are linear."""
    text = fleet.read_text()
    assert "simulated: {}" in text, fleet
    copy = pathlib.Path(folder) / fleet.name
    copy.write_text(text.replace("simulated: {}", "simulated: {linear_prefill: true}"))
    return copy


def share(fleet, window, rate, policy, seed):
    start = ["--from", f"{window.start}s"] if window.start else []
    command = [PENSTOCK, "simulate", "--config", fleet, "--trace", window.trace, *start, "--duration",
               f"{window.seconds}s", "--rate", f"{rate:.6g}", "--policy", policy, "--seed", seed, "--json"]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["feasible"]["on_time_share"]


def main():
    scenarios = {scenario.name: scenario for scenario in ALL}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {}
        for name, index, load, knee in ROWS:
            window = scenarios[name].windows[index]
            for kind, fleet in (("linear", linear(scenarios[name].fleet, folder)), ("quadratic", scenarios[name].fleet)):
                for policy in POLICIES:
                    jobs[name, index, kind, policy] = [pool.submit(share, fleet, window, load * knee, policy, seed)
                                                       for seed in SEEDS]
        shares = {job: 100 * statistics.mean(future.result() for future in futures) for job, futures in jobs.items()}
    print("| window, load, in % on time | " + " | ".join(f"`{policy}`" for policy in POLICIES) + " |")
    print("|---|" + "---:|" * len(POLICIES))
    for name, index, load, _ in ROWS:
        cells = [f"{shares[name, index, 'linear', policy]:.1f} to {shares[name, index, 'quadratic', policy]:.1f}"
                 for policy in POLICIES]
        print(f"| {name} {index + 1}, {load:g}x | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
