"""The layer table of ARCHITECTURE.md, and the includes that break it.

A row names a folder (or one file) and what its C++ files may include: rows above it, and families of libraries. The row
with the longest matching name holds for a file, and `name/*` stands for a folder and everything below it.
"""

import collections
import re

from . import tree

_HEADER = "| folder | holds | may use | libraries |"
_NAMES = re.compile(r"`([^`]+)`")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)

# Headers that a row has to name a family for: a whole name, or everything below a folder (a trailing slash).
FAMILIES = {
    "boost": ("boost/", "coroutine"),
    "cli": ("CLI/",),
    "clock": ("chrono", "ctime", "time.h", "absl/time/"),
    "files": ("fstream", "filesystem", "iostream", "cstdio", "stdio.h", "syncstream"),
    "json": ("nlohmann/", "simdjson.h", "simdjson/"),
    "nghttp2": ("nghttp2/",),
    "openssl": ("openssl/",),
    "prometheus": ("prometheus/",),
    "random": ("random", "absl/random/"),
    "sqlite": ("sqlite3.h",),
    "system": ("sys/", "netinet/", "arpa/", "unistd.h", "fcntl.h", "poll.h", "csignal", "signal.h", "netdb.h"),
    "test": ("gtest/", "gmock/", "benchmark/"),
    "threads": ("thread", "mutex", "shared_mutex", "condition_variable", "future", "atomic", "semaphore", "latch",
                "barrier", "stop_token", "pthread.h", "execution", "absl/synchronization/"),
    "yaml": ("yaml-cpp/",),
    "zlib": ("zlib.h",),
    "zmq": ("zmq.h", "zmq.hpp", "zmq_addon.hpp"),
    "zstd": ("zstd.h",),
}  # fmt: skip
# Calls that bring time, chance or the environment in without a header of their own, and their family.
_CALLS = (
    (re.compile(r"\b(?:s?rand|rand_r|random_device)\s*\("), "random"),
    (re.compile(r"\b(?:time\s*\(\s*(?:nullptr|NULL|0)\s*\)|clock_gettime\s*\()"), "clock"),
    (re.compile(r"\bgetenv\s*\("), "system"),
)
_PLAIN = ("absl/", "xxhash.h")  # Libraries without I/O, clock, chance or threads: every row may use them.
# Names that a library keeps for itself: the next version may change them without a word.
_INSIDE = re.compile(r"\bdetail::|\bnamespace\s+(?:\w+::)*detail\b|#[ \t]*include[ \t]*<[^>]*/detail/")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Table:
    """The rows in their order, lowest first."""

    def __init__(self, text):
        self.uses = {}
        self.libraries = {}
        self.errors = []
        lines = text.split("\n")
        if _HEADER not in lines:
            self.errors.append(f"ARCHITECTURE.md has no table that begins with {_HEADER}")
            return
        for line in lines[lines.index(_HEADER) + 2 :]:
            if not line.startswith("|"):
                break
            self._add([cell.strip() for cell in line.strip("|").split("|")])

    def row_of(self, path):
        """The row that holds for a file; None when there is none."""
        for name in self.uses:
            if name == path:
                return name
        folder = path.rpartition("/")[0]
        if folder in self.uses:
            return folder
        while folder:
            if folder + "/*" in self.uses:
                return folder + "/*"
            folder = folder.rpartition("/")[0]
        return None

    def allows(self, row, other):
        """Tells whether files of `row` may include files of `other`: their own, or those of a named row above."""
        if row == other or row.endswith("/*") and (other + "/").startswith(row[:-1]):
            return True
        order = list(self.uses)
        if order.index(other) > order.index(row):
            return False
        for name in self.uses[row]:
            if name in (other, "*") or name.endswith("/*") and (other + "/").startswith(name[:-1]):
                return True
        return False

    def _add(self, cells):
        names = _NAMES.findall(cells[0])
        if len(cells) != 4 or len(names) != 1:
            self.errors.append(f"ARCHITECTURE.md: a row of the layer table cannot be read: {cells}")
            return
        name = names[0]
        above = list(self.uses)
        for use in _NAMES.findall(cells[2]):
            known = use in above or use == "*" or use.endswith("/*") and any((x + "/").startswith(use[:-1]) for x in above)
            if not known:
                self.errors.append(f"ARCHITECTURE.md: `{name}` may use `{use}`, which is no row above it")
        for family in _NAMES.findall(cells[3]):
            if family not in FAMILIES:
                self.errors.append(f"ARCHITECTURE.md: `{name}` names an unknown family of libraries: `{family}`")
        self.uses[name] = _NAMES.findall(cells[2])
        self.libraries[name] = set(_NAMES.findall(cells[3]))


def family_of(header):
    """The family of a library's header; empty for one that every row may use."""
    for family, names in FAMILIES.items():
        if any(header.startswith(name) if name.endswith("/") else header == name for name in names):
            return family
    return ""


def find(root, paths, table):
    """Findings like those of sizes.find: includes that no row allows, and their number."""
    found = collections.Counter()
    places = {}
    known = set(paths)
    used = set()
    for path in paths:
        if not path.endswith(tree.CPP) or tree.is_data(path) or path.startswith("cmake/"):
            continue
        row = table.row_of(path)
        if row is None:
            found[f"row {path.rpartition('/')[0]}"] += 1
            continue
        used.add(row)
        for key in _breaks(tree.read(root, path), row, table, known):
            found[key] += 1
            places.setdefault(key, []).append(path)
    for row in table.uses:
        if row not in used:
            found[f"row-without-files {row}"] += 1
    return [(key, number, 0) for key, number in found.items()], places


def _breaks(text, row, table, known):
    """Keys of all breaks of the table in one file."""
    code = _COMMENT.sub("", text)
    for match in _INCLUDE.finditer(code):
        header = match[1] or match[2]
        other = table.row_of(header) if header in known else None
        if other is not None:
            if not table.allows(row, other):
                yield f"arrow {row} -> {other}"
        elif match[1] and not header.startswith((*_PLAIN, "gtest/", "gmock/")):
            yield f"arrow {row} -> {header}"
        elif (family := family_of(header)) and family not in table.libraries[row]:
            yield f"library {row} {family}"
    for _ in _INSIDE.finditer(code):
        yield f"detail {row}"
    for call, family in _CALLS:
        if family not in table.libraries[row] and call.search(code):
            yield f"library {row} {family}"
