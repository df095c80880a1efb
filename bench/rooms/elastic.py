"""Elastic memory of one GPU: bench/rooms/elastic.sh writes bench/results/elastic.md.

Three models are busy in turn (workload antiphase). Each way to split 24 GB of cache memory runs the same requests.
Table `rates`: requests on time and active tokens by load. Table `seeds`: the same at one load, over three seeds.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from simulator import config_file, simulate  # noqa: E402

MODELS = [("model-a", "llama-3.1-8b"), ("model-b", "llama-3.1-8b"), ("model-c", "qwen2.5-3b")]
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


def run(way, rate, seed=1):
    with config_file(fleet(way)) as config:
        return simulate(config, "generate:antiphase", duration="10m", rate=rate, seed=seed)


def print_rates():
    print("| rate | " + " | ".join(f"{way}: on time, active tokens/s" for way in WAYS) + " |")
    print("|---:|" + "---:|" * len(WAYS))
    for rate in (1.5, 2, 2.5, 3):
        results = [run(way, rate) for way in WAYS]
        cells = [f"{100 * result['on_time_share']:.1f} %, {result['active_tokens_per_s']:,.0f}" for result in results]
        print(f"| {rate}x | " + " | ".join(cells) + " |")


def print_seeds():
    print("| seed | " + " | ".join(f"{way}: active tokens/s" for way in WAYS) + " |")
    print("|---:|" + "---:|" * len(WAYS))
    sums = dict.fromkeys(WAYS, 0.0)
    for seed in range(1, 4):
        tokens = {way: run(way, 2.5, seed)["active_tokens_per_s"] for way in WAYS}
        for way, value in tokens.items():
            sums[way] += value / 3
        print(f"| {seed} | " + " | ".join(f"{value:,.0f}" for value in tokens.values()) + " |")
    print("| mean | " + " | ".join(f"{value:,.0f}" for value in sums.values()) + " |")


if __name__ == "__main__":
    {"rates": print_rates, "seeds": print_seeds}[sys.argv[1]]()
