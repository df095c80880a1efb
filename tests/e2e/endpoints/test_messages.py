"""Messages with bad requests and engines with faults: every answer is in Anthropic's form."""
import json

import pytest
from processes import MODEL, Engine, Router, replicas
from raw_http import request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import STREAM_HEAD, ScriptedEngine, chunk, http

PATH = "/v1/messages"
SAID = [{"role": "user", "content": "the river"}]
GOOD = {"model": MODEL, "max_tokens": 4, "messages": SAID}


def post(router, body, path=PATH, **headers):
    return send(router.address, request_bytes(path, body, headers=headers))


def named(answer):
    """The type of an error, which has the form of the dialect."""
    body = answer.json()
    assert set(body) == {"type", "error", "request_id"}
    assert (body["type"], set(body["error"])) == ("error", {"type", "message"})
    assert body["request_id"] == answer.headers["request-id"]
    return body["error"]["type"]


BAD = {
    "malformed": (b'{"model": ', 400, "invalid_request_error"),
    "not utf-8": (b'{"model":"\xff"}', 400, "invalid_request_error"),
    "nested too deep": (b'{"system":' + b"[" * 5000, 400, "invalid_request_error"),
    "no model": ({"max_tokens": 1, "messages": SAID}, 400, "invalid_request_error"),
    "no messages": ({"model": MODEL, "max_tokens": 1}, 400, "invalid_request_error"),
    "empty messages": ({**GOOD, "messages": []}, 400, "invalid_request_error"),
    "messages of a wrong type": ({**GOOD, "messages": "the river"}, 400, "invalid_request_error"),
    "a message without a role": ({**GOOD, "messages": [{"content": "x"}]}, 400, "invalid_request_error"),
    "a content of a wrong type": ({**GOOD, "messages": [{"role": "user", "content": 5}]}, 400, "invalid_request_error"),
    "a block of a wrong type": ({**GOOD, "messages": [{"role": "user", "content": [7]}]}, 400, "invalid_request_error"),
    "a system of a wrong type": ({**GOOD, "system": 5}, 400, "invalid_request_error"),
    "a block of the system of a wrong type": ({**GOOD, "system": [5]}, 400, "invalid_request_error"),
    "the system twice": (json.dumps(GOOD)[:-1].encode() + b',"system":"a","system":"b"}', 400, "invalid_request_error"),
    "the limit twice": (json.dumps(GOOD)[:-1].encode() + b',"max_tokens":9}', 400, "invalid_request_error"),
    "no limit at all": ({**GOOD, "max_tokens": 0}, 400, "invalid_request_error"),
    "an absurd limit": ({**GOOD, "max_tokens": 10**15}, 400, "invalid_request_error"),
    "a stream of a wrong type": ({**GOOD, "stream": "yes"}, 400, "invalid_request_error"),
    "tools of a wrong type": ({**GOOD, "tools": {}}, 400, "invalid_request_error"),
    "an unknown model": ({**GOOD, "model": "claude-17"}, 404, "not_found_error"),
    "a prompt over the context": ({**GOOD, "system": [{"type": "text", "text": "river " * 200000}]}, 400,
                                  "invalid_request_error"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_message_is_refused_in_the_form_of_the_dialect(router, case):
    body, status, kind = BAD[case]
    answer = post(router, body)
    assert (answer.status, named(answer)) == (status, kind)


@pytest.mark.parametrize("levels", [1, 2, 3, 30])
def test_blocks_within_the_results_of_tools_are_read_at_any_level(router, levels):
    content = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}},
               {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": [{"b": 1}]}}]
    for _ in range(levels):
        content = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": content}]
    for body in ({**GOOD, "messages": [{"role": "user", "content": content}]}, {**GOOD, "system": content}):
        assert post(router, body).status == 200


def test_faults_before_the_body_have_the_form_too(router):
    wrong = send(router.address, request_bytes(PATH, method="GET"))
    assert (wrong.status, named(wrong), wrong.headers["allow"]) == (405, "invalid_request_error", "POST")
    text = post(router, GOOD, **{"Content-Type": "text/plain"})
    assert (text.status, named(text)) == (415, "invalid_request_error")
    path = post(router, GOOD, path="/v1/messages/batches")
    assert (path.status, named(path)) == (404, "not_found_error")
    large = post(router, GOOD, **{"Content-Length": str(1 << 40)})
    assert (large.status, named(large)) == (413, "request_too_large")


def test_a_chat_keeps_the_errors_of_openai(router):
    answer = send(router.address, request_bytes("/v1/chat/completions", {"model": MODEL}))
    assert answer.json()["error"]["code"] == "missing_required_parameter"


@pytest.fixture(scope="module")
def scripted(folder):
    with ScriptedEngine() as engine, Router(folder, [engine]) as router:
        yield engine, router


def event(kind, **more):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"


START = event("message_start", message={"id": "msg_1", "role": "assistant", "content": [], "usage": {
    "input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 0}})
BLOCK = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
WORD = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "water"})
THOUGHT = event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"})
END = (event("content_block_stop", index=0)
       + event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3}))
STOP = event("message_stop")


def stream(*events, end=True):
    return STREAM_HEAD + b"".join(chunk(each) for each in events) + (b"0\r\n\r\n" if end else b"")


def ask(scripted, script, **more):
    engine, router = scripted
    engine.script = script
    return post(router, {**GOOD, "model": SCRIPTED, "stream": True, **more})


