#!/usr/bin/env python3
"""Adds up test results: count_results.py CTEST_JUNIT RESULTS_DIR, or count_results.py PYTEST_JUNIT.

With a folder, every <binary>.xml of GoogleTest counts by its cases. A binary of the ctest run without such a file counts as
one: it crashed, or it is no GoogleTest. Prints "passed failed skipped", and the names of failed and skipped cases on stderr.
"""
import os
import sys
import xml.etree.ElementTree as ElementTree


def cases_of(path):
    """(name, verdict, message) of every case of a JUnit or GoogleTest file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f'{case.get("classname", "")}.{case.get("name", "")}'.strip(".")
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if failure is not None or case.get("status") == "fail":
            yield name, "failed", ""
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            message = "" if skipped is None else (skipped.get("message") or "").strip().splitlines()
            yield name, "skipped", message[-1] if message else ""
        else:
            yield name, "passed", ""


def all_cases(arguments):
    if len(arguments) == 1:
        yield from cases_of(arguments[0])
        return
    for name, verdict, message in cases_of(arguments[0]):
        details = os.path.join(arguments[1], name.split(".")[-1] + ".xml")
        if not os.path.exists(details):
            yield name, verdict, message
            continue
        found = list(cases_of(details))
        yield from found
        # A binary can fail after its cases passed: a sanitizer's finding at exit, or a time limit.
        if verdict == "failed" and all(case[1] != "failed" for case in found):
            yield name, "failed", ""


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, verdict, message in all_cases(sys.argv[1:]):
        counts[verdict] += 1
        if verdict != "passed":
            print(f"  {verdict}: {name}{': ' + message if message else ''}", file=sys.stderr)
    print(counts["passed"], counts["failed"], counts["skipped"])


if __name__ == "__main__":
    main()
