"""Prefill engines that fail, lie or hang, decode engines that die, and clients that leave."""
import json
import socket

import pytest

from fleet_file import MODEL, FleetEngines
from processes import Router, wait_until
from raw_http import request_bytes, send
from scripted_engine import ScriptedEngine, http
from test_pairs import LONG, ask, ends, receipt, texts

DECODE = (
    f"  - {{id: decode, url: 'http://127.0.0.1:{{port0}}', gpus: [g1], model: {MODEL}, role: decode, "
    "max_batched_tokens: 512, simulated: {max_batched_tokens: 512}}\n"
)
# A prefill replica that nobody reaches: the engines' file needs a pair.
ABSENT = f"  - {{id: prefill, url: 'http://127.0.0.1:1', gpus: [g0], model: {MODEL}, role: prefill, engine: vllm}}\n"
GOOD = {
    "do_remote_prefill": True,
    "do_remote_decode": False,
    "remote_block_ids": [[1, 2, 3]],
    "remote_engine_id": "e",
    "remote_request_id": "r",
    "remote_host": "127.0.0.1",
    "remote_port": 1,
}


def answer_body():
    return {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 1500, "completion_tokens": 1, "total_tokens": 1501},
    }


def answer(params="absent", status=200, more=None):
    body = answer_body()
    if params != "absent":
        body["kv_transfer_params"] = params
    return http(status, {**body, **(more or {})})


def error(status, message="no"):
    return http(status, {"error": {"message": message, "type": "X", "code": status}})


class PrefillEngine(ScriptedEngine):
    def __init__(self):
        super().__init__()
        models = {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "vllm", "max_model_len": 100000}]}
        self.pages = {"/v1/models": http(200, models)}

    def body(self):
        return json.loads(self.last.partition(b"\r\n\r\n")[2])


class Pair:
    """A scripted prefill engine, a simulated decode engine, and the router in front of them."""

    def __init__(self, folder, decode=DECODE, more=""):
        self.engine = PrefillEngine()
        self.engines = FleetEngines(folder, "replicas:\n" + ABSENT + decode)
        config = self.engines.replicas.replace("http://127.0.0.1:1'", self.engine.url + "'")
        config = config.replace("engine: vllm", "engine: vllm, kv_tokens: 200000")
        self.router = Router(folder, config=config + more)

    def __enter__(self):
        self.router.wait_for_count("penstock_replica_up", len(self.engines.ports) + 1)
        return self

    def __exit__(self, *exception):
        self.router.__exit__(*exception)
        self.engines.__exit__(*exception)
        self.engine.close()


def test_a_prefill_engine_gets_the_prompt_and_one_token(folder):
    with Pair(folder) as pair:
        pair.engine.script = answer()
        fields = {"max_tokens": None, "max_completion_tokens": 7, "min_tokens": 3, "kv_transfer_params": {"remote_host": "evil"}}
        got = ask(pair.router, stream=True, stream_options={"include_usage": True}, user="u", **fields)
        assert got.status == 200
        body = pair.engine.body()
        assert body["max_tokens"] == 1 and body["max_completion_tokens"] == 1 and body["min_tokens"] == 0
        assert body["stream"] is False and body["stream_options"] is None and body["user"] == "u"
        assert body["kv_transfer_params"] == {
            "do_remote_decode": True,
            "do_remote_prefill": False,
            "remote_engine_id": None,
            "remote_block_ids": None,
            "remote_host": None,
            "remote_port": None,
        }
        assert "x-request-id: " in pair.engine.heads[-1].lower()
        assert pair.engine.last.count(b'"max_tokens"') == 1
        ends(pair.router, nothing=1)


