"""Worth of session hints and of claims on caches: bench/rooms/agents.sh writes bench/results/agents.md.

Table `hashes`: coding agents whose prompts have block hashes; the name of a session adds what lies behind the last one.
Table `names`: the same where the hashes are missing, as for prompts with images: only names bring requests back.
Table `hashes` has the means of three seeds, `names` one seed. The sessions of the trace are its tenants.
"""

import csv
import gzip
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS, TRACES  # noqa: E402
from simulator import mean_of, over_seeds, simulate  # noqa: E402

TRACE = TRACES / "cc_agentic_6h_a.csv.gz"
SEEDS = {"hashes": (1, 2, 3), "names": (1,)}
SECONDS = 300
# Start in the trace, and times its rate: the windows of the policy comparison.
WINDOWS = [(9000, 7.5), (14000, 7.5), (9000, 12.5)]
POLICIES = {
    "hashes": ["penstock", "penstock:without=hints", "cache_aware", "round_robin"],
    "names": ["penstock:without=hashes", "penstock:without=hashes+hints"],
}


def cut(start, rate, folder):
    """The window of the trace with a column of sessions."""
    path = folder / f"{start}-{rate:g}.csv"
    with gzip.open(TRACE, "rt") as source, path.open("w") as out:
        rows = csv.DictReader(source)
        out.write(",".join([*rows.fieldnames, "session"]) + "\n")
        for row in rows:
            at = float(row["arrival_s"]) - start
            if 0 <= at < SECONDS * rate:
                out.write(",".join([f"{at:.3f}", *list(row.values())[1:], row["tenant"]]) + "\n")
    return path


def print_row(start, rate, policy, results):
    mean = mean_of(results)
    print(f"| {start} s | {rate:g} | `{policy}` | {100 * mean(lambda r: r['on_time_share']):.1f} % "
          f"| {mean(lambda r: r['active_tokens_per_s']):.0f} | {mean(lambda r: r['cached_prompt_tokens']) / 1e6:.1f} "
          f"| {mean(lambda r: r['ttft_s']['p50']):.2f} s | {mean(lambda r: r['ttft_s']['p99']):.2f} s |", flush=True)


def main():
    print("| window | rate | policy | on time | active tokens/s | prompt tokens cached (M) | TTFT p50 | p99 |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        traces = {window: cut(*window, pathlib.Path(name)) for window in WINDOWS}

        def run(start, rate, policy, seed):
            return simulate(SCENARIOS / "agentic.yaml", traces[start, rate], policy=policy, rate=rate, duration=f"{SECONDS}s",
                            seed=seed)

        runs = [(*window, policy) for window in WINDOWS for policy in POLICIES[sys.argv[1]]]
        for each, results in over_seeds(run, runs, SEEDS[sys.argv[1]]):
            print_row(*each, results)


if __name__ == "__main__":
    main()
