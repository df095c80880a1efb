#!/usr/bin/env python3
"""Prints requests that wait for a model, for an adapter, or for others: a row per workload, rate and policy.

Each workload is made here from its seed. The figures are means of three seeds.
"""

import math
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from simulator import config_file, simulate  # noqa: E402

SEEDS = (1, 2, 3)
STANDARD = "classes:\n  standard: {{ttft: {}, tpot: 100ms, queue: {}, default: true}}\n"


def lognormal(rng, median, spread, low=1, high=10**9):
    return max(low, min(high, int(median * math.exp(spread * rng.gauss(0, 1)))))


def arrivals(rng, rate, end, model, prompt, output):
    """Poisson arrivals: rows of the trace. `prompt` and `output` are arguments of lognormal()."""
    at, rows = rng.expovariate(rate), []
    while at < end:
        rows.append((at, model, lognormal(rng, *prompt), lognormal(rng, *output)))
        at += rng.expovariate(rate)
    return rows


def gpus(count, kind):
    return "gpus:\n" + "".join(f"  - {{id: g{i}, kind: {kind}}}\n" for i in range(count))


def turns(seed, quiet=0.03):
    """A busy model and a quiet one on a GPU that holds one of them."""
    rng = random.Random(seed)
    models = {"busy": ("llama-3.1-8b", "30GB"), "quiet": ("qwen2.5-14b", "20GB")}
    lines = gpus(1, "h100") + "models:\n" + "".join(f"  - {{name: {m}, shape: {s}}}\n" for m, (s, _) in models.items())
    lines += "replicas:\n" + "".join(
        f"  - {{id: {m}, gpus: [g0], model: {m}, resident: 60GB, kv_memory: {kv}, sleep: {{after: 60s, wake: 2s}}, "
        "simulated: {}}\n" for m, (_, kv) in models.items())
    trace = "trace: {models: {busy: busy, quiet: quiet}}\n"
    rows = arrivals(rng, 3, 600, "busy", (500, 0.5), (300, 0.5)) + arrivals(rng, quiet, 600, "quiet", (500, 0.5), (300, 0.5))
    return lines + STANDARD.format("60s", "120s") + trace, rows


def wake(seed):
    """One request in two minutes, for a model whose wake takes longer than the goal."""
    rng = random.Random(seed)
    lines = gpus(1, "h100") + ("replicas:\n  - {id: r, gpus: [g0], model: llama-3.1-8b, kv_memory: 30GB, "
                               "sleep: {after: 60s, wake: 5s}, simulated: {}}\n")
    rows = [(i * 120 + rng.uniform(0, 36), "llama-3.1-8b", 500, 200) for i in range(10)]
    return lines + STANDARD.format("2s", "30s") + "trace: {models: {llama-3.1-8b: llama-3.1-8b}}\n", rows


def plain(count, kind, ttft, more=""):
    lines = gpus(count, kind) + "replicas:\n" + "".join(
        f"  - {{id: r{i}, gpus: [g{i}], model: llama-3.1-8b, {more}simulated: {{}}}}\n" for i in range(count))
    return lines + STANDARD.format(ttft, "30s") + "trace: {models: {llama-3.1-8b: llama-3.1-8b}}\n"


def large(seed):
    """Prompts of 9k tokens that hardly any idle server can answer in time."""
    rows = arrivals(random.Random(seed), 0.75, 240, "llama-3.1-8b", (9000, 0.2, 7000, 15000), (200, 0.5, 10, 1000))
    return plain(2, "a100-80", "500ms", "kv_memory: 18GB, "), rows


def documents(seed):
    """Documents of all lengths for a model on four GPUs, at the knee."""
    lines = gpus(8, "h100") + "replicas:\n" + "".join(
        f"  - {{id: r{i}, gpus: [{', '.join(f'g{g}' for g in range(4 * i, 4 * i + 4))}], model: llama-3.1-70b, "
        "simulated: {}}\n" for i in range(2))
    rows = arrivals(random.Random(seed), 1.2, 180, "llama-3.1-70b", (9000, 0.7, 500, 60000), (250, 0.6, 10, 1500))
    return lines + STANDARD.format("2s", "30s") + "trace: {models: {llama-3.1-70b: llama-3.1-70b}}\n", rows


