"""HTTP/2 on every kind of listener: behind a PROXY header, on a unix socket, for clients with certificates, and full."""
import contextlib
import socket
import ssl

import pytest
from http2_client import Http2Client
from processes import Router, free_port, replicas, wait_until
from raw_http import chat, read_answer, request_bytes
from test_proxies import CLIENT, Proxied, version2, wait_for_clients
from test_tls import TLS, TlsRouter, trusting
from test_unix_listener import UnixRouter

MUTUAL = f"{{certificate: {TLS}/server.pem, key: {TLS}/server.key, client_ca: {TLS}/ca.pem}}"


def over_http2(context):
    context.set_alpn_protocols(["h2"])
    return context


@pytest.mark.parametrize("header", [f"PROXY TCP4 {CLIENT} 10.0.0.1 4711 443\r\n".encode(), version2(CLIENT)], ids=["v1", "v2"])
@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_a_proxy_header_comes_before_the_preface(folder, engine, header, tls):
    config = replicas([engine]) + "log: {all_decisions: true}\ntrusted_proxies: [127.0.0.1]\nproxy_protocol: true\n"
    config += f"admin_listen: 127.0.0.1:{free_port()}\n"
    if tls:
        config += f"tls: {{certificate: {TLS}/server.pem, key: {TLS}/server.key}}\n"
    with Proxied(folder, config=config) as router:
        with Http2Client(router.address, first=header, tls=over_http2(trusting()) if tls else None) as client:
            streams = [client.send(chat(max_tokens=1)) for _ in range(3)]
            assert [client.answer(stream).status for stream in streams] == [200] * 3
            wait_for_clients(router, [CLIENT] * 3)
        router.wait_for_count("penstock_http2_total", 1, event="connection")


def test_a_preface_in_place_of_a_proxy_header_is_closed_and_counted(folder, engine):
    config = replicas([engine]) + "trusted_proxies: [127.0.0.1]\nproxy_protocol: true\n"
    config += f"admin_listen: 127.0.0.1:{free_port()}\n"
    with Proxied(folder, config=config) as router:
        with Http2Client(router.address) as client:
            client.until_closed()
        router.wait_for_count("penstock_bad_input_total", 1, kind="proxy_header")


def test_a_unix_socket_speaks_it_by_prior_knowledge(folder, engine):
    with UnixRouter(folder, "http2", replicas([engine])) as router:
        with Http2Client(router.path) as client:
            assert client.ask(chat(max_tokens=3)).status == 200
            stream = client.send(chat(max_tokens=50, stream=True))
            assert client.answer(stream).body.rstrip().endswith(b"[DONE]")
        router.wait_for_count("penstock_http2_total", 1, event="connection")


def test_a_client_certificate_is_needed_where_an_authority_is_given(folder, engine):
    with TlsRouter(folder, replicas([engine]), MUTUAL) as router:
        address = ("127.0.0.1", router.tls_port)
        with Http2Client(address, tls=over_http2(trusting(client=True))) as client:
            assert client.ask(chat(max_tokens=1)).status == 200
        with pytest.raises((ssl.SSLError, OSError, AssertionError)):
            with Http2Client(address, tls=over_http2(trusting())) as client:
                client.ask(chat(max_tokens=1))
        assert router.metrics().sum("penstock_http2_total", event="request") == 1


def test_a_spare_connection_ends_behind_its_answer(folder, engine):
    config = replicas([engine]) + "limits: {max_connections: 2}\n"
    with contextlib.ExitStack() as stack, Router(folder, config=config) as full:
        for _ in range(2):
            upload = stack.enter_context(socket.create_connection(full.address, timeout=10))
            upload.sendall(request_bytes(headers={"Content-Length": "9", "Expect": "100-continue"}))
            assert read_answer(upload).status == 100
        clients = []
        for number in range(64):  # As many as are spare.
            client = stack.enter_context(Http2Client(full.address, timeout=5))
            if number % 8 == 7:  # A request that is taken back ends it, too.
                client.reset(client.send(chat(), end=False))
            else:
                path, status = ("/healthz", 200) if number % 2 == 0 else ("/v1/models", 503)
                assert client.ask(path=path, method="GET").status == status
            clients.append(client)
        for client in clients:
            client.until_closed(5)
        wait_until(lambda: full.get("/healthz")[0] == 200, 10, "a place is free")
