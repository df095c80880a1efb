#!/usr/bin/env python3
"""Runs a link command with the static archives of the system's libraries: static_link.py COMMAND...

The archive beside a shared library that the command names replaces the library, where there is one. The command does not
name libc and libstdc++, so they stay shared."""
import os
import re
import subprocess
import sys

SHARED = re.compile(r"^(?P<stem>/.*/lib[^/]+?)\.so(\.[0-9.]+)?$")
# Linked with -l, and by name.
BY_NAME = {"-lxxhash": "-l:libxxhash.a"}
# Its archive needs libraries that have none.
STAYS_SHARED = {"libzmq"}


def archive_of(argument):
    match = SHARED.match(argument)
    archive = match["stem"] + ".a" if match and os.path.basename(match["stem"]) not in STAYS_SHARED else ""
    return archive if os.path.exists(archive) else BY_NAME.get(argument, argument)


def main():
    arguments = [archive_of(argument) for argument in sys.argv[1:]]
    archives = [argument for argument in arguments if argument.endswith(".a")]
    # The archives need each other in any order.
    return subprocess.run([*arguments, "-Wl,--start-group", *dict.fromkeys(archives), "-Wl,--end-group"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
