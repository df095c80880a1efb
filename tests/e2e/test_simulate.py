"""`penstock simulate` as a user runs it: one command, one JSON object, errors that name file and line."""

import gzip
import json
import signal
import subprocess

import pytest

from processes import BINARY, ROOT, wait_until

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
            "fluid_bound_tokens_per_s", "gpu_time", "delivered", "answered_tokens_per_s", "wasted_tokens_per_s", "refused_wait_s", "early_refusals", "wrong_refusals"} <= set(first)
    assert first["refused_wait_s"]["p50"] is None and first["wrong_refusals"] == 0
    assert first["offered"] == first["finished"] > 200
    assert first["policy"] == "penstock"
    assert set(first["per_gpu"]) == {"g0", "g1"}
    for states in first["gpu_seconds"].values():
        assert abs(sum(states.values()) - 30) < 1e-6
    assert first["gpu_time"]["productive_gpu_hours"] == pytest.approx(first["gpu_time"]["states"]["productive"] / 3600)
    busy = sum(first["gpu_time"]["states"][state] for state in ("productive", "slow", "for_nobody"))
    assert sum(first["gpu_time"]["work"].values()) == pytest.approx(busy, rel=0.01)
    assert set(first["gpu_time"]["work"]) == {"floor", "decode", "kv_reads", "prefill", "recompute", "stall", "gaps"}
    assert first["active_tokens_per_s"] <= first["hindsight_bound_tokens_per_s"]
    assert first["active_tokens_per_s"] <= first["answered_tokens_per_s"]
    assert first["delivered"]["total"] == pytest.approx(sum(first["delivered"][part] for part in ("active", "late", "abandoned")))
    second = result(fleet, *arguments)
    del first["decision_us"], second["decision_us"]
    assert first == second


def test_a_file_without_an_end_is_an_error(fleet):
    ran = simulate(fleet, "--trace", "/dev/zero")
    assert ran.returncode == 1 and "/dev/zero:1: the line is longer than 16777216 bytes" in ran.stderr
    with subprocess.Popen(["yes", ""], stdout=subprocess.PIPE) as endless:
        ran = subprocess.run([BINARY, "simulate", "--config", fleet, "--trace", "/dev/stdin"], stdin=endless.stdout,
                             capture_output=True, text=True, timeout=120)
        endless.kill()
    assert ran.returncode == 1 and "the header must be" in ran.stderr


def test_a_seed_beyond_64_bits_is_wrong_usage(fleet):
    ran = simulate(fleet, "--trace", "generate:azure-conv", "--duration", "1s", "--seed", str(2**64))
    assert ran.returncode == 2 and "is not a whole number from 0 to 18446744073709551615" in ran.stderr
    assert result(fleet, "--trace", "generate:azure-conv", "--duration", "1s", "--seed", str(2**64 - 1))["seed"] == 2**64 - 1


def test_refused_clients_hear_it_early_and_may_come_back_once(fleet):
    overload = ["--trace", "generate:azure-conv", "--rate", "12", "--duration", "40s"]
    early = result(fleet, *overload)
    late = result(fleet, *overload, "--policy", "penstock:without=early")
    assert early["refused_wait_s"]["p50"] < 0.5 < late["refused_wait_s"]["p50"]
    assert 0 < early["wrong_refusals"] <= early["early_refusals"]
    assert "retries" not in early
    back = result(fleet, *overload, "--retry")
    assert back["offered"] == early["offered"] + back["retries"]["offered"]
    assert simulate(fleet, *overload, "--retry", "--carried").returncode == 2


def test_logs_of_equal_seeds_are_equal_bytes(fleet, tmp_path):
    logs = [tmp_path / "a.log", tmp_path / "b.log"]
    for log in logs:
        result(fleet, "--trace", "generate:chat", "--duration", "20s", "--log", str(log))
    assert logs[0].read_bytes() == logs[1].read_bytes()
    assert logs[0].stat().st_size > 10_000


