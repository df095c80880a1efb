"""Names whose look-up hangs: no other name waits for one, and nothing that ends does."""
import os
import random
import socket
import subprocess
import time

import processes
import pytest
from processes import BINARY, MODEL, Engine, Router, free_port, wait_until
from raw_http import chat, request_bytes, send

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs a mount of its own and port 53")


@pytest.fixture(scope="module")
def silent(folder):
    """A program that runs a command with a name server that never answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        for _ in range(20):
            address = f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(1, 255)}"
            try:
                server.bind((address, 53))
                break
            except OSError:
                continue
        else:
            pytest.skip("this machine gives no port 53")
        names, program = folder / "resolv.conf", folder / "silent.sh"
        names.write_text(f"nameserver {address}\noptions timeout:20 attempts:2\n")
        program.write_text(
            f"#!/bin/sh\nexec unshare --mount sh -c 'mount --bind {names} /etc/resolv.conf && exec \"$@\"' _ \"$@\"\n")
        program.chmod(0o755)
        if subprocess.run([program, "true"], capture_output=True).returncode != 0:
            pytest.skip("this machine allows no mount of its own")
        yield program


@pytest.fixture
def binary(silent, folder, monkeypatch):
    """Processes of the test have that name server."""
    program = folder / "penstock.sh"
    program.write_text(f'#!/bin/sh\nexec {silent} {BINARY} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(processes, "BINARY", str(program))
    return program


def named(count, host="slow{}.example.test"):
    return [f"  - {{id: s{i}, url: 'http://{host.format(i)}:80', model: other{i}}}\n" for i in range(count)]


def good(engine, host):
    return f"  - {{id: good, url: 'http://{host}:{engine.port}', model: {MODEL}}}\n"


def ask(router):
    return send(router.address, request_bytes(body=chat(model=MODEL, max_tokens=1))).status


@pytest.fixture
def host_names(folder, binary, monkeypatch):
    """Call it with the text of a file of host names, which the router then has."""

    def set_text(text):
        hosts = folder / "hosts"
        hosts.write_text(text)
        program = folder / "hosts.sh"
        program.write_text(
            f"#!/bin/sh\nexec unshare --mount sh -c 'mount --bind {hosts} /etc/hosts && exec \"$@\"' _ {binary} \"$@\"\n")
        program.chmod(0o755)
        monkeypatch.setattr(processes, "BINARY", str(program))

    return set_text


def test_a_name_with_several_addresses_serves_and_is_warned_about(folder, engine, host_names):
    host_names("127.0.0.1 engine.example.test\n127.0.0.2 engine.example.test\n")
    with Router(folder, config="replicas:\n" + good(engine, "engine.example.test")) as router:
        assert ask(router) == 200
        router.wait_for_log("engine.example.test has several addresses (127.0.0.1, 127.0.0.2), which count as one engine")


@pytest.mark.parametrize("host", ["localhost", "engine.example.test"])
def test_a_name_that_hangs_keeps_no_other_engine_down(folder, engine, host, host_names):
    if host != "localhost":
        host_names("127.0.0.1 localhost engine.example.test\n")
    config = "replicas:\n" + "".join(named(12)) + good(engine, host)
    with Router(folder, config=config, ready=False) as router:
        wait_until(lambda: ask(router) == 200, 10, lambda: router.log()[-4000:])
        started = time.monotonic()
        assert router.stop() == 0
        assert time.monotonic() - started < 7


def test_a_router_ends_at_once_while_a_name_hangs(folder, engine, binary):
    config = "replicas:\n" + "".join(named(2)) + good(engine, "127.0.0.1") + "limits: {drain_timeout: 1s}\n"
    with Router(folder, config=config) as router:
        router.wait_for_log("resolving slow0.example.test: no answer in time")
        assert ask(router) == 200
        started = time.monotonic()
        assert router.stop() == 0
        assert time.monotonic() - started < 5
        assert "does not wait any longer" not in router.log()


def test_events_from_a_name_that_hangs_hold_up_nothing(folder, engine, binary):
    events = f", model: {MODEL}, kv_events: {{endpoint: 'tcp://slow.example.test:5557'}}}}\n"
    with Router(folder, config=f"replicas:\n  - {{id: a, url: '{engine.url}'{events}") as router:
        assert ask(router) == 200
        started = time.monotonic()
        assert router.stop() == 0
        assert time.monotonic() - started < 5


def test_check_looks_all_names_up_together_and_names_those_without_an_answer(folder, binary):
    config = folder / "check.yml"
    config.write_text("replicas:\n" + "".join(named(8)))
    started = time.monotonic()
    ended = subprocess.run([binary, "check", "--config", config], capture_output=True, text=True, timeout=60)
    assert time.monotonic() - started < 15
    assert ended.returncode == 0, ended.stderr
    for i in range(8):
        assert f"warning: replicas: s{i}: slow{i}.example.test: no name server answered in time" in ended.stderr


def test_a_listen_address_whose_name_hangs_ends_the_start(folder, binary):
    started = time.monotonic()
    ended = subprocess.run([binary, "serve", "--listen", f"slow.example.test:{free_port()}", "--replica", "http://127.0.0.1:1"],
                           capture_output=True, text=True, timeout=60)
    assert time.monotonic() - started < 15
    assert ended.returncode == 1
    assert "listen: slow.example.test: no name server answered in time" in ended.stderr
