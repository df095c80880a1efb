"""Fair shares of tenants: bench/fairness.sh writes bench/results/fairness.md.

`flood`: one tenant sends 25 requests/s to one A100, another 0.7/s. `large`: the other one has prompts of 3,000 tokens.

`cost`: the active tokens of each fairness against none. Arrivals are drawn from fixed seeds.

Rivals know no tenants. `flood` has the rival with the most requests of the quiet tenant on time in the first 200 s.
In `large`, it is the one with the most large requests on time with seed 1. In `cost`, it has the most active tokens.
"""

import math
import pathlib
import random
import sys
import tempfile

import policy_scenarios
from simulator import FEW, best_rival, config_file, from_second, in_parallel, mean_of, over_seeds, simulate

SECONDS = 2000
# Scenario and rates: about the knee, and 1.25 to 1.6 times of it.
COSTS = [("flood", [1, 1.25, 1.5]), ("mixed", [3, 4, 5]), ("multi-model", [2, 3])]
COST_SECONDS = 200
LARGE_SECONDS = 200
SEEDS = (1, 2, 3)
GOALS = "{ttft: 2s, tpot: 100ms, queue: 30s"


def between(value, lowest, highest):
    return int(max(lowest, min(highest, value)))


def arrivals(rate, tenant, seed, prompt):
    draw = random.Random(seed)
    at = draw.expovariate(rate)
    while at < SECONDS:
        length = prompt or between(draw.lognormvariate(6.0, 1.0), 8, 8000)
        yield at, tenant, length, between(draw.lognormvariate(5.3, 0.6), 1, 1500)
        at += draw.expovariate(rate)


def write_trace(path, flood, prompt):
    rows = list(arrivals(0.7, "quiet", 1, prompt)) + (list(arrivals(flood, "flood", 2, prompt)) if flood else [])
    lines = ["arrival_s,model,tenant,prompt_tokens,output_tokens"]
    lines += [f"{at:.4f},,{tenant},{length},{output}" for at, tenant, length, output in sorted(rows)]
    path.write_text("\n".join(lines) + "\n")


def one_gpu(fairness, unit="tokens", apart=False):
    text = (f"fairness: {fairness}\nfairness_charge: {unit}\ngpus: [{{id: g, kind: a100-80}}]\n"
            "replicas: [{id: r, gpus: [g], model: llama-3.1-8b, simulated: {}}]\n")
    if apart:
        return text + (f"classes: {{interactive: {GOALS}}}, standard: {GOALS}, default: true}}}}\n"
                       "trace: {models: {'': llama-3.1-8b}, classes: {quiet: interactive, flood: standard}}\n")
    return text + f"classes: {{standard: {GOALS}, default: true}}}}\ntrace: {{models: {{'': llama-3.1-8b}}}}\n"


def run(text, trace, **options):
    with config_file(text) as config:
        return simulate(config, trace, seed=1, **options)


def of_quiet(result):
    quiet = result["per_tenant"]["quiet"]
    return quiet["on_time_share"], -(quiet["ttft_s"]["p99"] or math.inf)


