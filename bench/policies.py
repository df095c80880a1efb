"""Runs every policy over every scenario in virtual time; see bench/policies.sh.

The tables go to bench/results/: one file per topic and one per scenario. A run of some scenarios replaces their rows only.

A policy with `@N` behind its name runs on engines with steps of at most N tokens.
A run is one `penstock simulate`; its JSON is stored under build/policies/, named by a hash of its arguments, its fleet and
the program. An interrupted bench goes on where it stopped. Runs go two at a time.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

from policy_scenarios import ALL, REDUCED
from policy_tables import Report, findings, percent

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("PENSTOCK", ROOT / "build/release/penstock"))
CACHE = ROOT / "build/policies"

LOADS = [0.7, 0.9, 1.0, 1.1, 1.25, 1.5]
MORE = "informed:more=any"
# Rivals choose nothing by themselves: their operator gives the engines a budget that keeps their steps within the goal.
BUDGETS = [1024]
# A setting must carry so much more than the default: a search ends within 2 %.
BETTER = 1.02


def with_budget(scenario, budget):
    """A copy of the scenario's fleet whose engines have the budget."""
    text = re.sub(r"simulated: \{(.*?)\}", lambda found: f"simulated: {{max_batched_tokens: {budget}"
                  f"{', ' if found[1] else ''}{found[1]}}}", scenario.fleet.read_text())
    copy = CACHE / f"{scenario.name}@{budget}.yaml"
    if not copy.exists() or copy.read_text() != text:
        partial = copy.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        partial.write_text(text)
        partial.rename(copy)
    return copy


@functools.lru_cache(maxsize=None)
def declared():
    """The policies as the program declares them, by name."""
    printed = subprocess.run([PROGRAM, "policies", "--json"], capture_output=True, text=True, check=True).stdout
    return {policy["name"]: policy for policy in json.loads(printed)}


def shipping():
    """The policies that a published router ships."""
    return [name for name, policy in declared().items() if policy["origin"] == "shipping"]


def studied():
    """The policies of papers, engines and ablations."""
    return [name for name, policy in declared().items() if policy["origin"] == "studied"]


def alternatives(policy):
    """The documented alternatives to the defaults of a policy, each as `setting=value,...`."""
    return declared()[policy]["alternatives"] if policy in declared() else []


def ablations():
    """The parts that `penstock:without=` leaves out."""
    return declared()["penstock"]["settings"][0]["words"]


class Bench:
    def __init__(self, workers, seeds=5, part=1.0):
        """`seeds` of a search for a load carried; windows are cut to a `part` of their length."""
        self.seeds = seeds
        self.part = part
        self.pool = concurrent.futures.ThreadPoolExecutor(workers)
        self.program = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()[:16]
        self.done = 0
        self.asked = 0
        self.started = time.monotonic()
        CACHE.mkdir(parents=True, exist_ok=True)

    def submit(self, scenario, window, policy, extra):
        self.asked += 1
        return self.pool.submit(self._run, scenario, window, policy, extra)

    def _run(self, scenario, window, policy, extra):
        name, _, budget = policy.partition("@")
        fleet = with_budget(scenario, budget) if budget else scenario.fleet
        arguments = ["simulate", "--config", str(fleet), "--trace", window.trace, "--duration",
                     f"{window.length(self.part):g}s", "--policy", name, "--json", *scenario.extra, *extra]
        if window.start:
            arguments += ["--from", f"{window.start}s"]
        key = hashlib.sha256(json.dumps([self.program, fleet.read_text(), arguments[3:]]).encode()).hexdigest()
        kept = CACHE / f"{key[:32]}.json"
        if not kept.exists():
            ran = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
            if ran.returncode != 0:
                raise RuntimeError(f"{' '.join(map(str, arguments))}: {ran.stderr.strip()}")
            partial = kept.with_suffix(f".{os.getpid()}")
            partial.write_text(ran.stdout)
            partial.rename(kept)
        self.done += 1
        self.show(f"{scenario.name} {policy}")
        return json.loads(kept.read_text())

    def show(self, what):
        if sys.stderr.isatty():
            spent = time.monotonic() - self.started
            left = spent / max(1, self.done) * (self.asked - self.done)
            print(f"\r{self.done}/{self.asked} runs, {spent:.0f} s, about {left:.0f} s of those asked for left: {what[:40]:40}",
                  end="", file=sys.stderr, flush=True)

    def at(self, scenario, window, policy, rate, seed=1):
        return self.submit(scenario, window, policy, ["--rate", f"{rate:.6g}", "--seed", str(seed)])

    def carried(self, scenario, window, policy, start, seeds=None):
        shift = ["--shift", f"{window.shift}s"] if window.shift else []
        return self.submit(scenario, window, policy, ["--carried", "--rate", f"{start:.6g}", "--seeds",
                                                      str(seeds or self.seeds), *shift])


