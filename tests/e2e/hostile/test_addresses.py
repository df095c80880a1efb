"""Addresses of engines: unix sockets, and names that stand for several engines."""
import os
import socket
import subprocess

import pytest
from processes import BINARY, Router
from raw_http import chat, events, request_bytes, send
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, event


class UnixEngine(ScriptedEngine):
    """Listens on a unix socket."""

    def __init__(self, path):
        self.path = path
        super().__init__()

    def url_of(self):
        return f"unix:{self.path}"

    def listen(self):
        made = socket.socket(socket.AF_UNIX)
        made.bind(str(self.path))
        made.listen(64)
        return made


def test_an_engine_on_a_unix_socket(folder):
    with UnixEngine(folder / "engine.sock") as engine:
        engine.script = STREAM_HEAD + chunk(event("a", "stop")) + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"
        config = f"replicas: [{{id: r, url: '{engine.url}', engine: openai, model: {MODEL}, kv_tokens: 100000}}]\n"
        with Router(folder, config=config) as router:
            for _ in range(5):
                answer = send(router.address, request_bytes(body=chat(model=MODEL, max_tokens=5, stream=True)))
                assert answer.status == 200 and events(answer.body)[-1] == "[DONE]"
            assert router.wait_for_nothing().sum("penstock_engine_errors_total") == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a mount of its own")
def test_check_refuses_a_name_with_several_engines(folder):
    hosts, config = folder / "hosts", folder / "names.yml"
    hosts.write_text("10.1.1.1 fleet.test\n10.1.1.2 fleet.test\n10.1.1.3 one.test\nfd00::3 one.test\n127.0.0.1 localhost\n")
    inside = f"mount --bind {hosts} /etc/hosts && exec {BINARY} check --config {config}"

    def check(name):
        config.write_text(f"replicas: [{{url: 'http://{name}:8000'}}]\n")
        return subprocess.run(["unshare", "--mount", "sh", "-c", inside], capture_output=True, text=True, timeout=30)

    if check("one.test").returncode != 0:
        pytest.skip("this machine allows no mount of its own")
    ended = check("fleet.test")
    assert ended.returncode == 1
    assert "fleet.test has several addresses (10.1.1.1, 10.1.1.2): write a replica for each engine" in ended.stderr
