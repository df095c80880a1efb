"""Start, reload and drain: running requests go on, and an error names its cause. The class of a request."""
import json
import signal
import socket
import subprocess

import pytest
from neighbour import resident_bytes
from processes import BINARY, MODEL, Engine, Router, free_port, replicas, wait_until
from raw_http import chat, read_answer, request_bytes, send


def start_stream(router, tokens):
    connection = socket.create_connection(router.address, timeout=30)
    connection.sendall(request_bytes(body=chat(max_tokens=tokens, stream=True)))
    received = b""
    while received.count(b"data:") < 3:
        received += connection.recv(65536)
    return connection, received


def finish_stream(connection, received):
    with connection:
        while b"0\r\n\r\n" not in received[-7:]:
            more = connection.recv(65536)
            if not more:
                break
            received += more
    return received


def test_sigterm_lets_running_streams_end_and_refuses_new_requests(folder):
    with Engine(folder) as engine, Router(folder, [engine]) as router:
        kept = socket.create_connection(router.address, timeout=10)
        kept.sendall(request_bytes("/v1/models", method="GET", headers={"Content-Length": None, "Content-Type": None}))
        assert read_answer(kept).status == 200
        connection, received = start_stream(router, 200)
        router.signal(signal.SIGTERM)

        def refuses():
            try:
                answer = send(router.address, request_bytes(body=chat(max_tokens=1)))
                return answer is None or answer.status == 503
            except OSError:
                return True

        wait_until(refuses, 20, "new requests are refused")
        text = finish_stream(connection, received)
        assert text.count(b'"content"') >= 200
        assert b"[DONE]" in text
        assert router.process.wait(20) == 0
        wait_until(lambda: engine.running() == 0, 20, "the engine has ended the stream")
        kept.close()


def test_the_health_pages_of_engines_say_whether_a_replica_is_up(folder):
    with Engine(folder) as engine, Router(folder, [engine]) as router:
        for path in ("/health", "/ping", "/version"):
            assert router.get(path)[0] == 200, path
        assert "version" in router.get("/version")[2]
        engine.kill()
        for path in ("/health", "/ping"):
            wait_until(lambda path=path: router.get(path)[0] == 503, 15, path)


def test_sigterm_ends_an_idle_router_at_once(folder):
    with Engine(folder) as engine, Router(folder, [engine]) as router:
        router.signal(signal.SIGTERM)
        assert router.process.wait(3) == 0


def test_sighup_takes_a_new_file_without_dropping_a_stream(folder):
    with Engine(folder) as first, Engine(folder, model="qwen2.5-7b", name="second") as second:
        with Router(folder, config=replicas([first])) as router:
            connection, received = start_stream(router, 150)
            router.write_config(replicas([first, second]))
            router.signal(signal.SIGHUP)
            wait_until(
                lambda: send(router.address, request_bytes(body=chat(model="qwen2.5-7b", max_tokens=1))).status == 200,
                20, lambda: router.log()[-2000:],
            )
            router.wait_for_count("penstock_config_reloads_total", 1, result="ok")
            text = finish_stream(connection, received)
            assert text.count(b'"content"') >= 150 and b"[DONE]" in text
            router.write_config(replicas([second]))
            router.signal(signal.SIGHUP)
            wait_until(
                lambda: send(router.address, request_bytes(body=chat(model=MODEL, max_tokens=1))).status == 404,
                20, lambda: router.log()[-2000:],
            )
            router.wait_for_nothing([first, second])


def test_sighup_with_a_bad_file_changes_nothing_and_says_where(folder):
    with Engine(folder) as engine, Router(folder, config=replicas([engine])) as router:
        router.write_config(replicas([engine]) + "tenants: 17\n")
        router.signal(signal.SIGHUP)
        # The watch of the file may take the same bad file once more.
        wait_until(
            lambda: router.metrics().sum("penstock_config_reloads_total", result="failed") >= 1, 20, "the failure is counted"
        )
        router.wait_for_log(str(router.config_path), "tenants")
        assert send(router.address, request_bytes(body=chat(max_tokens=1))).status == 200


def test_a_changed_file_is_taken_by_itself_and_what_needs_a_restart_is_named(folder):
    with Engine(folder) as first, Engine(folder, model="qwen2.5-7b", name="watched") as second:
        with Router(folder, config=replicas([first])) as router:
            assert router.metrics().sum("penstock_config_last_reload_successful") == 1
            started = router.metrics().sum("penstock_config_last_reload_success_timestamp_seconds")
            router.write_config(replicas([first, second]) + "threads: 7\n")
            wait_until(
                lambda: send(router.address, request_bytes(body=chat(model="qwen2.5-7b", max_tokens=1))).status == 200,
                20, lambda: router.log()[-2000:],
            )
            # From its last line on, the router watches the files for the next change.
            router.wait_for_log("threads changed; that needs a restart", "configuration reloaded")
            assert router.metrics().sum("penstock_config_restart_keys") == 1
            assert router.metrics().sum("penstock_config_last_reload_success_timestamp_seconds") >= started
            router.write_config("replicas: 5\n")
            wait_until(
                lambda: router.metrics().sum("penstock_config_last_reload_successful") == 0, 20, lambda: router.log()[-2000:]
            )
            router.wait_for_log(f"{router.config_path}:2:")
            assert send(router.address, request_bytes(body=chat(max_tokens=1))).status == 200


