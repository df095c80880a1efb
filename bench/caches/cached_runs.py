"""Runs of recorded windows whose prompts repeat, on replicas with 20 GB of KV cache each.

A run takes the recorded trace where PENSTOCK_TRACES has it, else one that is drawn.
"""

import itertools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from policy_scenarios import SCENARIOS, Window  # noqa: E402
from simulator import config_file, from_second, in_parallel, simulate  # noqa: E402

# The scenario, the trace, what is drawn in its place, and the rates.
TABLES = {
    "agentic": ("agentic", "cc_agentic_6h_a.csv.gz", "agentic", (1, 2)),
    "rag": ("long-context", "ragpulse_days0-3_a.csv.gz", "rag", (600, 1000)),
    "long-context": ("long-context", "mooncake_conversation_a.csv.gz", "documents", (1, 1.5)),
}


def with_keys(text, keys):
    """The configuration with keys of every replica."""
    ports = itertools.count(5557)
    return re.sub("simulated: {", lambda _: f"kv_memory: 20GB, {keys.replace('PORT', str(next(ports)))}simulated: {{", text)


def results_of(table, start, policies, settings):
    """The window from `start` seconds on, and the results by (rate, policy, setting).

    `settings` are keys of every replica, by name. PORT is its own.
    """
    scenario, trace, drawn, rates = TABLES[table]
    window = Window(trace, start, drawn)
    text = (SCENARIOS / f"{scenario}.yaml").read_text()

    def run(rate, policy, setting):
        with config_file(with_keys(text, settings[setting])) as config:
            return simulate(config, window.trace, duration=f"{window.seconds}s", rate=rate, policy=policy,
                            from_=from_second(window.start))

    runs = [(rate, policy, setting) for rate in rates for policy in policies for setting in settings]
    return window, dict(in_parallel(run, runs))


def figures(result):
    """The cells that all tables have."""
    return (f"{100 * result['on_time_share']:.1f} % | {result['active_tokens_per_s']:.0f} | {result['ttft_s']['p50']:.2f} s "
            f"| {result['ttft_s']['p90']:.2f} s | {result['ttft_s']['p99']:.2f} s | {result['cached_prompt_tokens'] / 1e6:.2f}")
