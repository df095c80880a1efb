"""Clients over a unix socket: served, logged and counted like others, and the file comes and goes with the router."""
import http.client
import json
import os
import signal
import socket
import stat
import subprocess

import pytest
from processes import BINARY, Process, get_over, replicas, wait_until
from raw_http import chat, events, read_answer, request_bytes


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=10):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class UnixRouter(Process):
    """`penstock serve` on a unix socket."""

    def __init__(self, folder, name, config, ready="/readyz"):
        self.path = folder / f"{name}.sock"
        self.config_path = folder / f"{name}.yml"
        self.config_path.write_text(f"listen: unix:{self.path}\n{config}")
        super().__init__(["serve", "--config", str(self.config_path)], 0, folder / f"{name}.log")
        try:
            self.wait_for(ready)
        except BaseException:
            self.kill()
            raise

    def get(self, path, timeout=10):
        return get_over(UnixConnection(self.path, timeout), path)

    def connect(self):
        made = UnixConnection(self.path)
        made.connect()
        return made.sock


def test_a_client_is_served_over_the_socket_and_the_file_goes_with_the_router(folder, engine):
    config = replicas([engine]) + "log: {all_decisions: true}\n"
    with UnixRouter(folder, "served", config) as router:
        router.wait_for_log(f"penstock listening on unix:{router.path}")
        mode = os.lstat(router.path).st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660
        with router.connect() as connection:
            for _ in range(2):  # One connection takes several requests.
                connection.sendall(request_bytes(body=chat(max_tokens=4, stream=True)))
                answer = read_answer(connection)
                assert answer.status == 200 and events(answer.body)[-1] == "[DONE]"
        router.wait_for_count("penstock_requests_total", 2, outcome="ok")
        assert router.metrics().sum("penstock_connections_total") >= 2
    lines = [json.loads(line) for line in router.log().splitlines() if line.startswith("{")]
    assert [line for line in lines if line["event"] == "end"]
    assert not [line for line in lines if "client" in line], "a unix socket has no address"
    assert not router.path.exists()


def test_one_process_may_have_every_connection_of_the_socket(folder, engine):
    config = replicas([engine]) + "limits: {max_connections: 256}\n"
    with UnixRouter(folder, "many", config) as router:
        clients = []
        for _ in range(220):  # One address would have 192.
            client = router.connect()
            client.sendall(request_bytes("/version", method="GET", headers={"Content-Length": None, "Content-Type": None}))
            assert read_answer(client).status == 200
            clients.append(client)
        for client in clients:
            client.close()


def test_a_dead_routers_file_is_replaced_and_a_live_ones_is_not(folder, engine):
    router = UnixRouter(folder, "stale", replicas([engine]))
    router.signal(signal.SIGKILL)
    router.kill()
    assert router.path.exists()
    with UnixRouter(folder, "stale", replicas([engine])) as second:
        third = subprocess.run([BINARY, "serve", "--config", str(second.config_path)], capture_output=True, text=True, timeout=20)
        assert third.returncode == 1
        assert f"cannot listen on unix:{second.path}: another process listens there" in third.stderr
        assert second.get("/healthz")[0] == 200
    (folder / "stale.sock").write_text("kept")
    fourth = subprocess.run([BINARY, "serve", "--config", str(second.config_path)], capture_output=True, text=True, timeout=20)
    assert fourth.returncode == 1 and "the file is no socket" in fourth.stderr
    assert (folder / "stale.sock").read_text() == "kept"


def test_a_router_that_drains_takes_its_file_away_first(folder, engine):
    with UnixRouter(folder, "drain", replicas([engine])) as router:
        with router.connect() as connection:
            connection.sendall(request_bytes(body=chat(max_tokens=300, stream=True)))
            received = connection.recv(65536)
            router.signal(signal.SIGTERM)
            wait_until(lambda: not router.path.exists(), 5, "the file is removed")
            while b"0\r\n\r\n" not in received[-7:]:
                more = connection.recv(65536)
                assert more, "the stream ends in order"
                received += more
        assert router.process.wait(20) == 0


@pytest.mark.parametrize("listen, finding", [
    ("unix:p.sock", "needs an absolute path"),
    ("unix:/" + "a" * 107, "more than 107 bytes"),
])
def test_check_names_a_bad_path(folder, listen, finding):
    path = folder / "bad.yml"
    path.write_text(f"listen: {listen}\nreplicas: [{{url: 'http://127.0.0.1:9'}}]\n")
    ended = subprocess.run([BINARY, "check", "--config", str(path)], capture_output=True, text=True, timeout=20)
    assert ended.returncode == 1 and finding in ended.stderr


def test_a_refusal_that_waits_for_its_client_outlives_the_start_of_a_drain(folder, engine):
    """Some clients leave just so much unread that only their last answer, a refusal, waits when the router drains."""
    good = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    bad = b"GET /healthz HTTP/1.1\r\nHost: x\r\nbad header line\r\n\r\n"
    config = replicas([engine]) + "threads: 1\nlog: {access: true}\nlimits: {max_connections: 512}\n"
    with UnixRouter(folder, "unread", config) as router:
        clients = {}
        for count in range(200, 360):
            clients[count] = router.connect()
            clients[count].sendall(good * count + bad)
        seen = []
        wait_until(lambda: seen.append(router.metrics().sum("penstock_bad_input_total")) or
                   (len(seen) > 20 and len(set(seen[-20:])) == 1), 30, lambda: f"the other clients wait: {seen[-1]}")
        assert 0 < seen[-1] < len(clients), "some refusals were sent, and some clients left too much unread"
        router.signal(signal.SIGTERM)
        for count, client in clients.items():
            answers = b""
            while piece := client.recv(1 << 20):
                answers += piece
            assert answers.startswith(b"HTTP/1.1 200 OK\r\n") and answers.count(b"HTTP/1.1 200 OK\r\n") <= count
            client.close()
        assert router.process.wait(20) == 0, router.log()
