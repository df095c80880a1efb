"""Gain of interactive bursts from evictable background work, and its price: bench/eviction.sh writes
bench/results/eviction.md.

Every figure is the median of nine seeds. `alone` has the same bursts on an empty fleet: each seed is divided by its own.
Jobs that an overloaded fleet delays end after the trace, so their tokens within it are a figure of their own. The last
rows of a rate are rivals, chosen at rate 1 with seed 1. The first one has the most interactive requests on time. The second one
has them among those that serve nine tenths of the background tokens.
"""

import statistics

from policy_scenarios import SCENARIOS
from simulator import FEW, config_file, in_parallel, over_seeds, simulate

CONFIG = SCENARIOS / "jobs.yaml"
SEEDS = tuple(range(1, 10))
RATES = (0.6, 1, 1.4, 1.8)
POLICIES = ("penstock", "penstock:without=eviction", "penstock:without=newcomers", "threshold_gate", "cache_aware", "llmd_concurrency")


# Of a rival with this mark, the operator gives the engines steps of 1,024 tokens.
MARK = "@1024"


def run(trace, policy, rate, seed):
    text = CONFIG.read_text()
    if policy.endswith(MARK):
        text = text.replace("simulated: {", "simulated: {max_batched_tokens: 1024, ").replace(", }", "}")
    with config_file(text) as config:
        return simulate(config, f"generate:{trace}", policy=policy.removesuffix(MARK), rate=rate, seed=seed, duration="600s")


def median(results, figure):
    return statistics.median(figure(result) for result in results)


def users(figure):
    return lambda result: figure(result["per_class"]["interactive"])


def jobs(figure):
    return lambda result: figure(result["per_class"]["background"])


def active(group):
    return group["active_tokens_per_s"]


def share(group):
    return group["on_time_share"]


def delivered(result):
    """Tokens per second of jobs that came before the trace ended. Interactive requests end within seconds."""
    return result["delivered"]["active"] - users(active)(result)


def p99(group):
    return group["ttft_s"]["p99"]


def row(rate, policy, results, alone, plain):
    slowest = median(results, users(p99))
    over = statistics.median(users(p99)(result) / users(p99)(empty) for result, empty in zip(results, alone))
    tokens = median(results, jobs(active))
    kept = tokens / median(plain, jobs(active))
    within = median(results, delivered) / median(plain, delivered)
    on_time = median(results, users(share))
    tail = median(results, jobs(p99))
    again = median(results, lambda result: result["recomputed_tokens_per_s"])
    print(f"| {rate:g} | `{policy}` | {100 * on_time:.1f} % | {slowest:.3f} s | {over:.2f} | {100 * kept:.1f} % "
          f"| {100 * within:.1f} % | {tail:.0f} s | {again:.0f} |")


def main():
    print("| rate | policy | interactive on time | its p99 TTFT | over an empty fleet | background tokens | within the trace "
          "| its p99 TTFT | tokens computed again/s |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    among = [(policy + mark,) for policy in FEW for mark in ("", MARK)]
    tried = {policy: result for (policy,), result in in_parallel(lambda policy: run("jobs", policy, 1, SEEDS[0]), among)}
    enough = 0.9 * max(map(jobs(active), tried.values()))
    fair = [policy for policy in tried if jobs(active)(tried[policy]) >= enough]
    policies = tuple(dict.fromkeys((*POLICIES, *(max(those, key=lambda policy: users(share)(tried[policy]))
                                                 for those in (tried, fair)))))
    runs = [(trace, policy, rate) for rate in RATES
            for trace, policy in [("users", "penstock")] + [("jobs", policy) for policy in policies]]
    found = dict(over_seeds(run, runs, SEEDS))
    for rate in RATES:
        for policy in policies:
            row(rate, policy, found["jobs", policy, rate], found["users", "penstock", rate],
                found["jobs", "penstock:without=eviction", rate])


if __name__ == "__main__":
    main()
