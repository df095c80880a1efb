"""Runs `penstock simulate` for the tables of bench/results.

The variable PENSTOCK_BINARY or PENSTOCK names another program than that of build/release.
"""

import concurrent.futures
import contextlib
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
