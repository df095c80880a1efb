"""A policy in the shadow of another one: what the router shows of it, in requests of real clients."""
import concurrent.futures
import json
import os
import subprocess
import sys

import pytest
from openai import OpenAI
from processes import BINARY, MODEL, Router, get, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "page"))

from description import faults, schema_of  # noqa: E402

REQUESTS = 200  # So many tell a worth.
FLEET = (
    "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\n"
    "replicas:\n"
    f"  - {{id: r0, gpus: [g0], model: {MODEL}, simulated: {{time_scale: 10}}}}\n"
    f"  - {{id: r1, gpus: [g1], model: {MODEL}, simulated: {{time_scale: 10}}}}\n"
    "classes:\n  standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}\n"
)


def shadow_of(router):
    status, headers, text = get(router.address, "/penstock/shadow")
    assert (status, headers["content-type"]) == (200, "application/json"), text
    return json.loads(text)


def when(router, condition, seconds=30):
    return wait_until(lambda: (found := shadow_of(router)) and condition(found) and found, seconds, lambda: shadow_of(router))


def ask(router, number):
    client = OpenAI(base_url=f"{router.url}/v1", api_key="none", max_retries=0)
    text = f"Request {number}: " + "word " * (50 * (number % 5))
    chunks = client.chat.completions.create(
        model=MODEL, max_tokens=20, stream=True, messages=[{"role": "user", "content": text}]
    )
    assert sum(1 for _ in chunks) > 0


@pytest.fixture(scope="module")
def router(folder):
    with Router(folder, config="policy: {decide: round_robin, shadow: penstock}\n" + FLEET) as running:
        wait_until(lambda: running.metrics().sum("penstock_replica_up") == 2, 20, "two replicas are up")
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            list(clients.map(lambda number: ask(running, number), range(REQUESTS)))
        yield running


def test_every_decision_is_compared_and_the_document_is_as_described(router):
    found = when(router, lambda shadow: shadow["compared"] == REQUESTS)
    assert faults(found, schema_of("/penstock/shadow")) == []
    assert (found["decides"], found["shadow"], found["forecasts"]) == ("round_robin", "penstock", True)
    assert sum(row["requests"] for row in found["verdicts"]) == REQUESTS
    ended = when(router, lambda shadow: sum(row["on_time"] + row["late"] + row["failed"] for row in shadow["verdicts"]) == REQUESTS)
    assert ended["dropped_events"] == 0 and ended["resets"] == 0
    assert ended["forecast"]["compared"] == REQUESTS and ended["forecast"]["observed_ttft_s"] > 0
    assert len(ended["recent"]) == min(50, sum(row["requests"] for row in ended["verdicts"] if row["differs"]))


def test_both_policies_run_on_copies_of_the_fleet(router):
    copies = when(router, lambda shadow: shadow["counterfactual"]["runs"][0]["requests"] == REQUESTS)["counterfactual"]
    assert copies["unavailable"] == ""
    assert [(run["run"], run["policy"], run["requests"]) for run in copies["runs"]] == [
        ("real", "round_robin", REQUESTS), ("decides", "round_robin", REQUESTS), ("shadow", "penstock", REQUESTS)
    ]
    assert copies["runs"][2]["on_time"] == REQUESTS and copies["runs"][2]["active_tokens"] > 0
    real, decides, shadow = (run["on_time_share"] for run in copies["runs"])
    assert copies["worth_on_time_share"] == pytest.approx(shadow - decides)
    assert copies["model_error_on_time_share"] == pytest.approx(decides - real)
    assert copies["cut_off"] == 0


def test_its_metrics_say_the_same(router):
    found = when(router, lambda shadow: shadow["compared"] == REQUESTS)
    metrics = router.metrics()
    assert metrics.sum("penstock_shadow_decisions_total") == REQUESTS
    assert metrics.sum("penstock_shadow_events_total") >= found["events"]
    assert metrics.sum("penstock_shadow_dropped_total") == 0


def test_the_state_of_the_page_and_the_terminal_show_it(router):
    when(router, lambda shadow: shadow["compared"] == REQUESTS)
    state = json.loads(get(router.address, "/penstock/state")[2])
    assert state["shadow"]["shadow"] == "penstock"
    assert state["fleet"]["router"]["policy"] == "round_robin"


def test_a_changed_policy_waits_for_a_restart_and_a_new_replica_does_not(router):
    before = when(router, lambda shadow: shadow["compared"] == REQUESTS)
    third = FLEET.replace("classes:", f"  - {{id: r2, gpus: [g1], model: {MODEL}, url: 'http://127.0.0.1:1'}}\nclasses:")
    router.write_config("policy: {decide: round_robin, shadow: least_request}\n" + third)
    wait_until(lambda: router.metrics().sum("penstock_config_reloads_total", result="ok") == 1, 20, "a reload")
    assert "policy changed; that needs a restart" in router.log()
    for number in range(4):
        ask(router, number)
    after = when(router, lambda shadow: shadow["compared"] == before["compared"] + 4)
    assert after["shadow"] == "penstock"


def test_a_router_without_a_shadow_says_so(folder):
    with Router(folder, config="policy: penstock\n" + FLEET) as plain:
        assert shadow_of(plain)["configured"] is False
        assert faults(shadow_of(plain), schema_of("/penstock/shadow")) == []
        assert "penstock_shadow" not in get(plain.address, "/metrics")[2]


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_check_prints_both_policies_and_names_a_bad_one(folder):
    path = folder / "shadow.yaml"
    path.write_text("policy: {decide: 'least_load:veto=0.9', shadow: penstock}\n" + FLEET)
    good = run("check", str(path))
    assert good.returncode == 0 and "policy: {decide: least_load:veto=0.9, shadow: penstock}" in good.stdout.replace('"', ""), good
    path.write_text("policy: {decide: round_robin, shadow: penstok}\n" + FLEET)
    bad = run("check", str(path))
    assert bad.returncode == 1 and "policy.shadow: unknown name \"penstok\" (did you mean \"penstock\"?)" in bad.stderr + bad.stdout, bad


def test_simulate_shows_the_estimate_beside_a_run_of_the_shadow(folder):
    path = folder / "simulated.yaml"
    path.write_text(FLEET.replace("{time_scale: 10}", "{}"))
    arguments = ["simulate", "--config", str(path), "--trace", "generate:azure-conv", "--rate", "6", "--duration", "60s"]
    ran = run(*arguments, "--policy", "round_robin", "--shadow", "penstock", "--json")
    assert ran.returncode == 0, ran.stderr
    shadow = json.loads(ran.stdout)["shadow"]
    assert shadow["compared"] > 100
    assert abs(shadow["shadow_on_copy"]["on_time_share"] - shadow["shadow_alone"]["on_time_share"]) < 0.08
    text = run(*arguments, "--policy", "round_robin", "--shadow", "penstock").stdout
    assert "shadow penstock beside round_robin" in text and "a run of its own" in text
