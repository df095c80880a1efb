"""The page about sizing: its commands run as printed, and each prints the lines that the page shows."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))

from printed import blocks, run, text_of  # noqa: E402

PAGE = text_of("docs/sizing.md")


def labels(text):
    """The first word of each line, and its second where that is a policy's name or a verb."""
    return [line.split()[0] for line in text.splitlines() if line.strip()]


def test_the_commands_run_as_printed_and_print_what_the_page_shows(tmp_path):
    code, output = run("\n".join(blocks(PAGE, "sh")), tmp_path, seconds=180)
    assert code == 0, output
    for shown in blocks(PAGE, "text"):
        kinds = {re.sub(r"\d+", "", label) for label in labels(shown)}
        assert kinds <= {re.sub(r"\d+", "", label) for label in labels(output)}, shown


def test_the_page_compares_kinds_by_price(tmp_path):
    code, output = run("\n".join(blocks(PAGE, "sh")[:2]), tmp_path, seconds=180)
    assert code == 0, output
    plan = re.search(r"cost +\d+ x (\S+): ([\d.]+) an hour.*", output)
    other = re.search(r"instead +\d+ x (\S+): ([\d.]+) an hour.*", output)
    assert {plan[1], other[1]} == {"a100-80", "h100"}
    assert float(plan[2]) < float(other[2])
