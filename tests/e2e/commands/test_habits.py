"""The commands as people use them: engines asked by `check --live`, and load with keys, failures and progress."""
import http.server
import json
import os
import pty
import re
import signal
import subprocess
import threading

import pytest
from processes import BINARY, MODEL, ROOT, free_port, wait_until
from scripted_engine import ScriptedEngine
from scripted_engine import http as page


def run(*arguments, **settings):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60, **settings)


def live(tmp_path, replica):
    path = tmp_path / "fleet.yaml"
    path.write_text("replicas: [{id: a, " + replica + "}]\n")
    return run("check", "--live", str(path))


def test_check_live_says_what_each_engine_is(tmp_path, engine):
    ended = live(tmp_path, f"url: {engine.url}, model: {MODEL}")
    assert ended.returncode == 0, ended.stderr
    assert "replicas: a: ok: vllm" in ended.stderr and f"with {MODEL}" in ended.stderr
    assert ended.stderr.endswith("fleet.yaml: ok\n")


def test_check_live_takes_the_engines_own_name_for_its_model(tmp_path, engine):
    ended = live(tmp_path, f"url: {engine.url}, model: house-model")
    assert ended.returncode == 0, ended.stderr
    assert "which clients call house-model" in ended.stderr


def test_check_live_forgives_a_part_of_a_block(tmp_path, engine):
    facts = live(tmp_path, f"url: {engine.url}, model: {MODEL}").stderr
    pool, block = int(re.search(r"(\d+) KV tokens", facts)[1]), 16
    assert live(tmp_path, f"url: {engine.url}, model: {MODEL}, kv_tokens: {pool + block - 1}").returncode == 0
    more = live(tmp_path, f"url: {engine.url}, model: {MODEL}, kv_tokens: {pool + block}")
    assert more.returncode == 1 and f"has {pool} KV tokens, and kv_tokens says {pool + block}" in more.stderr


def test_check_warns_of_a_store_whose_parent_is_not_there(tmp_path):
    path = tmp_path / "fleet.yaml"
    config = "replicas: [{id: a, url: 'http://127.0.0.1:9', model: m, kv_tokens: 100k}]\nstate: {path: "
    path.write_text(config + f"{tmp_path}/not/there}}\n")
    warned = run("check", str(path))
    assert warned.returncode == 0
    assert f"warning: state.path: {tmp_path}/not/there: No such file or directory" in warned.stderr
    path.write_text(config + f"{tmp_path}/there/}}\n")
    assert "state.path" not in run("check", str(path)).stderr


@pytest.mark.parametrize("replica, says", [
    ("model: qwen2.5-7b", "does not serve the model \"qwen2.5-7b\""),
    ("engine: sglang", "is vllm, and `engine` says sglang"),
    ("kv_tokens: 90M", "KV tokens, and kv_tokens says 90000000"),
])
def test_check_live_fails_when_an_engine_disagrees(tmp_path, engine, replica, says):
    ended = live(tmp_path, f"url: {engine.url}, {replica}")
    assert ended.returncode == 1
    assert says in ended.stderr and "fleet.yaml: ok" not in ended.stderr


def test_check_live_prints_no_word_of_an_engine_that_steers_the_terminal(tmp_path):
    with ScriptedEngine() as scripted:
        scripted.pages["/version"] = page(200, {"version": f"1\n{tmp_path}/fleet.yaml: ok\n\x1b]0;title\x07\u202e"})
        ended = live(tmp_path, f"url: {scripted.url}, engine: vllm")
        assert "vllm 1?" in ended.stderr and "title" in ended.stderr, ended.stderr
        assert not set("\x1b\x07\u202e") & set(ended.stderr)
        assert ended.stderr.splitlines().count(f"{tmp_path}/fleet.yaml: ok") == 1


def test_check_live_fails_when_an_engine_is_not_there(tmp_path):
    ended = live(tmp_path, f"url: http://127.0.0.1:{free_port()}")
    assert ended.returncode == 1
    assert "Connection refused" in ended.stderr


def test_a_port_in_use_is_named_with_the_way_out(engine):
    for command in (("serve", "--replica", "http://127.0.0.1:9"), ("demo",)):
        ended = run(*command, "--listen", engine.url.removeprefix("http://"))
        assert ended.returncode == 1
        assert "another process listens there" in ended.stderr


