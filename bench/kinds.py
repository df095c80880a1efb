"""Kinds of requests that a mean hides: bench/kinds.sh writes bench/results/kinds.md.

Each row is one kind of request. It shows the share on time under Penstock, without the part of it that serves this kind,
and under shipping policies at their defaults. Of the agents' requests, the feasible ones count.
"""

import concurrent.futures
import json
import pathlib
import subprocess

from policy_scenarios import ROOT, SCENARIOS, TRACES

PENSTOCK = ROOT / "build/release/penstock"
RIVALS = ["least_request", "cache_aware", "llmd_concurrency", "dynamo_cost"]
AGENTS = TRACES / "cc_agentic_6h_a.csv.gz"
# Name, scenario, trace, start and length in seconds, rate, tenant, the part left out.
ROWS = [
    ("large prompts beside small ones, 5/s", "mixture", "generate:mixture", 0, 600, 1, "large", "reservations"),
    ("large prompts beside small ones, 7/s", "mixture", "generate:mixture", 0, 600, 1.4, "large", "reservations"),
    ("chat behind 40 giants", "giants", "generate:giants", 0, 500, 1, "chat", "best-effort"),
    ("coding agents from 9000 s, 12.5x", "agentic", AGENTS, 9000, 300, 12.5, "", "sharing"),
    ("coding agents from 14000 s, 7.5x", "agentic", AGENTS, 14000, 300, 7.5, "", "sharing"),
]


def share(row, policy):
    _, scenario, trace, start, seconds, rate, tenant, _ = row
    window = ["--from", f"{start}s"] if start else []
    command = [PENSTOCK, "simulate", "--config", SCENARIOS / f"{scenario}.yaml", "--trace", trace, *window, "--duration",
               f"{seconds}s", "--rate", rate, "--policy", policy, "--json"]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    return (result["per_tenant"][tenant] if tenant else result["feasible"])["on_time_share"]


def main():
    rows = [row for row in ROWS if str(row[2]).startswith("generate:") or pathlib.Path(row[2]).exists()]
    jobs = [(row, policy) for row in rows for policy in ["penstock", f"penstock:without={row[7]}", *RIVALS]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        shares = dict(zip(jobs, pool.map(lambda job: share(*job), jobs)))
    print("| kind, in % on time | penstock | without | " + " | ".join(RIVALS) + " |")
    print("|---|---:|---:|" + "---:|" * len(RIVALS))
    for row in rows:
        without = f"penstock:without={row[7]}"
        cells = [f"{100 * shares[row, 'penstock']:.1f}", f"{100 * shares[row, without]:.1f} (`{row[7]}`)"]
        cells += [f"{100 * shares[row, rival]:.1f}" for rival in RIVALS]
        print(f"| {row[0]} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
