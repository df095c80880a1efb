"""Out of descriptors: the limit of connections fits at start, and a shortage is never held against an engine."""
import http.client
import json
import os
import resource
import signal
import socket
import subprocess

import pytest
from processes import BINARY, Metrics, Router, descriptors, free_port, get, wait_until
from raw_http import chat, read_answer, request_bytes
from scripted_engine import MODEL, ScriptedEngine, http as answer_bytes

BODY = json.dumps(chat(model=MODEL, max_tokens=5))
REQUEST = request_bytes(body=BODY.encode())
SCRAPE = request_bytes("/metrics", method="GET", headers={"Content-Length": None, "Content-Type": None})
WHOLE = answer_bytes(200, {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "a"}}]})


@pytest.fixture(scope="module")
def engine():
    with ScriptedEngine() as running:
        running.script = WHOLE
        yield running


def config(engine, limits=""):
    return f"replicas: [{{id: r, url: '{engine.url}', engine: openai, model: {MODEL}, kv_tokens: 100000}}]\n{limits}"


def log_of_start(folder, engine, soft, hard):
    """The log of a router that starts with these descriptor limits and reloads its file once."""
    port = free_port()
    path, log = folder / f"limited-{port}.yml", folder / f"limited-{port}.log"
    path.write_text(f"listen: 127.0.0.1:{port}\n{config(engine)}")
    with open(log, "wb") as output:
        command = ["prlimit", f"--nofile={soft}:{hard}", BINARY, "serve", "--config", str(path)]
        router = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: "listening" in log.read_text(), 20, log.read_text)
        soft_now, _ = resource.prlimit(router.pid, resource.RLIMIT_NOFILE)
        assert soft_now == hard, "the soft limit is raised"
        router.send_signal(signal.SIGHUP)
        wait_until(lambda: "configuration reloaded" in log.read_text(), 20, log.read_text)
    finally:
        router.terminate()
        assert router.wait(10) == 0
    return log.read_text()


def test_the_limit_of_connections_fits_the_descriptors_and_a_notice_says_so(folder, engine):
    text = log_of_start(folder, engine, 256, 1000)
    assert "limits.max_connections is 65536, but 1000 descriptors (ulimit -n) allow 402" in text, text
    assert text.count("limits.max_connections is") == 1, "a reload does not say it again"


def test_idle_connections_make_room_when_descriptors_are_few(folder, engine):
    port = free_port()
    path, log = folder / f"few-{port}.yml", folder / f"few-{port}.log"
    path.write_text(f"listen: 127.0.0.1:{port}\nthreads: 2\n{config(engine)}")
    with open(log, "wb") as output:
        command = ["prlimit", "--nofile=64:64", BINARY, "serve", "--config", str(path)]
        router = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: get(("127.0.0.1", port), "/readyz")[0] == 200, 20, log.read_text)
        idle = []
        for _ in range(200):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            client.request("GET", "/v1/models")
            assert client.getresponse().read()
            idle.append(client)
        assert ask(idle[-1])[0] == 200, "a request still finds a descriptor for its engine"
        assert ask(http.client.HTTPConnection("127.0.0.1", port, timeout=10))[0] == 200
        for client in idle:
            client.close()
    finally:
        router.terminate()
        assert router.wait(10) == 0


def ask(connection):
    connection.request("POST", "/v1/chat/completions", BODY, {"Content-Type": "application/json"})
    got = connection.getresponse()
    return got.status, dict(got.getheaders()), json.loads(got.read())


def open_connections(scraper):
    """Scraped over a connection that stays open, and is never idle: each time the next request has begun."""
    scraper.sendall(SCRAPE[5:] + SCRAPE[:5])
    return Metrics(read_answer(scraper).body.decode()).sum("penstock_connections_open")


def meets_a_shortage(folder, engine):
    """False: a client was closed to make room, or found a descriptor that was free for a moment."""
    with Router(folder, config=config(engine)) as router:
        pid = router.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        scraper = socket.create_connection(router.address, timeout=20)
        scraper.sendall(SCRAPE[:5])
        wait_until(lambda: open_connections(scraper) == 1, 20, "the connections of the start are closed")
        # They have asked nothing yet, so they are not idle and make no room.
        clients = [socket.create_connection(router.address, timeout=20) for _ in range(3)]
        wait_until(lambda: open_connections(scraper) == 4, 20, "they are accepted")
        calls = engine.calls
        # More clients than descriptors below the limit: the last ones wait in the kernel and take every free number.
        highest = max(descriptors(router.process)) + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest, before[1]))
        free = highest - len(descriptors(router.process))
        waiting = [http.client.HTTPConnection(*router.address, timeout=10) for _ in range(free + 8)]
        for connection in waiting:
            connection.connect()
        wait_until(lambda: len(descriptors(router.process)) >= highest, 20, lambda: descriptors(router.process))
        for client in clients:
            client.sendall(REQUEST + REQUEST[:20])  # A next request has begun: still not idle.
            answer = read_answer(client)
            if answer is None or answer.status == 200:
                return False
            assert answer.status == 503 and answer.headers["retry-after"] == "1", (answer.headers, answer.body)
            assert answer.headers["x-penstock-reason"] == "local_resources"
            assert answer.json()["error"]["type"] == "server_error"
        assert engine.calls == calls
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert ask(waiting[-1])[0] == 200, "connections are accepted again"
        clients[0].sendall(REQUEST[20:])
        answer = read_answer(clients[0])
        if answer is None:
            return False
        assert answer.status == 200
        router.wait_for_count("penstock_turned_away_total", 3, limit="local_resources")
        metrics = router.wait_for_nothing()
        assert metrics.sum("penstock_engine_errors_total") == 0
        assert metrics.sum("penstock_replica_up") == 1
        for connection in [scraper, *clients, *waiting]:
            connection.close()
        return True


def test_a_shortage_is_the_routers_and_not_the_engines(folder, engine):
    def meets():
        try:
            return meets_a_shortage(folder, engine)
        except ConnectionError:  # Closed while it was written to.
            return False

    assert any(meets() for _ in range(5))