def test_a_stream_that_outlives_the_drain_is_cut_with_exit_code_three(folder):
    with Engine(folder) as engine:
        router = Router(folder, config=replicas([engine]) + "limits: {drain_timeout: 300ms}\n")
        connection, received = start_stream(router, 5000)
        router.signal(signal.SIGTERM)
        text = finish_stream(connection, received)
        assert router.process.wait(10) == 3, router.log()
        assert text.count(b'"error"') == 1 and b"shutting down" in text
        assert text.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"), text[-300:]
        assert "1 request was cut" in router.log()
        wait_until(lambda: engine.running() == 0, 20, "the engine is told")


@pytest.mark.parametrize("sent", ["head", "body"])
def test_half_a_request_is_refused_when_the_router_drains(folder, sent):
    half = request_bytes(body=chat(max_tokens=1))[:40 if sent == "head" else -10]
    with Engine(folder) as engine:
        router = Router(folder, config=replicas([engine]) + "limits: {drain_timeout: 20s}\n")
        with socket.create_connection(router.address, timeout=30) as connection:
            connection.sendall(half)
            assert send(router.address, request_bytes(body=chat(max_tokens=1))).status == 200
            router.signal(signal.SIGTERM)
            answer = read_answer(connection)
            assert answer.status == 503
            assert "shutting down" in answer.json()["error"]["message"]
            assert connection.recv(1) == b""
        assert router.process.wait(10) == 0, router.log()


def test_a_second_sigterm_does_not_wait_for_the_drain(folder):
    with Engine(folder) as engine:
        router = Router(folder, [engine])
        connection, received = start_stream(router, 5000)
        router.signal(signal.SIGTERM)
        wait_until(lambda: "draining" in router.log(), 20, router.log)
        router.signal(signal.SIGTERM)
        assert b"shutting down" in finish_stream(connection, received)
        assert router.process.wait(5) == 3, router.log()


def test_a_key_file_that_changes_changes_who_may_ask(folder):
    key = folder / "team.key"
    key.write_text("first-key\n")
    tenants = f'tenants: [{{name: team, keys: ["file:{key}"]}}]\n'

    def status(router, secret):
        headers = {"Authorization": f"Bearer {secret}"}
        return send(router.address, request_bytes(body=chat(max_tokens=1), headers=headers)).status

    with Engine(folder) as engine, Router(folder, config=replicas([engine]) + tenants) as router:
        assert status(router, "first-key") == 200
        assert status(router, "second-key") == 401
        key.write_text("second-key\n")
        wait_until(lambda: status(router, "second-key") == 200, 20, lambda: router.log()[-2000:])
        # Each thread takes the new file at a moment of its own.
        wait_until(lambda: status(router, "first-key") == 401, 20, lambda: router.log()[-2000:])


def test_a_port_that_is_taken_is_an_error_with_exit_code_one(folder):
    with Engine(folder) as engine, socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [BINARY, "serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--replica", engine.url],
            capture_output=True, text=True, timeout=20,
        )
        assert ended.returncode == 1
        assert str(taken.getsockname()[1]) in ended.stderr


def test_wrong_usage_is_exit_code_two():
    for arguments in (["serve", "--no-such-flag"], ["frobnicate"], ["engine", "--listen"]):
        ended = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=20)
        assert ended.returncode == 2, arguments
        assert ended.stderr


def test_a_bad_file_is_exit_code_one_with_the_place(folder):
    path = folder / "bad.yml"
    path.write_text(f"listen: 127.0.0.1:{free_port()}\nreplicas:\n  - {{url: http://127.0.0.1:1, max_seqs: many}}\n")
    for command in ("check", "serve"):
        ended = subprocess.run([BINARY, command, "--config", str(path)], capture_output=True, text=True, timeout=20)
        assert ended.returncode == 1
        assert f"{path}:3:" in ended.stdout + ended.stderr
        assert "max_seqs" in ended.stdout + ended.stderr


