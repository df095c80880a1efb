"""Worth of the engines' cache events (`kv_events`): bench/caches/run.sh writes bench/results/caches/kv-events.md."""

import collections
import statistics
import sys

from cached_runs import figures, results_of

STARTS = {"agentic": (3000, 6000, 9000, 12000, 15000), "rag": (36000, 120000), "long-context": (0, 400, 800)}
EVENTS = {"estimate": "", "events": 'kv_events: {endpoint: "tcp://127.0.0.1:PORT"}, '}


def main():
    gains = collections.defaultdict(list)
    print("| window | rate | index | on time | active tokens/s | TTFT p50 | p90 | p99 | prompt tokens cached (M) | expected, found in caches |")
    print("|---|---:|---|" + "---:|" * 7)
    for start in STARTS[sys.argv[1]]:
        window, results = results_of(sys.argv[1], start, ("penstock",), EVENTS)
        for (rate, policy, index), result in results.items():
            forecast = result["forecast"]
            print(f"| {window.name} | {rate:g} | {index} | {figures(result)} "
                  f"| {100 * forecast['cached_expected']:.1f} %, {100 * forecast['cached_found']:.1f} % |")
            if index == "events":
                estimate = results[rate, policy, "estimate"]
                gains[rate].append((100 * (result["on_time_share"] - estimate["on_time_share"]),
                                    100 * (result["active_tokens_per_s"] / estimate["active_tokens_per_s"] - 1)))
    print()
    for rate, values in gains.items():
        points, tokens = (statistics.mean(column) for column in zip(*values))
        print(f"With events at rate {rate:g}, mean of {len(values)} windows: {points:+.1f} points on time, {tokens:+.1f} % active tokens.")


if __name__ == "__main__":
    main()
