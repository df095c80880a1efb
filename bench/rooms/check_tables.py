"""Checks the tables that bench/tables.sh wrote: `check_tables.py FOLDER SCENARIO...`.

The tables of all scenarios have a row for each of those named, of the present revision, with a figure where one is due.
"""

import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import topics  # noqa: E402

# Table, and the columns that no row may lack.
TABLES = {
    "carried": ["penstock", "best shipping", "ratio", "informed", "GPU time allows"],
    "above-the-knee": ["on time %", "active % of informed", "of the hindsight bound", "of the fluid bound"],
    "below-the-knee": ["on time %", "active % of informed"],
    "forecast": [],
    "ablations": ["`without=memory`", "`without=reservations`", "`without=sharing`"],
}


def rows_of(text):
    """The rows of the first table with a revision, as dictionaries by column."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")]
             for line in text.splitlines() if line.startswith("|")]
    head = next(line for line in lines if line[-1] == "revision")
    return [dict(zip(head, line)) for line in lines if len(line) == len(head) and line[-1].startswith("`")]


def main():
    folder, scenarios = pathlib.Path(sys.argv[1]), sys.argv[2:]
    revision = f"`{topics.revision()}`"
    failures = []
    for name, columns in TABLES.items():
        rows = rows_of((folder / f"{name}.md").read_text())
        for scenario in scenarios:
            new = [row for row in rows if next(iter(row.values())).split(",")[0] == scenario and row["revision"] == revision]
            if not new:
                failures.append(f"{name}: no row of {scenario} at {revision}")
            failures += [f"{name}: {scenario}: no figure under {column}" for row in new for column in columns
                         if not re.search(r"\d", row.get(column, ""))]
    for name in ("kinds", "gpus"):
        if f"Revision {revision}" not in (folder / f"{name}.md").read_text():
            failures.append(f"{name}: no table at {revision}")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
