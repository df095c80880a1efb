"""The log: one line per event in one shape, and nothing that happens to it touches a request."""
import datetime
import json
import os
import signal
import socket
import subprocess

import pytest
from processes import BINARY, MODEL, Router, free_port, get, replicas, wait_until
from raw_http import chat, request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import ScriptedEngine

TRACE = "0af7651916cd43dd8448eb211c80319c"


def lines_of(text):
    """Every line of the log, which is JSON."""
    return [json.loads(line) for line in text.splitlines()]


def ask(router, prompt="Say something.", path="/v1/chat/completions", status=200, stream=True, max_tokens=4, **headers):
    body = chat(prompt, stream=stream, max_tokens=max_tokens)
    answer = send(router.address, request_bytes(path, body, headers=headers), timeout=30)
    assert answer.status == status, (answer.headers, answer.body)
    return answer


def access_lines(router, count):
    def found():
        return [line for line in lines_of(router.log()) if line["event"] == "access" and line["path"].startswith("/v1")]

    wait_until(lambda: len(found()) >= count, 20, router.log)
    return found()


def test_a_request_has_one_line_with_what_it_was_and_what_it_cost(folder, engine):
    section = replicas([engine]) + "log: {access: true}\ntrusted_proxies: [127.0.0.0/8]\n"
    section += "tenants: [{name: team-a, keys: [sk-team-a-secret]}]\n"
    with Router(folder, config=section) as router:
        headers = {"Authorization": "Bearer sk-team-a-secret", "x-request-id": "r-1", "X-Forwarded-For": "203.0.113.7"}
        ask(router, "a very secret prompt", path="/v1/chat/completions?api_key=query-secret",
            traceparent=f"00-{TRACE}-b7ad6b7169203331-01", **headers)
        (line,) = access_lines(router, 1)
        assert datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).utcoffset() == datetime.timedelta()
        assert line["level"] == "info" and line["method"] == "POST" and line["path"] == "/v1/chat/completions"
        assert line["status"] == 200 and line["model"] == MODEL and line["tenant"] == "team-a" and line["class"] == "standard"
        assert line["client"] == "203.0.113.7" and line["request"] == "r-1" and line["trace"] == TRACE
        assert line["output_tokens"] == 4 and line["prompt_tokens"] > 0 and line["replica"]
        assert 0 <= line["waited_s"] <= line["ttft_s"] <= line["total_s"] + 0.001
        assert line["bytes_received"] > 50 and line["bytes_sent"] > 200
        for secret in ("secret", "sk-team"):
            assert secret not in router.log()


