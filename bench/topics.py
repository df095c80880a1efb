"""Writes the figures of a bench into its own file under bench/results/.

A topic file is prose with blocks of generated lines between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. A bench
replaces its own blocks and nothing else. Shell scripts pipe their table into `bench/topics.py TOPIC NAME COMMAND`.
"""

import datetime
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Another folder for a trial run that must not change the pages.
RESULTS = pathlib.Path(os.environ.get("PENSTOCK_RESULTS", ROOT / "bench/results"))


def revision():
    """The commit of the working tree; `+changes` marks a tree that differs from it, its results aside."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, text=True, capture_output=True).stdout.strip()
    described = git("describe", "--always", "--exclude=*")
    changes = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results")
    return described + ("+changes" if changes else "") if described else "unknown"


def machine():
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{os.cpu_count()} cores of {names[0] if names else 'an unknown processor'}"


def statement(command):
    """The line above a table: its command, revision, day and machine."""
    return f"Command: `{command}`. Revision `{revision()}`, {datetime.date.today()}, {machine()}, release build."


def markers(name):
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def read(topic, name):
    """The lines of a block without its markers."""
    begin, end = markers(name)
    text = (RESULTS / f"{topic}.md").read_text()
    return text.split(begin, 1)[1].split(end, 1)[0].strip().splitlines()


def write(topic, name, lines):
    """Replaces a block. A file without the block's markers is an error."""
    begin, end = markers(name)
    path = RESULTS / f"{topic}.md"
    before, rest = path.read_text().split(begin, 1)
    after = rest.split(end, 1)[1]
    path.write_text(before + begin + "\n\n" + "\n".join(lines).strip() + "\n\n" + end + after)


if __name__ == "__main__":
    table = sys.stdin.read()
    print(table, end="")
    write(sys.argv[1], sys.argv[2], [statement(sys.argv[3]), "", table])
