"""The tables and plots of bench/policies.py, written to bench/results/."""

import re

import topics
from policy_scenarios import ALL

RESULTS = topics.RESULTS / "scenarios"


def percent(value, of):
    return f"{100 * value / of:.1f}" if of > 0 else "-"


MORE = "informed:more=any"
LOAD_HEAD = ("| scenario, window | load | on time % | active % of informed | of informed, more rules | of the hindsight bound | "
             "of the fluid bound | informed, of the fluid bound | refused % | preempted % | worst group over whole | "
             "decision p99 us | revision |")
CARRIED_HEAD = ("| scenario, window | penstock | best shipping | ratio | informed | GPU time allows | present_use | least_request | "
                "threshold_gate | revision |")


def load_rows(scenario, data, loads):
    for window, measured in data.items():
        for load in loads:
            own = measured["rows"]["penstock"][load]
            yardstick = measured["rows"]["informed"][load]
            more = measured["rows"].get(MORE, {}).get(load, {"active": 0})
            yield (f"| {scenario.name}, {window} | {load} | {100 * own['on_time']:.2f} | "
                   f"{percent(own['active'], yardstick['active'])} | {percent(own['active'], more['active'])} | "
                   f"{percent(own['active'], own['hindsight'])} | {percent(own['active'], own['bound'])} | "
                   f"{percent(yardstick['active'], yardstick['bound'])} | {100 * own['refused']:.2f} | "
                   f"{100 * own['preempted']:.2f} | {own['worst']:.2f} | {own['decision']:.0f} |")


def interval_text(low, high):
    return f" ({low:.2f}-{high:.2f})" if high > low else ""


def ratio_text(own, other):
    """The median of the ratios of each seed, with the least and the greatest: seeds that are hard are so for both."""
    if min(other) <= 0:
        return "inf"
    ratios = sorted(mine / theirs for mine, theirs in zip(own, other))
    return f"{ratios[(len(ratios) - 1) // 2]:.2f}{interval_text(ratios[0], ratios[-1])}"


FORECAST_HEAD = ("| scenario, window | load | pool error p90 1 / 10 / 60 s | 10 s: within, p90 over expected, over chance, bias "
                 "| output p90 coverage | revision |")


def ten_second_band(forecast):
    """The errors 10 s ahead, against the band that was forecast and against the chance of the lengths alone."""
    figure = {name: forecast.get(f"pool_error_10s_{name}") for name in ("within", "p90", "expected", "floor", "bias")}
    if None in figure.values() or figure["expected"] <= 0 or figure["floor"] <= 0:
        return "-"
    return (f"{100 * figure['within']:.0f} %, {figure['p90'] / figure['expected']:.2f}x, "
            f"{figure['p90'] / figure['floor']:.2f}x, {100 * figure['bias']:+.1f} %")


def forecast_rows(scenario, data, loads):
    for window, measured in data.items():
        for load in loads:
            forecast = measured["rows"]["penstock"][load]["forecast"][0]
            errors = " / ".join(f"{100 * (forecast.get(f'pool_error_{h}s_p90') or 0):.1f}" for h in (1, 10, 60))
            yield f"| {scenario.name}, {window} | {load} | {errors} | {ten_second_band(forecast)} | {forecast.get('output_coverage_p90') or 0:.3f} |"


def cells_of(row):
    return [cell.strip() for cell in row.strip("|").split("|")]


def position(row):
    """Rows stand in the order of ALL, of a scenario's windows, and of the loads."""
    name, _, window = cells_of(row)[0].partition(", ")
    names = [scenario.name for scenario in ALL]
    windows = [known.name for known in ALL[names.index(name)].windows]
    load = re.fullmatch(r"[0-9.]+", cells_of(row)[1])  # Other tables have one row for a window.
    return names.index(name), windows.index(window) if window in windows else len(windows), window, float(load[0]) if load else 0


def in_columns(row, head, columns):
    """A row of a table with `head`, as a row with the columns that are asked for; `-` where it has no such cell."""
    cells = dict(zip(cells_of(head), cells_of(row)))
    return "| " + " | ".join(cells.get(column, "-") for column in columns) + " |"