# The script of the prefill engine, and the end of the stage. The client gets its answer in any case.
SCRIPTS = {
    "no params": (answer(), "nothing"),
    "null": (answer(None), "nothing"),
    "a list": (answer([1]), "false"),
    "a string": (answer("x"), "false"),
    "a number": (answer(7), "false"),
    "an empty object": (answer({}), "false"),
    "no remote prefill": (answer({**GOOD, "do_remote_prefill": False}), "false"),
    "a word for true": (answer({**GOOD, "do_remote_prefill": "true"}), "false"),
    "keep it for others": (answer({**GOOD, "do_remote_decode": True}), "false"),
    "a huge answer": (answer({**GOOD, "remote_block_ids": [list(range(300_000))]}), "false"),
    "a stream": (http(200, b"data: {}\n\n", kind="text/event-stream"), "false"),
    "a bad request": (error(400), "rejected"),
    "no such model": (error(404, "The model does not exist."), "rejected"),
    "an error of status 200": (http(200, {"error": {"message": "bad", "code": 400}}), "rejected"),
    "a server error": (error(500), "failed"),
    "full": (error(503), "failed"),
    "no JSON": (http(200, b"hello"), "failed"),
    "half a JSON": (http(200, b'{"kv_transfer_params": {'), "failed"),
    "no HTTP": (b"hello\r\n\r\n", "failed"),
    "nothing": (b"", "failed"),
    "half a body": (answer(GOOD)[:-20], "failed"),
    "a redirect": (http(302, b""), "failed"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_whatever_a_prefill_engine_answers_the_client_is_served(folder, name):
    script, end = SCRIPTS[name]
    with Pair(folder) as pair:
        pair.engine.script = script
        got = ask(pair.router)
        assert got.status == 200, got.body
        assert got.json()["usage"]["completion_tokens"] == 5
        assert receipt(got)["replica"] == "decode"
        assert not receipt(got).get("prefill", {}).get("handed_over", False)
        ends(pair.router, **{end: 1})
        errors = pair.router.metrics().sum("penstock_engine_errors_total", replica="prefill")
        assert errors == (1 if end == "failed" else 0)
        if end != "failed":
            pair.router.wait_for_log("prefill replica hands no cache over")
        pair.router.wait_for_nothing()


def test_an_offer_of_a_cache_that_is_not_there_fails_nobody(folder):
    with Pair(folder) as pair:
        pair.engine.script = answer(GOOD)
        got = ask(pair.router)
        assert got.status == 200 and receipt(got)["attempts"] == 2
        ends(pair.router, handed_over=1, skipped=1)
        stream = ask(pair.router, stream=True)
        assert stream.status == 200 and len(texts(stream)) > 0
        pair.router.wait_for_nothing()


def test_an_offer_that_the_decode_engine_cannot_read_fails_nobody(folder):
    with Pair(folder) as pair:
        # The number is JSON, and no parser of the engine holds it.
        words = json.dumps(GOOD).encode().replace(b'"remote_port": 1', b'"remote_port": 1e999999')
        body = json.dumps({**answer_body(), "kv_transfer_params": "WORDS"}).encode().replace(b'"WORDS"', words)
        pair.engine.script = http(200, body)
        got = ask(pair.router)
        assert got.status == 200 and receipt(got)["attempts"] == 2
        ends(pair.router, handed_over=1, skipped=1)
        assert ask(pair.router, temperature="warm").status == 400, "the client's own faults stay its own"
        pair.router.wait_for_nothing()


def test_an_engine_that_dies_before_its_answer_is_tried_once(folder):
    with Pair(folder) as pair:
        pair.engine.reset = True
        got = ask(pair.router)
        assert got.status == 200 and receipt(got)["attempts"] == 2
        assert pair.engine.calls == 1
        ends(pair.router, failed=1)


def test_a_hanging_prefill_engine_is_given_up(folder):
    with Pair(folder, more="limits: {first_byte_timeout: 1s}\n") as pair:
        pair.engine.hang = True
        got = ask(pair.router)
        assert got.status == 200 and receipt(got)["attempts"] == 2
        ends(pair.router, failed=1)
        pair.engine.let_go()


def test_a_client_that_leaves_during_the_prefill_frees_both_engines(folder):
    with Pair(folder) as pair:
        pair.engine.hang = True
        body = {"model": MODEL, "messages": [{"role": "user", "content": LONG}], "stream": True}
        with socket.create_connection(pair.router.address) as client:
            client.sendall(request_bytes(body=body))
            wait_until(lambda: pair.engine.calls == 1, 20, "the prompt is not at the prefill engine")
            assert pair.router.in_flight() > 0
        ends(pair.router, left=1)
        pair.router.wait_for_nothing()
        pair.engine.let_go()
        assert pair.router.metrics().sum("penstock_engine_errors_total") == 0


def test_a_decode_engine_that_dies_after_the_handover_is_replaced(folder):
    roles = (
        "replicas:\n"
        f"  - {{id: prefill, url: 'http://127.0.0.1:{{port0}}', gpus: [g0], model: {MODEL}, role: prefill, simulated: {{}}}}\n"
        f"  - {{id: decode, url: 'http://127.0.0.1:{{port1}}', gpus: [g1], model: {MODEL}, role: decode, "
        "max_batched_tokens: 512, simulated: {max_batched_tokens: 512}}\n"
    )
    with FleetEngines(folder, roles) as engines, PrefillEngine() as dying:
        dying.reset = True
        line = f"  - {{id: dying, url: '{dying.url}', model: {MODEL}, role: decode, engine: vllm, max_batched_tokens: 512, kv_tokens: 4000000}}\n"
        with Router(folder, config=engines.replicas + line) as router:
            router.wait_for_count("penstock_replica_up", 3)
            for number in range(8):
                got = ask(router, prompt=f"word{number} " * 1500)
                assert got.status == 200, got.body
                if receipt(got)["attempts"] == 2:
                    break
            assert dying.calls >= 1
            body = json.loads(dying.last.partition(b"\r\n\r\n")[2])
            assert body["kv_transfer_params"]["do_remote_prefill"] is True and body["max_tokens"] == 5
            router.wait_for_nothing()


def test_a_client_cannot_name_a_cache(folder):
    with Pair(folder) as pair, PrefillEngine() as decode:
        pair.engine.script = answer(GOOD)
        decode.script = answer()
        line = f"replicas:\n  - {{id: prefill, url: '{pair.engine.url}', model: {MODEL}, role: prefill, engine: vllm, kv_tokens: 200000}}\n"
        line += f"  - {{id: decode, url: '{decode.url}', model: {MODEL}, role: decode, engine: vllm, kv_tokens: 200000, max_batched_tokens: 512}}\n"
        with Router(folder, config=line) as router:
            router.wait_for_count("penstock_replica_up", 2)
            evil = {"do_remote_prefill": True, "remote_host": "10.0.0.1", "remote_port": 1}
            assert ask(router, prompt="short", kv_transfer_params=evil).status == 200
            assert json.loads(decode.last.partition(b"\r\n\r\n")[2])["kv_transfer_params"] is None
            assert ask(router, kv_transfer_params=evil).status == 200
            assert json.loads(decode.last.partition(b"\r\n\r\n")[2])["kv_transfer_params"] == GOOD
            twice = b'{"model":"' + MODEL.encode() + b'","messages":[],"kv_transfer_params":{},"kv_transfer_params":null}'
            assert send(router.address, request_bytes(body=twice)).status == 400
