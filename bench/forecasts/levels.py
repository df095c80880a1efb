"""Worth of output curves by program: bench/forecasts/levels.sh writes the programs of bench/results/forecast.md.

The log has one tenant whose four programs (column `shape`) have answers of very different lengths and prompts of equal
lengths. Each figure is the mean of three seeds.
"""

import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import mean_of, over_seeds, simulate  # noqa: E402

SECONDS = 400
# Program, its part of the requests, and its median answer in tokens.
PROGRAMS = [("classify", 0.4, 6), ("extract", 0.3, 90), ("chat", 0.2, 350), ("write", 0.1, 1600)]
RUNS = [("tight", rate, policy) for rate in (10, 18, 24) for policy in ("penstock", "penstock:without=levels")]
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


def run(scenario, rate, policy, seed):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "programs.csv"
        write_trace(trace, rate, seed)
        return simulate(SCENARIOS / f"{scenario}.yaml", trace, policy=policy, seed=seed, duration=f"{SECONDS}s")


def print_row(scenario, rate, policy, results):
    mean = mean_of(results)
    print(f"| {scenario} | {rate} | `{policy}` | {100 * mean(lambda r: r['on_time_share']):.2f} % "
          f"| {mean(lambda r: r['active_tokens_per_s']):.0f} | {mean(lambda r: r['forecast']['output_pinball_p50']):.1f} "
          f"| {100 * mean(lambda r: r['forecast']['pool_error_10s_p90']):.2f} % "
          f"| {mean(lambda r: r['ttft_s']['p99']):.2f} s |", flush=True)


def main():
    print("| scenario | requests/s | policy | on time | active tokens/s | pinball p50 | pool error at 10 s, p90 | TTFT p99 |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    for each, results in over_seeds(run, RUNS, SEEDS):
        print_row(*each, results)


if __name__ == "__main__":
    main()