def write_rows(topic, keys, rows, source, head=None):
    """Replaces the measured rows of a topic's table; rows with other first `keys` cells stay.

    `head` replaces the head of a table whose columns depend on the run.
    """
    if not rows:
        return
    rows = [row + f" `{source.revision}` |" for row in rows]
    measured = {tuple(cells_of(row)[:keys]) for row in rows}
    old_head, rule, *old = [line for line in topics.read(topic, "policies") if line.startswith("|")]
    columns = cells_of(head or old_head)
    rows += [in_columns(row, old_head, columns) for row in old if tuple(cells_of(row)[:keys]) not in measured]
    if head:
        rule = "|---|" + "---:|" * (len(columns) - 2) + "---|"
    topics.write(topic, "policies", [source.line, "", head or old_head, rule, *sorted(rows, key=position)])


class Source:
    """The revision and the statement that stand with every table of this run."""

    def __init__(self, command):
        self.revision = topics.revision()
        self.line = topics.statement(command)


class Report:
    """Writes the figures that one run measured, scenario by scenario.

    `shipping` names the policies that projects ship; `variants` are the ablations, measured at `ablation_load`.
    """

    def __init__(self, loads, shipping, variants, ablation_load, command):
        self.source = Source(command)  # The pages that the run writes change the tree.
        self.loads = loads
        self.shipping = shipping
        self.variants = variants
        self.ablation_load = ablation_load

    def scenario_table(self, window, data):
        lines = [f"## {window}: knee {data['knee']:.3g}", "",
                 "| policy | load carried | " + " | ".join(f"{load}x" for load in self.loads) + " |",
                 "|---|---:|" + "---:|" * len(self.loads)]
        yardstick = data["rows"]["informed"]
        for row, by_load in data["rows"].items():
            if row in self.variants:
                continue
            cells = [f"{percent(by_load[load]['active'], yardstick[load]['active'])} / "
                     f"{percent(by_load[load]['goodput'], yardstick[load]['goodput'])} / {100 * by_load[load]['on_time']:.1f}"
                     for load in self.loads]
            carried = data["carried"].get(row)
            low, high = data["interval"].get(row, (0, 0))
            lines.append(f"| `{row}` | {carried / data['knee']:.2f} ({low / data['knee']:.2f}-{high / data['knee']:.2f}) | " + " | ".join(cells) + " |" if carried is not None
                         else f"| `{row}` | - | " + " | ".join(cells) + " |")
        bound = [percent(yardstick[load]["active"], yardstick[load]["bound"]) for load in self.loads]
        lines.append("| informed in % of the fluid bound | | " + " | ".join(bound) + " |")
        bound = [percent(yardstick[load]["active"], yardstick[load]["hindsight"]) for load in self.loads]
        lines.append("| informed in % of the hindsight bound | | " + " | ".join(bound) + " |")
        return lines + [""]

    def carried_rows(self, scenario, data):
        for window, measured in data.items():
            carried = measured["carried"]
            if not carried:
                continue
            shipping = {row: rate for row, rate in carried.items() if row.partition("@")[0].split(":")[0] in self.shipping}
            best = max(shipping, key=shipping.get)
            own = carried["penstock"]
            ratio = ratio_text(measured["by_seed"]["penstock"], measured["by_seed"][best])
            between = {name: interval_text(*interval) for name, interval in measured["interval"].items()}
            limits = [f"{measured['knee']:.2f}{interval_text(*measured['knee_interval'])}", f"{measured['bound']:.2f}"]
            if shipping[best] > 0:
                limits = [f"{text}, {rate / shipping[best]:.2f}x"
                          for text, rate in zip(limits, (measured["knee"], measured["bound"]))]
            others = " | ".join(f"{carried[name]:.2f}{between[name]}" if name in carried else "-"
                                for name in ("present_use", "least_request", "threshold_gate"))
            yield (f"| {scenario.name}, {window} | {own:.2f}{between['penstock']} | `{best}` {shipping[best]:.2f}{between[best]} | "
                   f"{ratio} | {' | '.join(limits)} | {others} |")

    def ablation_head(self):
        columns = [f"`{variant.removeprefix('penstock:')}`" for variant in self.variants]
        return "| scenario | " + " | ".join(columns) + " | revision |"

    def ablation_rows(self, scenario, data):
        rows = next(iter(data.values()))["rows"]
        load = self.ablation_load
        cells = [percent(rows[part][load]["goodput"], rows["penstock"][load]["goodput"])
                 for part in self.variants if part in rows]
        if cells:
            yield f"| {scenario.name} | " + " | ".join(cells) + " |"

    def plot(self, scenario, window, data):
        try:
            import matplotlib
            matplotlib.use("svg")
            from matplotlib import pyplot
        except ImportError:
            return
        matplotlib.rcParams["svg.hashsalt"] = "penstock"
        (RESULTS / scenario.name).mkdir(parents=True, exist_ok=True)
        shown = ["informed", "penstock", "present_use", "past_future", "threshold_gate", "least_request", "least_load",
                 "llmd_utilization", "round_robin"]
        figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), sharex=True)
        for axis, figure_name in zip(axes, ("active", "goodput")):
            for row in shown:
                if row in data["rows"]:
                    axis.plot(self.loads, [data["rows"][row][load][figure_name] for load in self.loads],
                              label=row, linewidth=2.4 if row == "penstock" else 1.2, marker=".",
                              linestyle="--" if row == "informed" else "-")
            axis.set_xlabel("load over the knee")
            axis.set_ylabel(f"{figure_name} tokens/s")
            axis.set_ylim(bottom=0)
        axes[1].legend(fontsize=6)
        figure.suptitle(f"{scenario.name}: {window}", fontsize=9)
        figure.tight_layout()
        index = [window.name for window in scenario.windows].index(window)
        figure.savefig(RESULTS / scenario.name / f"window-{index + 1}.svg", metadata={"Date": None})
        pyplot.close(figure)

    def write_scenario(self, scenario, data, source):
        lines = [f"# {scenario.name}", "", scenario.fleet.read_text().splitlines()[0].replace("# Bench scenario: ", "Fleet: "), "",
                 source.line, "", "Each cell: active tokens / goodput in % of `informed` / share on time in % of the offered "
                 "requests.", "`load carried`: load with 99 % of the feasible requests on time, over the knee: the median of some seeds and an "
                 "interval. `@N`: engines with steps of at most N tokens.", ""]
        for index, (window, measured) in enumerate(data.items()):
            lines += self.scenario_table(window, measured)
            plot_name = f"window-{index + 1}.svg"
            if (RESULTS / scenario.name / plot_name).exists():
                lines += [f"![{scenario.name}]({plot_name})", ""]
        (RESULTS / scenario.name).mkdir(parents=True, exist_ok=True)
        (RESULTS / scenario.name / "README.md").write_text("\n".join(lines).rstrip("\n") + "\n")

    def write(self, scenario, data):
        above = [load for load in (1.0, 1.25, 1.5) if load in self.loads]
        below = [load for load in (0.7, 0.9) if load in self.loads]
        for topic, keys, rows_of_scenario, head in (
                ("carried", 1, self.carried_rows, CARRIED_HEAD),
                ("above-the-knee", 2, lambda scenario, data: load_rows(scenario, data, above), LOAD_HEAD),
                ("below-the-knee", 2, lambda scenario, data: load_rows(scenario, data, below), LOAD_HEAD),
                ("forecast", 2, lambda scenario, data: forecast_rows(scenario, data, below[:1] + above), FORECAST_HEAD),
                ("ablations", 1, self.ablation_rows, self.ablation_head())):
            write_rows(topic, keys, list(rows_of_scenario(scenario, data)), self.source, head)
        self.write_scenario(scenario, data, self.source)


def findings(all_data, shipping):
    """The findings of the reduced form: it expects Penstock ahead of every shipping policy above the knee, and close to the informed yardstick."""
    found = []
    for scenario, data in all_data:
        for window, measured in data.items():
            for load, own in measured["rows"]["penstock"].items():
                yardstick = measured["rows"]["informed"][load]
                least = 0.95 if load <= 1.25 else 0.9
                if own["active"] < least * yardstick["active"]:
                    found.append(f"{scenario.name} at {load}x: {own['active']:.0f} of {yardstick['active']:.0f} active tokens/s")
                for row, by_load in measured["rows"].items():
                    if row in shipping and load > 1 and own["goodput"] < by_load[load]["goodput"]:
                        found.append(f"{scenario.name} at {load}x: behind {row}")
                    if row in shipping and own["on_time"] < by_load[load]["on_time"] - 0.002:
                        found.append(f"{scenario.name} at {load}x: fewer on time than {row}")
    return found
