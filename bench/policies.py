"""Runs every policy over every scenario in virtual time; see bench/policies.sh.

The tables go to bench/results/: one file per topic and one per scenario. A run of some scenarios replaces their rows only.

A run is one `penstock simulate`; its JSON is stored under build/policies/, named by a hash of its arguments, its fleet and
the program. An interrupted bench goes on where it stopped. Runs go two at a time.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

import topics

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("PENSTOCK", ROOT / "build/release/penstock"))
SCENARIOS = ROOT / "bench/scenarios"
CACHE = ROOT / "build/policies"
RESULTS = ROOT / "bench/results/scenarios"
TRACES = ROOT.parent / "shared/traces"

LOADS = [0.7, 0.9, 1.0, 1.1, 1.25, 1.5]
SHIPPING = ["round_robin", "least_request", "power_of_two", "chwbl", "prequal", "cache_aware", "least_load",
            "dynamo_cost", "llmd_utilization", "llmd_concurrency", "threshold_gate"]
STUDIED = ["present_use", "past_future", "max_tokens", "mc_sf"]
ABLATIONS = ["forecast", "memory", "variance", "tenants", "steps", "learning", "gpu", "refusal", "density", "prefixes"]
# Those that are tried of what docs/policies.md lists.
SETTINGS = {
    "least_request": ["choices=2", "choices=3"],
    "power_of_two": ["load=requests", "choices=3,load=requests"],
    "chwbl": ["load_factor=1.1", "load_factor=2", "prefix_blocks=4"],
    "prequal": ["latency=first_token", "q_rif=0.6", "probes=5,latency=first_token"],
    "cache_aware": ["cache_threshold=0.5,balance_abs=32,balance_rel=1.1", "balance_abs=8,balance_rel=1.1", "overload=0.9"],
    "least_load": ["veto=0.95", "kv_weight=0.5", "kv_weight=0.05"],
    "dynamo_cost": ["overlap_weight=0", "overlap_weight=2", "queue=2"],
    "llmd_utilization": ["queue=10,kv=0.9", "queue=2", "ttl=2"],
    "llmd_concurrency": ["max=32", "max=64", "max=64,ttl=2"],
    "threshold_gate": ["kv=0.9", "kv=0.9,queue=10", "queue=2"],
    "past_future": ["reserved=0.03", "reserved=0.1"],
    "max_tokens": ["limit=512", "limit=256"],
    "mc_sf": ["length=median", "protect=0.1"],
}


class Window:
    """A piece of a trace: the recorded file where it is at hand, else a generated workload of its kind."""

    def __init__(self, trace, start, generated, seconds=300):
        recorded = TRACES / trace if trace else None
        self.recorded = recorded is not None and recorded.exists()
        self.trace = str(recorded) if self.recorded else f"generate:{generated}"
        self.start = start if self.recorded else start % 1000
        self.seconds = seconds
        self.name = f"{trace.split('.')[0]} from {start} s" if self.recorded else f"{generated} from {self.start} s"


class Scenario:
    def __init__(self, name, windows, heavy=False):
        self.name = name
        self.fleet = SCENARIOS / f"{name}.yaml"
        self.windows = windows
        self.heavy = heavy  # Long windows: rivals at their defaults, carried load of the strongest only.


STEADY = "servegen_mlarge_steady1h_a.csv.gz"
BURSTY = "servegen_mlarge_bursty1h_a.csv.gz"
MIX = "servegen_mlarge_burstymix1h_a.csv.gz"
CONVERSATION = "azure23_conv_a.csv"
ALL = [
    Scenario("ample", [Window(STEADY, 0, "chat"), Window(MIX, 0, "chat")]),
    Scenario("tight", [Window(CONVERSATION, 0, "azure-conv"), Window(BURSTY, 2400, "chat")]),
    Scenario("tight6", [Window(CONVERSATION, 0, "azure-conv"), Window(BURSTY, 2400, "chat")]),
    Scenario("elastic", [Window(None, 0, "antiphase"), Window(None, 400, "antiphase")]),
    Scenario("multi-model", [Window("servegen_multimodel_1h_a.csv.gz", 0, "multi-model"),
                             Window("servegen_multimodel_1h_a.csv.gz", 1800, "multi-model")]),
    Scenario("long-context", [Window("mooncake_conversation_a.csv.gz", 0, "documents"),
                              Window("mooncake_synthetic_a.csv.gz", 0, "documents")]),
    Scenario("reasoning", [Window("servegen_r1_4h_a.csv.gz", 0, "reasoning", 2400),
                           Window("servegen_r1_4h_a.csv.gz", 7200, "reasoning", 2400)], heavy=True),
    Scenario("long-prompts", [Window(None, 0, "long-prompts"), Window(None, 500, "long-prompts")]),
    Scenario("code", [Window("azure23_code_a.csv", 0, "azure-code"), Window("azure23_code_a.csv", 800, "azure-code")]),
    Scenario("bursts", [Window(None, 0, "bursts"), Window(None, 500, "bursts")]),
    Scenario("slow", [Window(STEADY, 0, "chat"), Window(MIX, 0, "chat")]),
    Scenario("flood", [Window(None, 0, "flood"), Window(None, 300, "flood")]),
    Scenario("mixed", [Window(STEADY, 600, "chat"), Window(MIX, 1200, "chat")]),
]
REDUCED = [
    Scenario("tight", [Window(None, 0, "azure-conv", 90)]),
    Scenario("mixed", [Window(None, 0, "chat", 90)]),
    Scenario("elastic", [Window(None, 0, "antiphase", 150)]),
]


class Bench:
    def __init__(self, workers):
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
        arguments = ["simulate", "--config", str(scenario.fleet), "--trace", window.trace, "--duration",
                     f"{window.seconds}s", "--policy", policy, "--json", *extra]
        if window.start:
            arguments += ["--from", f"{window.start}s"]
        key = hashlib.sha256(json.dumps([self.program, scenario.fleet.read_text(), arguments[3:]]).encode()).hexdigest()
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

    def carried(self, scenario, window, policy, start):
        return self.submit(scenario, window, policy, ["--carried", "--rate", f"{start:.6g}"])


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


def rows_of(options):
    rows = ["clairvoyant", "penstock"]
    rows += [policy for policy in SHIPPING + STUDIED if not options.policies or policy in options.policies]
    return rows


def variants():
    return [f"penstock:without={part}" for part in ABLATIONS] + [f"penstock:true={what}"
                                                                for what in ("lengths", "prompts", "steps")]


def ablation_load(options):
    return max(load for load in options.loads if load <= 1.25)


def best_settings(bench, scenario, window, knee, policies):
    """The documented setting with the most goodput at the knee, for each rival that has one better than its default."""
    asked = {policy: [(policy, bench.at(scenario, window, policy, knee))] +
             [(f"{policy}:{setting}", bench.at(scenario, window, f"{policy}:{setting}", knee)) for setting in SETTINGS[policy]]
             for policy in policies if policy in SETTINGS}
    best = {}
    for policy, runs in asked.items():
        name = max(runs, key=lambda run: run[1].result()["goodput_tokens_per_s"])[0]
        if name != policy:
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
        searched = bench.carried(scenario, window, "clairvoyant", 1).result()
        knee = searched["carried"]
        if knee <= 0:
            raise RuntimeError(f"{scenario.name}: {window.name} is never carried")
        rows = rows_of(options)
        best = best_settings(bench, scenario, window, knee, rows) if tries_settings(scenario, options) else {}
        rows += best.values()
        asked = {(row, load): [bench.at(scenario, window, row, knee * load, seed) for seed in seeds_at(load, options)]
                 for load in options.loads for row in rows}
        first = window is scenario.windows[0]
        if options.ablations and first:
            load = ablation_load(options)
            asked |= {(row, load): [bench.at(scenario, window, row, knee * load)] for row in variants()}
        rivals = [row for row in rows if row != "clairvoyant"]
        if scenario.heavy:
            rivals = [row for row in rivals if row in ("penstock", "present_use", "least_request", "threshold_gate")]
        carried = {row: bench.carried(scenario, window, row, knee) for row in rivals} if options.carried else {}
        table = {row: {} for row, _ in asked}
        for (row, load), runs in asked.items():
            table[row][load] = means([run.result() for run in runs])
        measured[window.name] = {"knee": knee, "bound": searched["bound"], "rows": table, "best": best,
                                 "carried": {row: run.result()["carried"] for row, run in carried.items()}}
    return measured


def percent(value, of):
    return f"{100 * value / of:.1f}" if of > 0 else "-"


def scenario_table(window, data, options):
    loads = options.loads
    lines = [f"## {window}: knee {data['knee']:.3g}", "",
             "| policy | load carried | " + " | ".join(f"{load}x" for load in loads) + " |",
             "|---|---:|" + "---:|" * len(loads)]
    yardstick = data["rows"]["clairvoyant"]
    for row, by_load in data["rows"].items():
        if row in variants():
            continue
        cells = [f"{percent(by_load[load]['active'], yardstick[load]['active'])} / "
                 f"{percent(by_load[load]['goodput'], yardstick[load]['goodput'])} / {100 * by_load[load]['on_time']:.1f}"
                 for load in loads]
        carried = data["carried"].get(row)
        lines.append(f"| `{row}` | {carried / data['knee']:.2f} | " + " | ".join(cells) + " |" if carried is not None
                     else f"| `{row}` | - | " + " | ".join(cells) + " |")
    bound = [percent(yardstick[load]["active"], yardstick[load]["bound"]) for load in loads]
    lines.append("| clairvoyant in % of the fluid bound | | " + " | ".join(bound) + " |")
    return lines + [""]


def carried_rows(scenario, data):
    for window, measured in data.items():
        carried = measured["carried"]
        if not carried:
            continue
        shipping = {row: rate for row, rate in carried.items() if row.split(":")[0] in SHIPPING}
        best = max(shipping, key=shipping.get)
        own = carried["penstock"]
        ratio = f"{own / shipping[best]:.2f}" if shipping[best] > 0 else "inf"
        limits = " | ".join(f"{rate:.2f} ({rate / shipping[best]:.2f}x)" if shipping[best] > 0 else f"{rate:.2f}"
                            for rate in (measured["knee"], measured["bound"]))
        others = " | ".join(f"{carried.get(name, 0):.2f}" for name in ("present_use", "least_request", "threshold_gate"))
        yield f"| {scenario.name}, {window} | {own:.2f} | `{best}` {shipping[best]:.2f} | {ratio} | {limits} | {others} |"


def load_rows(scenario, data, loads):
    for window, measured in data.items():
        for load in loads:
            own = measured["rows"]["penstock"][load]
            yardstick = measured["rows"]["clairvoyant"][load]
            yield (f"| {scenario.name}, {window} | {load} | {100 * own['on_time']:.2f} | "
                   f"{percent(own['active'], yardstick['active'])} | {100 * own['refused']:.2f} | "
                   f"{100 * own['preempted']:.2f} | {own['worst']:.2f} | {own['decision']:.0f} |")


def forecast_rows(scenario, data, loads):
    for window, measured in data.items():
        for load in loads:
            forecast = measured["rows"]["penstock"][load]["forecast"][0]
            errors = " / ".join(f"{100 * (forecast.get(f'pool_error_{h}s_p90') or 0):.1f}" for h in (1, 10, 60))
            yield f"| {scenario.name}, {window} | {load} | {errors} | {forecast.get('output_coverage_p90') or 0:.3f} |"


def ablation_rows(scenario, data, options):
    rows = next(iter(data.values()))["rows"]
    load = ablation_load(options)
    cells = [percent(rows[part][load]["goodput"], rows["penstock"][load]["goodput"]) for part in variants() if part in rows]
    if cells:
        yield f"| {scenario.name} | " + " | ".join(cells) + " |"


def plot(scenario, window, data, options):
    try:
        import matplotlib
        matplotlib.use("svg")
        from matplotlib import pyplot
    except ImportError:
        return
    matplotlib.rcParams["svg.hashsalt"] = "penstock"
    (RESULTS / scenario.name).mkdir(parents=True, exist_ok=True)
    shown = ["clairvoyant", "penstock", "present_use", "past_future", "threshold_gate", "least_request", "least_load",
             "llmd_utilization", "round_robin"]
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), sharex=True)
    for axis, figure_name in zip(axes, ("active", "goodput")):
        for row in shown:
            if row in data["rows"]:
                axis.plot(options.loads, [data["rows"][row][load][figure_name] for load in options.loads],
                          label=row, linewidth=2.4 if row == "penstock" else 1.2, marker=".",
                          linestyle="--" if row == "clairvoyant" else "-")
        axis.set_xlabel("load over the knee")
        axis.set_ylabel(f"{figure_name} tokens/s")
        axis.set_ylim(bottom=0)
    axes[1].legend(fontsize=6)
    figure.suptitle(f"{scenario.name}: {window}", fontsize=9)
    figure.tight_layout()
    index = [window.name for window in scenario.windows].index(window)
    figure.savefig(RESULTS / scenario.name / f"window-{index + 1}.svg", metadata={"Date": None})
    pyplot.close(figure)


def cells_of(row):
    return [cell.strip() for cell in row.strip("|").split("|")]


def position(row):
    """Rows stand in the order of ALL, of a scenario's windows, and of the loads."""
    name, _, window = cells_of(row)[0].partition(", ")
    names = [scenario.name for scenario in ALL]
    windows = [known.name for known in ALL[names.index(name)].windows]
    load = cells_of(row)[1]
    return names.index(name), windows.index(window) if window in windows else len(windows), window, float(load)


