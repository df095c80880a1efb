"""Limits of size. Each finding is (key, number, limit): the key names the limit and the thing that it holds for."""

import collections
import os

from . import tree
from .cpp_outline import outline

LINES_OF_FILE = 300
LINES_OF_RESULTS = 250  # A page of results.
LINES_OF_FUNCTION = 50
METHODS = 25
FIELDS = 15
FILES_OF_FOLDER = 25


def find(root, paths):
    """All things above their limit."""
    found = list(_folders(paths))
    for path in paths:
        if tree.is_data(path):
            continue
        if path.endswith(tree.CODE):
            text = tree.read(root, path)
            found += _above(f"lines {path}", text.count("\n"), LINES_OF_FILE)
            if path.endswith(tree.CPP):
                found += _of_cpp(path, text)
        elif path.startswith("bench/results/") and path.endswith(".md"):
            found += _above(f"lines {path}", tree.read(root, path).count("\n"), LINES_OF_RESULTS)
    return _largest(found)


def _above(key, number, limit):
    return [(key, number, limit)] if number > limit else []


def _folders(paths):
    count = collections.Counter(os.path.dirname(path) or "." for path in paths if not tree.is_data(path))
    for folder, number in sorted(count.items()):
        yield from _above(f"files {folder}", number, FILES_OF_FOLDER)


def _of_cpp(path, text):
    found = []
    read = outline(text)
    for function in read.functions:
        found += _above(f"function {path} {function.name}", function.length, LINES_OF_FUNCTION)
    for kind in read.types:
        found += _above(f"methods {path} {kind.name}", len(kind.methods), METHODS)
        if not kind.is_aggregate():
            found += _above(f"fields {path} {kind.name}", len(kind.fields), FIELDS)
    return found


def _largest(found):
    """One finding per key: overloads share a name, the longest counts."""
    largest = {}
    for key, number, limit in found:
        if key not in largest or largest[key][1] < number:
            largest[key] = (key, number, limit)
    return list(largest.values())
