"""The dashboard of Grafana: its expressions parse, its metrics exist, and a real Prometheus evaluates it."""
import json
import os
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from processes import Engine, Router, free_port, replicas  # noqa: E402
from prometheus_tools import DASHBOARD, Prometheus, metrics_in, panels, reference_names, rules, tool  # noqa: E402
from raw_http import chat, request_bytes, send  # noqa: E402

# Panels that have samples once a router with one tenant has served a request.
FILLED = (
    "KV memory per pool", "Forecast bound over capacity", "Tokens per second by worth", "Requests per second by outcome",
    "Refusals per second by reason", "Answers per second by status", "Queue depth", "Queue wait", "Time to first token",
    "Replicas up", "Productive share", "Answers in the middle of which an engine failed", "Requests per second by tenant",
    "Tokens that the limit leaves", "Service per second over weight", "Fairness debt", "Parked streams",
    "Parks, evictions, aborts and returns per second", "Fill levels", "Embedding requests in shared calls",
    "Reloads of the configuration", "Age of the configuration", "Draining", "Lost log lines and drifted books",
)
TOPICS = {
    "drains": "penstock_draining", "reloads": "penstock_config_reloads_total", "fill levels": "penstock_fill_ratio",
    "resumes": "penstock_resumes_total", "tenants": "penstock_tenant_tokens_total", "fairness": "penstock_tenant_lead",
    "sleep": "penstock_replica_asleep", "wakes": "penstock_wakes_total", "eviction": "penstock_evicted_total",
    "parking": "penstock_parked_total", "elastic memory": "penstock_elastic_used_bytes",
    "elastic orders": "penstock_elastic_orders_failed_total", "merged embeddings": "penstock_merged_requests_total",
    "adapters": "penstock_adapter_loads_total", "grey failures": "penstock_grey_failures_total",
    "nodes": "penstock_replica_node_closed", "shadow": "penstock_shadow_decisions_total", "batches": "penstock_batches",
    "jobs": "penstock_job_files", "spans": "penstock_trace_spans_total", "stranded memory": "penstock_pool_stranded_bytes", "lost log lines": "penstock_log_lines_dropped_total",
}


@pytest.mark.skipif(not tool("promtool"), reason="promtool is not installed")
def test_promtool_parses_every_expression(tmp_path):
    lines = ["groups: [{name: dashboard, rules: ["]
    expressions = [expression for _, _, found in panels() for expression in found]
    for number, expression in enumerate(expressions):
        lines.append(f"  {{record: 'panel:number{number}', expr: {json.dumps(expression)}}},")
    (tmp_path / "rules.yml").write_text("\n".join([*lines, "]}]"]))
    ended = subprocess.run([tool("promtool"), "check", "rules", str(tmp_path / "rules.yml")], capture_output=True, text=True)
    assert ended.returncode == 0 and f"{len(expressions)} rules found" in ended.stdout, ended.stdout + ended.stderr


def test_every_metric_exists_and_every_variable_reads_one():
    known = reference_names()
    for _, title, expressions in panels():
        for expression in expressions:
            assert metrics_in(expression) and metrics_in(expression) <= known, f"{title}: {expression}"
    asked = re.findall(r"label_values\((\w+)(?:{.*?})?, ", DASHBOARD.read_text())
    assert asked and set(asked) <= known


def test_every_query_is_about_the_chosen_instances():
    text = json.loads(DASHBOARD.read_text())
    variables = {variable["name"]: variable for variable in text["templating"]["list"]}
    assert variables["instance"]["query"]["query"] == "label_values(penstock_build_info, instance)"
    assert variables["instance"]["multi"] and variables["instance"]["includeAll"]
    queries = [target["expr"] for panel in text["panels"] for target in panel.get("targets", [])]
    queries += [variables[name]["query"]["query"] for name in ("model", "class", "pool")]
    for query in queries:
        assert query.count('instance=~"$instance"') == len(re.findall(r"\bpenstock_\w+", query)), query


def test_every_metric_has_a_panel():
    shown = {name for _, _, found in panels() for text in found for name in metrics_in(text)}
    histograms = {name.removesuffix("_bucket") for name in shown if name.endswith("_bucket")}
    missing = {name for name in reference_names() if name not in shown and name.rsplit("_", 1)[0] not in histograms}
    assert missing == set()


def test_panels_have_numbers_of_their_own_and_lie_side_by_side():
    squares = set()
    found = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in found}) == len(found)
    for panel in found:
        place = panel["gridPos"]
        own = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24 and not own & squares, panel["title"]
        squares |= own


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_has_its_place(topic):
    assert TOPICS[topic] in {name for _, _, found in panels() for text in found for name in metrics_in(text)}


@pytest.mark.skipif(not tool("prometheus"), reason="prometheus is not installed")
def test_a_real_prometheus_evaluates_every_panel_and_every_rule(folder, monkeypatch):
    monkeypatch.setenv("TEAM_KEY", "secret")
    tenants = "tenants: [{name: team, keys: ['${TEAM_KEY}'], tokens_per_minute: 600k}]\n"
    with Engine(folder) as engine, Router(folder, config=replicas([engine]) + tenants) as router:
        with Prometheus(folder, router) as prometheus:
            # A counter begins with its first request, so only the second round is an increase.
            for seen in ("penstock_build_info", "penstock_active_tokens_total"):
                prometheus.wait_for(seen)
                for body in (chat(max_tokens=8, stream=True), chat(max_tokens=8), chat(model="nobody")):
                    send(router.address, request_bytes(body=body, headers={"authorization": "Bearer secret"}))
            prometheus.wait_for('rate(penstock_tenant_tokens_total{tenant="team"}[10s])')
            prometheus.wait_for("penstock:requests:rate5m")
            prometheus.wait_for("penstock:productive_share:ratio5m")
            empty = {title for _, title, found in panels() if not any([prometheus.query(text) for text in found])}
            groups = prometheus.ask("rules")["groups"]
    assert not empty & set(FILLED)
    evaluated = [rule for group in groups for rule in group["rules"]]
    assert len(evaluated) == len(rules())
    assert not [rule for rule in evaluated if rule.get("lastError")]
    assert not [rule["name"] for rule in evaluated if rule.get("state") == "firing"]


@pytest.mark.skipif(not tool("prometheus"), reason="prometheus is not installed")
def test_alerts_rise_for_a_bad_file_a_replica_that_is_down_and_a_model_without_one(folder, tmp_path):
    nobody = f"replicas:\n  - {{id: gone, url: 'http://127.0.0.1:{free_port()}', model: llama-3.1-8b}}\n"
    with Router(folder, config=nobody, ready=False) as router, Prometheus(tmp_path, router) as prometheus:
        router.write_config("replicas: nonsense\n")
        router.signal(signal.SIGHUP)
        prometheus.wait_for('ALERTS{alertname="PenstockConfigurationRejected"}')
        prometheus.wait_for('ALERTS{alertname="PenstockReplicaDown",replica="gone"}')
        for refusals in (1, 2):  # A counter begins with its first refusal, so only the second one is an increase.
            send(router.address, request_bytes(body=chat()))
            prometheus.wait_for(f'penstock_refusals_total{{reason="no_replica"}} == {refusals}')
        prometheus.wait_for('ALERTS{alertname="PenstockModelWithoutReplica",model="llama-3.1-8b"}')
        firing = prometheus.query('ALERTS{alertname="PenstockDown"}')
    assert not firing
