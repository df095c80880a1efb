"""Ollama's own API in front of the fleet: its Python package, and bytes that it would not send."""
import json

import ollama
import pytest
from processes import MODEL, Router, replicas
from raw_http import request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import STREAM_HEAD, ScriptedEngine, chunk, event, http

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def client(router):
    return ollama.Client(host=router.url)


@pytest.fixture(scope="module")
def scripted(folder):
    with ScriptedEngine() as engine, Router(folder, [engine]) as router:
        yield engine, router


def ask(router, path, body, headers=None):
    return send(router.address, request_bytes(path, body, headers=headers))


def sent(engine):
    return json.loads(engine.last.partition(b"\r\n\r\n")[2])


def test_a_chat(client):
    answer = client.chat(model=MODEL, messages=HELLO, options={"num_predict": 5})
    assert answer.message.role == "assistant"
    assert answer.message.content
    assert (answer.done, answer.done_reason, answer.eval_count) == (True, "length", 5)
    assert answer.prompt_eval_count > 0
    assert answer.total_duration >= answer.eval_duration


def test_a_chat_as_a_stream(client):
    parts = list(client.chat(model=MODEL, messages=HELLO, stream=True, options={"num_predict": 6}))
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert "".join(part.message.content for part in parts)
    assert parts[-1].eval_count == 6
    assert parts[-1].model == MODEL


def test_a_generation(client):
    whole = client.generate(model=MODEL, prompt="Hello", options={"num_predict": 4})
    parts = list(client.generate(model=MODEL, prompt="Hello", raw=True, stream=True, options={"num_predict": 4}))
    assert whole.response and whole.done
    assert "".join(part.response for part in parts)
    assert parts[-1].eval_count == 4


def test_the_lists(client, router):
    assert [model.model for model in client.list().models] == [MODEL]
    assert [model.model for model in client.ps().models] == [MODEL]
    shown = client.show(MODEL)
    assert shown.modelinfo["penstock.context_length"] > 0
    assert "completion" in shown.capabilities
    assert json.loads(router.get("/api/version")[2])["version"]


def test_the_tag_latest_is_the_name_without_a_tag(client):
    assert client.chat(model=MODEL + ":latest", messages=HELLO, options={"num_predict": 1}).model == MODEL + ":latest"


def test_a_request_without_a_prompt_loads_the_model(client):
    assert client.generate(model=MODEL).done_reason == "load"
    assert client.chat(model=MODEL, messages=[]).done_reason == "load"


def test_an_unknown_model_is_an_error_of_the_package(client):
    for call in [lambda: client.chat(model="stranger", messages=HELLO), lambda: client.show("stranger"),
                 lambda: client.generate(model="stranger")]:
        with pytest.raises(ollama.ResponseError, match="stranger") as caught:
            call()
        assert caught.value.status_code == 404


def test_every_part_of_a_request_is_translated(scripted):
    engine, router = scripted
    engine.script = http(200, {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})
    call = {"function": {"name": "weather", "arguments": {"city": "Bern \"old\""}}}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
    answer = ask(router, "/api/chat", {
        "model": SCRIPTED, "stream": False, "tools": tools, "format": {"type": "object"}, "keep_alive": "5m", "think": False,
        "options": {"temperature": 0.5, "num_predict": 9, "stop": ["x"], "num_ctx": 4096, "seed": 1},
        "messages": [{"role": "user", "content": "see", "images": ["iVBORw0KGgo=", "/9j/4AAQ"]},
                     {"role": "assistant", "content": "", "tool_calls": [call, call]},
                     {"role": "tool", "content": "rain", "tool_name": "weather"}, {"role": "tool", "content": "sun"}]})
    assert answer.status == 200, answer.body
    body = sent(engine)
    assert (body["model"], body["stream"], body["tools"]) == (SCRIPTED, False, tools)
    assert (body["temperature"], body["max_tokens"], body["stop"], body["seed"]) == (0.5, 9, ["x"], 1)
    assert "num_ctx" not in body and "keep_alive" not in body
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    user, assistant, first, second = body["messages"]
    assert user["content"][0] == {"type": "text", "text": "see"}
    assert [part["image_url"]["url"] for part in user["content"][1:]] == [
        "data:image/png;base64,iVBORw0KGgo=", "data:image/jpeg;base64,/9j/4AAQ"]
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == call["function"]["arguments"]
    ids = [one["id"] for one in assistant["tool_calls"]]
    assert [first["tool_call_id"], second["tool_call_id"]] == ids
    assert first["name"] == "weather"


def delta(**fields):
    choice = {"index": 0, "delta": fields, "finish_reason": None}
    return "data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}) + "\n\n"


def test_calls_of_tools_come_whole(scripted):
    engine, router = scripted
    pieces = [{"index": 0, "id": "a", "function": {"name": "weather", "arguments": ""}},
              {"index": 0, "function": {"arguments": '{"city": '}}, {"index": 0, "function": {"arguments": '"Bern"}'}}]
    engine.script = STREAM_HEAD + chunk(delta(reasoning_content="hm")) + b"".join(
        chunk(delta(tool_calls=[piece])) for piece in pieces) + chunk(event("", "tool_calls")) + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"
    parts = list(ollama.Client(host=router.url).chat(model=SCRIPTED, messages=HELLO, stream=True))
    assert parts[0].message.thinking == "hm"
    calls = [call for part in parts for call in part.message.tool_calls or []]
    assert [(call.function.name, call.function.arguments) for call in calls] == [("weather", {"city": "Bern"})]
    assert parts[-1].done