def flood_table():
    print("| one A100, quiet tenant at 0.7/s | prompt | p50 TTFT | p99 TTFT | quiet on time | flood on time | active/s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for prompt in (500, 0):
            alone, both = pathlib.Path(folder) / "alone.csv", pathlib.Path(folder) / "both.csv"
            write_trace(alone, 0, prompt)
            write_trace(both, 25, prompt)
            rows = [("alone on an idle fleet", one_gpu("none"), alone),
                    ("flood at 25/s, nobody ahead of quiet (a class of its own)", one_gpu("none", apart=True), both),
                    ("flood at 25/s, `none`", one_gpu("none"), both),
                    ("flood at 25/s, `leads`", one_gpu("leads"), both),
                    ("flood at 25/s, `weighted`", one_gpu("weighted"), both),
                    ("flood at 25/s, `weighted`, charged by memory", one_gpu("weighted", "memory"), both)]
            rival = best_rival(lambda policy: run(one_gpu("none"), both, duration="200s", policy=policy), of_quiet, FEW)
            rows = [(*row, None) for row in rows] + [(f"flood at 25/s, `{rival}`", one_gpu("none"), both, rival)]
            for (name, *_), result in in_parallel(lambda _, text, trace, policy: run(text, trace, policy=policy), rows):
                quiet, flood = result["per_tenant"]["quiet"], result["per_tenant"].get("flood")
                flooded = f"{100 * flood['on_time_share']:.1f} %" if flood else ""
                print(f"| {name} | {prompt or 'drawn'} | {quiet['ttft_s']['p50']:.3f} s | {quiet['ttft_s']['p99']:.3f} s "
                      f"| {100 * quiet['on_time_share']:.1f} % | {flooded} | {result['active_tokens_per_s']:.0f} |")


def large_trace(path, seed):
    draw = random.Random(seed)
    rows = []
    for rate, tenant, prompt in ((25, "small", (700, 0.6, 50, 3000)), (1, "large", (3000, 0.2, 1000, 20000))):
        at = draw.expovariate(rate)
        while at < LARGE_SECONDS:
            length = between(prompt[0] * math.exp(prompt[1] * draw.gauss(0, 1)), *prompt[2:])
            rows.append((at, tenant, length, between(200 * math.exp(0.5 * draw.gauss(0, 1)), 5, 1000)))
            at += draw.expovariate(rate)
    lines = ["arrival_s,model,tenant,prompt_tokens,output_tokens"]
    lines += [f"{at:.4f},,{tenant},{length},{output}" for at, tenant, length, output in sorted(rows)]
    path.write_text("\n".join(lines) + "\n")


def large_row(fairness, weight, traces, policy, seed):
    text = (f"fairness: {fairness}\ngpus: [{{id: g, kind: a100-80}}]\n"
            "replicas: [{id: r, gpus: [g], model: llama-3.1-8b, kv_memory: 18GB, simulated: {}}]\n"
            "classes: {standard: {ttft: 3s, tpot: 100ms, queue: 30s, default: true}}\n"
            f"tenants: [{{name: large, keys: [sk-1], weight: {weight}}}, {{name: small, keys: [sk-2]}}]\n"
            "trace: {models: {'': llama-3.1-8b}}\n")
    return run(text, traces[seed], policy=policy)


def large_table():
    print("| fairness or rival, one A100 with 18 GB | weight of large | large on time | its p99 TTFT | small on time | active/s |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        traces = {seed: pathlib.Path(folder) / f"{seed}.csv" for seed in SEEDS}
        for seed, trace in traces.items():
            large_trace(trace, seed)
        rows = [("none", 1, traces, None)]
        rows += [(kind, weight, traces, None) for kind in ("leads", "weighted") for weight in (1, 4)]
        rival = best_rival(lambda policy: large_row("none", 1, traces, policy, SEEDS[0]),
                     lambda result: result["per_tenant"]["large"]["on_time_share"], FEW)
        for (fairness, weight, _, policy), results in over_seeds(large_row, [*rows, ("none", 1, traces, rival)], SEEDS):
            mean = mean_of(results)
            shares = [mean(lambda result, name=name: 100 * result["per_tenant"][name]["on_time_share"])
                      for name in ("large", "small")]
            late = mean(lambda result: result["per_tenant"]["large"]["ttft_s"]["p99"])
            print(f"| `{policy or fairness}` | {weight} | {shares[0]:.1f} % | {late:.2f} s | {shares[1]:.1f} % "
                  f"| {mean(lambda result: result['active_tokens_per_s']):.0f} |")


def cost_row(scenario, window, rate, fairness, policy=None):
    text = f"fairness: {fairness}\n" + scenario.fleet.read_text()
    return run(text, window.trace, from_=from_second(window.start), duration=f"{COST_SECONDS}s", rate=rate, policy=policy)


def most_active(load):
    return best_rival(lambda policy: cost_row(*load, "none", policy), lambda result: result["active_tokens_per_s"], FEW)


def cost_table():
    print("| scenario, rate | fairness or rival | active tokens | on time | worst tenant | worst prompt quartile |")
    print("|---|---|---:|---:|---:|---:|")
    kinds = ["none", "leads", "weighted"]
    jobs = []
    for name, rates in COSTS:
        scenario = next(each for each in policy_scenarios.ALL if each.name == name)
        for load in [(scenario, scenario.windows[0], rate) for rate in rates]:
            jobs += [(*load, fairness, None) for fairness in kinds] + [(*load, "none", most_active(load))]
    for (scenario, window, rate, fairness, policy), result in in_parallel(cost_row, jobs):
        name = policy or fairness
        if name == "none":
            base = result["active_tokens_per_s"]
        active = f"{base:.0f}/s" if name == "none" else f"{100 * result['active_tokens_per_s'] / base - 100:+.1f} %"
        whole = result["on_time_share"]
        tenants = [each["on_time_share"] for each in result["per_tenant"].values() if each["offered"] >= 50]
        worst = f"{min(tenants) / whole:.2f}" if tenants else ""
        quartile = min(each["on_time_share"] for each in result["per_prompt_quartile"].values()) / whole
        print(f"| {scenario.name}, {rate}x, {window.name} | `{name}` | {active} | {100 * whole:.1f} % | {worst} "
              f"| {quartile:.2f} |")


if __name__ == "__main__":
    {"flood": flood_table, "large": large_table, "cost": cost_table}[sys.argv[1]]()
