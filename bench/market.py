"""A market of models with little demand each: bench/market.sh writes bench/results/market.md.

Table `gpus`: the fewest H100 for 5 to 40 models. They are alone on a GPU each, or all awake, or asleep in turn.
Table `share`: the requests of 20 models on time, by the number of GPUs. All models are on every GPU.
Table `host`: the same on 4 GPUs, by the memory of their host for the weights of those asleep.
Table `turns`: five models that are busy in turn on a GPU with memory for three.
Table `awake`: the fewest H100 for models that are all awake, with the best of five rivals. Rivals wake nobody.
Table `rivals`: the requests of 20 models on time with the best of them. Only models with most requests for their memory are awake.
Table `day`: the fewest H200 for the day of five real models (3B to 70B), in quarters: one model per GPU, awake, asleep.
"""

import sys

from policy_scenarios import SCENARIOS, Window
from simulator import config_file, simulate

# Shape, bytes of its weights, and the seconds of a wake from host memory at 22 GB/s.
SHAPES = [("qwen2.5-1.5b", 3.08e9, 0.3), ("qwen2.5-3b", 6.18e9, 0.3), ("qwen2.5-7b", 15.24e9, 0.69),
          ("qwen2.5-14b", 29.6e9, 1.35)]
# Name, shape, bytes of a parameter, and the seconds of a wake.
DAY_MODELS = [("m-small", "qwen2.5-3b", 2, 0.3), ("m-mid", "qwen2.5-7b", 2, 0.69), ("mm-image", "llama-3.1-8b", 2, 0.73),
              ("m-large", "qwen2.5-14b", 2, 1.35), ("deepseek-r1", "llama-3.1-70b", 1, 3.2)]
DAY = "servegen_multimodel_day_a.csv.gz"
ROUTERS = ("least_request", "least_load", "past_future", "threshold_gate", "mc_sf")
GOALS = ["10s", "2s"]
HOUR = "1h"
CACHE = 4e9  # Of a replica that sleeps, and the bytes that its engine takes besides.
ENGINE = 4e9
USABLE = 0.92 * 80e9


def classes(ttft):
    return [f"classes: {{standard: {{ttft: {ttft}, tpot: 100ms, queue: 30s, default: true, parking: true}}}}"]


def models(count):
    return ["models:"] + [f"  - {{name: market-{i:02d}, shape: {SHAPES[i % 4][0]}}}" for i in range(count)]


def planned(count, ttft, sleeping):
    """A configuration for --plan, which takes models, classes and sleep from it."""
    lines = ["gpus:"] + [f"  - {{id: gpu{i}, kind: h100}}" for i in range(count)] + models(count) + ["replicas:"]
    for i in range(count):
        sleep = f"sleep: {{after: 60s, wake: {SHAPES[i % 4][2]}s}}, " if sleeping else ""
        lines.append(f"  - {{id: m{i:02d}, gpus: [gpu{i}], model: market-{i:02d}, {sleep}simulated: {{}}}}")
    return lines + classes(ttft)


def shared(count, gpus, ttft, host=None):
    """Every model on every GPU, asleep or awake. `host`: GB of their node for those asleep; 0: no bound; None: no node."""
    lines = [f"nodes: [{{id: node, sleep_memory: {host}GB}}]"] if host else []
    node = "" if host is None else "node/"
    lines += ["gpus:"] + [f"  - {{id: {node}gpu{g}, kind: h100, memory: {USABLE / 1e9:.1f}GB}}" for g in range(gpus)]
    lines += models(count) + ["replicas:"]
    for i in range(count):
        _, weights, wake = SHAPES[i % 4]
        memory = f"kv_memory: {CACHE / 1e9:.0f}GB, resident: {(weights + ENGINE + CACHE) / 1e9:.2f}GB"
        for g in range(gpus):
            lines.append(f"  - {{id: m{i:02d}-{g}, gpus: [{node}gpu{g}], model: market-{i:02d}, {memory}, "
                         f"sleep: {{after: 60s, wake: {wake}s}}, simulated: {{}}}}")
    return lines + classes(ttft)