def means(runs):
    """Mean of the figures that the tables show."""
    def mean(get):
        return sum(get(run) for run in runs) / len(runs)
    return {
        "active": mean(lambda run: run["active_tokens_per_s"]),
        "goodput": mean(lambda run: run["goodput_tokens_per_s"]),
        "on_time": mean(lambda run: run["on_time_share"]),
        "prompts": mean(lambda run: run["on_time_prompt_tokens_per_s"]),
        "bound": mean(lambda run: run["fluid_bound_tokens_per_s"]),
        "hindsight": mean(lambda run: run["hindsight_bound_tokens_per_s"]),
        "preempted": mean(lambda run: (run["preemptions"] or 0) / max(1, run["offered"])),
        "refused": mean(lambda run: sum(run["refused"].values()) / max(1, run["offered"])),
        "worst": mean(worst_group),
        "forecast": [run["forecast"] for run in runs],
        "decision": max(run["decision_us"]["p99"] for run in runs),
    }


def worst_group(run):
    """Least share on time of a prompt quartile, class or tenant (of 30 requests or more), over the whole share."""
    groups = list(run["per_prompt_quartile"].values()) + list(run["per_class"].values())
    groups += [tenant for tenant in run["per_tenant"].values() if tenant["offered"] >= 30]
    return min(group["on_time_share"] for group in groups) / max(1e-9, run["on_time_share"])


def seeds_at(load, options):
    return range(1, options.seeds + 1) if load in (1.0, 1.25) else range(1, 2)


def rows_of(scenario, options):
    rows = ["informed", "penstock"] + ([MORE] if scenario.more and options.more else [])
    rows += [policy for policy in shipping() + studied() if not options.policies or policy in options.policies]
    return rows


def variants():
    return [f"penstock:without={part}" for part in ablations()] + [f"penstock:true={what}"
                                                                for what in ("lengths", "prompts", "steps")]


def ablation_load(options):
    return max((load for load in options.loads if load <= 1.25), default=options.loads[0])


def best_settings(bench, scenario, window, knee, policies):
    """The setting and budget of each rival that carry the most, where they carry more than its default. One seed each."""
    def ask(names):
        return {name: bench.carried(scenario, window, name, knee, seeds=1) for name in names}

    def most(runs):
        return max(runs, key=lambda name: runs[name].result()["carried"])

    asked = {policy: ask([policy] + [f"{policy}:{setting}" for setting in alternatives(policy)]) for policy in policies}
    budgets = {policy: ask([f"{most(runs)}@{budget}" for budget in BUDGETS]) for policy, runs in asked.items()}
    best = {}
    for policy, runs in asked.items():
        name = most(runs | budgets[policy])
        if (runs | budgets[policy])[name].result()["carried"] > BETTER * runs[policy].result()["carried"]:
            best[policy] = name
    return best


def tries_settings(scenario, options):
    if options.settings_of:
        return scenario.name in options.settings_of
    return options.settings and not scenario.heavy


