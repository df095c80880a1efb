"""Kinds of requests that a mean hides: bench/kinds.sh writes bench/results/kinds.md.

Each row is one kind of request. It shows the share on time under Penstock, without the part of it that serves this kind,
and under shipping policies at their defaults. Of the agents' requests, the feasible ones count.
"""

import argparse
import concurrent.futures
import json
import subprocess

from policy_scenarios import RAG, ROOT, SCENARIOS, Window

PENSTOCK = ROOT / "build/release/penstock"
RIVALS = ["least_request", "cache_aware", "llmd_concurrency", "dynamo_cost"]
AGENTS = "cc_agentic_6h_a.csv.gz"
QUESTIONS = Window(RAG, 0, "rag")
# The recorded service has a question in 79 s, the generated workload 2.9 a second.
RAG_RATE = 500 if QUESTIONS.recorded else 2.2
# Name, scenario, window, rate, group of the results that counts (empty: the feasible requests), the part left out.
ROWS = [
    ("large prompts beside small ones, 5/s", "mixture", Window(None, 0, "mixture", 600), 1, "per_tenant large", "reservations"),
    ("large prompts beside small ones, 7/s", "mixture", Window(None, 0, "mixture", 600), 1.4, "per_tenant large",
     "reservations"),
    ("chat behind 40 giants", "giants", Window(None, 0, "giants", 500), 1, "per_tenant chat", "best-effort"),
    ("coding agents, {name}, 12.5x", "agentic", Window(AGENTS, 9000, "agentic"), 12.5, "", "sharing"),
    ("coding agents, {name}, 7.5x", "agentic", Window(AGENTS, 14000, "agentic"), 7.5, "", "sharing"),
    ("questions over passages, {name}, " + f"{RAG_RATE}x", "rag", QUESTIONS, RAG_RATE, "", "sharing"),
    ("interactive beside standard, 1.7x", "two-classes", Window(None, 0, "two-classes"), 1.7, "per_class interactive",
     "density"),
    ("interactive beside two classes, 1.2x", "three-classes", Window(None, 0, "three-classes"), 1.2, "per_class interactive",
     "eviction"),
]


def share(row, policy, part):
    _, scenario, window, rate, group, _ = row
    start = ["--from", f"{window.start}s"] if window.start else []
    command = [PENSTOCK, "simulate", "--config", next(SCENARIOS.rglob(f"{scenario}.yaml")), "--trace", window.trace, *start, "--duration",
               f"{window.seconds * part:g}s", "--rate", rate, "--policy", policy, "--json"]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    by, _, name = group.partition(" ")
    return (result[by][name] if by else result["feasible"])["on_time_share"]


def main():
    parser = argparse.ArgumentParser(prog="bench/kinds.sh")
    parser.add_argument("--part", type=float, default=1.0, help="of each window's length")
    options = parser.parse_args()
    jobs = [(row, policy) for row in ROWS for policy in ["penstock", f"penstock:without={row[5]}", *RIVALS]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        shares = dict(zip(jobs, pool.map(lambda job: share(*job, options.part), jobs)))
    print("| kind, in % on time | penstock | without | " + " | ".join(RIVALS) + " |")
    print("|---|---:|---:|" + "---:|" * len(RIVALS))
    for row in ROWS:
        without = f"penstock:without={row[5]}"
        cells = [f"{100 * shares[row, 'penstock']:.1f}", f"{100 * shares[row, without]:.1f} (`{row[5]}`)"]
        cells += [f"{100 * shares[row, rival]:.1f}" for rival in RIVALS]
        print(f"| {row[0].format(name=row[2].name)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
