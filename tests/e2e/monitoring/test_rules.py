"""The recording and alerting rules: valid, tested, documented, and about metrics that exist."""
import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from processes import ROOT  # noqa: E402
from prometheus_tools import DASHBOARD, RULES, RULES_TEST, metrics_in, reference_kinds, reference_names, rules, tool  # noqa: E402

needs_promtool = pytest.mark.skipif(not tool("promtool"), reason="promtool is not installed")
ALERTS = [name for kind, name, _ in rules() if kind == "alert"]


@needs_promtool
@pytest.mark.parametrize("command", [["check", "rules", str(RULES)], ["test", "rules", str(RULES_TEST)],
                                     ["check", "config", str(ROOT / "config/prometheus.yml")]], ids=lambda words: words[1])
def test_promtool_accepts_the_rules_and_their_tests_pass(command):
    ended = subprocess.run([tool("promtool"), *command], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_metric_of_the_rules_exists():
    known = reference_names()
    for _, name, text in rules():
        without_annotations = text.split("annotations:")[0]
        assert metrics_in(without_annotations) <= known, name


def test_no_gauge_is_read_as_a_counter():
    gauges = {name for name, kind in reference_kinds() if kind == "gauge"}
    for path in (RULES, DASHBOARD):
        counted = re.findall(r"\b(?:rate|irate|increase)\((penstock_\w+)", path.read_text())
        assert counted and not gauges & set(counted), path.name


def test_every_recorded_name_that_a_rule_reads_is_recorded():
    recorded = {name for kind, name, _ in rules() if kind == "record"}
    for _, name, text in rules():
        assert set(re.findall(r"penstock\w*:[\w:]+", text)) <= recorded, name


def test_every_alert_has_a_severity_and_a_summary():
    for kind, name, text in rules():
        if kind == "alert":
            assert re.search(r"severity: (critical|warning|info)\b", text), name
            assert 'summary: "' in text, name


def test_every_alert_is_tested():
    tested = re.findall(r"^  - name: (Penstock\w+)$", RULES_TEST.read_text(), re.MULTILINE)
    assert sorted(tested) == sorted(ALERTS)


def test_the_page_of_alerts_has_one_row_for_each_alert_and_no_other():
    documented = re.findall(r"^\| `(Penstock\w+)` \|", (ROOT / "docs/alerts.md").read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(ALERTS)
