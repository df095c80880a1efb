"""The page about troubleshooting has a row for every reason that the program can give, and no other."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

from printed import sections, text_of  # noqa: E402
from processes import BINARY, ROOT  # noqa: E402

PAGE = sections("docs/troubleshooting.md")


def rows(section):
    return re.findall(r"^\| `(\w+)` \|", PAGE[section], re.MULTILINE)


def labels_of(header, name):
    """The texts of a table of labels in a C++ header."""
    text = (ROOT / header).read_text()
    return re.findall(r'"(\w+)"', re.search(rf"{name} = \{{(.*?)\}};", text, re.DOTALL)[1])


def test_every_refusal_has_a_row():
    text = subprocess.run([BINARY, "reference", "errors"], capture_output=True, text=True, check=True, timeout=30).stdout
    refusals = text.split("## Refusals")[1].split("\n## ")[0]
    assert sorted(rows("Refusals")) == sorted(re.findall(r"^\| `(\w+)` \|", refusals, re.MULTILINE))


def test_every_reason_to_wait_has_a_row():
    text = (ROOT / "router/core/contract/wait_reason.h").read_text()
    known = re.findall(r'\{WaitReason::\w+, "(\w+)"', text)
    assert len(known) > 9
    assert sorted(rows("Waiting reasons")) == sorted(known)


def test_every_limit_at_the_door_has_a_row():
    assert sorted(rows("Turned away at the door")) == sorted(labels_of("router/labels/labels.h", "kTurnedAwayLabels"))


def test_every_failure_of_an_engine_has_a_row():
    assert sorted(rows("Replicas")) == sorted(labels_of("router/labels/labels.h", "kEngineErrorLabels"))


def test_every_result_of_a_broken_stream_is_named():
    known = labels_of("router/labels/labels.h", "kResumeLabels")
    assert {name for name in known if f"`{name}`" not in PAGE["Broken streams"] and f'"{name}"' not in PAGE["Broken streams"]} == set()


def test_every_key_that_a_page_names_exists():
    reference = text_of("docs/configuration.md")
    keys = set(re.findall(r"^\| `(\w+)` \|", reference, re.MULTILINE))
    for page in ("docs/troubleshooting.md", "docs/security.md", "docs/alerts.md"):
        for section, key in re.findall(r"`(limits|sleep|classes|models|log)\.(\w+)`", text_of(page)):
            assert key in keys, f"{page}: {section}.{key}"
