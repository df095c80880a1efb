"""The memory of replicas that end, drain, hang or fail to wake, beside a neighbour that needs it."""
import signal
import sys
import threading
import time

from many_models import Vllm
from processes import Router, free_port
from raw_http import chat, request_bytes, send

# One model has room at a time.
HEAD = "gpus: [{id: g, kind: a100-80, memory: 30GB}]\npoll: {interval: 100ms}\nlimits: {hang_after: 60s}\n" \
       "classes: {standard: {ttft: 20s, tpot: 1s, queue: 60s, default: true}}\nreplicas:\n"


def row(server, more="", timeout="5s"):
    return (f"  - {{id: {server.models[0]}, url: '{server.url}', gpus: [g], model: {server.models[0]}, resident: 20GB, "
            f"kv_tokens: 10000, sleep: {{after: 60s, wake: 200ms, timeout: {timeout}, level: 1}}{more}}}\n")


def answer_of(router, model):
    return send(router.address, request_bytes(body=chat(model=model, max_tokens=4)), timeout=60)


def expect_served(router, model):
    answer = answer_of(router, model)
    assert answer.status == 200, answer.body


def expect_honest_refusal(router, model):
    answer = answer_of(router, model)
    assert answer.status == 503, answer.body
    assert int(answer.headers["retry-after"]) >= 1
    assert b"could not be woken" in answer.body


class Pair:
    """Two engines on one GPU, of which the second sleeps, and a router."""

    def __init__(self, folder, first=None, **more):
        self.first, self.second = first or Vllm("first"), Vllm("second")
        self.second.verb("/sleep?level=1", {})
        self.router = Router(folder, config=HEAD + row(self.first, **more) + row(self.second, **more))

    def __enter__(self):
        self.router.__enter__()
        self.router.wait_for_count("penstock_replica_up", 2)
        self.router.wait_for_count("penstock_replica_asleep", 1, replica="second")
        return self

    def __exit__(self, *arguments):
        self.router.__exit__(*arguments)
        self.first.__exit__()
        self.second.__exit__()


def test_an_engine_that_ends_gives_its_memory_to_its_neighbour(folder):
    with Pair(folder) as pair:
        expect_served(pair.router, "first")
        pair.first.end()
        pair.router.wait_for_log("engine has ended: its memory counts as free")
        expect_served(pair.router, "second")
        assert answer_of(pair.router, "first").status == 503
        assert pair.router.metrics().sum("penstock_wakes_total", replica="first") == 0, "there is nothing to wake"


def test_an_engine_that_is_deaf_keeps_its_memory_and_its_neighbour_is_refused(folder):
    with Pair(folder) as pair:
        pair.first.hearing.clear()
        pair.router.wait_for_count("penstock_replica_up", 0, replica="first")
        expect_honest_refusal(pair.router, "second")
        assert pair.router.metrics().sum("penstock_replica_asleep", replica="first") == 0
        pair.first.hearing.set()
        pair.router.wait_for_count("penstock_replica_up", 1, replica="first")
        expect_served(pair.router, "second")
        assert pair.first.paths() == ["/sleep?level=1"]


def test_an_idle_replica_that_drains_gives_its_memory_to_its_neighbour(folder):
    with Pair(folder) as pair:
        pair.router.write_config(HEAD + row(pair.first, ", drain: true") + row(pair.second))
        pair.router.signal(signal.SIGHUP)
        pair.router.wait_for_log("replica drains")
        expect_served(pair.router, "second")
        assert pair.first.paths() == ["/sleep?level=1"]
        assert answer_of(pair.router, "first").status == 503


class Slow(Vllm):
    """Its wake takes the memory, and ends once it may. It carries out one verb after the other."""

    def __init__(self, model):
        super().__init__(model)
        self.turn, self.ends = threading.Lock(), threading.Event()

    def verb(self, path, body):
        with self.turn:
            if path == "/wake_up":
                self.ends.wait(60)
            return super().verb(path, body)


def test_a_wake_that_does_not_end_keeps_its_memory_from_its_neighbour_until_it_is_put_back(folder):
    first = Slow("first")
    first.verb("/sleep?level=1", {})
    with Pair(folder, first, timeout="1s") as pair:
        expect_honest_refusal(pair.router, "first")
        pair.router.wait_for_log("replica did not wake", "it may hold its memory")
        expect_honest_refusal(pair.router, "second")
        assert pair.second.paths() == [], "it is not woken beside the other one"
        first.ends.set()
        pair.router.wait_for_log("replica fell asleep")
        expect_served(pair.router, "second")
        assert first.level == 1


DIES = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"object": "list", "data": [{"id": "m", "object": "model"}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        os._exit(9)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_an_engine_that_dies_of_its_first_request_is_not_started_again_and_again(folder):
    script, starts, port = folder / "dies.py", folder / "starts", free_port()
    script.write_text(DIES)
    start = f"echo x >> {starts}; exec {sys.executable} {script} {port}"
    sleep = f"{{after: 60s, wake: 10s, timeout: 20s, by: command, start: '{start}', stop: 'true'}}"
    config = f"replicas: [{{id: a, url: 'http://127.0.0.1:{port}', engine: openai, model: m, kv_tokens: 10000, sleep: {sleep}}}]\n"
    with Router(folder, config=config) as router:
        router.wait_for_count("penstock_replica_asleep", 1)
        begun = time.monotonic()
        for _ in range(3):
            assert answer_of(router, "m").status in (502, 503)
        made = len(starts.read_text().split())
        # The first pause is 2 s.
        assert time.monotonic() - begun >= 2 * (2 ** (made - 1) - 1), f"{made} starts, and no pauses that double"
