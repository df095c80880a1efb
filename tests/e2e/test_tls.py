"""TLS both ways, with the real binary on both ends: client -> router -> router -> engine."""
import contextlib
import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest
from processes import BINARY, ROOT, Process, Router, free_port, replicas, wait_until
from raw_http import chat, events, request_bytes, send

TLS = ROOT / "tests/data/tls"


class TlsRouter(Process):
    """A router whose listener speaks TLS; its status pages are on a plain admin listener."""

    def __init__(self, folder, rest, tls=None):
        self.tls_port, admin = free_port(), free_port()
        self.config_path = folder / f"tls-{self.tls_port}.yml"
        self.tls = tls or f"{{certificate: {TLS}/server.pem, key: {TLS}/server.key}}"
        self.head = f"listen: 127.0.0.1:{self.tls_port}\nadmin_listen: 127.0.0.1:{admin}\n"
        self.write(self.tls, rest)
        super().__init__(["serve", "--config", str(self.config_path)], admin, folder / f"tls-{self.tls_port}.log")
        self.wait_for("/readyz")

    def write(self, tls, rest):
        self.config_path.write_text(f"{self.head}tls: {tls}\n{rest}")


def trusting(ca="ca.pem", client=False):
    context = ssl.create_default_context(cafile=TLS / ca)
    context.set_alpn_protocols(["http/1.1"])
    if client:
        context.load_cert_chain(TLS / "client.pem", TLS / "client.key")
    return context


def ask(port, context, body, path="/v1/chat/completions"):
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=20)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def secured(folder, engine):
    with TlsRouter(folder, replicas([engine])) as router:
        yield router


def test_streams_and_large_bodies_pass(secured):
    status, body = ask(secured.tls_port, trusting(), chat(max_tokens=200, stream=True))
    assert status == 200 and events(body)[-1] == "[DONE]"
    status, body = ask(secured.tls_port, trusting(), chat("word " * 30_000, max_tokens=2))
    assert status == 200 and json.loads(body)["usage"]["prompt_tokens"] > 20_000


def test_a_connection_is_kept_and_speaks_http_1_1_over_tls_1_2_or_newer(secured):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = trusting()
        context.minimum_version = context.maximum_version = version
        connection = http.client.HTTPSConnection("127.0.0.1", secured.tls_port, context=context, timeout=10)
        for _ in range(3):
            connection.request("GET", "/v1/models")
            assert connection.getresponse().read()
        assert connection.sock.selected_alpn_protocol() == "http/1.1"
        connection.close()


def test_old_versions_wrong_authorities_and_plain_http_are_turned_away(secured):
    old = trusting()
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    for context in (old, trusting("other-ca.pem")):
        with pytest.raises(ssl.SSLError):
            ask(secured.tls_port, context, chat(max_tokens=1))
    plain = http.client.HTTPConnection("127.0.0.1", secured.tls_port, timeout=10)
    with pytest.raises((http.client.HTTPException, OSError)):
        plain.request("GET", "/healthz")
        plain.getresponse()
    wait_until(lambda: secured.metrics().sum("penstock_bad_input_total", kind="malformed_http") >= 1, 20, "it is counted")


def test_clients_need_a_certificate_where_an_authority_is_given(folder, engine):
    tls = f"{{certificate: {TLS}/server.pem, key: {TLS}/server.key, client_ca: {TLS}/ca.pem}}"
    with TlsRouter(folder, replicas([engine]), tls) as router:
        assert ask(router.tls_port, trusting(client=True), chat(max_tokens=1))[0] == 200
        with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
            ask(router.tls_port, trusting(), chat(max_tokens=1))


def test_the_admin_listener_speaks_tls_where_it_is_given(folder, engine):
    port, admin, path = free_port(), free_port(), folder / "admin-tls.yml"
    path.write_text(
        f"listen: 127.0.0.1:{port}\nadmin_listen: 127.0.0.1:{admin}\n"
        f"admin_tls: {{certificate: {TLS}/server.pem, key: {TLS}/server.key}}\n{replicas([engine])}"
    )

    def status(connection):
        connection.request("GET", "/metrics")
        try:
            return connection.getresponse().status
        finally:
            connection.close()

    with Process(["serve", "--config", str(path)], port, folder / "admin-tls.log") as router:
        router.wait_for("/v1/models")
        assert status(http.client.HTTPSConnection("127.0.0.1", admin, context=trusting(), timeout=10)) == 200
        with pytest.raises((http.client.HTTPException, OSError)):
            status(http.client.HTTPConnection("127.0.0.1", admin, timeout=10))
        assert router.get("/metrics")[0] == 404
        shown = [BINARY, "top", f"https://127.0.0.1:{admin}", "--lines", "1"]
        for authority, words in (("ca.pem", "tok/s"), ("other-ca.pem", "certificate")):
            ended = subprocess.run([*shown, "--ca", str(TLS / authority)], capture_output=True, text=True, timeout=20)
            assert words in ended.stdout + ended.stderr and (ended.returncode == 0) == (authority == "ca.pem")


