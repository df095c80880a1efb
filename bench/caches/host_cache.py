"""Worth of a prefix cache in the memory of hosts: bench/caches/run.sh writes bench/results/caches/host-cache.md.

Each row is one run of a window of a trace: the recorded one where PENSTOCK_TRACES has it, else one that is drawn.
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from policy_scenarios import SCENARIOS, Window  # noqa: E402

PENSTOCK = ROOT / "build/release/penstock"
# Keys of every replica.
KV = "kv_memory: 20GB, "
HOSTS = {"none": "", "64 GB": "host_cache: {memory: 64GB, bandwidth: 20GB/s}, ",
         "256 GB": "host_cache: {memory: 256GB, bandwidth: 20GB/s}, ",
         "256 GB at 5 GB/s": "host_cache: {memory: 256GB, bandwidth: 5GB/s}, "}
TABLES = {
    "agentic": ("agentic", Window("cc_agentic_6h_a.csv.gz", 9000, "agentic"), (1, 2)),
    "long-context": ("long-context", Window("mooncake_conversation_a.csv.gz", 0, "documents"), (1, 1.5)),
}


def simulate(fleet, window, rate, policy):
    command = [PENSTOCK, "simulate", "--config", fleet, "--trace", window.trace, "--duration", f"{window.seconds}s",
               "--rate", rate, "--policy", policy, "--json", *(["--from", f"{window.start}s"] if window.start else [])]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def row(rate, policy, host, result, without):
    saved = result["cached_prompt_tokens"] - without["cached_prompt_tokens"]
    print(f"| {rate:g} | `{policy}` | {host} | {100 * result['on_time_share']:.1f} % | {result['active_tokens_per_s']:.0f} "
          f"| {result['ttft_s']['p50']:.2f} s | {result['ttft_s']['p90']:.2f} s | {result['ttft_s']['p99']:.2f} s "
          f"| {result['cached_prompt_tokens'] / 1e6:.2f} | {saved / 1e6:+.2f} |")


def main():
    scenario, window, rates = TABLES[sys.argv[1]]
    text = (SCENARIOS / f"{scenario}.yaml").read_text()
    runs = [(rate, policy, host) for rate in rates for policy in ("penstock", "cache_aware") for host in HOSTS]
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        fleets = {}
        for number, (host, keys) in enumerate(HOSTS.items()):
            fleets[host] = pathlib.Path(name) / f"{number}.yaml"
            fleets[host].write_text(text.replace("simulated: {", KV + keys + "simulated: {"))
        results = dict(zip(runs, pool.map(lambda run: simulate(fleets[run[2]], window, run[0], run[1]), runs)))
    print(f"{window.name}, {window.seconds} s.\n")
    print("| rate | policy | host | on time | active tokens/s | TTFT p50 | p90 | p99 | prompt tokens cached (M) | more than without |")
    print("|---:|---|---|" + "---:|" * 7)
    for rate, policy, host in runs:
        row(rate, policy, host, results[rate, policy, host], results[rate, policy, "none"])


if __name__ == "__main__":
    main()