def resident(i):
    """Bytes of an awake replica of model i."""
    return SHAPES[i % 4][1] + ENGINE + CACHE


def fitted(names, gpus):
    """Pairs of a model and its GPU: the largest first, each on the first GPU with room. None: they have no room."""
    free, places = [USABLE] * gpus, []
    for i in sorted(names, key=resident, reverse=True):
        gpu = next((gpu for gpu in range(gpus) if free[gpu] >= resident(i)), None)
        if gpu is None:
            return None
        free[gpu] -= resident(i)
        places.append((i, gpu))
    return places


def packed(offered, gpus):
    """The models with most requests for their memory, as long as they have room."""
    places = []
    for i in sorted(offered, key=lambda i: offered[i] / resident(i), reverse=True):
        places = fitted([name for name, _ in places] + [i], gpus) or places
    return places


def awake(count, gpus, ttft, places):
    lines = ["gpus:"] + [f"  - {{id: gpu{g}, kind: h100, memory: {USABLE / 1e9:.1f}GB}}" for g in range(gpus)]
    lines += models(count) + ["replicas:"]
    lines += [f"  - {{id: m{i:02d}, gpus: [gpu{g}], model: market-{i:02d}, kv_memory: {CACHE / 1e9:.0f}GB, "
              f"resident: {resident(i) / 1e9:.2f}GB, simulated: {{}}}}" for i, g in places]
    return lines + classes(ttft)


def run(lines, trace, *flags, **options):
    with config_file("\n".join(lines) + "\n") as config:
        return simulate(config, trace, *flags, duration=HOUR, **options)


def workload(count):
    return "generate:market" if count == 20 else f"generate:market-{count}"


def plan(count, ttft, sleeping, policy=None):
    found = run(planned(count, ttft, sleeping), workload(count), "--plan", gpu="h100", policy=policy)
    return {name: (found[name]["gpus"], found[name]["feasible_on_time_share"]) for name in ("dedicated", "colocated")}


