"""`penstock simulate` as a user runs it: one command, one JSON object, errors that name file and line."""

import gzip
import json
import subprocess

import pytest

from processes import BINARY

FLEET = """
gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]
replicas:
  - {id: r0, gpus: [g0], model: llama-3.1-8b, kv_memory: 18GB, simulated: {}}
  - {id: r1, gpus: [g1], model: llama-3.1-8b, kv_memory: 18GB, simulated: {}}
classes: {standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}}
"""


@pytest.fixture
def fleet(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path


def simulate(fleet, *arguments):
    return subprocess.run([BINARY, "simulate", "--config", fleet, *arguments], capture_output=True, text=True, timeout=120)


def result(fleet, *arguments):
    ran = simulate(fleet, *arguments, "--json")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return json.loads(ran.stdout)


def test_the_documented_fields_are_there_and_a_run_repeats(fleet):
    arguments = ["--trace", "generate:azure-conv", "--rate", "2", "--duration", "30s"]
    first = result(fleet, *arguments)
    assert {"offered", "finished", "refused", "on_time_share", "active_tokens_per_s", "goodput_tokens_per_s",
            "total_tokens_per_s", "late_tokens_per_s", "abandoned_tokens_per_s", "recomputed_tokens_per_s", "preemptions",
            "ttft_s", "tpot_s", "queue_wait_s", "per_class", "per_tenant", "per_model", "per_replica", "per_gpu",
            "per_prompt_quartile", "forecast", "policy", "seed", "decision_us", "gpu_seconds", "loss", "feasible",
            "fluid_bound_tokens_per_s"} <= set(first)
    assert first["offered"] == first["finished"] > 200
    assert first["policy"] == "penstock"
    assert set(first["per_gpu"]) == {"g0", "g1"}
    second = result(fleet, *arguments)
    del first["decision_us"], second["decision_us"]
    assert first == second


def test_logs_of_equal_seeds_are_equal_bytes(fleet, tmp_path):
    logs = [tmp_path / "a.log", tmp_path / "b.log"]
    for log in logs:
        result(fleet, "--trace", "generate:chat", "--duration", "20s", "--log", str(log))
    assert logs[0].read_bytes() == logs[1].read_bytes()
    assert logs[0].stat().st_size > 10_000


def test_the_carried_rate_lies_between_one_that_is_carried_and_one_that_is_not(fleet):
    trace = ["--trace", "generate:azure-conv", "--duration", "60s"]
    carried = result(fleet, *trace, "--carried")["carried"]
    assert result(fleet, *trace, "--rate", str(carried))["feasible"]["on_time_share"] >= 0.99
    assert result(fleet, *trace, "--rate", str(carried * 1.3))["feasible"]["on_time_share"] < 0.99


def test_a_plan_names_both_fleets_and_the_saving(fleet):
    plan = result(fleet, "--trace", "generate:azure-conv", "--rate", "0.5", "--duration", "30s", "--plan", "--gpu", "h100")
    assert plan["dedicated"]["gpus"] == plan["colocated"]["gpus"] == 1
    assert plan["saving"] == 0


def test_any_policy_may_be_tried(fleet):
    trace = ["--trace", "generate:azure-conv", "--rate", "5", "--duration", "30s"]
    runs = {policy: result(fleet, *trace, "--policy", policy)
            for policy in ("penstock", "present_use", "least_load:veto=0.95", "round_robin", "clairvoyant")}
    assert runs["penstock"]["goodput_tokens_per_s"] > runs["round_robin"]["goodput_tokens_per_s"]
    assert runs["clairvoyant"]["active_tokens_per_s"] >= 0.99 * runs["penstock"]["active_tokens_per_s"]


HEADER = "arrival_s,model,tenant,prompt_tokens,output_tokens\n"


@pytest.mark.parametrize("text, expected", [
    ("arrival,prompt\n1,2\n", "trace.csv:1: the header must be"),
    (HEADER + "0,,,5,5\n1,,,5\n", "trace.csv:3: expected 5 columns, found 4"),
    (HEADER + "3,,,5,5\n1,,,5,5\n", "trace.csv:3: arrival_s is earlier than in the row before"),
    (HEADER + "0,,,-5,5\n", "trace.csv:2: prompt_tokens: \"-5\" is not a whole number"),
    (HEADER + "0,nobody,,5,5\n", "trace.csv:2: no replica serves the model \"nobody\""),
])
def test_a_bad_trace_names_file_and_line(fleet, tmp_path, text, expected):
    trace = tmp_path / "trace.csv"
    trace.write_text(text)
    ran = simulate(fleet, "--trace", str(trace), "--json", "--log", str(tmp_path / "out.log"))
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert expected in ran.stderr
    assert not list(tmp_path.glob("out.log*"))


def test_a_broken_gzip_names_file_and_line(fleet, tmp_path):
    trace = tmp_path / "trace.csv.gz"
    rows = "".join(f"{i},,,5,{i + 1}\n" for i in range(5000))
    trace.write_bytes(gzip.compress((HEADER + rows).encode())[:-2000])
    ran = simulate(fleet, "--trace", str(trace))
    assert ran.returncode == 1
    assert f"{trace}:" in ran.stderr and "cut short" in ran.stderr


@pytest.mark.parametrize("arguments, expected", [
    (["--policy", "nonsense"], "nonsense"),
    (["--plan", "--gpu", "abacus"], "unknown GPU kind"),
])
def test_what_cannot_be_run_says_why(fleet, arguments, expected):
    ran = simulate(fleet, "--trace", "generate:azure-conv", "--duration", "5s", *arguments)
    assert ran.returncode == 1
    assert expected in ran.stderr


def test_wrong_usage_is_told_apart(fleet):
    for arguments in (["--plan"], ["--trace", "generate:chat", "--carried", "--log", "x"], ["--rate", "-1"]):
        assert simulate(fleet, "--trace", "generate:chat", *arguments).returncode == 2


def test_a_fleet_with_an_unknown_shape_is_refused(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET.replace("model: llama-3.1-8b", "model: secret-model"))
    ran = simulate(path, "--trace", "generate:chat")
    assert ran.returncode == 1
    assert "secret-model" in ran.stderr
