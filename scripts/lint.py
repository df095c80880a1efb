#!/usr/bin/env python3
"""Runs clang-tidy over the C++ files outside of tests.

    scripts/lint.py           files that changed since the merge base with main, or by the last commit of main
    scripts/lint.py --all     every file
    scripts/lint.py FILE...   these files

A finding inside a library's header is passed over: the analyzer follows Asio's coroutines into frames that it cannot
see. A changed header is read through its own source file, or through one that includes it. A file that was clean is skipped
until the file, a header below it, the list of checks or a flag changes. Needs build/lint/compile_commands.json, which
scripts/lint.sh writes.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLEAN = "build/lint/clean.json"
TIDY = "clang-tidy-19"
_FINDING = re.compile(r"^([^\s:]+):\d+:\d+: (?:warning|error):", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@functools.cache
def includes(path):
    """The headers of the repository that a file includes, directly or not."""
    found, todo = set(), [path]
    while todo:
        for header in _INCLUDE.findall(read(todo.pop())):
            if header not in found and os.path.exists(header):
                found.add(header)
                todo.append(header)
    return sorted(found)


def commands():
    """The compile command of every file that is read, by path."""
    found = {}
    for entry in json.loads(read("build/lint/compile_commands.json")):
        path = os.path.relpath(entry["file"], ROOT)
        if not path.startswith(("tests/", "cmake/", "build/")):
            found.setdefault(path, entry["command"])
    return found


def state_of(path, command):
    """A digest of all that the verdict on a file depends on."""
    digest = hashlib.sha256((command + read(".clang-tidy") + tool_version()).encode())
    for part in [path, *includes(path)]:
        digest.update(read(part).encode())
    return digest.hexdigest()


@functools.cache
def tool_version():
    return subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.split()


def changed_files():
    """Paths that differ from the merge base with main, uncommitted and new files included."""
    head = git("rev-parse", "HEAD")
    base = next((found for name in ("origin/main", "main") if (found := git("merge-base", "HEAD", name))), [])
    if not base or base == head:
        base = git("rev-parse", "--verify", "-q", "HEAD~1")
    if not base:
        return None
    return set(git("diff", "--name-only", *base)) | set(git("ls-files", "--others", "--exclude-standard"))


def files_to_read(arguments, known):
    """The files to run over; `known` holds all that can be read."""
    if arguments and arguments != ["--all"]:
        return [os.path.relpath(os.path.abspath(path), ROOT) for path in arguments]
    changed = None if arguments == ["--all"] else changed_files()
    if changed is None or ".clang-tidy" in changed:
        return sorted(known)
    wanted = {path for path in changed if path in known}
    for header in sorted(path for path in changed if path.endswith(".h") and os.path.exists(path)):
        own = header[:-1] + "cc"
        through = own if own in known else next((path for path in sorted(known) if header in includes(path)), None)
        if through:
            wanted.add(through)
    return sorted(wanted)


def tidy(path):
    run = subprocess.run(
        [TIDY, "-p", "build/lint", "--quiet", "--warnings-as-errors=*", path], capture_output=True, text=True, check=False
    )
    places = _FINDING.findall(run.stdout)
    in_libraries = places and all(os.path.relpath(place, ROOT).startswith("..") for place in places)
    output = run.stdout if places else run.stderr
    return path, 0 if in_libraries else run.returncode, output


def main(arguments):
    os.chdir(ROOT)
    known = commands()
    clean = json.loads(read(CLEAN)) if os.path.exists(CLEAN) else {}
    states = {path: state_of(path, known.get(path, "")) for path in files_to_read(arguments, known)}
    todo = [path for path, state in states.items() if clean.get(path) != state]
    print(f"lint: {len(todo)} of {len(states)} files", file=sys.stderr, flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, status, output in pool.map(tidy, todo):
            if status == 0:
                clean[path] = states[path]
                continue
            failed += 1
            print(f"{path}\n{output}", file=sys.stderr, flush=True)
    with open(CLEAN, "w", encoding="utf-8") as file:
        json.dump(clean, file, indent=0, sort_keys=True)
    print(f"lint: {failed} of {len(todo)} files with findings", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