def print_gpus():
    print("| TTFT | models | one model per GPU | all awake | asleep in turn | fewer by | worst model on time |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for ttft in GOALS:
        # A search for 40 models at 2 s takes most of an hour.
        for count in (5, 10, 20) + ((40,) if ttft == "10s" else ()):
            awake, asleep = plan(count, ttft, False), plan(count, ttft, True)
            dedicated, gpus = asleep["dedicated"][0], asleep["colocated"][0]
            print(f"| {ttft} | {count} | {dedicated} | {awake['colocated'][0]} | {gpus} | {dedicated / gpus:.1f}x | "
                  f"{100 * asleep['colocated'][1]:.2f} % |", flush=True)


def print_share():
    print("| TTFT | GPUs | seed | on time | worst model | refused | wakes | p99 TTFT |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for ttft in GOALS:
        for gpus in (2, 3, 4, 5, 6):
            for seed in (1, 2, 3):
                result = run(shared(20, gpus, ttft), workload(20), seed=seed)
                print(f"| {ttft} | {gpus} | {seed} | {100 * result['on_time_share']:.2f} % | "
                      f"{100 * result['feasible']['worst_model_on_time_share']:.2f} % | "
                      f"{sum(result['refused'].values())} | {result['sleep']['wakes']} | "
                      f"{result['ttft_s']['p99']:.2f} s |", flush=True)


def print_host():
    print("| memory of the host | on time | worst model | refused | wakes | p50 TTFT | p99 TTFT |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for host in (0, 800, 540, 270, 140, 30):
        result = run(shared(20, 4, "10s", host), workload(20), seed=1)
        print(f"| {f'{host} GB' if host else 'no bound'} | {100 * result['on_time_share']:.2f} % | "
              f"{100 * result['feasible']['worst_model_on_time_share']:.2f} % | "
              f"{sum(result['refused'].values())} | {result['sleep']['wakes']} | "
              f"{result['ttft_s']['p50']:.2f} s | {result['ttft_s']['p99']:.2f} s |", flush=True)


def print_turns():
    print("| TTFT | on time | worst model | wakes | failed wakes |")
    print("|---:|---:|---:|---:|---:|")
    scenario = (SCENARIOS / "anti-phase.yaml").read_text()
    for ttft in GOALS:
        lines = scenario.replace("ttft: 10s", f"ttft: {ttft}").splitlines()
        result = run(lines, "generate:rotation")
        print(f"| {ttft} | {100 * result['on_time_share']:.2f} % | "
              f"{100 * result['feasible']['worst_model_on_time_share']:.2f} % | {result['sleep']['wakes']} | "
              f"{result['sleep']['failed']} |", flush=True)


def print_rivals():
    print("| TTFT | GPUs | policy | models awake | on time | of the requests of awake models |")
    print("|---:|---:|---|---:|---:|---:|")
    for ttft in GOALS:
        asleep = run(shared(20, 6, ttft), workload(20), seed=1)
        offered = {int(name[-2:]): model["offered"] for name, model in asleep["per_model"].items()}
        for gpus in (2, 3, 4, 5, 6):
            places = packed(offered, gpus)

            rows = [("penstock", "in turn", run(shared(20, gpus, ttft), workload(20), seed=1))]
            fixed = {policy: run(awake(20, gpus, ttft, places), workload(20), seed=1, policy=policy) for policy in ROUTERS}
            rival = max(ROUTERS, key=lambda policy: fixed[policy]["on_time_share"])
            for policy, count, result in (*rows, (rival, len(places), fixed[rival])):
                print(f"| {ttft} | {gpus} | `{policy}` | {count} | {100 * result['on_time_share']:.2f} % | "
                      f"{100 * result['feasible']['on_time_share']:.2f} % |", flush=True)


def print_awake():
    print("| TTFT | models | all awake, `penstock` | all awake, best rival |")
    print("|---:|---:|---:|---:|")
    for ttft in GOALS:
        for count in (5, 10, 20):
            fewest = {policy: plan(count, ttft, False, policy)["colocated"][0] for policy in ("penstock", *ROUTERS)}
            rival = min(ROUTERS, key=fewest.get)
            print(f"| {ttft} | {count} | {fewest['penstock']} | {fewest[rival]} (`{rival}`) |",
                  flush=True)


def day_fleet(ttft, sleeping):
    """A configuration for --plan."""
    lines = ["gpus:"] + [f"  - {{id: gpu{i}, kind: h200}}" for i in range(len(DAY_MODELS))] + ["models:"]
    lines += [f"  - {{name: {name}, shape: {shape}, bytes_per_parameter: {size}}}" for name, shape, size, _ in DAY_MODELS]
    lines.append("replicas:")
    for i, (name, _, _, wake) in enumerate(DAY_MODELS):
        sleep = f"sleep: {{after: 60s, wake: {wake}s}}, " if sleeping else ""
        lines.append(f"  - {{id: {name}-0, gpus: [gpu{i}], model: {name}, {sleep}simulated: {{}}}}")
    return lines + classes(ttft)


def print_day():
    print("| TTFT | window of an hour | one model per GPU | all awake | asleep in turn | worst model on time |")
    print("|---:|---|---:|---:|---:|---:|")
    for ttft in GOALS:
        for start in (0, 21600, 43200, 64800):
            window = Window(DAY, start, "multi-model")
            # The generated hour has eight times the rate of the day.
            rate = 1 if window.recorded else 0.12
            awake, asleep = (run(day_fleet(ttft, sleeping), window.trace, "--plan", gpu="h200", from_=f"{window.start}.001s",
                                 rate=rate) for sleeping in (False, True))
            print(f"| {ttft} | {window.name} | {asleep['dedicated']['gpus']} | {awake['colocated']['gpus']} | "
                  f"{asleep['colocated']['gpus']} | {100 * asleep['colocated']['feasible_on_time_share']:.2f} % |", flush=True)


if __name__ == "__main__":
    {"gpus": print_gpus, "awake": print_awake, "share": print_share, "rivals": print_rivals, "host": print_host,
     "turns": print_turns, "day": print_day}[sys.argv[1]]()
