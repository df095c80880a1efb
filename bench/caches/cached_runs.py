"""Runs of recorded windows whose prompts repeat, on replicas with 20 GB of KV cache each.

A run takes the recorded trace where PENSTOCK_TRACES has it, else one that is drawn.
"""

import concurrent.futures
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from policy_scenarios import SCENARIOS, Window  # noqa: E402

PENSTOCK = ROOT / "build/release/penstock"
# The scenario, the trace, what is drawn in its place, and the rates.
TABLES = {
    "agentic": ("agentic", "cc_agentic_6h_a.csv.gz", "agentic", (1, 2)),
    "rag": ("long-context", "ragpulse_days0-3_a.csv.gz", "rag", (600, 1000)),
    "long-context": ("long-context", "mooncake_conversation_a.csv.gz", "documents", (1, 1.5)),
}


def simulate(fleet, window, rate, policy):
    command = [PENSTOCK, "simulate", "--config", fleet, "--trace", window.trace, "--duration", f"{window.seconds}s",
               "--rate", rate, "--policy", policy, "--json", *(["--from", f"{window.start}s"] if window.start else [])]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def results_of(table, start, policies, settings):
    """The window from `start` seconds on, and the results by (rate, policy, setting). `settings` are keys of every replica, by name; PORT is its own."""
    scenario, trace, drawn, rates = TABLES[table]
    window = Window(trace, start, drawn)
    text = (SCENARIOS / f"{scenario}.yaml").read_text()
    runs = [(rate, policy, setting) for rate in rates for policy in policies for setting in settings]
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        fleets = {}
        for number, (setting, keys) in enumerate(settings.items()):
            fleets[setting] = pathlib.Path(name) / f"{number}.yaml"
            ports = itertools.count(5557)
            replica = lambda _, keys=keys: f"kv_memory: 20GB, {keys.replace('PORT', str(next(ports)))}simulated: {{"
            fleets[setting].write_text(re.sub("simulated: {", replica, text))
        results = pool.map(lambda run: simulate(fleets[run[2]], window, run[0], run[1]), runs)
        return window, dict(zip(runs, results))


def figures(result):
    """The cells that all tables have."""
    return (f"{100 * result['on_time_share']:.1f} % | {result['active_tokens_per_s']:.0f} | {result['ttft_s']['p50']:.2f} s "
            f"| {result['ttft_s']['p90']:.2f} s | {result['ttft_s']['p99']:.2f} s | {result['cached_prompt_tokens'] / 1e6:.2f}")