def test_a_stream_passes_byte_for_byte_and_is_counted(scripted):
    _, router = scripted
    before = router.metrics()
    events = [START, event("ping"), BLOCK, THOUGHT, WORD, WORD, END, STOP]
    answer = ask(scripted, stream(*events))
    assert answer.body.decode() == "".join(events)
    router.wait_for_nothing()
    router.wait_for_count("penstock_prompt_tokens_total", before.sum("penstock_prompt_tokens_total") + 7)
    router.wait_for_count("penstock_output_tokens_total", before.sum("penstock_output_tokens_total") + 3)


def test_a_stream_without_its_last_event_gets_it(scripted):
    answer = ask(scripted, stream(START, BLOCK, WORD, END))
    assert answer.body.decode() == START + BLOCK + WORD + END + 'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def last_event(answer):
    """The error that ends a stream."""
    assert answer.status == 200
    name, data = answer.body.decode().strip().split("\n\n")[-1].split("\n")
    assert name == "event: error"
    assert "[DONE]" not in answer.body.decode()
    return json.loads(data.removeprefix("data: "))["error"]


def test_an_engine_that_dies_in_mid_stream_leaves_an_error_event(scripted):
    error = last_event(ask(scripted, stream(START, BLOCK, WORD, end=False)))
    assert error["type"] == "api_error"
    assert "cannot be continued" in error["message"]


def test_an_error_event_of_the_engine_ends_the_stream_with_its_words(scripted):
    said = event("error", error={"type": "overloaded_error", "message": "too much water"})
    error = last_event(ask(scripted, stream(START, BLOCK, WORD, said)))
    assert error == {"type": "overloaded_error", "message": error["message"]}
    assert "too much water" in error["message"]


def test_the_error_event_of_llama_server_is_an_error_too(scripted):
    said = 'event: error\ndata: {"code":500,"message":"Context size has been exceeded.","type":"server_error"}\n\n'
    answer = ask(scripted, stream(START, BLOCK, WORD, said))
    assert "Context size has been exceeded" in last_event(answer)["message"]
    assert answer.body.decode().count("event: error") == 1


def test_garbage_in_mid_stream_ends_it_with_an_error_event(scripted):
    assert last_event(ask(scripted, stream(START, BLOCK, WORD, "data: {nonsense\n\n")))["type"] == "api_error"


@pytest.mark.parametrize(("status", "body", "expected", "kind"), [
    (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "no water"}}, 400,
     "invalid_request_error"),
    (422, {"detail": [{"msg": "no water"}]}, 422, "invalid_request_error"),
    (500, {"type": "error", "error": {"type": "internal_error", "message": "no water"}}, 500, "api_error"),
    (503, {"error": {"message": "no water"}}, 503, "overloaded_error"),
    (404, {"detail": "Not Found"}, 404, "not_found_error"),
    (200, {"type": "error", "error": {"type": "api_error", "message": "no water"}}, 502, "api_error"),
])
def test_an_error_of_the_engine_comes_in_the_form_of_the_dialect(scripted, status, body, expected, kind):
    answer = ask(scripted, http(status, body), stream=False)
    assert (answer.status, named(answer)) == (expected, kind)
    assert status == 404 or "no water" in answer.json()["error"]["message"]
    assert expected != 503 or int(answer.headers["retry-after"]) >= 1


def test_a_whole_answer_that_is_no_message_is_refused(scripted):
    for garbage in (b"nonsense", b"[1]", b'{"type":"message"'):
        answer = ask(scripted, http(200, garbage), stream=False)
        assert (answer.status, named(answer)) == (502, "api_error")


def test_a_failure_before_the_first_byte_is_tried_at_another_engine(folder):
    with ScriptedEngine() as first, ScriptedEngine() as second:
        first.script = http(500, {"error": {"message": "no water"}})
        second.script = stream(START, BLOCK, WORD, END, STOP)
        with Router(folder, [first, second]) as router:
            router.wait_for_count("penstock_replica_up", 2)  # Else all of them may go to the second.
            for _ in range(4):
                assert ask((second, router), second.script).body.decode().endswith(STOP)
            assert first.calls > 0


def test_version_and_beta_reach_the_engine(folder):
    """The scripted engine resets a connection on bytes of a body only, so this one keeps the heads."""

    class Listening(ScriptedEngine):
        heads = []

        def _answer(self, connection):
            import socket

            data = connection.recv(65536, socket.MSG_PEEK)
            self.heads.append(data.decode("latin-1").lower())
            return super()._answer(connection)

    with Listening() as engine, Router(folder, [engine]) as router:
        headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "context-1m", "x-api-key": "secret"}
        engine.script = http(200, {"type": "message", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}})
        assert post(router, {**GOOD, "model": SCRIPTED}, **headers).status == 200
        head = next(head for head in engine.heads if head.startswith("post /v1/messages"))
        assert "anthropic-version: 2023-06-01" in head
        assert "anthropic-beta: context-1m" in head
        assert "secret" not in head


def test_a_dead_simulated_engine_ends_its_messages_with_an_error_event(folder):
    with Engine(folder) as engine, Router(folder, config=replicas([engine])) as router:
        import httpx

        body = {**GOOD, "max_tokens": 100000, "stream": True}
        headers = {"x-simulated-output-tokens": "100000"}
        with httpx.stream("POST", router.url + PATH, json=body, headers=headers, timeout=30) as answer:
            pieces = answer.iter_text()
            text = next(pieces)
            engine.kill()
            text += "".join(pieces)
        assert text.rstrip().split("\n\n")[-1].startswith("event: error")
        router.wait_for_nothing()
