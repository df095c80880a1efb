"""Worth of learning the tokens of a step: bench/engines/speculation.sh writes bench/results/engines/speculation.md.

Each run is bench/scenarios/engines/speculation.yaml with other tokens per step, another goal of TPOT, or less memory.
Every figure is the median of three seeds.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import config_file, median_of, over_seeds, simulate  # noqa: E402

FLEET = (SCENARIOS / "engines/speculation.yaml").read_text()
SEEDS = (1, 2, 3)
POLICIES = ("penstock", "penstock:without=speculation", "past_future", "dynamo_cost", "least_request")
# Tokens per step, TPOT in ms, rate.
GOALS = [(1, 25, 6), (2, 8, 6), (2, 12, 5), (2, 12, 6), (2, 12, 7), (2, 25, 7), (3, 12, 8), (4, 12, 9)]
# The same with 30,000 tokens of KV cache, and the trace.
MEMORY = [(3, 50, "azure-conv", 7), (3, 50, "chat", 3), (3, 50, "reasoning", 1)]


def fleet_of(tokens, tpot, memory=""):
    text = FLEET.replace("tokens_per_step: 3", f"tokens_per_step: {tokens}").replace("tpot: 25ms", f"tpot: {tpot}ms")
    return text.replace("simulated: {", memory + "simulated: {")


def run(text, trace, rate, policy, seed):
    with config_file(text) as config:
        return simulate(config, f"generate:{trace}", policy=policy, rate=rate, seed=seed, duration="60s" if trace == "azure-conv" else "120s")


def cells(policy, results):
    median = median_of(results)
    return (f"`{policy}` | {100 * median(lambda r: r['on_time_share']):.1f} % | {median(lambda r: r['active_tokens_per_s']):.0f} "
            f"| {median(lambda r: sum(r['refused'].values())):.0f} | {median(lambda r: r['preemptions']):.0f} "
            f"| {median(lambda r: r['ttft_s']['p99']):.2f} s |")


def main():
    memory = sys.argv[1] == "memory"
    loads = [(each[0], each[1], *(each[2:] if memory else ("azure-conv", each[2]))) for each in (MEMORY if memory else GOALS)]
    runs = [(fleet_of(tokens, tpot, "kv_tokens: 30000, " if memory else ""), trace, rate, policy)
            for tokens, tpot, trace, rate in loads for policy in POLICIES]
    names = [f"{tokens} | {tpot} ms | {trace}, {rate}x" for tokens, tpot, trace, rate in loads for _ in POLICIES]
    print("| tokens per step | TPOT goal | load | policy | on time | active tokens/s | refused | preemptions | TTFT p99 |")
    print("|---:|---:|---|---|---:|---:|---:|---:|---:|")
    for name, ((*_, policy), found) in zip(names, over_seeds(run, runs, SEEDS, workers=1)):
        print(f"| {name} | {cells(policy, found)}", flush=True)


if __name__ == "__main__":
    main()
