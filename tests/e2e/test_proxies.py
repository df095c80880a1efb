"""Behind proxies: the client's address comes from X-Forwarded-For or a PROXY header of a trusted proxy, and of nobody else."""
import json
import signal
import socket
import ssl
import struct

import pytest
from processes import ROOT, Router, free_port, get, replicas, wait_until
from raw_http import chat, read_answer, request_bytes, send
from scripted_engine import MODEL

TLS = ROOT / "tests/data/tls"
CLIENT = "203.0.113.7"


def version2(client, more=b""):
    addresses = socket.inet_aton(client) + socket.inet_aton("10.0.0.1") + struct.pack("!HH", 4711, 443)
    return b"\r\n\r\n\0\r\nQUIT\n" + struct.pack("!BBH", 0x21, 0x11, len(addresses + more)) + addresses + more


def clients_in(router):
    lines = [json.loads(line) for line in router.log().splitlines() if line.startswith("{")]
    return [line["client"] for line in lines if line["event"] == "end"]


def wait_for_clients(router, expected):
    """The log has these clients' requests: the router writes a line behind the answer."""
    wait_until(lambda: clients_in(router) == expected, 20, router.log)


def ask(router, **headers):
    answer = send(router.address, request_bytes(body=chat(max_tokens=1), headers=headers))
    assert answer.status == 200, (answer.headers, answer.body)


class Proxied(Router):
    """Its pages are on the admin listener, which has no proxy in front."""

    def write_config(self, config, port=None):
        super().write_config(config, port)
        self.admin = int(config.split("admin_listen: 127.0.0.1:")[1].split()[0])

    def get(self, path, timeout=10):
        return get(("127.0.0.1", self.admin), path, timeout)


def test_forwarded_for_counts_from_a_trusted_proxy_only(folder, engine):
    section = replicas([engine]) + "log: {all_decisions: true}\n"
    header = {"X-Forwarded-For": f"6.6.6.6, {CLIENT}"}
    with Router(folder, config=section) as router:
        ask(router, **header)
        wait_for_clients(router, ["127.0.0.1"])  # Nobody is trusted by default.
    with Router(folder, config=section + "trusted_proxies: [127.0.0.0/8]\n") as router:
        ask(router, **header)
        ask(router)
        router.write_config(section + "trusted_proxies: [10.0.0.0/8]\n")
        router.signal(signal.SIGHUP)
        router.wait_for_log("configuration reloaded")
        ask(router, **header)
        wait_for_clients(router, [CLIENT, "127.0.0.1", "127.0.0.1"])


@pytest.mark.parametrize("header", [
    f"PROXY TCP4 {CLIENT} 10.0.0.1 4711 443\r\n".encode(),
    version2(CLIENT),
    version2(CLIENT, b"\x03\x00\x04abcd"),
], ids=["version1", "version2", "version2-with-fields"])
@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_a_proxy_header_comes_before_tls_and_requests(folder, engine, header, tls):
    config = replicas([engine]) + "log: {all_decisions: true}\ntrusted_proxies: [127.0.0.1]\nproxy_protocol: true\n"
    config += f"admin_listen: 127.0.0.1:{free_port()}\n"
    if tls:
        config += f"tls: {{certificate: {TLS}/server.pem, key: {TLS}/server.key}}\n"
    with Proxied(folder, config=config) as router:
        with socket.create_connection(router.address, timeout=10) as connection:
            connection.sendall(header)
            if tls:
                context = ssl.create_default_context(cafile=TLS / "ca.pem")
                connection = context.wrap_socket(connection, server_hostname="server.test")
            for _ in range(2):
                connection.sendall(request_bytes(body=chat(max_tokens=1)))
                assert read_answer(connection).status == 200
            connection.close()
            wait_for_clients(router, [CLIENT, CLIENT])


def closed_without_a_word(connection):
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:  # The router left bytes unread.
        return True


def test_a_bad_proxy_header_is_closed_named_and_counted(folder, engine):
    config = replicas([engine]) + "trusted_proxies: [127.0.0.1]\nproxy_protocol: true\n"
    config += f"admin_listen: 127.0.0.1:{free_port()}\n"
    with Proxied(folder, config=config) as router:
        for bad in (b"GET / HTTP/1.1\r\n\r\n", b"PROXY TCP4 x y 1 2\r\n", version2(CLIENT)[:13] + b"\xff" + version2(CLIENT)[14:]):
            with socket.create_connection(router.address, timeout=10) as connection:
                connection.sendall(bad)
                assert closed_without_a_word(connection)
        router.wait_for_count("penstock_bad_input_total", 3, kind="proxy_header")

        def lines_of_headers():
            return [json.loads(line) for line in router.log().splitlines() if '"proxy_header"' in line]

        wait_until(lambda: len(lines_of_headers()) == 3, 20, router.log)
        lines = lines_of_headers()
        assert all(line["client"] == "127.0.0.1" for line in lines), lines
        assert "bad PROXY header: there is none" in lines[0]["message"]


def test_two_routers_that_name_each_other_refuse_the_request_that_comes_back(folder):
    first, second = free_port(), free_port()

    def config(other):
        return (f"replicas:\n  - {{id: neighbour, url: 'http://127.0.0.1:{other}', engine: openai, model: {MODEL}, "
                "kv_tokens: 100000, max_context: 4096}\n")

    with Router(folder, config=config(second), port=first, ready=False) as one:
        with Router(folder, config=config(first), port=second, ready=False) as two:
            one.wait_for_count("penstock_replica_up", 1)
            two.wait_for_count("penstock_replica_up", 1)
            answer = send(one.address, request_bytes(body=chat(model=MODEL, max_tokens=5)), timeout=30)
            assert answer.status in (502, 508)
            assert "sends it back" in answer.json()["error"]["message"]
            one.wait_for_count("penstock_turned_away_total", 1, limit="loop")
            two.wait_for_nothing()
            one.wait_for_nothing()
