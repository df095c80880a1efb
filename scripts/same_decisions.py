#!/usr/bin/env python3
"""Compares the decisions of two builds: every scenario and window, every policy and variant, the fault seeds.

A case is one `penstock simulate --log`. Its digest covers every action in order, with its time; events are left out, so
that a new field of an event is no difference. The windows are those of bench/policies.py.

  scripts/same_decisions.py record FILE [--program BINARY] [--faults BINARY]     writes a digest per case
  scripts/same_decisions.py compare FILE FILE                                    exit 1 when a case differs
  --quick: the first window of each scenario with Penstock's own policy only
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import policies  # noqa: E402  (the scenarios and the names of the policies)

WINDOW_SECONDS = 60
VARIANT_SECONDS = 30
FAULT_SEEDS = 2000
RATES = ["1", "2"]


def variants():
    names = policies.shipping() + policies.studied()
    names += [f"penstock:without={part}" for part in policies.ablations()]
    names += [f"penstock:true={part}" for part in ("lengths", "prompts", "steps")]
    names += ["informed", "informed:order=density,memory=present", "informed:order=shortest"]
    return names + [f"{name}:{text}" for name in policies.declared() for text in policies.alternatives(name)]


def cases(quick):
    for scenario in policies.ALL:
        seconds = WINDOW_SECONDS * (5 if scenario.heavy else 1)
        for window in scenario.windows[:1] if quick else scenario.windows:
            for rate in RATES[:1] if quick else RATES:
                yield scenario, window, "penstock", rate, seconds
    if quick:
        return
    for name in ("tight", "mixed", "elastic", "long-context"):
        scenario = next(s for s in policies.ALL if s.name == name)
        for policy in variants():
            yield scenario, scenario.windows[0], policy, "1.5", VARIANT_SECONDS


def digest(program, case):
    scenario, window, policy, rate, seconds = case
    key = f"{scenario.name} {window.name} {policy} x{rate} {seconds}s"
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        arguments = ["simulate", "--config", str(scenario.fleet), "--trace", window.trace, "--duration",
                     f"{seconds}s", "--rate", rate, "--policy", policy, "--seed", "7", "--json"]
        if window.start:
            arguments += ["--from", f"{window.start}s"]
        if not policy.startswith("informed"):
            arguments += ["--log", str(log)]
        ran = subprocess.run([program, *arguments], capture_output=True, text=True)
        if ran.returncode != 0:
            return key, f"failed: {ran.stderr.strip()}"
        hasher = hashlib.sha256()
        count = 0
        if log.exists():
            with open(log, "rb") as lines:
                for line in lines:
                    if line.startswith(b"action "):
                        hasher.update(line)
                        count += 1
            if count == 0:
                return key, "failed: the log holds no action"
        else:
            result = json.loads(ran.stdout)
            result.pop("decision_us", None)
            hasher.update(json.dumps(result, sort_keys=True).encode())
        return key, f"{hasher.hexdigest()[:24]} {count}"


def faults(program):
    environment = dict(os.environ, PENSTOCK_FAULT_SEEDS=str(FAULT_SEEDS))
    ran = subprocess.run([program], env=environment, capture_output=True, text=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("actions of ")]
    return lines[-1] if ran.returncode == 0 and lines else f"failed: {ran.stdout[-300:]}"


def record(options):
    listed = list(cases(options.quick))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = dict(pool.map(lambda case: digest(options.program, case), listed))
    if options.faults and not options.quick:
        found[f"faults, {FAULT_SEEDS} seeds"] = faults(options.faults)
    pathlib.Path(options.files[0]).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    failed = [key for key, value in found.items() if value.startswith("failed")]
    for key in failed:
        print(f"{key}: {found[key]}", file=sys.stderr)
    print(f"{len(found)} cases recorded, {len(failed)} failed")
    return 1 if failed else 0


def compare(options):
    before, after = (json.loads(pathlib.Path(file).read_text()) for file in options.files)
    shared = before.keys() & after.keys()
    different = sorted(key for key in shared if before[key] != after[key])
    for key in different:
        print(f"different: {key}: {before[key]} | {after[key]}")
    print(f"{len(shared) - len(different)} cases equal, {len(different)} different, "
          f"{len(before.keys() ^ after.keys())} in one file only")
    return 1 if different or not shared else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--program", default=str(ROOT / "build/release/penstock"))
    parser.add_argument("--faults", default=str(ROOT / "build/release/tests/core/core_faults_test"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if len(options.files) != (1 if options.what == "record" else 2):
        parser.error("record takes one file, compare two")
    return record(options) if options.what == "record" else compare(options)


if __name__ == "__main__":
    sys.exit(main())