def test_the_carried_rate_lies_between_one_that_is_carried_and_one_that_is_not(fleet):
    trace = ["--trace", "generate:azure-conv", "--duration", "60s"]
    search = result(fleet, *trace, "--carried")
    carried = search["carried"]
    assert carried < search["bound"] < 2 * carried
    assert result(fleet, *trace, "--rate", str(carried))["feasible"]["on_time_share"] >= 0.99
    assert result(fleet, *trace, "--rate", str(carried * 1.3))["feasible"]["on_time_share"] < 0.99


def test_a_rate_that_leaves_no_request_in_the_window_is_carried(fleet, tmp_path):
    rows = "0.1,,,8000,10,\n" * 400  # All at once, however slow the trace.
    trace = tmp_path / "burst.csv"
    trace.write_text("arrival_s,model,tenant,prompt_tokens,output_tokens,prefix_hashes\n" + rows)
    search = ["--trace", str(trace), "--duration", "10s", "--carried"]
    # At a hundredth of the rate the burst comes at the end of the window, and below that never.
    carried = result(fleet, *search)["carried"]
    assert 0.0095 < carried <= 0.01
    late = simulate(fleet, *search[:-1], "--rate", str(carried * 1.05))
    assert late.returncode == 0 and "no request" not in late.stderr
    later = result(fleet, *search, "--seeds", "2", "--shift", "50ms")
    assert later["by_seed"][0] == carried and later["by_seed"][1] < carried
    assert result(fleet, *search, "--from", "0s")["carried"] == carried
    empty = simulate(fleet, *search, "--from", "20s")
    assert empty.returncode == 1 and "no request arrives in the window asked for" in empty.stderr


def test_a_search_over_seeds_gives_the_median_and_an_interval(fleet):
    search = ["--trace", "generate:azure-conv", "--duration", "30s", "--carried", "--policy", "least_request"]
    several = result(fleet, *search, "--seeds", "3", "--shift", "20s")
    low, high = several["interval"]
    assert len(several["by_seed"]) == 3 and sorted(several["by_seed"]) == [low, several["carried"], high]
    single = result(fleet, *search)
    assert single["carried"] == several["by_seed"][0] and single["interval"] == [single["carried"]] * 2
    text = simulate(fleet, *search, "--seeds", "2").stdout
    assert "median of 2 seeds" in text
    assert simulate(fleet, "--trace", "generate:chat", "--seeds", "2").returncode == 2
    assert simulate(fleet, *search, "--shift", "20s").returncode == 2


def test_a_plan_names_both_fleets_and_the_saving(fleet):
    arguments = ["--trace", "generate:azure-conv", "--rate", "0.5", "--duration", "30s", "--plan", "--gpu", "h100"]
    plan = result(fleet, *arguments, "--seeds", "2")
    assert plan["dedicated"]["gpus"] == plan["colocated"]["gpus"] == 1
    assert plan["dedicated"]["interval"] == plan["colocated"]["interval"] == [1, 1]
    assert plan["saving"] == 0
    assert "2 seeds" in simulate(fleet, *arguments, "--seeds", "2").stdout


def test_any_policy_may_be_tried(fleet):
    trace = ["--trace", "generate:azure-conv", "--rate", "5", "--duration", "30s"]
    runs = {policy: result(fleet, *trace, "--policy", policy)
            for policy in ("penstock", "present_use", "least_load:veto=0.95", "round_robin", "informed", "clairvoyant")}
    assert runs["penstock"]["goodput_tokens_per_s"] > runs["round_robin"]["goodput_tokens_per_s"]
    assert runs["informed"]["active_tokens_per_s"] >= 0.99 * runs["penstock"]["active_tokens_per_s"]
    assert runs["clairvoyant"]["active_tokens_per_s"] == runs["informed"]["active_tokens_per_s"], "its old name"


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
    (["--plan", "--gpu", ","], "--gpu names no kind of GPU"),
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


TRACE = HEADER + "".join(f"{i / 5},,t,200,20\n" for i in range(50))


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return path


def test_a_log_never_replaces_an_input(fleet, trace):
    for path in (trace, fleet):
        before = path.read_bytes()
        ran = simulate(fleet, "--trace", trace, "--log", path)
        assert ran.returncode == 1 and "it is the input" in ran.stderr
        assert path.read_bytes() == before