def write_rows(topic, keys, rows, source):
    """Replaces the measured rows of a topic's table; rows with other first `keys` cells stay."""
    if not rows:
        return
    rows = [row + f" `{source.revision}` |" for row in rows]
    measured = {tuple(cells_of(row)[:keys]) for row in rows}
    table = [line for line in topics.read(topic, "policies") if line.startswith("|")]
    rows += [row for row in table[2:] if tuple(cells_of(row)[:keys]) not in measured]
    topics.write(topic, "policies", [source.line, "", *table[:2], *sorted(rows, key=position)])


def write_scenario(scenario, data, options, source):
    lines = [f"# {scenario.name}", "", scenario.fleet.read_text().splitlines()[0].replace("# Bench scenario: ", "Fleet: "), "",
             source.line, "", "Each cell: active tokens / goodput in % of `clairvoyant` / share on time in % of the offered "
             "requests.", "`load carried`: load with 99 % of the feasible requests on time, over the knee.", ""]
    for index, (window, measured) in enumerate(data.items()):
        lines += scenario_table(window, measured, options)
        plot_name = f"window-{index + 1}.svg"
        if (RESULTS / scenario.name / plot_name).exists():
            lines += [f"![{scenario.name}]({plot_name})", ""]
    (RESULTS / scenario.name).mkdir(parents=True, exist_ok=True)
    (RESULTS / scenario.name / "README.md").write_text("\n".join(lines).rstrip("\n") + "\n")


