"""Kinds of requests that a mean hides: bench/kinds.sh writes bench/results/kinds.md.

Each row is one kind of request. It shows the share on time under Penstock, without the part of it that serves this kind,
and under shipping policies at their defaults. Of the agents' requests, the feasible ones count.

Table `flows`: rare requests need more memory than a flow of others beside them. Both must be served.

Table `padding`: one tenant in front of the fleet of `giants` makes its prompts longer than they need to be. It must not gain.
"""

import argparse
import pathlib
import random
import tempfile

from policy_scenarios import RAG, SCENARIOS, Window
from simulator import from_second, in_parallel, mean_of, over_seeds, simulate

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
    ("interactive beside standard, 4.2x", "two-classes", Window(None, 0, "two-classes"), 4.2, "per_class interactive",
     "steps"),
    ("interactive beside two classes, 2.7x", "three-classes", Window(None, 0, "three-classes"), 2.7, "per_class interactive",
     "steps"),
]


def share(row, policy, part):
    _, scenario, window, rate, group, _ = row
    result = simulate(next(SCENARIOS.rglob(f"{scenario}.yaml")), window.trace, from_=from_second(window.start),
                      duration=f"{window.seconds * part:g}s", rate=rate, policy=policy)
    by, _, name = group.partition(" ")
    return (result[by][name] if by else result["feasible"])["on_time_share"]


# Times the length that prompts need. A prompt of 40,000 tokens takes longer than its TTFT goal.
PADDING = (1, 2, 4, 8, 16, 40)
PADDING_SECONDS = 120
PADDING_RATE = 80  # Requests per second.


def padded_trace(folder, times, seed):
    """Prompts of 1,000 tokens above the knee of four A100; every tenth is of the tenant that pads."""
    path = pathlib.Path(folder) / f"{times}-{seed}.csv"
    draw = random.Random(seed)
    with path.open("w") as out:
        out.write("arrival_s,model,tenant,prompt_tokens,output_tokens\n")
        at = 0.0
        while (at := at + draw.expovariate(PADDING_RATE)) < PADDING_SECONDS:
            padded = draw.random() < 0.1
            prompt, output = int(draw.uniform(500, 1500)), int(draw.expovariate(1 / 200)) + 1
            out.write(f"{at:.4f},,{'padded' if padded else 'plain'},{prompt * (times if padded else 1)},{output}\n")
    return path


def print_padding(part):
    def run(times, seed):
        return simulate(next(SCENARIOS.rglob("giants.yaml")), padded_trace(folder, times, seed),
                        duration=f"{PADDING_SECONDS * part:g}s")["per_tenant"]

    def on_time(tenant):
        return lambda groups: 100 * groups[tenant]["on_time_share"]

    print("| prompts of one tenant in ten, times their need | its on time | its TTFT p50 | others on time |")
    print("|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for (times,), results in over_seeds(run, [(times,) for times in PADDING], range(1, 6)):
            mean = mean_of(results)
            print(f"| {times} | {mean(on_time('padded')):.1f} % | {mean(lambda r: r['padded']['ttft_s']['p50']):.2f} s "
                  f"| {mean(on_time('plain')):.1f} % |", flush=True)


FLOWS_SECONDS = 300
# Name, tokens of the pool. Of the flow: seconds between two requests, prompt, output and class. Of the rare requests: seconds
# between two, prompt, and TTFT goal in seconds (0: none binds).
FLOWS = [
    ("of a lower class", 20000, 0.2, 200, 300, "interactive", 20, 14000, 30),
    ("of a lower class, without a deadline", 20000, 0.2, 200, 300, "interactive", 20, 14000, 0),
    ("a little larger", 24000, 4, 11000, 300, "standard", 40, 14000, 15),
    ("of a sixth of the pool", 20000, 0.1, 200, 300, "standard", 10, 3700, 5),
    ("larger than their goal allows", 76000, 0.1, 700, 200, "interactive", 6, 60000, 2),
]


def flow_files(folder, flow):
    name, pool, every, prompt, output, of_class, rare_every, rare_prompt, ttft = flow
    stem = pathlib.Path(folder) / name.replace(" ", "-").replace(",", "")
    rows = [(i * every, "flow", prompt, output, of_class) for i in range(int(FLOWS_SECONDS / every))]
    rows += [((i + 0.5) * rare_every, "rare", rare_prompt, 50, "standard") for i in range(int(FLOWS_SECONDS / rare_every))]
    lines = [",".join([f"{at:.4f}", "", *map(str, rest)]) for at, *rest in sorted(rows)]
    header = "arrival_s,model,tenant,prompt_tokens,output_tokens,class"
    stem.with_suffix(".csv").write_text("\n".join([header, *lines, ""]))
    goal = f"ttft: {ttft}s" if ttft else "ttft: 8s, refuse_late: false"
    stem.with_suffix(".yaml").write_text(
        "gpus: [{id: gpu0, kind: a100-80}]\n"
        f"replicas: [{{id: r0, gpus: [gpu0], model: llama-3.1-8b, kv_tokens: {pool}, simulated: {{}}}}]\n"
        "classes:\n  interactive: {ttft: 2s, tpot: 100ms, queue: 60s}\n"
        f"  standard: {{{goal}, tpot: 100ms, queue: 10m, default: true}}\n"
        'trace: {models: {"": llama-3.1-8b}}\n')
    return stem.with_suffix(".yaml"), stem.with_suffix(".csv")


def print_flows():
    policies = ["penstock", "penstock:without=reservations", *RIVALS]

    def run(flow, policy):
        return simulate(*flow_files(folder, flow), policy=policy)["per_tenant"]

    def cell(groups):
        return f"{100 * groups['rare']['on_time_share']:.0f} / {100 * groups['flow']['on_time_share']:.1f}"

    print("| rare requests, in % on time / the others | penstock | `without=reservations` | " + " | ".join(RIVALS) + " |")
    print("|---|" + "---:|" * len(policies))
    with tempfile.TemporaryDirectory() as folder:
        results = dict(in_parallel(run, [(flow, policy) for flow in FLOWS for policy in policies]))
    for flow in FLOWS:
        print(f"| {flow[0]} | " + " | ".join(cell(results[flow, policy]) for policy in policies) + " |")


def main():
    parser = argparse.ArgumentParser(prog="bench/kinds.sh")
    parser.add_argument("--table", choices=("kinds", "flows", "padding"), default="kinds")
    parser.add_argument("--part", type=float, default=1.0, help="of each window's length")
    options = parser.parse_args()
    if options.table == "flows":
        print_flows()
        return
    if options.table == "padding":
        print_padding(options.part)
        return
    jobs = [(row, policy) for row in ROWS for policy in ["penstock", f"penstock:without={row[5]}", *RIVALS]]
    shares = dict(in_parallel(lambda row, policy: share(row, policy, options.part), jobs))
    print("| kind, in % on time | penstock | without | " + " | ".join(RIVALS) + " |")
    print("|---|---:|---:|" + "---:|" * len(RIVALS))
    for row in ROWS:
        without = f"penstock:without={row[5]}"
        cells = [f"{100 * shares[row, 'penstock']:.1f}", f"{100 * shares[row, without]:.1f} (`{row[5]}`)"]
        cells += [f"{100 * shares[row, rival]:.1f}" for rival in RIVALS]
        print(f"| {row[0].format(name=row[2].name)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
