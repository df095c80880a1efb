"""Requests that need storage: bench/rooms/storage.sh writes bench/results/nodes/storage.md.

Table `needs`: bench/scenarios/storage.yaml under each policy, means of some seeds. Table `learned`: the same where every
request needs some storage. Table `others`: runs without needs, in which
the decisions of Penstock with and without the rule are compared.
"""

import hashlib
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import config_file, mean_of, simulate  # noqa: E402

SEEDS = range(1, 6)
POLICIES = {
    "penstock": "`penstock`",
    "penstock:without=declarations": "`penstock`, needs learned only",
    "penstock:without=storage": "`penstock:without=storage`",
    "least_request": "`least_request`",
    "round_robin": "`round_robin`",
}
CLASSES = ["heavy", "some", "standard"]
# Scenario, trace, rate, without a need of storage.
OTHERS = [("storage", "azure-conv", 8), ("tight", "azure-conv", 3), ("mixture", "mixture", 4), ("agentic", "agentic", 1), ("grey", "bursts", 4)]


def scenario_of(name):
    return SCENARIOS / f"{name}.yaml"


def run(scenario, policy, trace, rate, seed, log=None):
    return simulate(scenario, f"generate:{trace}", policy=policy, duration="300s", rate=rate, seed=seed, log=log)


def times(mean, of):
    """The cell of a group of the results: p50, p99."""
    return ", ".join(f"{mean(lambda result: of(result)['ttft_s'][part]):.2f} s" for part in ("p50", "p99"))


def on_time(result):
    return result["on_time_share"]


def print_needs():
    print("| rate | policy | " + " | ".join(f"{name}: p50, p99" for name in CLASSES) + " | on time |")
    print("|---:|---|" + "---:|" * len(CLASSES) + "---:|")
    for rate in (0.6, 1, 1.3):
        for policy, name in POLICIES.items():
            mean = mean_of([run(scenario_of("storage"), policy, "limits", rate, seed) for seed in SEEDS])
            cells = [times(mean, lambda result: result["per_class"][each]) for each in CLASSES]
            print(f"| {rate}x | {name} | " + " | ".join(cells) + f" | {100 * mean(on_time):.1f} % |", flush=True)


def print_learned():
    print("| rate | policy | p50, p99 | on time |")
    print("|---:|---|---:|---:|")
    text = scenario_of("storage").read_text()
    everybody = text[:text.index("trace:")] + 'trace:\n  models: {"": llama-3.1-8b}\n  storage: {' + ", ".join(
        f"people-{i}: some" for i in range(8)) + "}\n"
    with config_file(everybody) as config:
        for rate in (0.4, 0.6):
            for policy in list(POLICIES)[:3]:
                mean = mean_of([run(config, policy, "limits", rate, seed) for seed in SEEDS])
                cell = times(mean, lambda result: result)
                print(f"| {rate}x | {POLICIES[policy]} | {cell} | {100 * mean(on_time):.1f} % |", flush=True)


def decisions_of(scenario, policy, trace, rate):
    with tempfile.NamedTemporaryFile() as log:
        run(scenario_of(scenario), policy, trace, rate, 1, log.name)
        actions = [line for line in pathlib.Path(log.name).read_bytes().splitlines() if line.startswith(b"action ")]
        return len(actions), hashlib.sha256(b"\n".join(actions)).hexdigest()


def print_others():
    print("| scenario, trace, rate | decisions | with and without the rule |")
    print("|---|---:|---|")
    for scenario, trace, rate in OTHERS:
        (lines, one), (_, other) = (decisions_of(scenario, policy, trace, rate) for policy in ("penstock", "penstock:without=storage"))
        print(f"| {scenario}, {trace}, {rate}x | {lines:,} | {'equal' if one == other else 'DIFFERENT'} |", flush=True)


if __name__ == "__main__":
    {"needs": print_needs, "learned": print_learned, "others": print_others}[sys.argv[1]]()
