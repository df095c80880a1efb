"""Runs `penstock simulate` for the tables of bench/results.

The variable PENSTOCK_BINARY or PENSTOCK names another program than that of build/release.
"""

import concurrent.futures
import contextlib
import functools
import itertools
import json
import os
import statistics
import subprocess
import tempfile

from policy_scenarios import ROOT

PENSTOCK = os.environ.get("PENSTOCK_BINARY", os.environ.get("PENSTOCK", ROOT / "build/release/penstock"))


def simulate(config, trace, *flags, **options):
    """The report of a run. An option is a flag of the command with its value, and `from_` is --from. None leaves it out."""
    command = [PENSTOCK, "simulate", "--config", config, "--trace", trace, "--json", *flags]
    for name, value in options.items():
        command += [] if value is None else ["--" + name.rstrip("_").replace("_", "-"), value]
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def from_second(start):
    """The value of --from. A run from the start of its trace has none."""
    return f"{start}s" if start else None


@contextlib.contextmanager
def config_file(text):
    """The name of a temporary file with the configuration."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        yield file.name


def in_parallel(one, runs, workers=2):
    """Pairs of a run and of one(*run), in the order of the runs. Each comes as soon as it is known."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        yield from zip(runs, pool.map(lambda run: one(*run), runs))


def over_seeds(one, runs, seeds, workers=2):
    """Pairs of a run and of the list of one(*run, seed) for all seeds, in the order of the runs."""
    found = in_parallel(one, [(*run, seed) for run in runs for seed in seeds], workers)
    for run in runs:
        yield run, [result for _, result in itertools.islice(found, len(seeds))]


def mean_of(results):
    """A function that takes the mean of a figure over the results."""
    return lambda figure: statistics.mean(figure(result) for result in results)


def median_of(results):
    """A function that takes the median of a figure over the results."""
    return lambda figure: statistics.median(figure(result) for result in results)


@functools.lru_cache(maxsize=None)
def rivals(*names):
    """The policies of these names, or all, at their defaults and at their documented alternatives. `present_use` is none."""
    printed = subprocess.run([PENSTOCK, "policies", "--json"], capture_output=True, text=True, check=True).stdout
    policies = [policy for policy in json.loads(printed) if policy["name"] not in ("penstock", "present_use")]
    policies = [policy for policy in policies if not names or policy["name"] in names]
    return tuple(":".join(filter(None, (policy["name"], setting)))
                 for policy in policies for setting in ("", *policy["alternatives"]))


GATES = ("llmd_utilization", "llmd_concurrency", "threshold_gate", "past_future", "max_tokens", "mc_sf")
# Most policies at their defaults, and some of their alternatives, for benches that take long.
FEW = ("round_robin", "least_request", "power_of_two", "chwbl", "prequal", "cache_aware", "cache_aware:balance_abs=8,balance_rel=1.1",
       "least_load", "least_load:veto=1", "dynamo_cost", "llmd_utilization", "llmd_utilization:ttl=2", "llmd_concurrency",
       "llmd_concurrency:max=64,ttl=2", "threshold_gate", "threshold_gate:kv=0.9,queue=10", "past_future",
       "past_future:reserved=0.03", "max_tokens:limit=256", "max_tokens:limit=2048", "mc_sf", "mc_sf:length=median")


def best_rival(one, merit, among=None):
    """The rival whose one(policy) has the greatest merit; of equal ones the first."""
    results = list(in_parallel(one, [(policy,) for policy in among or rivals()]))
    return max(results, key=lambda found: merit(found[1]))[0][0]
