#!/usr/bin/env python3
"""Checks the sizes, the layers and the HTTP statuses of the tree (CONTRIBUTING.md names the rules); needs no compiler.

    scripts/check_structure.py            fails when anything is above its limit or its allowance
    scripts/check_structure.py --report   lists everything above a limit, allowed or not
    scripts/check_structure.py --shrink   lowers and drops allowances that are too large

scripts/size_allowances.txt lists what may still be above a limit, one "NUMBER KEY" per line. An allowance that is larger
than needed is a failure, too: the list only shrinks.
"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from structure import layers, sizes, statuses, tree  # noqa: E402


def read_allowances(path):
    """Numbers by key, and the comment lines at the head of the file."""
    allowed, comments = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                comments.append(line)
            else:
                number, key = line.strip().split(" ", 1)
                allowed[key] = int(number)
    return allowed, comments


def write_allowances(path, allowed, comments):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(comments)
        file.writelines(f"{number} {key}\n" for key, number in sorted(allowed.items()))


def findings(root):
    """All findings (key, number, limit), the files behind some of them, and errors of the table."""
    paths = tree.files(root)
    table = layers.Table(tree.read(root, "ARCHITECTURE.md"))
    broken, places = layers.find(root, paths, table)
    return sizes.find(root, paths) + statuses.find(root, paths) + broken, places, table.errors


def judge(found, allowed):
    """Messages: what is above its limit and its allowance, and allowances that are larger than needed."""
    numbers = {key: number for key, number, _ in found}
    messages = []
    for key, number, limit in sorted(found):
        if number > allowed.get(key, limit):
            messages.append(f"{key}: {number}, at most {allowed.get(key, limit)}")
    for key, number in sorted(allowed.items()):
        if numbers.get(key, 0) < number:
            messages.append(f"{key}: the allowance of {number} is too large: run scripts/check_structure.py --shrink")
    return messages


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    file = os.path.join(root, "scripts/size_allowances.txt")
    allowed, comments = read_allowances(file)
    found, places, errors = findings(root)
    if arguments == ["--report"]:
        allowed = {}
    elif arguments == ["--shrink"]:
        numbers = {key: number for key, number, _ in found}
        allowed = {key: min(number, numbers[key]) for key, number in allowed.items() if key in numbers}
        write_allowances(file, allowed, comments)
    elif arguments:
        print(__doc__, file=sys.stderr)
        return 2
    messages = errors + judge(found, allowed)
    for message in messages:
        behind = places.get(message.split(":")[0])
        print(message + (f" ({', '.join(sorted(set(behind)))})" if behind else ""), file=sys.stderr)
    print(f"structure: {len(messages)} findings, {len(allowed)} allowances", file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
