"""Elastic memory of one GPU: bench/rooms/elastic.sh writes bench/results/elastic.md.

Three models are busy in turn (workload antiphase). Each way to split 24 GB of cache memory runs the same requests.
Table `rates`: requests on time and active tokens by load. Table `seeds`: the same at one load, over three seeds. Table
`rivals`: the rival with the most active tokens at 2.5x with seed 1, on each split that a rival can use. A rival follows no
limit that moves.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from simulator import GATES, best_rival, config_file, mean_of, over_seeds, rivals, simulate  # noqa: E402

MODELS = [("model-a", "llama-3.1-8b"), ("model-b", "llama-3.1-8b"), ("model-c", "qwen2.5-3b")]
MANAGED = "own limits, managed"
RATES = (1.5, 2, 2.5, 3)
SEEDS = (1, 2, 3)
CLASSES = "classes: {standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}}"
# The keys of the GPU, and those of a replica.
WAYS = {
    "static thirds": ("", "kv_memory: 8GB"),
    "own limits, read": (", elastic_kv: 24GB, elastic: read", "kv_memory: 8GB, elastic: {segment: NAME}"),
    "own limits, managed": (", elastic_kv: 24GB, elastic: manage", "kv_memory: 8GB, elastic: {segment: NAME}"),
    "one pool": (", elastic_kv: 24GB", ""),
}


def fleet(way):
    gpu, replica = WAYS[way]
    lines = [f"gpus: [{{id: gpu0, kind: h100{gpu}}}]", "models:"]
    lines += [f"  - {{name: {name}, shape: {shape}}}" for name, shape in MODELS]
    lines += ["replicas:"]
    for name, _ in MODELS:
        keys = replica.replace("NAME", f"kvcached_{name}")
        lines.append(f"  - {{id: {name}, gpus: [gpu0], model: {name}, simulated: {{}}{', ' + keys if keys else ''}}}")
    return "\n".join([*lines, CLASSES]) + "\n"


def run(way, rate, seed=1, policy=None):
    with config_file(fleet(way)) as config:
        return simulate(config, "generate:antiphase", duration="10m", rate=rate, seed=seed, policy=policy)


def active(result):
    return result["active_tokens_per_s"]


def print_rates():
    print("| rate | " + " | ".join(f"{way}: on time, active tokens/s" for way in WAYS) + " |")
    print("|---:|" + "---:|" * len(WAYS))
    for rate in RATES:
        results = [run(way, rate) for way in WAYS]
        cells = [f"{100 * result['on_time_share']:.1f} %, {active(result):,.0f}" for result in results]
        print(f"| {rate}x | " + " | ".join(cells) + " |")


def print_seeds():
    print("| seed | " + " | ".join(f"{way}: active tokens/s" for way in WAYS) + " |")
    print("|---:|" + "---:|" * len(WAYS))
    sums = dict.fromkeys(WAYS, 0.0)
    for seed in SEEDS:
        tokens = {way: active(run(way, 2.5, seed)) for way in WAYS}
        for way, value in tokens.items():
            sums[way] += value / len(SEEDS)
        print(f"| {seed} | " + " | ".join(f"{value:,.0f}" for value in tokens.values()) + " |")
    print("| mean | " + " | ".join(f"{value:,.0f}" for value in sums.values()) + " |")


def print_rivals():
    print("| rate | split | policy | on time | active tokens/s | preemptions |")
    print("|---:|---|---|---:|---:|---:|")
    # Each model has one replica, so balancers do not differ.
    among = ("least_request", *rivals(*GATES))
    found = {way: best_rival(lambda policy: run(way, 2.5, policy=policy), active, among) for way in WAYS if way != MANAGED}
    for rate in RATES:
        for way in WAYS:
            policies = ("penstock",) if way == MANAGED else ("penstock", found[way], "present_use")
            runs = [(policy,) for policy in policies]
            for (policy,), results in over_seeds(lambda policy, seed: run(way, rate, seed, policy), runs, SEEDS):
                mean = mean_of(results)
                print(f"| {rate}x | {way} | `{policy}` | {100 * mean(lambda result: result['on_time_share']):.1f} % "
                      f"| {mean(active):,.0f} | {mean(lambda result: result['preemptions']):.0f} |", flush=True)


if __name__ == "__main__":
    {"rates": print_rates, "seeds": print_seeds, "rivals": print_rivals}[sys.argv[1]]()
