"""/metrics of a router that has served, refused and lost requests."""
import collections
import gzip
import json
import shutil
import signal
import subprocess

import pytest
from processes import ROOT, Engine, Router, replicas, wait_until
from raw_http import chat, request_bytes, send
from scripted_engine import ScriptedEngine


@pytest.fixture(scope="module")
def served(folder):
    with Engine(folder) as engine, Router(folder, [engine]) as router:
        for i in range(10):
            assert send(router.address, request_bytes(body=chat(f"Number {i}", max_tokens=8, stream=i % 2 == 0))).status == 200
        assert send(router.address, request_bytes(body=chat(model="nobody"))).status == 404
        assert send(router.address, request_bytes(body=b"{")).status == 400
        router.wait_for_nothing([engine])
        wait_until(lambda: router.metrics().has("penstock_pool_reported_bytes"), 20, "an engine report")
        yield router


def test_promtool_finds_nothing_to_complain_about(served):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed")
    checked = subprocess.run(["promtool", "check", "metrics"], input=served.metrics().text, text=True, capture_output=True)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_a_scraper_that_takes_gzip_gets_it(served):
    def scraped(**headers):
        return send(served.address, request_bytes("/metrics", b"", "GET", headers), "GET")

    coded, plain = scraped(**{"Accept-Encoding": "gzip"}), scraped(**{"Accept-Encoding": "gzip;q=0"})
    assert coded.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
    assert coded.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert coded.headers["content-type"] == plain.headers["content-type"]
    text = gzip.decompress(coded.body).decode()
    assert "penstock_build_info" in text and text.count("# TYPE") == plain.body.decode().count("# TYPE")
    assert len(coded.body) * 4 < len(plain.body)


def test_every_metric_of_the_dashboard_that_needs_no_fault_is_there(served):
    text = served.metrics().text
    for name in (
        "penstock_requests_total", "penstock_refusals_total", "penstock_prompt_tokens_total", "penstock_output_tokens_total",
        "penstock_active_tokens_total", "penstock_late_tokens_total", "penstock_abandoned_tokens_total",
        "penstock_queue_wait_seconds_bucket", "penstock_time_to_first_token_seconds_bucket",
        "penstock_time_per_output_token_seconds_bucket", "penstock_request_duration_seconds_bucket",
        "penstock_pool_capacity_bytes", "penstock_pool_promised_bytes", "penstock_pool_held_bytes",
        "penstock_pool_forecast_peak_bytes", "penstock_pool_reported_bytes", "penstock_pool_foreign_bytes",
        "penstock_pool_overdraft_bytes", "penstock_pool_report_age_seconds", "penstock_pool_risk_z",
        "penstock_prompt_estimate_ratio_bucket", "penstock_output_forecasts_total", "penstock_decision_seconds_bucket",
        "penstock_replica_running_requests", "penstock_replica_up", "penstock_build_info",
    ):
        assert f"\n{name}" in text, name


def test_a_request_by_an_alias_counts_for_its_model(folder):
    with Engine(folder) as engine:
        config = replicas([engine]) + f"models: [{{name: {engine.model}, aliases: [chat]}}]\n"
        config += "log: {access: true, all_decisions: true}\n"
        with Router(folder, [engine], config) as router:
            for model in ("chat", engine.model):
                assert send(router.address, request_bytes(body=chat(model=model, max_tokens=2))).status == 200
            router.wait_for_count("penstock_requests_total", 2, model=engine.model, outcome="ok")
            assert router.metrics().sum("penstock_requests_total", model="other") == 0
            router.wait_for_log('"forward"', '"end"', '"access"')
            lines = [json.loads(line) for line in router.log().splitlines()]
            assert {(line["event"], line["model"]) for line in lines if "model" in line} == {
                (event, engine.model) for event in ("forward", "end", "access")}


def test_tokens_and_outcomes_add_up(served):
    metrics = served.metrics()
    assert metrics.sum("penstock_requests_total", outcome="ok") == 10
    assert metrics.sum("penstock_requests_total", outcome="refused") == 1
    assert metrics.sum("penstock_output_tokens_total") == 80
    assert metrics.sum("penstock_active_tokens_total") + metrics.sum("penstock_late_tokens_total") == 80
    assert metrics.sum("penstock_time_to_first_token_seconds_count") >= 5
    assert metrics.sum("penstock_prompt_estimate_ratio_count") == 10


def test_only_the_promise_carries_its_word(served):
    names = {name for name, _, _ in served.metrics().samples if "promised" in name}
    assert names <= {"penstock_pool_promised_bytes", "penstock_pool_promised_blocks"} and names


def test_a_refusal_is_logged_as_one_line_without_the_prompt(served):
    send(served.address, request_bytes(body=chat("a very secret prompt", model="nobody"), headers={"x-request-id": "lost-1"}))

    def line():
        for text in served.log().splitlines():
            if text.startswith("{") and "lost-1" in text:
                return json.loads(text)

    entry = wait_until(line, 20, "the refusal is logged")
    assert entry["event"] == "refuse" and entry["reason"] == "unknown_model" and entry["status"] == 404
    assert "secret" not in served.log()


def test_the_scrape_configuration_names_the_default_port():
    assert "127.0.0.1:8080" in (ROOT / "config/prometheus.yml").read_text()


def test_a_replica_that_moved_or_left_has_no_series_of_its_past(folder):
    with ScriptedEngine() as first, ScriptedEngine() as second:
        def config(name, engine):
            return f"replicas:\n  - {{id: {name}, url: '{engine.url}', engine: openai, kv_tokens: 100000}}\n"

        def series(metrics):
            return [labels["replica"] for name, labels, value in metrics.samples if name == "penstock_replica_up" and value == 1]

        with Router(folder, config=config("moved", first)) as router:
            for name in ("moved", "new"):
                router.write_config(config(name, second))
                router.signal(signal.SIGHUP)
                wait_until(lambda name=name: series(router.metrics()) == [name], 20, router.log)
                wait_until(lambda: router.metrics().sum("penstock_pool_capacity_tokens") == 100000, 20, router.log)
                samples = collections.Counter(
                    line.rsplit(" ", 1)[0] for line in router.metrics().text.splitlines() if not line.startswith("#"))
                assert [line for line, count in samples.items() if count > 1] == []