def measure(bench, scenario, options):
    """{window: {"knee": rate, "bound": rate, "rows": {policy: {load: figures}}, "carried": {policy: load carried}}}"""
    measured = {}
    for window in scenario.windows[:options.windows]:
        searched = bench.carried(scenario, window, "informed", 1).result()  # With the seeds of all rows.
        knee = searched["carried"]
        if knee <= 0:
            raise RuntimeError(f"{scenario.name}: {window.name} is never carried")
        rows = rows_of(scenario, options)
        rivals = [row for row in rows if row in declared() and row != "penstock"]
        best = best_settings(bench, scenario, window, knee, rivals) if tries_settings(scenario, options) else {}
        rows += best.values()
        asked = {(row, load): [bench.at(scenario, window, row, knee * load, seed) for seed in seeds_at(load, options)]
                 for load in options.loads for row in rows}
        first = window is scenario.windows[0]
        if options.ablations and first:
            load = ablation_load(options)
            asked |= {(row, load): [bench.at(scenario, window, row, knee * load)] for row in variants()}
        rivals = [row for row in rows if row not in ("informed", MORE)]
        if scenario.heavy:
            rivals = [row for row in rivals if row in ("penstock", "present_use", "least_request", "threshold_gate")]
        carried = {row: bench.carried(scenario, window, row, knee) for row in rivals} if options.carried else {}
        table = {row: {} for row, _ in asked}
        for (row, load), runs in asked.items():
            table[row][load] = means([run.result() for run in runs])
        measured[window.name] = {"knee": knee, "knee_interval": searched["interval"], "bound": searched["bound"], "rows": table, "best": best,
                                 "carried": {row: run.result()["carried"] for row, run in carried.items()},
                                 "interval": {row: run.result()["interval"] for row, run in carried.items()},
                                 "by_seed": {row: run.result()["by_seed"] for row, run in carried.items()}}
    return measured


def main():
    parser = argparse.ArgumentParser(prog="bench/policies.sh")
    parser.add_argument("--reduced", action="store_true", help="generated workloads, three scenarios; exit 1 when Penstock does not lead")
    parser.add_argument("--scenarios", type=lambda text: text.split(","), default=[])
    parser.add_argument("--policies", type=lambda text: text.split(","), default=[], help="rivals to run (default: all)")
    parser.add_argument("--loads", type=lambda text: [float(part) for part in text.split(",")], default=LOADS)
    parser.add_argument("--windows", type=int, default=2, help="per scenario")
    parser.add_argument("--seeds", type=int, default=3, help="at 1.0 and 1.25 of the knee")
    parser.add_argument("--carried-seeds", type=int, default=5, help="of each search for a load carried")
    parser.add_argument("--part", type=float, default=1.0, help="of each window's length")
    parser.add_argument("--no-more", dest="more", action="store_false", help="without the yardstick that has more rules")
    parser.add_argument("--settings-of", type=lambda text: text.split(","), default=[],
                        help="scenarios in which rivals are tried at other settings too (default: all but reasoning)")
    parser.add_argument("--no-settings", dest="settings", action="store_false", help="rivals at their defaults only")
    parser.add_argument("--no-carried", dest="carried", action="store_false")
    parser.add_argument("--no-ablations", dest="ablations", action="store_false")
    parser.add_argument("--no-plots", dest="plots", action="store_false")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    if options.reduced:
        options.loads, options.windows, options.seeds = [0.8, 1.0, 1.25], 1, 1
        options.settings = options.carried = options.ablations = options.more = False
        options.carried_seeds = 1
    chosen = REDUCED if options.reduced else [s for s in ALL if not options.scenarios or s.name in options.scenarios]
    bench = Bench(options.workers, options.carried_seeds, options.part)
    report = Report(options.loads, shipping(), variants(), ablation_load(options), "bench/policies.sh " + " ".join(sys.argv[1:]))
    all_data = []
    broken = []
    for scenario in chosen:
        try:
            data = measure(bench, scenario, options)
        except RuntimeError as error:  # The others have tables all the same.
            broken.append(f"{scenario.name}: {error}")
            continue
        all_data.append((scenario, data))
        if not options.reduced and options.plots:
            for window, measured in data.items():
                report.plot(scenario, window, measured)
        if not options.reduced:
            report.write(scenario, data)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for failure in broken:
        print(f"failed: {failure}", file=sys.stderr)
    if options.reduced:
        failures = findings(all_data, shipping())
        for scenario, data in all_data:
            for measured in data.values():
                own = measured["rows"]["penstock"]
                print(f"{scenario.name}: knee {measured['knee']:.2f}; " + ", ".join(
                    f"{load}x {percent(own[load]['active'], measured['rows']['informed'][load]['active'])} % of informed"
                    for load in options.loads))
        for failure in failures:
            print(f"failed: {failure}", file=sys.stderr)
        return 1 if failures or broken else 0
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
