"""Worth of a prefix cache in the memory of hosts: bench/caches/run.sh writes bench/results/caches/host-cache.md."""

import sys

from cached_runs import figures, results_of

STARTS = {"agentic": 9000, "long-context": 0}
HOSTS = {"none": "", "64 GB": "host_cache: {memory: 64GB, bandwidth: 20GB/s}, ",
         "256 GB": "host_cache: {memory: 256GB, bandwidth: 20GB/s}, ",
         "256 GB at 5 GB/s": "host_cache: {memory: 256GB, bandwidth: 5GB/s}, "}


def main():
    window, results = results_of(sys.argv[1], STARTS[sys.argv[1]], ("penstock", "cache_aware"), HOSTS)
    print(f"{window.name}, {window.seconds} s.\n")
    print("| rate | policy | host | on time | active tokens/s | TTFT p50 | p90 | p99 | prompt tokens cached (M) | more than without |")
    print("|---:|---|---|" + "---:|" * 7)
    for (rate, policy, host), result in results.items():
        saved = result["cached_prompt_tokens"] - results[rate, policy, "none"]["cached_prompt_tokens"]
        print(f"| {rate:g} | `{policy}` | {host} | {figures(result)} | {saved / 1e6:+.2f} |")


if __name__ == "__main__":
    main()
