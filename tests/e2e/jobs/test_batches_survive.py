"""Batches over kills, drains, reloads and dead engines: no answer is lost, and none is written twice."""
import random
import signal
import threading

import pytest
from batch_jobs import begin, by_custom_id, client_of, finish, job_router, line, rows, state_config
from processes import Engine, free_port, wait_until


def check_every_line_once(client, batch, count):
    ended = finish(client, batch, seconds=120)
    assert (ended.request_counts.total, ended.request_counts.completed) == (count, count)
    assert set(by_custom_id(rows(client, ended.output_file_id))) == {str(i) for i in range(count)}


def kill_at_random(folder, tmp_path, kills):
    """Kills the router at random instants of a job, the start of the router and the validation among them."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    moment = threading.Event()
    lines = [line(i, content="The river " * chance.randrange(1, 40), max_tokens=30) for i in range(40 * kills)]
    port = free_port()
    with Engine(folder, name="killed", max_seqs=32, time_scale=8) as engine:
        with job_router(tmp_path, [engine], port=port) as router:
            batch = begin(client_of(router), lines)
            moment.wait(chance.random() / 2)
            router.kill()
        counted = 0
        for _ in range(kills - 1):
            with job_router(tmp_path, [engine], port=port, ready=False) as router:
                # Answers that were stored before the kill are there after it.
                now = client_of(router).batches.retrieve(batch.id).request_counts
                assert now.completed >= counted, f"seed {seed}"
                counted = now.completed
                moment.wait(chance.random())
                router.kill()
        with job_router(tmp_path, [engine], port=port) as router:
            check_every_line_once(client_of(router), batch, len(lines))


def test_a_killed_router_goes_on_where_it_stood(folder, tmp_path):
    kill_at_random(folder, tmp_path, kills=20)


@pytest.mark.long
def test_a_router_that_is_killed_two_hundred_times_goes_on_where_it_stood(folder, tmp_path):
    kill_at_random(folder, tmp_path, kills=200)


def test_a_drained_router_ends_its_lines_and_a_new_one_goes_on(folder, tmp_path):
    with Engine(folder, name="drained", max_seqs=8, time_scale=2) as engine:
        with job_router(tmp_path, [engine]) as router:
            batch = begin(client_of(router), [line(i, max_tokens=60) for i in range(60)])
            wait_until(lambda: engine.running() > 0, 30, "lines run")
            router.signal(signal.SIGTERM)
            assert router.process.wait(30) == 0  # No request was cut.
            assert engine.running() == 0
        with job_router(tmp_path, [engine]) as router:
            client = client_of(router)
            assert client.batches.retrieve(batch.id).request_counts.completed > 0
            check_every_line_once(client, batch, 60)


def test_a_second_signal_ends_the_router_with_lines_that_run(folder, tmp_path):
    with Engine(folder, name="hurried", max_seqs=8) as engine:
        with job_router(tmp_path, [engine]) as router:
            batch = begin(client_of(router), [line(i, max_tokens=300) for i in range(10)])
            wait_until(lambda: engine.running() > 0, 30, "lines run")
            router.signal(signal.SIGTERM)
            router.wait_for_log("draining")
            router.signal(signal.SIGTERM)
            assert router.process.wait(20) == 0  # A line that runs again later is not cut.
        with job_router(tmp_path, [engine]) as router:
            check_every_line_once(client_of(router), batch, 10)


def test_a_reload_leaves_a_job_running(folder, tmp_path):
    with Engine(folder, name="reloaded", time_scale=4, max_seqs=8) as engine:
        with job_router(tmp_path, [engine]) as router:
            client = client_of(router)
            batch = begin(client, [line(i, max_tokens=20) for i in range(100)])
            wait_until(lambda: engine.running() > 0, 30, "lines run")
            router.write_config(state_config(tmp_path, [engine], "poll: {interval: 300ms}\n", max_running_lines=12))
            router.signal(signal.SIGHUP)
            router.wait_for_log("configuration reloaded")
            check_every_line_once(client, batch, 100)


def test_a_job_waits_for_an_engine_that_is_down(folder, tmp_path):
    port = free_port()
    with Engine(folder, name="dies", port=port, time_scale=2, max_seqs=8) as engine:
        with job_router(tmp_path, [engine]) as router:
            client = client_of(router)
            batch = begin(client, [line(i, max_tokens=40) for i in range(60)])
            wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed > 0, 30, "some answers")
            engine.kill()
            wait_until(lambda: router.metrics().sum("penstock_replica_up") == 0, 30, "the replica is down")
            assert client.batches.retrieve(batch.id).request_counts.failed == 0
            with Engine(folder, name="lives", port=port, time_scale=2, max_seqs=8):
                check_every_line_once(client, batch, 60)


OTHER = "qwen2.5-7b"


def test_a_job_waits_for_an_engine_that_was_not_heard_since_the_start(folder, tmp_path):
    port = free_port()
    with Engine(folder, model=OTHER, name="other") as other:
        with Engine(folder, name="before", port=port, time_scale=2, max_seqs=8) as engine:
            with job_router(tmp_path, [other, engine]) as router:
                client = client_of(router)
                batch = begin(client, [line(i, max_tokens=40) for i in range(60)])
                wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed > 0, 30, "some answers")
                router.kill()
            engine.kill()
            with job_router(tmp_path, [other, engine]) as router:
                client = client_of(router)
                wait_until(lambda: router.metrics().sum("penstock_batch_line_retries_total") > 1, 30, "lines are refused")
                assert client.batches.retrieve(batch.id).request_counts.failed == 0
                with Engine(folder, name="after", port=port, time_scale=2, max_seqs=8):
                    check_every_line_once(client, batch, 60)


def test_a_job_waits_for_a_model_that_a_reload_removed(folder, tmp_path):
    with Engine(folder, model=OTHER, name="stays") as other, Engine(folder, name="leaves", time_scale=2, max_seqs=8) as engine:
        with job_router(tmp_path, [other, engine]) as router:
            client = client_of(router)
            batch = begin(client, [line(i, max_tokens=40) for i in range(60)])
            wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed > 0, 30, "some answers")
            for engines in ([other], [other, engine]):
                retries = router.metrics().sum("penstock_batch_line_retries_total")
                router.write_config(state_config(tmp_path, engines))
                router.signal(signal.SIGHUP)
                if engine not in engines:
                    wait_until(lambda before=retries: router.metrics().sum("penstock_batch_line_retries_total") > before + 1,
                               90, "lines are refused")
                    assert client.batches.retrieve(batch.id).request_counts.failed == 0
            check_every_line_once(client, batch, 60)
