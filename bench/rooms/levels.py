"""Worth of output curves by program: bench/rooms/levels.sh writes the programs of bench/results/forecast.md.

The log has one tenant whose four programs (column `shape`) have answers of very different lengths and prompts of equal
lengths. Each figure is the mean of three seeds.
"""

import concurrent.futures
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = ROOT / "build/release/penstock"
SECONDS = 400
# Program, its part of the requests, and its median answer in tokens.
PROGRAMS = [("classify", 0.4, 6), ("extract", 0.3, 90), ("chat", 0.2, 350), ("write", 0.1, 1600)]
RUNS = [("tight", rate) for rate in (10, 18, 24)]
POLICIES = ("penstock", "penstock:without=levels")
SEEDS = (1, 2, 3)


def write_trace(path, rate, seed):
    draw = random.Random(seed)
    at, lines = draw.expovariate(rate), ["arrival_s,model,tenant,prompt_tokens,output_tokens,shape"]
    while at < SECONDS:
        name, _, median = draw.choices(PROGRAMS, [part for _, part, _ in PROGRAMS])[0]
        prompt = int(max(50, min(6000, draw.lognormvariate(6.5, 0.7))))
        output = int(max(1, min(4000, median * draw.lognormvariate(0, 0.4))))
        lines.append(f"{at:.4f},,app,{prompt},{output},{name}")
        at += draw.expovariate(rate)
    path.write_text("\n".join(lines) + "\n")


def simulate(scenario, rate, policy, seed):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "programs.csv"
        write_trace(trace, rate, seed)
        command = [PENSTOCK, "simulate", "--config", ROOT / f"bench/scenarios/{scenario}.yaml", "--trace", trace, "--policy",
                   policy, "--seed", seed, "--duration", f"{SECONDS}s", "--json"]
        return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def print_row(scenario, rate, policy, results):
    def mean(figure):
        return statistics.mean(figure(result) for result in results)

    print(f"| {scenario} | {rate} | `{policy}` | {100 * mean(lambda r: r['on_time_share']):.2f} % "
          f"| {mean(lambda r: r['active_tokens_per_s']):.0f} | {mean(lambda r: r['forecast']['output_pinball_p50']):.1f} "
          f"| {100 * mean(lambda r: r['forecast']['pool_error_10s_p90']):.2f} % "
          f"| {mean(lambda r: r['ttft_s']['p99']):.2f} s |", flush=True)


def main():
    print("| scenario | requests/s | policy | on time | active tokens/s | pinball p50 | pool error at 10 s, p90 | TTFT p99 |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for scenario, rate in RUNS:
            for policy in POLICIES:
                print_row(scenario, rate, policy, list(pool.map(lambda seed: simulate(scenario, rate, policy, seed), SEEDS)))


if __name__ == "__main__":
    main()
