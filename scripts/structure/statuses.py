"""HTTP statuses as numbers in the router's code: the error table alone has them.

A number of the list in router/openai/error/http_status.h is a finding beside the word `status`. It is also one as a
case, and as an argument of a call that answers.
"""

import re

from . import tree

NAMES = "router/openai/error/http_status.h"
# The folder of the table, and the core's own table that it reads.
_OWN = ("router/openai/error/", "router/core/contract/refusal.h")
_LISTED = re.compile(r"constexpr int k\w+ = (\d{3});")
_QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def listed(root):
    return set(_LISTED.findall(tree.read(root, NAMES)))


def statuses(text, numbers):
    """Lines of `text` that name a status."""
    number = "(?:" + "|".join(sorted(numbers)) + ")"
    use = re.compile(
        rf"(?i:status)\w*\)?\s*(?:[=!<>]=?|\{{|\()\s*{number}\b|\b{number}\s*[=!<>]=?\s*[\w.>-]*status"
        rf"|\bcase {number}:|\b(?:SendWhole|Whole|ResponseHead \w+)\([^;]*?\b{number}\b|\? {number} : {number}\b"
    )
    bare = _QUIET.sub(lambda match: "\n" * match.group().count("\n"), text)
    return [bare.count("\n", 0, match.start()) + 1 for match in use.finditer(bare)]


def find(root, paths):
    """(key, number, limit) per file that names a status."""
    if NAMES not in paths:
        return []
    numbers = listed(root)
    found = []
    for path in paths:
        if not path.startswith("router/") or not path.endswith(tree.CPP) or path.startswith(_OWN):
            continue
        lines = statuses(tree.read(root, path), numbers)
        if lines:
            found.append((f"statuses {path}", len(lines), 0))
    return found