class Recorder(http.server.BaseHTTPRequestHandler):
    """An endpoint that keeps the headers of its requests and refuses them with 500."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        models = [{"id": "served-model"}, {"id": "\x1b[2J\x1b]0;title\x07"}]
        self.answer(200, json.dumps({"data": models}).encode())

    def do_POST(self):
        self.server.seen.append(self.headers)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(self.server.status, self.server.body)


@pytest.fixture
def recorder():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.seen = []
    server.status, server.body = 500, b"{}"
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def load(recorder, *arguments, **settings):
    return run("load", "--url", recorder.url, "--trace", "generate:azure-conv", "--duration", "2s", "--json", *arguments,
               **settings)


def test_load_sends_key_and_headers_and_says_when_requests_failed(recorder):
    ended = load(recorder, "--key", "sk-1", "--header", "x-team: blue", "--header", "x-more:1")
    assert ended.returncode == 1
    offered = json.loads(ended.stdout)["offered"]
    assert f"penstock load: {offered} of {offered} requests failed" in ended.stderr
    assert len(recorder.seen) == offered > 0
    for headers in recorder.seen:
        assert headers.get_all("Authorization") == ["Bearer sk-1"]
        assert (headers["x-team"], headers["x-more"]) == ("blue", "1")


def test_load_fails_when_every_request_is_refused_and_prints_no_word_that_steers_the_terminal(recorder):
    recorder.status = 503
    recorder.body = json.dumps({"error": {"code": "a\nforged: ok\x1b[31m"}}).encode()
    ended = load(recorder)
    assert ended.returncode == 1
    offered = json.loads(ended.stdout)["offered"]
    assert ended.stderr.splitlines()[-1] == f"penstock load: all of {offered} requests were refused (a?forged: ok?[31m {offered})"
    recorder.status = 400
    recorder.body = json.dumps({"error": {"message": "a\nforged: ok\x1b[31m"}}).encode()
    assert "http_400: a?forged: ok?[31m" in load(recorder).stderr.splitlines()[-1]


def test_load_takes_its_key_from_the_environment_too(recorder):
    load(recorder, env={**os.environ, "PENSTOCK_KEY": "sk-2"})
    assert recorder.seen[0].get_all("Authorization") == ["Bearer sk-2"]


def test_load_of_a_model_that_is_not_listed_says_so(recorder):
    said = load(recorder, "--model", "served-modl").stderr
    assert "does not list the model \"served-modl\" (did you mean \"served-model\"?)" in said
    assert "?[2J" in said and "\x1b" not in said, "names of a server steer no terminal"


@pytest.mark.parametrize("header", ["x-team", "x team: a", ": a", "x-team:", "x-a: b\nx-c: d"])
def test_load_refuses_a_header_that_is_none(recorder, header):
    ended = load(recorder, "--header", header)
    assert ended.returncode == 1 and recorder.seen == []
    assert "--header" in ended.stderr or "control" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_load_prints_its_figures_so_far(recorder, number):
    command = [BINARY, "load", "--url", recorder.url, "--trace", "generate:azure-conv", "--duration", "10m", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: len(recorder.seen) >= 3, 30, "three requests arrived")
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    figures = json.loads(out)
    assert process.returncode == 130
    assert 3 <= figures["offered"] <= len(recorder.seen) + 1
    assert f"{figures['offered']} of " in err and "interrupted after" in err


def test_load_without_a_failure_ends_with_0_and_says_nothing_when_piped(router):
    ended = run("load", "--url", router.url, "--trace", "generate:azure-conv", "--duration", "3s", "--json")
    assert ended.returncode == 0 and ended.stderr == "", ended.stderr


def on_terminal(*arguments):
    """The text that a command writes to a terminal as stderr."""
    ours, its = pty.openpty()
    with subprocess.Popen([BINARY, *arguments], stdout=subprocess.DEVNULL, stderr=its) as process:
        os.close(its)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # The other end is closed.
                piece = b""
            if not piece:
                break
            text += piece
        process.wait(timeout=60)
    os.close(ours)
    return text.decode()


def test_a_command_of_more_than_two_seconds_shows_the_rest_on_a_terminal(router):
    text = on_terminal("load", "--url", router.url, "--trace", "generate:azure-conv", "--duration", "4s", "--json")
    assert " s left" in text and "%" in text
    assert text.endswith("\r\x1b[K")


def test_a_short_command_shows_nothing():
    fleet = str(ROOT / "config/examples/colocated-a100.yaml")
    assert on_terminal("simulate", "--config", fleet, "--trace", "generate:azure-conv", "--duration", "2s") == ""


def test_simulate_writes_a_page_of_its_own(tmp_path):
    page = tmp_path / "report.html"
    fleet = str(ROOT / "config/examples/colocated-a100.yaml")
    ended = run("simulate", "--config", fleet, "--trace", "generate:azure-conv", "--rate", "3", "--duration", "30s", "--html",
                str(page))
    assert ended.returncode == 0, ended.stderr
    html = page.read_text()
    assert html.count("<svg") == html.count("</svg>") == 5
    assert "src=" not in html and "href=" not in html and "url(" not in html
    assert "active tokens" in html and "generate:azure-conv, penstock" in html


@pytest.mark.parametrize("other", [["--log", "x"], ["--carried"], ["--plan", "--gpu", "h100"]])
def test_a_page_is_of_a_single_run_without_a_log(tmp_path, other):
    fleet = str(ROOT / "config/examples/colocated-a100.yaml")
    ended = run("simulate", "--config", fleet, "--trace", "generate:azure-conv", "--html", str(tmp_path / "a.html"), *other)
    assert ended.returncode == 2 and "--html" in ended.stderr
    assert not (tmp_path / "a.html").exists()