def test_a_stream_that_breaks_off_ends_with_a_line(scripted):
    engine, router = scripted
    engine.script = STREAM_HEAD + chunk(event("half"))
    answer = ask(router, "/api/chat", {"model": SCRIPTED, "messages": HELLO})
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert lines[0]["message"]["content"] == "half"
    assert "error" in lines[-1]


@pytest.mark.parametrize("path, body, status, part", [
    ("/api/chat", b"{", 400, "JSON"),
    ("/api/chat", b"[]", 400, "JSON"),
    ("/api/chat", {"messages": HELLO}, 400, "`model`"),
    ("/api/chat", {"model": 7, "messages": HELLO}, 400, "`model`"),
    ("/api/chat", {"model": MODEL, "messages": {}}, 400, "`messages`"),
    ("/api/chat", {"model": MODEL, "messages": [7]}, 400, "`messages`"),
    ("/api/chat", {"model": MODEL, "messages": [{"content": "x"}]}, 400, "messages[0].role"),
    ("/api/chat", {"model": MODEL, "messages": [{"role": "user", "content": 7}]}, 400, "messages[0].content"),
    ("/api/chat", {"model": MODEL, "messages": [{"role": "user", "content": "x", "images": [7]}]}, 400, "`images`"),
    ("/api/chat", {"model": MODEL, "messages": HELLO, "stream": "yes"}, 400, "`stream`"),
    ("/api/chat", {"model": MODEL, "messages": HELLO, "options": []}, 400, "`options`"),
    ("/api/chat", {"model": MODEL, "messages": HELLO, "options": {"num_predict": "x"}}, 400, "num_predict"),
    ("/api/chat", {"model": MODEL, "messages": HELLO, "options": {"num_predict": 1.5}}, 400, "num_predict"),
    ("/api/chat", {"model": MODEL, "messages": HELLO, "options": {"num_predict": 10**25}}, 400, "num_predict"),
    ("/api/chat", {"model": MODEL, "messages": HELLO, "options": {"temperature": "x"}}, 400, "temperature"),
    ("/api/chat", {"model": MODEL, "messages": HELLO, "format": 7}, 400, "`format`"),
    ("/api/chat", {"model": MODEL, "messages": HELLO, "tools": {}}, 400, "`tools`"),
    ("/api/chat", {"model": MODEL, "messages": [{"role": "assistant", "tool_calls": [{}]}]}, 400, "tool_calls"),
    ("/api/generate", {"model": MODEL, "prompt": 7}, 400, "`prompt`"),
    ("/api/generate", {"model": MODEL, "raw": True, "images": ["aGk="]}, 400, "`images`"),
    ("/api/generate", {"model": MODEL, "raw": True, "prompt": None, "images": ["aGk="]}, 400, "`images`"),
    ("/api/generate", {"model": MODEL, "prompt": "x", "suffix": "y"}, 400, "`suffix`"),
    ("/api/show", {}, 400, "`model`"),
    ("/api/nothing", {}, 404, "does not route /api/nothing"),
    ("/api/tags", {}, 405, "not allowed"),
    ("/api/chat", b'{"model": "\xff", "messages": [{"role": "user", "content": "x"}]}', 400, "UTF-8"),
], ids=lambda value: str(value)[:50])
def test_bad_input_has_the_form_of_the_dialect(router, path, body, status, part):
    answer = ask(router, path, body)
    assert answer.status == status
    assert list(answer.json()) == ["error"]
    assert part in answer.json()["error"]


def test_the_content_type_of_curl_is_no_fault(router):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = ask(router, "/api/chat", {"model": MODEL, "messages": HELLO, "options": {"num_predict": 1}}, headers)
    assert answer.status == 200


def test_a_key_is_needed_where_tenants_have_keys(folder, engine):
    (folder / "ollama.key").write_text("secret")
    config = replicas([engine]) + "tenants: [{name: team, keys: ['file:ollama.key']}]\n"
    with Router(folder, config=config) as router:
        for path in ["/api/tags", "/api/ps"]:
            assert router.get(path)[0] == 401
        assert ask(router, "/api/chat", {"model": MODEL, "messages": HELLO}).status == 401
        client = ollama.Client(host=router.url, headers={"Authorization": "Bearer secret"})
        assert client.chat(model=MODEL, messages=HELLO, options={"num_predict": 1}).done


def test_a_router_behind_a_router_is_no_ollama(folder, engine):
    with Router(folder, [engine]) as inner, Router(folder, [inner]) as outer:
        client = ollama.Client(host=outer.url)
        assert client.chat(model=MODEL, messages=HELLO, options={"num_predict": 1}).done
        assert "kind" in outer.get("/penstock/fleet")[2]
        assert '"ollama"' not in outer.get("/penstock/fleet")[2]


def test_nothing_is_left(router, engine):
    router.wait_for_nothing([engine])
