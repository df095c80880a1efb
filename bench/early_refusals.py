"""Early refusals against the same core without them: bench/early_refusals.sh writes bench/results/early-refusals.md.

A row is one window at one load, the mean of three seeds. The knee of a window is the rate that `informed --carried`
finds. At and below the knee, refused clients come back once after their Retry-After.
"""

import pathlib

from policy_scenarios import BURSTY, CONVERSATION, SCENARIOS, STEADY, TRACES
from simulator import from_second, in_parallel, simulate

SEEDS = (1, 2, 3)
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


def run(window, load, kind, seed):
    _, scenario, trace, start, knee, _ = window
    policy, *flags = KINDS[kind]
    return simulate(SCENARIOS / f"{scenario}.yaml", trace, *flags, duration="300s", rate=f"{knee * load:.6g}", seed=seed,
                    policy=policy, from_=from_second(start))


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


def main():
    windows = [window for window in WINDOWS
               if str(window[2]).startswith("generate:") or pathlib.Path(window[2]).exists()]
    print("| window | load | refused, off / on | median wait over TTFT goal, off / on | active tokens | on time, points | "
          "wrong refusals | came back and served |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for window in windows:
        for load in LOADS:
            jobs = [(window, load, kind, seed) for kind in KINDS for seed in SEEDS if kind != "retry" or load <= 1]
            print(row(window, load, {job[2:]: result for job, result in in_parallel(run, jobs)}), flush=True)


if __name__ == "__main__":
    main()