def test_an_https_engine_is_verified(folder, engine):
    mutual = f"{{certificate: {TLS}/server.pem, key: {TLS}/server.key, client_ca: {TLS}/ca.pem}}"
    shown = f"certificate: {TLS}/client.pem, key: {TLS}/client.key"
    with TlsRouter(folder, replicas([engine]), mutual) as inner:
        url = f"https://127.0.0.1:{inner.tls_port}"
        with Router(folder, config=f"replicas: [{{url: '{url}', tls: {{ca: {TLS}/ca.pem, {shown}}}}}]\n") as outer:
            for _ in range(3):
                answer = send(outer.address, request_bytes(body=chat(max_tokens=30, stream=True)))
                assert answer.status == 200 and events(answer.body)[-1] == "[DONE]"
        refused = {
            f"ca: {TLS}/other-ca.pem, {shown}": "certificate",
            f"ca: {TLS}/ca.pem, {shown}, server_name: other.test": "mismatch",
            shown: "certificate",
        }
        for tls, reason in refused.items():
            with Router(folder, config=f"replicas: [{{url: '{url}', tls: {{{tls}}}}}]\n", ready=False) as outer:
                outer.wait_for_log(reason)
                assert outer.get("/readyz")[0] == 503


def test_a_renewed_certificate_is_taken_without_a_restart_and_a_bad_one_is_not(folder, engine):
    for name in ("server.pem", "server.key"):
        shutil.copy(TLS / name, folder / name)
    tls = f"{{certificate: {folder}/server.pem, key: {folder}/server.key}}"

    def name_on(port):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            with trusting().wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                return dict(part[0] for part in secure.getpeercert()["subject"])["commonName"]

    with TlsRouter(folder, replicas([engine]), tls) as router:
        assert name_on(router.tls_port) == "server.test"
        (folder / "server.key").write_text("nothing")
        router.signal(signal.SIGHUP)
        router.wait_for_log("holds no PEM key")
        assert name_on(router.tls_port) == "server.test"
        shutil.copy(TLS / "client.key", folder / "server.key")
        shutil.copy(TLS / "client.pem", folder / "server.pem")
        wait_until(lambda: name_on(router.tls_port) == "client.test", 20, router.log)


def test_an_expired_certificate_is_warned_of_at_check_start_and_reload_and_has_a_metric(folder, engine):
    for name in ("server.pem", "server.key"):
        shutil.copy(TLS / name, folder / f"own-{name}")
    tls = f"{{certificate: {folder}/own-server.pem, key: {folder}/own-server.key}}"

    def end(router):
        return router.metrics().sum("penstock_tls_certificate_expiry_seconds", listener="clients")

    with TlsRouter(folder, replicas([engine]), tls) as router:
        assert end(router) == ssl.cert_time_to_seconds("Oct 28 13:44:17 2126 GMT")
        assert "certificate in" not in router.log()
        shutil.copy(TLS / "expired.pem", folder / "own-server.pem")
        router.wait_for_log("has expired: it ended on Nov 25 04:25:53 2026 GMT")
        router.wait_for_log("configuration reloaded")
        assert end(router) < time.time()
    with TlsRouter(folder, replicas([engine]), tls) as router:
        router.wait_for_log("has expired: it ended on Nov 25 04:25:53 2026 GMT")
        ended = subprocess.run([BINARY, "check", str(router.config_path)], capture_output=True, text=True, timeout=20)
        assert ended.returncode == 0 and "warning: tls.certificate: the certificate in" in ended.stderr


def test_check_finds_a_key_that_does_not_belong(folder):
    path = folder / "mismatch.yml"
    path.write_text(f"replicas: [{{url: http://h:1}}]\ntls: {{certificate: {TLS}/server.pem, key: {TLS}/client.key}}\n")
    ended = subprocess.run([BINARY, "check", "--config", str(path)], capture_output=True, text=True, timeout=20)
    assert ended.returncode == 1 and "is not the key of" in ended.stdout + ended.stderr


def test_handshakes_that_stall_are_in_the_memory_of_bodies(folder, engine):
    with TlsRouter(folder, replicas([engine]) + "limits: {max_body_memory: 1MiB}\n") as router, contextlib.ExitStack() as held:
        for _ in range(40):
            held.enter_context(socket.create_connection(("127.0.0.1", router.tls_port), timeout=20))
        wait_until(lambda: router.metrics().sum("penstock_turned_away_total", limit="body_memory") >= 10, 20, router.log)
        held.close()
        router.wait_for_count("penstock_fill_ratio", 0, of="body_memory")
        assert ask(router.tls_port, trusting(), chat(max_tokens=2))[0] == 200