class Source:
    """The revision and the statement that stand with every table of this run."""

    def __init__(self, command):
        self.revision = topics.revision()
        self.line = topics.statement(command)


def report(all_data, options, command):
    source = Source(command)
    above = [load for load in (1.0, 1.25, 1.5) if load in options.loads]
    below = [load for load in (0.7, 0.9) if load in options.loads]
    for topic, keys, rows_of_scenario in (
            ("carried", 1, carried_rows),
            ("above-the-knee", 2, lambda scenario, data: load_rows(scenario, data, above)),
            ("below-the-knee", 2, lambda scenario, data: load_rows(scenario, data, below)),
            ("forecast", 2, lambda scenario, data: forecast_rows(scenario, data, below[:1] + above)),
            ("ablations", 1, lambda scenario, data: ablation_rows(scenario, data, options))):
        write_rows(topic, keys, [row for scenario, data in all_data for row in rows_of_scenario(scenario, data)], source)
    for scenario, data in all_data:
        write_scenario(scenario, data, options, source)


def check(all_data):
    """The findings of the reduced form: it expects Penstock ahead of every shipping policy above the knee, and close to clairvoyance."""
    failures = []
    for scenario, data in all_data:
        for window, measured in data.items():
            for load, own in measured["rows"]["penstock"].items():
                yardstick = measured["rows"]["clairvoyant"][load]
                least = 0.95 if load <= 1.25 else 0.9
                if own["active"] < least * yardstick["active"]:
                    failures.append(f"{scenario.name} at {load}x: {own['active']:.0f} of {yardstick['active']:.0f} active tokens/s")
                for row, by_load in measured["rows"].items():
                    if row in SHIPPING and load > 1 and own["goodput"] < by_load[load]["goodput"]:
                        failures.append(f"{scenario.name} at {load}x: behind {row}")
                    if row in SHIPPING and own["on_time"] < by_load[load]["on_time"] - 0.002:
                        failures.append(f"{scenario.name} at {load}x: fewer on time than {row}")
    return failures


