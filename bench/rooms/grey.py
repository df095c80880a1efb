"""Grey failures: bench/rooms/grey.sh writes bench/results/grey.md.

Table `faults`: replica r3 of bench/scenarios/grey.yaml is slow or stands still from second 30 on; what each policy
loses against Penstock on the healthy fleet. Table `causes`: two replicas of a node, and all replicas. Table `alarms`:
healthy fleets with noise, under ordinary and heterogeneous loads, for so many simulated hours each.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import config_file, over_seeds, simulate  # noqa: E402

FLEET = (SCENARIOS / "grey.yaml").read_text()
POLICIES = ["penstock", "penstock:without=grey", "least_request", "round_robin"]
START = 30
FAULTS = {
    "2 times slower": "slowdown: 2",
    "4 times slower": "slowdown: 4",
    "10 times slower": "slowdown: 10",
    "stands still 1.5 s of 2 s": "stall: 1500ms, stall_every: 2s",
}
# Healthy fleets: trace, rate, noise.
NORMAL = [
    ("azure-conv", 8, 0.1),
    ("azure-conv", 3, 0.3),
    ("bursts", 4, 0.2),
    ("mixture", 4, 0.2),
    ("chat", 2, 0.2),
    ("azure-code", 2, 0.2),
    ("agentic", 1, 0.1),
    ("documents", 1, 0.2),
]


def with_fault(fault, replicas):
    lines = []
    for line in FLEET.splitlines():
        if any(f"id: {name}," in line for name in replicas):
            line = line.replace("noise: 0.1", f"noise: 0.1, {fault}, from: {START}s")
        lines.append(line)
    return "\n".join(lines) + "\n"


def run(fleet, policy, trace="azure-conv", rate=11, seconds=300, seed=1):
    with config_file(fleet) as config:
        return simulate(config, f"generate:{trace}", policy=policy, duration=f"{seconds}s", rate=rate, seed=seed)


def print_faults():
    healthy = run(FLEET, "penstock")
    base = healthy["active_tokens_per_s"]
    print(f"Healthy fleet, `penstock`: {base:,.0f} active tokens/s, {100 * healthy['on_time_share']:.1f} % on time.\n")
    print("| fault of r3 | found after: steps, seconds | " + " | ".join(f"`{p}`: lost, on time" for p in POLICIES) + " |")
    print("|---|---:|" + "---:|" * len(POLICIES))
    for name, fault in FAULTS.items():
        cells, found = [], "–"
        for policy in POLICIES:
            result = run(with_fault(fault, ["r3"]), policy)
            lost = 100 * (1 - result["active_tokens_per_s"] / base)
            cells.append(f"{lost:.1f} %, {100 * result['on_time_share']:.1f} %")
            if policy == "penstock" and "r3" in result["grey"]:
                grey = result["grey"]["r3"]
                found = f"{grey['found_after_steps']:.0f}, {grey['found_at_s'] - START:.1f}"
                if grey["events"]["stall"] > 2:
                    found = f"{grey['events']['stall']} stalls"
        print(f"| {name} | {found} | " + " | ".join(cells) + " |")


def causes_of(result):
    return "; ".join(
        f"{name}: {', '.join(cause for cause, count in grey['events'].items() if count)}"
        for name, grey in sorted(result["grey"].items())
    ) or "nobody"


def print_causes():
    print("| 4 times slower | found, with the causes |")
    print("|---|---|")
    for name, replicas in (("r3", ["r3"]), ("all of node n1", ["r0", "r1", "r2", "r3"]), ("all", [f"r{i}" for i in range(8)])):
        print(f"| {name} | {causes_of(run(with_fault('slowdown: 4', replicas), 'penstock', rate=5))} |")


def print_alarms(hours):
    print("| workload | rate | noise | simulated hours | replicas derated | pauses found |")
    print("|---|---:|---:|---:|---:|---:|")
    sums = [0, 0, 0]

    def hour(trace, rate, noise, seed):
        return run(FLEET.replace("noise: 0.1", f"noise: {noise}"), "penstock", trace, rate, 3600, seed)

    for (trace, rate, noise), results in over_seeds(hour, NORMAL, range(1, hours + 1)):
        derates, stalls = 0, 0
        for result in results:
            for grey in result["grey"].values():
                derates += 1 if grey["found_at_s"] > 0 else 0
                stalls += grey["events"]["stall"]
        print(f"| {trace} | {rate}x | {noise} | {hours} | {derates} | {stalls} |", flush=True)
        sums = [a + b for a, b in zip(sums, (hours, derates, stalls))]
    print(f"| all | | | {sums[0]} | {sums[1]} | {sums[2]} |")


if __name__ == "__main__":
    hours = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    {"faults": print_faults, "causes": print_causes, "alarms": lambda: print_alarms(hours)}[sys.argv[1]]()