def test_check_warns_of_a_log_that_cannot_be_opened_here(folder):
    path = folder / "log.yaml"
    for place in (folder / "nowhere" / "log", folder):
        path.write_text(f"log: {{path: {place}}}\nreplicas: [{{url: http://127.0.0.1:1}}]\n")
        ended = subprocess.run([BINARY, "check", "--config", str(path)], capture_output=True, text=True, timeout=20)
        assert ended.returncode == 0
        assert f"warning: log.path: {place}" in ended.stderr
    path.write_text(f"log: {{path: {folder / 'fresh.log'}}}\nreplicas: [{{url: http://127.0.0.1:1}}]\n")
    ended = subprocess.run([BINARY, "check", "--config", str(path)], capture_output=True, text=True, timeout=20)
    assert "log.path" not in ended.stderr
    assert not (folder / "fresh.log").exists()


def test_a_listen_of_the_command_line_at_a_replica_is_exit_code_one(folder):
    """The file alone is good: the argument makes the router an engine of its own."""
    own = free_port()
    path = folder / "own.yaml"
    path.write_text(f"listen: 127.0.0.1:{free_port()}\nreplicas:\n  - {{url: http://localhost:{own}}}\n")
    given = subprocess.run([BINARY, "serve", "--config", str(path), "--listen", f"127.0.0.1:{own}"], capture_output=True,
                           text=True, timeout=20, check=False)
    assert given.returncode == 1
    assert f"own.yaml:3:11: replicas[0].url: is an address of this router, listen 127.0.0.1:{own}" in given.stderr


def test_an_engine_ends_within_a_second_of_sigterm_whatever_runs(folder):
    with Engine(folder) as engine:
        with socket.create_connection(engine.address, timeout=10) as connection:
            connection.sendall(request_bytes(body=chat(max_tokens=5000, stream=True)))
            assert connection.recv(1)
            engine.signal(signal.SIGTERM)
            assert engine.process.wait(1) == 0


def test_a_receipt_is_given_on_demand(folder):
    with Engine(folder) as engine, Router(folder, [engine]) as router:
        asked = send(router.address, request_bytes(body=chat(max_tokens=1), headers={"x-penstock-receipt": "1"}))
        plain = send(router.address, request_bytes(body=chat(max_tokens=1)))
        extra = {name for name in asked.headers if name.startswith("x-penstock")} - set(plain.headers)
        assert asked.status == 200 and extra


@pytest.fixture(scope="module")
def classed(folder):
    with Engine(folder) as engine:
        config = replicas([engine]) + (
            f"models: [{{name: another}}, {{name: {engine.model}, class: background}}]\n"
            "classes: {batch: {ttft: 1h, tpot: 1s, queue: 1h}}\n"
            "tenants:\n"
            "  - {name: quick, keys: [key-quick], class: interactive}\n"
            "  - {name: plain, keys: [key-plain], max_class: standard}\n"
        )
        with Router(folder, [engine], config) as router:
            yield router


def class_of(router, key, headers=None, **fields):
    asked = {"authorization": f"Bearer {key}", "x-penstock-receipt": "1", **(headers or {})}
    answer = send(router.address, request_bytes(body=chat(max_tokens=1, **fields), headers=asked))
    assert answer.status == 200, answer
    return json.loads(answer.headers["x-penstock-receipt"])["class"]


@pytest.mark.parametrize("key, headers, fields, expected", [
    ("key-plain", {}, {}, "background"),
    ("key-quick", {}, {}, "interactive"),
    ("key-quick", {}, {"service_tier": "auto"}, "interactive"),
    ("key-quick", {}, {"service_tier": "default"}, "standard"),
    ("key-quick", {}, {"service_tier": "flex"}, "background"),
    ("key-quick", {}, {"service_tier": "batch"}, "batch"),
    ("key-quick", {"x-penstock-class": "standard"}, {"service_tier": "flex"}, "standard"),
    ("key-plain", {}, {"service_tier": "priority"}, "standard"),
    ("key-plain", {"x-penstock-class": "interactive"}, {}, "standard"),
])
def test_the_class_of_a_request(classed, key, headers, fields, expected):
    assert class_of(classed, key, headers, **fields) == expected


@pytest.mark.unsanitized
def test_hundreds_of_replicas_at_once_take_little_memory(folder):
    """One view of the fleet is as long as the fleet: there must not be one for each change."""
    with Engine(folder) as engine, Router(folder, config=replicas([engine])) as router:
        before = resident_bytes(router)
        dead = "".join(f"  - {{id: dead{i}, url: 'http://127.0.0.1:1/{i}'}}\n" for i in range(300))
        router.write_config(replicas([engine]) + dead)
        router.signal(signal.SIGHUP)
        router.wait_for_log(*[f'"replica":"dead{i}"' for i in range(300)])
        assert resident_bytes(router) < before + 64 * 1024 * 1024
        assert send(router.address, request_bytes(body=chat(max_tokens=1))).status == 200