def test_requests_without_an_engine_have_a_line_too(folder, engine):
    with Router(folder, config=replicas([engine]) + "log: {access: true}\n") as router:
        send(router.address, request_bytes("/v1/nothing", b"", "GET"), "GET")
        send(router.address, request_bytes(body=b"{no json"))
        send(router.address, b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n")
        router.get("/v1/models")
        lines = lambda status: [line for line in lines_of(router.log()) if line["event"] == "access" and line["status"] == status]
        wait_until(lambda: [len(lines(status)) for status in (400, 404)] == [2, 1] and lines(200), 20, router.log)
        assert all(line["reason"] for line in lines(400) + lines(404))


def test_a_client_that_leaves_has_a_line_with_499(folder):
    with ScriptedEngine() as engine:
        engine.hang = True
        with Router(folder, config=replicas([engine]) + "log: {access: true}\n") as router:
            with socket.create_connection(router.address) as client:
                client.sendall(request_bytes(body=chat(model=SCRIPTED)))
                wait_until(lambda: engine.heads, 20, "the engine got the request")
            (line,) = access_lines(router, 1)
            assert line["status"] == 499 and line["bytes_sent"] == 0


def test_a_client_that_leaves_a_stream_has_its_prompt_counted_by_the_estimate(folder, engine):
    section = replicas([engine]) + "log: {access: true}\ntenants: [{name: team-a, keys: [sk-team-a]}]\n"
    with Router(folder, config=section) as router:
        with socket.create_connection(router.address, timeout=20) as client:
            headers = {"Authorization": "Bearer sk-team-a"}
            client.sendall(request_bytes(body=chat("river " * 200, max_tokens=5000, stream=True), headers=headers))
            received = b""
            while received.count(b"data:") < 5:
                received += client.recv(65536)
        (line,) = access_lines(router, 1)
        estimate = line["prompt_tokens_estimate"]
        assert estimate > 100 and "prompt_tokens" not in line and line["output_tokens"] > 0
        assert router.metrics().sum("penstock_prompt_tokens_total") == estimate
        assert router.metrics().sum("penstock_tenant_tokens_total", tenant="team-a", kind="prompt") == estimate


def test_nobody_asked_for_the_access_log(folder, engine):
    with Router(folder, config=replicas([engine])) as router:
        ask(router)
        assert router.stop() == 0
        assert not [line for line in lines_of(router.log()) if line["event"] == "access"]


def test_everything_on_stderr_is_a_line_of_json(folder, engine):
    """Start, warnings, a reload, a bad reload, a replica that is down, and the end."""
    dead = f"  - {{url: http://127.0.0.1:{free_port()}, id: dead}}\n"
    with Router(folder, config=replicas([engine]) + dead) as router:
        ask(router, status=200)
        router.wait_for_log('"replica":"dead"')
        router.write_config("replicas: [{url: http://127.0.0.1:1, max_seqs: many}]\nunknown: 1\n")
        router.signal(signal.SIGHUP)
        router.wait_for_log("the configuration is kept")
        router.write_config(replicas([engine]) + "threads: 3\n")
        router.signal(signal.SIGHUP)
        router.wait_for_log("configuration reloaded")
        assert router.stop() == 0
        lines = lines_of(router.log())
        for line in lines:
            assert list(line)[:3] == ["time", "level", "event"], line
        said = [(line["level"], line["message"]) for line in lines if line["event"] == "notice"]
        texts = " | ".join(text for _, text in said)
        assert f"penstock listening on {router.url}" in texts and "draining" in texts and "penstock ends" in texts
        bad = [text for level, text in said if level == "error"]
        assert len(bad) >= 2 and all("\n" not in text for text in bad)
        assert any(f"{router.config_path}:2:" in text and "max_seqs" in text for text in bad)
        assert ("warning", "threads changed; that needs a restart, the old value stays in force") in said


def test_a_port_in_use_is_an_error_of_the_log(folder, engine):
    with Router(folder, [engine]) as router:
        ended = subprocess.run([BINARY, "serve", "--listen", f"127.0.0.1:{router.port}", "--replica", engine.url],
                               capture_output=True, text=True, timeout=20)
        assert ended.returncode == 1
        assert "another process listens there" in lines_of(ended.stderr)[-1]["message"]
        log = folder / "own.log"
        path = folder / "own.yaml"
        path.write_text(f"listen: 127.0.0.1:{router.port}\nlog: {{path: {log}}}\n{replicas([engine])}")
        ended = subprocess.run([BINARY, "serve", str(path)], capture_output=True, text=True, timeout=20)
        said = lines_of(ended.stderr)[-1]
        assert ended.returncode == 1 and said["level"] == "error" and "another process listens there" in said["message"]
        assert lines_of(log.read_text())[-1]["message"] == said["message"]


@pytest.mark.parametrize("more", ["", "log: {path: own.log}\n", "log: {format: json}\n"])
def test_stderr_has_lines_of_the_log_only_whatever_keeps_the_router_from_starting(folder, more):
    path = folder / "bad.yaml"
    path.write_text(f"{more}replicas:\n  - {{url: http://127.0.0.1:1, max_seqs: many}}\n  - {{url: 'http://[', model: m}}\n")
    ended = subprocess.run([BINARY, "serve", str(path)], capture_output=True, text=True, timeout=20, cwd=folder)
    assert ended.returncode == 1 and ended.stdout == ""
    said = lines_of(ended.stderr)
    assert {line["level"] for line in said} == {"error"} and all(list(line)[:3] == ["time", "level", "event"] for line in said)
    assert any(f"{path}:" in line["message"] and "max_seqs" in line["message"] for line in said)
    missing = subprocess.run([BINARY, "serve", str(folder / "nowhere.yaml")], capture_output=True, text=True, timeout=20)
    assert missing.returncode == 1 and "nowhere.yaml" in lines_of(missing.stderr)[-1]["message"]


def test_a_log_in_a_file_leaves_one_line_on_stderr(folder, engine):
    log = folder / "file.log"
    with Router(folder, config=f"{replicas([engine])}log: {{path: {log}}}\n") as router:
        ask(router)
        assert router.stop() == 0
        assert [line["message"] for line in lines_of(router.log())] == [f"penstock listening on {router.url}"]
        assert "penstock ends" in log.read_text()


def test_the_level_can_change_while_it_runs(folder, engine):
    section = replicas([engine])
    with Router(folder, config=section + "log: {level: error}\n") as router:
        ask(router)
        assert "listening" not in router.log()
        router.write_config(section + "log: {level: debug, access: true}\n")
        router.signal(signal.SIGHUP)
        router.wait_for_log("configuration reloaded")
        ask(router)
        router.wait_for_log('"event":"forward"', '"event":"end"', '"event":"access"')


def test_text_is_for_people(folder, engine):
    with Router(folder, config=replicas([engine]) + "log: {format: text, access: true}\n") as router:
        ask(router, **{"x-request-id": "r-7"})
        router.wait_for_log("request=r-7", "status=200", "penstock listening on")
        assert "{" not in router.log()


def test_what_a_client_says_cannot_break_or_forge_a_line(folder, engine):
    with Router(folder, config=replicas([engine]) + "log: {access: true}\n") as router:
        nasty = b"/v1/\x7f\xc2\x9b31m\"},{\"event\":\"forged\""
        send(router.address, b"GET " + nasty + b" HTTP/1.1\r\nHost: x\r\n\r\n", "GET")
        body = chat(model="m\x1b[2J\n{\"event\":\"forged\"}\u009b\u007f")
        send(router.address, request_bytes(body=body, headers={"x-request-id": "n-1"}))
        router.wait_for_log("n-1")
        lines = lines_of(router.log())
        assert not [line for line in lines if line["event"] == "forged"]
        raw = router.log().encode() if isinstance(router.log(), str) else router.log()
        assert not [byte for byte in raw if (byte < 32 and byte != 10) or byte == 127]
        assert b"\xc2\x9b" not in raw


def test_a_rotation_is_followed_even_when_the_new_configuration_is_bad(folder, engine):
    log = folder / "rotated.log"
    section = replicas([engine]) + f"log: {{path: {log}, access: true}}\n"
    with Router(folder, config=section) as router:
        ask(router)
        os.rename(log, folder / "rotated.log.1")
        router.write_config(section + "unknown: 1\n")
        router.signal(signal.SIGHUP)
        wait_until(lambda: log.exists() and "the configuration is kept" in log.read_text(), 20, "the new file has the error")
        ask(router)
        wait_until(lambda: '"access"' in log.read_text(), 20, "the new file goes on")
        assert "listening" in (folder / "rotated.log.1").read_text()
        assert f"penstock listening on {router.url}" in router.log()


def with_stderr(folder, engine, stderr, section=""):
    port = free_port()
    path = folder / f"own-{port}.yaml"
    path.write_text(f"listen: 127.0.0.1:{port}\n{replicas([engine])}log: {{access: true, all_decisions: true}}\n{section}")
    process = subprocess.Popen([BINARY, "serve", str(path)], stdout=subprocess.DEVNULL, stderr=stderr)
    wait_until(lambda: get(("127.0.0.1", port), "/readyz")[0] == 200, 30, "the router is ready")
    return process, port


def burst(port, count):
    for _ in range(count):
        answer = send(("127.0.0.1", port), request_bytes(body=chat("x", max_tokens=1, model=MODEL), headers={"x-request-id": "r" * 100}))
        assert answer.status == 200, answer.body


def end(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def dropped(port):
    _, _, text = get(("127.0.0.1", port), "/metrics")
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("penstock_log_lines_dropped_total "))


def test_a_reader_of_stderr_that_stands_still_costs_nothing(folder, engine):
    reader, writer = os.pipe()
    process, port = with_stderr(folder, engine, writer)
    try:
        burst(port, 300)  # More than a pipe holds.
        assert get(("127.0.0.1", port), "/healthz")[0] == 200
    finally:
        end(process)
        os.close(reader)
        os.close(writer)


def test_a_reader_of_stderr_that_leaves_costs_lines_which_are_counted(folder, engine):
    reader, writer = os.pipe()
    process, port = with_stderr(folder, engine, writer)
    os.close(writer)
    os.close(reader)
    try:
        burst(port, 10)
        wait_until(lambda: dropped(port) >= 10, 20, "lines are counted")
    finally:
        end(process)