def adapters(seed):
    """Eight adapters in four places of one GPU, each loaded in half a second."""
    rng = random.Random(seed)
    names = [f"a{i}" for i in range(8)]
    lines = gpus(1, "a100-80") + "models:\n  - {name: base, shape: llama-3.1-8b}\nadapters:\n" + "".join(
        f"  - {{name: {name}, path: /a/{name}, model: base, load: 500ms, timeout: 60s}}\n" for name in names)
    lines += ("replicas:\n  - {id: r, gpus: [g0], model: base, kv_memory: 20GB, max_adapters: 4, simulated: {}}\n" +
              STANDARD.format("3s", "30s") + "trace: {models: {base: base, " + ", ".join(f"{n}: {n}" for n in names) + "}}\n")
    rows = []
    for at, _, prompt, output in arrivals(rng, 4, 150, "", (500, 0.8, 10, 8000), (200, 0.7, 5, 2000)):
        model = "base" if rng.random() < 0.3 else rng.choices(names, [1 / (i + 1) for i in range(8)])[0]
        rows.append((at, model, prompt, output))
    return lines, rows


def brief(seed):
    """A tenant's short answers beside a few long ones of another, which will outgrow the pool of a GPU."""
    rng = random.Random(seed)
    short = arrivals(rng, 6, 300, "llama-3.1-8b", (300, 0.5, 50, 2000), (40, 0.5, 5, 200))
    long = arrivals(rng, 0.1, 300, "llama-3.1-8b", (3000, 0.3, 1000, 6000), (3000, 0.5, 500, 8000))
    rows = [(*row, "short") for row in short] + [(*row, "long") for row in long]
    return plain(1, "a100-80", "3s", "kv_memory: 3GB, "), rows


WORKLOADS = {
    "a busy model and a quiet one in turn": (turns, ("penstock",)),
    "a wake that is longer than the goal": (wake, ("penstock", "penstock:without=best-effort")),
    "prompts that hardly any server can answer in time": (large, ("penstock", "penstock:without=best-effort", "least_request")),
    "documents at the knee": (documents, ("penstock", "penstock:without=best-effort", "least_request")),
    "eight adapters in four places": (adapters, ("penstock", "least_request")),
    "short answers beside long ones": (brief, ("penstock", "penstock:without=variance", "least_request")),
}


def run(workload, policy, seed):
    lines, rows = workload(seed)
    with config_file(lines) as config, tempfile.NamedTemporaryFile("w", suffix=".csv") as trace:
        trace.write("arrival_s,model,tenant,prompt_tokens,output_tokens\n")
        for at, model, prompt, output, *tenant in sorted(rows):
            trace.write(f"{at:.3f},{model},{tenant[0] if tenant else 't'},{prompt},{output}\n")
        trace.flush()
        return simulate(config, trace.name, policy=policy, seed=seed)


def main():
    print("| workload | policy | on time | worst model | active tokens/s | p99 TTFT | refused |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, (workload, policies) in WORKLOADS.items():
        for policy in policies:
            results = [run(workload, policy, seed) for seed in SEEDS]
            on_time = statistics.mean(100 * each["on_time_share"] for each in results)
            worst = statistics.mean(min(100 * model["on_time_share"] for model in each["per_model"].values()) for each in results)
            active = statistics.mean(each["active_tokens_per_s"] for each in results)
            ttft = statistics.mean(each["ttft_s"]["p99"] or 0 for each in results)
            refused = statistics.mean(sum((each["refused"] or {}).values()) for each in results)
            print(f"| {name} | `{policy}` | {on_time:.1f} % | {worst:.1f} % | {active:,.0f} | {ttft:.2f} s | {refused:.1f} |",
                  flush=True)


if __name__ == "__main__":
    main()