def main():
    parser = argparse.ArgumentParser(prog="bench/policies.sh")
    parser.add_argument("--reduced", action="store_true", help="generated workloads, three scenarios; exit 1 when Penstock does not lead")
    parser.add_argument("--scenarios", type=lambda text: text.split(","), default=[])
    parser.add_argument("--policies", type=lambda text: text.split(","), default=[], help="rivals to run (default: all)")
    parser.add_argument("--loads", type=lambda text: [float(part) for part in text.split(",")], default=LOADS)
    parser.add_argument("--windows", type=int, default=2, help="per scenario")
    parser.add_argument("--seeds", type=int, default=3, help="at 1.0 and 1.25 of the knee")
    parser.add_argument("--settings-of", type=lambda text: text.split(","), default=[],
                        help="scenarios in which rivals are tried at other settings too (default: all but reasoning)")
    parser.add_argument("--no-settings", dest="settings", action="store_false", help="rivals at their defaults only")
    parser.add_argument("--no-carried", dest="carried", action="store_false")
    parser.add_argument("--no-ablations", dest="ablations", action="store_false")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    if options.reduced:
        options.loads, options.windows, options.seeds = [0.8, 1.0, 1.25], 1, 1
        options.settings = options.carried = options.ablations = False
    chosen = REDUCED if options.reduced else [s for s in ALL if not options.scenarios or s.name in options.scenarios]
    bench = Bench(options.workers)
    all_data = []
    for scenario in chosen:
        data = measure(bench, scenario, options)
        all_data.append((scenario, data))
        if not options.reduced:
            for window, measured in data.items():
                plot(scenario, window, measured, options)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if options.reduced:
        failures = check(all_data)
        for scenario, data in all_data:
            for measured in data.values():
                own = measured["rows"]["penstock"]
                print(f"{scenario.name}: knee {measured['knee']:.2f}; " + ", ".join(
                    f"{load}x {percent(own[load]['active'], measured['rows']['clairvoyant'][load]['active'])} % of clairvoyant"
                    for load in options.loads))
        for failure in failures:
            print(f"failed: {failure}", file=sys.stderr)
        return 1 if failures else 0
    report(all_data, options, "bench/policies.sh " + " ".join(sys.argv[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
