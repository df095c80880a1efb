"""Early refusals against the same core without them: bench/early_refusals.sh writes bench/results/early-refusals.md.

A row is one window at one load, the mean of three seeds. The knee of a window is the rate that `informed --carried`
finds. At and below the knee, refused clients come back once after their Retry-After.

Table `rivals`: rivals that refuse, above the knee. One has the most active tokens at 1.25 with seed 1. The other one has them among
rivals that refuse each request by a quarter of its TTFT goal: a `ttl` of the queue does that.
"""

import pathlib
import sys

from policy_scenarios import BURSTY, CONVERSATION, SCENARIOS, STEADY, TRACES
from simulator import FEW, GATES, best_rival, from_second, in_parallel, mean_of, over_seeds, simulate

SEEDS = (1, 2, 3)
RIVAL_LOADS = (1.25, 2)
PROMPT = ("llmd_utilization", "llmd_utilization:queue=2", "llmd_concurrency:max=64")
LOADS = (0.5, 0.85, 0.95, 1.0, 1.25, 1.5, 2, 3)
# Name, scenario, trace, start in seconds, knee, TTFT goal.
WINDOWS = [
    ("tight", "tight", TRACES / CONVERSATION, 0, 2.99, 2),
    ("tight6", "tight6", TRACES / CONVERSATION, 0, 2.07, 2),
    ("ample", "ample", TRACES / STEADY, 0, 3.05, 2),
    ("mixed", "mixed", TRACES / STEADY, 600, 3.25, 2),
    ("slow", "slow", TRACES / STEADY, 0, 2.33, 2),
    ("elastic", "elastic", "generate:antiphase", 0, 3.03, 2),
    ("bursts", "bursts", "generate:bursts", 0, 4.04, 2),
    ("bursty hour", "tight", TRACES / BURSTY, 2400, 0.76, 2),
    ("code", "code", TRACES / "azure23_code_a.csv", 0, 0.78, 2),
    ("long prompts", "long-prompts", "generate:long-prompts", 0, 0.90, 5),
    ("long context", "long-context", TRACES / "mooncake_conversation_a.csv.gz", 0, 0.377, 5),
]
# The policy of each kind of run, and its flags.
KINDS = {"on": ("penstock",), "off": ("penstock:without=early",), "retry": ("penstock", "--retry")}


def run_policy(window, load, policy, seed, *flags):
    _, scenario, trace, start, knee, _ = window
    return simulate(SCENARIOS / f"{scenario}.yaml", trace, *flags, duration="300s", rate=f"{knee * load:.6g}", seed=seed,
                    policy=policy, from_=from_second(start))


def run(window, load, kind, seed):
    policy, *flags = KINDS[kind]
    return run_policy(window, load, policy, seed, *flags)


def row(window, load, runs):
    name, goal = window[0], window[5]

    def mean(which, figure):
        values = [figure(runs[which, seed]) for seed in SEEDS]
        return sum(values) / len(values)

    def change(figure):
        return f"{100 * (mean('on', figure) / max(1e-9, mean('off', figure)) - 1):+.2f} %"

    def waits(which):
        heard = [run["refused_wait_s"]["p50"] for (kind, _), run in runs.items() if kind == which]
        heard = [wait for wait in heard if wait is not None]
        return f"{sum(heard) / len(heard) / goal:.2f}" if heard else "-"

    def refused(which):
        return f"{100 * mean(which, lambda run: sum(run['refused'].values()) / run['offered']):.2f}"

    points = 100 * (mean("on", lambda run: run["on_time_share"]) - mean("off", lambda run: run["on_time_share"]))
    wrong = 100 * mean("on", lambda run: run["wrong_refusals"] / run["offered"])
    back = [run["retries"] for (kind, _), run in runs.items() if kind == "retry" and "retries" in run]
    offered, served = sum(each["offered"] for each in back), sum(each["served"] for each in back)
    cells = [name, f"{load}", f"{refused('off')} / {refused('on')} %", f"{waits('off')} / {waits('on')}",
             change(lambda run: run["active_tokens_per_s"]), f"{points:+.2f}", f"{wrong:.3f} %",
             f"{served} of {offered}" if offered else "-"]
    return "| " + " | ".join(cells) + " |"


def at_hand():
    return [window for window in WINDOWS
            if str(window[2]).startswith("generate:") or pathlib.Path(window[2]).exists()]


def print_early():
    print("| window | load | refused, off / on | median wait over TTFT goal, off / on | active tokens | on time, points | "
          "wrong refusals | came back and served |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for window in at_hand():
        for load in LOADS:
            jobs = [(window, load, kind, seed) for kind in KINDS for seed in SEEDS if kind != "retry" or load <= 1]
            print(row(window, load, {job[2:]: result for job, result in in_parallel(run, jobs)}), flush=True)


def with_ttl(policy, seconds):
    return f"{policy}{',' if ':' in policy else ':'}ttl={seconds:g}"


def chosen(window):
    gates = [policy for policy in FEW if policy.startswith(GATES)]
    prompt = [with_ttl(policy, window[5] / 4) for policy in PROMPT]
    return [best_rival(lambda policy: run_policy(window, RIVAL_LOADS[0], policy, SEEDS[0]), lambda result: result["active_tokens_per_s"], among)
            for among in (gates, prompt)]


def print_rivals():
    print("| window | load | policy | refused | median wait over TTFT goal | active tokens/s | on time |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for window in at_hand():
        policies = [(policy,) for policy in ("penstock", *chosen(window))]
        for load in RIVAL_LOADS:
            for (policy,), results in over_seeds(lambda policy, seed: run_policy(window, load, policy, seed), policies, SEEDS):
                mean = mean_of(results)
                heard = [result["refused_wait_s"]["p50"] for result in results]
                heard = [wait for wait in heard if wait is not None]
                wait = f"{sum(heard) / len(heard) / window[5]:.2f}" if heard else "-"
                print(f"| {window[0]} | {load} | `{policy}` "
                      f"| {100 * mean(lambda result: sum(result['refused'].values()) / result['offered']):.1f} % | {wait} "
                      f"| {mean(lambda result: result['active_tokens_per_s']):,.0f} "
                      f"| {100 * mean(lambda result: result['on_time_share']):.1f} % |", flush=True)


if __name__ == "__main__":
    {"early": print_early, "rivals": print_rivals}[sys.argv[1]]()