def test_a_log_goes_through_links_and_into_pipes(fleet, trace, tmp_path):
    (tmp_path / "link.log").symlink_to(tmp_path / "real.log")
    result(fleet, "--trace", trace, "--log", tmp_path / "link.log")
    assert (tmp_path / "link.log").is_symlink()
    assert (tmp_path / "real.log").stat().st_size > 1000
    piped = simulate(fleet, "--trace", trace, "--log", "/dev/stdout")
    assert piped.stdout.startswith("event ")


def test_an_interrupted_run_leaves_nothing(fleet, tmp_path):
    running = subprocess.Popen([BINARY, "simulate", "--config", fleet, "--trace", "generate:chat", "--duration", "20000s",
                                "--log", tmp_path / "x.log"], stdout=subprocess.DEVNULL)
    wait_until(lambda: running.poll() is not None or list(tmp_path.glob("x.log.*")), 30, "the log is begun")
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=30) == -signal.SIGINT
    assert [path.name for path in tmp_path.iterdir()] == ["fleet.yaml"]


def test_the_log_of_a_yardstick_is_of_the_run_that_is_reported(fleet, trace, tmp_path):
    result(fleet, "--trace", trace, "--policy", "informed", "--log", tmp_path / "one.log")
    assert (tmp_path / "one.log").read_text().count("fleet-changed") == 1


def test_an_empty_window_is_an_error_and_not_a_success(fleet, trace):
    for search in ([], ["--carried"], ["--plan", "--gpu", "h100"]):
        ran = simulate(fleet, "--trace", trace, "--from", "1000s", *search)
        assert ran.returncode == 1 and "no request arrives" in ran.stderr


def test_a_plan_keeps_every_model_on_time_in_both_fleets(tmp_path, trace):
    fleet = tmp_path / "fleet.yaml"
    # A planned GPU has none of the faults of the file.
    fleet.write_text(FLEET.replace("simulated: {}", "simulated: {down_from: 0s, down_to: 1h}"))
    plan = result(fleet, "--trace", trace, "--plan", "--gpu", "h100")
    for kind in ("dedicated", "colocated"):
        assert plan[kind]["feasible_on_time_share"] >= 0.99
        assert plan[kind]["gpus"] == 1


def test_an_unknown_gpu_kind_is_answered_with_those_known(fleet, trace):
    ran = simulate(fleet, "--trace", trace, "--plan", "--gpu", "gtx")
    assert ran.returncode == 1 and "h100" in ran.stderr


def test_streams_that_a_dying_engine_cuts_have_failed(tmp_path, trace):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(FLEET.replace("simulated: {}", "simulated: {down_from: 3s, down_to: 1h}"))
    ended = result(fleet, "--trace", trace)
    assert ended["failed"].get("no_replica", 0) > 0
    assert ended["refused"]["no_replica"] > 0
    assert ended["offered"] == 50


def test_pairs_answer_at_their_decode_replicas(tmp_path):
    path = tmp_path / "pairs.yaml"
    path.write_text((ROOT / "config/examples/pairs.yaml").read_text())
    log = tmp_path / "run.log"
    run = result(path, "--trace", "generate:azure-conv", "--rate", "1", "--duration", "30s", "--log", log)
    assert run["offered"] == run["finished"] > 100
    assert set(run["per_replica"]) == {"decode-0", "decode-1"}
    assert set(run["per_gpu"]) <= {"gpu2", "gpu3"}
    ended = sum(1 for line in log.read_text().splitlines() if line.startswith("event ") and " prefill-ended " in line)
    assert 0 < ended < run["finished"], "short prompts have one stage"
    assert run["gpu_seconds"]["gpu0"]["productive"] > 0


def test_a_policy_that_wakes_no_replica_is_not_tried_where_some_sleep(fleet):
    fleet.write_text(fleet.read_text().replace("simulated: {}", "simulated: {}, sleep: {}", 1))
    ran = simulate(fleet, "--trace", "generate:chat", "--duration", "5s", "--policy", "least_request")
    assert ran.returncode == 1 and "policy least_request: it wakes no replica" in ran.stderr
