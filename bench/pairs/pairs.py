"""Worth of prefill/decode pairs: the same GPUs as pairs and as plain replicas, with long prompts beside a chat.

bench/pairs/run.sh writes bench/results/pairs/pairs.md. Every figure is the median of three seeds. The load is drawn here:
Poisson arrivals, log-normal lengths.
"""

import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS  # noqa: E402
from simulator import over_seeds, simulate  # noqa: E402

FLEETS = ("plain", "pairs-1-3", "pairs-2-2")
SEEDS = (1, 2, 3)
SECONDS = 300
# Requests per second of the chat and of the documents.
LOADS = ((8, 0), (8, 1), (8, 2), (8, 4), (16, 2), (30, 4))


def drawn(rng, mean, sigma, least, most):
    return int(min(most, max(least, rng.lognormvariate(0, sigma) * mean)))


def write_trace(path, chat, documents, seed):
    rng = random.Random(seed)
    rows = []
    for tenant, rate, prompt, output in (("chat", chat, 600, 250), ("documents", documents, 16000, 150)):
        at = 0.0
        while rate and (at := at + rng.expovariate(rate)) < SECONDS:
            rows.append((at, tenant, drawn(rng, prompt, 0.6, 16, 60000), drawn(rng, output, 0.6, 2, 2000)))
    lines = [f"{at:.4f},,{tenant},{prompt},{output}" for at, tenant, prompt, output in sorted(rows)]
    path.write_text("\n".join(["arrival_s,model,tenant,prompt_tokens,output_tokens", *lines]) + "\n")


def run(load, fleet, seed):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.csv"
        write_trace(trace, *load, seed)
        return simulate(SCENARIOS / f"pairs/{fleet}.yaml", trace, seed=seed, duration=f"{SECONDS}s")


def median(results, name, figure):
    found = [figure(result["per_class"][name]) for result in results if name in result["per_class"]]
    return statistics.median(found) if found else None


def cell(value, form):
    return "" if value is None else format(value, form)


def row(load, fleet, results):
    cells = [f"{load[0]:g}", f"{load[1]:g}", f"`{fleet}`"]
    for name in ("interactive", "standard"):
        if name == "standard" and not load[1]:
            cells += [""] * 4
            continue
        on_time = median(results, name, lambda group: group["on_time_share"])
        cells.append(f"{100 * on_time:.1f} %")
        cells.append(cell(median(results, name, lambda group: group["ttft_s"]["p99"]), ".2f") + " s")
        for part in ("p50", "p99"):
            cells.append(cell(1000 * median(results, name, lambda group: group["tpot_s"][part]), ".1f") + " ms")
    cells.append(f"{statistics.median(result['active_tokens_per_s'] for result in results):,.0f}")
    print("| " + " | ".join(cells) + " |")


def main():
    print("| chat/s | documents/s | fleet | chat on time | TTFT p99 | TPOT p50 | TPOT p99 | documents on time | TTFT p99 "
          "| TPOT p50 | TPOT p99 | active tokens/s |")
    print("|---:|---:|---|" + "---:|" * 9)
    for (load, fleet), results in over_seeds(run, [(load, fleet) for load in LOADS for fleet in FLEETS], SEEDS):
        row(load, fleet, results)


if __name__ == "__main__":
    sys.exit(main())
