"""Messages at engines that lack Anthropic's dialect, or that go on with chats only: they get chats, the client messages."""
import json
import signal

import anthropic
import pytest
from no_messages import NoMessages
from processes import MODEL, Engine, Router, replicas, wait_until
from raw_http import request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import STREAM_HEAD, ScriptedEngine, chunk, http

SAID = [{"role": "user", "content": "Tell me of the river."}]
ASKED = {"model": MODEL, "max_tokens": 400, "messages": SAID}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LIMITS = "limits: {first_byte_timeout: 30s, gap_timeout: 1s, connect_timeout: 1s}\n"


def sdk(server):
    return anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def lacking(folder):
    """An engine that answers 404 to messages, and a router that has to learn it."""
    with Engine(folder) as engine, NoMessages(engine) as bare, Router(folder, [bare]) as router:
        yield bare, router


def test_the_first_404_of_an_engine_is_learned(lacking):
    bare, router = lacking
    for _ in range(3):
        answer = sdk(router).messages.create(model=MODEL, max_tokens=5, messages=SAID)
        assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 5)
    assert bare.refused == 1


def test_a_learned_404_is_forgotten_when_the_engine_was_away(folder):
    with Engine(folder, name="old") as old, NoMessages(old) as bare, Router(folder, [bare]) as router:
        asked = {"model": MODEL, "max_tokens": 5, "messages": SAID}
        assert sdk(router).messages.create(**asked).stop_reason == "max_tokens"
        assert bare.refused == 1
        old.kill()
        router.wait_for_count("penstock_replica_up", 0)
        with Engine(folder, name="new", port=old.port):
            router.wait_for_count("penstock_replica_up", 1)
            assert sdk(router).messages.create(**asked).stop_reason == "max_tokens"
            assert bare.refused == 2


def test_images_documents_and_results_of_tools_reach_the_chat(lacking):
    bare, router = lacking
    content = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
               {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a page"}},
               {"type": "text", "text": "What is it?"}]
    answer = sdk(router).messages.create(model=MODEL, max_tokens=5, messages=[{"role": "user", "content": content}])
    assert answer.content[0].text
    assert json.loads(bare.asked[-1])["messages"] == [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL}},
        {"type": "text", "text": "a page"}, {"type": "text", "text": "What is it?"}]}]


def test_a_large_image_is_translated_without_a_copy_in_memory(lacking):
    bare, router = lacking
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * (8 << 20)}}
    sdk(router).messages.create(model=MODEL, max_tokens=2, messages=[{"role": "user", "content": [image]}])
    url = json.loads(bare.asked[-1])["messages"][0]["content"][0]["image_url"]["url"]
    assert len(url) == len("data:image/png;base64,") + (8 << 20)
    router.wait_for_nothing([bare])


def test_tokens_are_estimated_where_no_engine_counts_them(lacking):
    _, router = lacking
    counted = sdk(router).messages.with_raw_response.count_tokens(model=MODEL, messages=SAID, system="Be brief.")
    assert counted.headers["x-penstock-estimate"] == "true"
    assert 5 < counted.parse().input_tokens < 60
    with pytest.raises(anthropic.BadRequestError):
        sdk(router).messages.count_tokens(model=MODEL, messages=[])
    with pytest.raises(anthropic.NotFoundError):
        sdk(router).messages.count_tokens(model="claude-17", messages=SAID)


BAD = {
    "a document in base64": ({"messages": [{"role": "user", "content": [{"type": "document", "source": {
        "type": "base64", "media_type": "application/pdf", "data": "aaaa"}}]}]}, "messages[0].content[0].source"),
    "an unknown block": ({"messages": [{"role": "user", "content": [{"type": "search_result"}]}]},
                         "messages[0].content[0].type"),
    "a tool of Anthropic's servers": ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0].type"),
    "a server of tools": ({"extra_body": {"mcp_servers": [{"url": "https://x"}]}}, "mcp_servers"),
    "a text that is none": ({"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
                            "messages[0].content[0].text"),
    "no content": ({"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
    "an image for the system": ({"system": [{"type": "image", "source": {}}]}, "system[0].type"),
    "thinking that is a word": ({"extra_body": {"thinking": "on"}}, "thinking"),
    "a choice without a name": ({"tool_choice": {"type": "tool"}}, "tool_choice"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_what_a_chat_cannot_say_is_refused_by_its_field(lacking, case):
    more, field = BAD[case]
    _, router = lacking
    with pytest.raises(anthropic.BadRequestError) as refused:
        sdk(router).messages.create(**{**ASKED, "max_tokens": 5, **more})
    assert refused.value.body["error"]["type"] == "invalid_request_error"
    assert f"`{field}`" in str(refused.value)
    router.wait_for_nothing()


def data(value):
    return chunk("data: " + (value if isinstance(value, str) else json.dumps(value)) + "\n\n")


def delta(**fields):
    return data({"id": "c1", "model": SCRIPTED, "choices": [{"index": 0, "delta": fields}]})


USAGE = data({"id": "c1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}})
END = data({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
LEAST = {"model": SCRIPTED, "max_tokens": 5, "messages": SAID}


@pytest.fixture(scope="module")
def chats(folder):
    """A scripted engine whose router has learned that it lacks messages."""
    with ScriptedEngine() as engine, Router(folder, [engine]) as router:
        engine.script = http(404, {"detail": "Not Found"})
        engine.posts["/v1/messages"] = lambda body, lacks=engine.script: lacks
        assert send(router.address, request_bytes("/v1/messages", LEAST)).status == 404
        yield engine, router


def test_reasoning_becomes_a_block_of_thinking(chats):
    engine, router = chats
    engine.script = STREAM_HEAD + b"".join([
        delta(role="assistant", content=""), delta(reasoning_content="hm"), delta(content="yes"), END, USAGE, data("[DONE]"), b"0\r\n\r\n"])
    with sdk(router).messages.stream(**LEAST) as stream:
        message = stream.get_final_message()
    assert [(block.type, getattr(block, block.type)) for block in message.content] == [("thinking", "hm"), ("text", "yes")]
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("end_turn", 9, 3)


def test_a_stream_that_ends_behind_its_finish_is_a_whole_message(chats):
    engine, router = chats
    engine.script = STREAM_HEAD + delta(role="assistant", content="") + delta(content="yes") + END + b"0\r\n\r\n"
    with sdk(router).messages.stream(**LEAST) as stream:
        message = stream.get_final_message()
    assert (message.content[0].text, message.stop_reason) == ("yes", "end_turn")


@pytest.mark.parametrize("rest", [
    data({"error": {"message": "too much water", "code": 500}}),
    data("{nonsense"),
    delta(tool_calls=[{"index": 1, "id": "a", "function": {"name": "x", "arguments": ""}}]) + delta(
        tool_calls=[{"index": 0, "id": "b", "function": {"name": "y", "arguments": ""}}]),
    b"",
], ids=["error", "nonsense", "mixed calls", "cut"])
def test_a_fault_in_a_translated_stream_ends_it_with_an_error_event(chats, rest):
    engine, router = chats
    engine.script = STREAM_HEAD + delta(role="assistant", content="") + delta(content="yes") + rest
    answer = send(router.address, request_bytes("/v1/messages", {**LEAST, "stream": True}))
    assert answer.body.decode().strip().split("\n\n")[-1].startswith("event: error\n")
    assert "[DONE]" not in answer.body.decode()


def with_content(content, stream):
    whole = http(200, {"choices": [{"index": 0, "message": {"content": content}, "finish_reason": "stop"}]})
    return STREAM_HEAD + delta(content=content) + END + USAGE + data("[DONE]") + b"0\r\n\r\n" if stream else whole


@pytest.mark.parametrize(("stream", "content"), [
    (stream, content) for stream in (True, False) for content in ([{"data": "SECRET"}], {"text": "SECRET"}, [["SECRET"]])])
def test_content_that_a_message_cannot_say_is_garbage_and_in_no_log(chats, stream, content):
    engine, router = chats
    engine.script = with_content(content, stream)
    garbage = router.metrics().sum("penstock_engine_errors_total", kind="garbage")
    answer = send(router.address, request_bytes("/v1/messages", {**LEAST, "stream": stream}))
    assert (answer.status, router.metrics().sum("penstock_engine_errors_total", kind="garbage")) == (502, garbage + 1)
    assert "SECRET" not in answer.body.decode() + router.log()


def test_a_list_of_texts_is_the_text_of_a_message(chats):
    engine, router = chats
    engine.script = with_content([{"type": "text", "text": "yes"}, {"type": "text", "text": " and no"}], stream=True)
    with sdk(router).messages.stream(**LEAST) as stream:
        assert stream.get_final_message().content[0].text == "yes and no"


def test_calls_that_are_mixed_up_before_the_first_byte_are_garbage(chats):
    engine, router = chats
    engine.script = STREAM_HEAD + delta(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}]) + END
    answer = send(router.address, request_bytes("/v1/messages", {**LEAST, "stream": True}))
    assert (answer.status, answer.json()["type"]) == (502, "error")
    assert "mixed up" in answer.json()["error"]["message"]


def test_ids_of_calls_that_the_engine_left_out_are_unique_in_a_conversation(chats):
    engine, router = chats
    call = {"function": {"name": "look", "arguments": "{}"}}
    engine.script = http(200, {"choices": [{"message": {"tool_calls": [call, call]}, "finish_reason": "tool_calls"}]})
    asked = request_bytes("/v1/messages", LEAST, headers={"x-request-id": "same"})
    ids = [block["id"] for _ in range(3) for block in send(router.address, asked).json()["content"]]
    assert len(set(ids)) == 6


def test_a_call_that_the_output_limit_cut_is_no_fault_of_the_engine(chats):
    engine, router = chats
    call = {"id": "t1", "function": {"name": "look", "arguments": '{"city": "Rome", "street": "Via'}}
    engine.script = http(200, {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "length"}]})
    calls = engine.calls
    message = sdk(router).messages.create(**LEAST)
    assert (message.stop_reason, message.content[0].input, engine.calls) == ("max_tokens", {"city": "Rome"}, calls + 1)


@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_is_the_text_of_a_message_that_ends_with_it(chats, stream):
    engine, router = chats
    engine.script = http(200, {"choices": [{"message": {"content": None, "refusal": "No, thanks."}, "finish_reason": "stop"}]})
    if stream:
        engine.script = STREAM_HEAD + delta(role="assistant", content="") + delta(refusal="No, ") + delta(
            refusal="thanks.") + END + USAGE + data("[DONE]") + b"0\r\n\r\n"
        with sdk(router).messages.stream(**LEAST) as events:
            message = events.get_final_message()
    else:
        message = sdk(router).messages.create(**LEAST)
    assert ([block.text for block in message.content], message.stop_reason) == (["No, thanks."], "refusal")


def whole_chat(size):
    return http(200, {"choices": [{"message": {"content": "a" * size}, "finish_reason": "stop"}]})


def test_a_long_whole_chat_becomes_a_message(chats):
    engine, router = chats
    engine.script = whole_chat(3 << 20)
    answer = send(router.address, request_bytes("/v1/messages", LEAST), timeout=20)
    assert (answer.status, len(answer.json()["content"][0]["text"])) == (200, 3 << 20), answer.body[:300]
    wait_until(lambda: router.buffered() == 0, 20, "its memory is given back")


def test_a_whole_chat_that_is_too_long_for_a_message_names_the_bound(chats):
    engine, router = chats
    engine.script = whole_chat(33 << 20)
    answer = send(router.address, request_bytes("/v1/messages", LEAST), timeout=20)
    assert answer.status == 502
    assert "longer than 32 MiB" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("body", "status"), [
    (b"nonsense", 502), (b'{"choices":[{"message":{"content":"a"}}]}', 502),
    ({"error": {"message": "no water", "code": 400}}, 400),
    ({"choices": [{"message": {"tool_calls": [{"function": {"name": "", "arguments": "{}"}}]}, "finish_reason": "stop"}]},
     502),
])
def test_a_whole_answer_that_is_no_chat_is_refused(chats, body, status):
    engine, router = chats
    engine.script = http(200, body)
    answer = send(router.address, request_bytes("/v1/messages", LEAST))
    assert (answer.status, answer.json()["type"]) == (status, "error")


def kill(engine):
    engine.kill()


def hang(engine):
    engine.signal(signal.SIGSTOP)


@pytest.fixture(scope="module")
def truth(folder):
    with Engine(folder, name="truth", time_scale=100, seed=5) as engine:
        return sdk(engine).messages.create(**ASKED)


@pytest.mark.parametrize("harm", [kill, hang])
@pytest.mark.parametrize("native", [True, False], ids=["passed", "translated"])
def test_a_message_goes_on_at_an_engine_that_continues_chats(folder, truth, harm, native):
    """vLLM begins a new message behind a last one of the assistant, so the rest is asked for as a chat."""
    options = {"seed": 5, "kv_tokens": 20000}
    with Engine(folder, name="a", **options) as a, Engine(folder, name="b", **options) as b:
        with NoMessages(a) as bare_a, NoMessages(b) as bare_b:
            fleet = [a, b] if native else [bare_a, bare_b]
            with Router(folder, config=replicas(fleet) + LIMITS) as router:
                router.wait_for_count("penstock_replica_up", 2)
                kinds = []
                with sdk(router).messages.stream(**ASKED) as stream:
                    for count, event in enumerate(stream):
                        kinds.append(event.type)
                        if count == 20:
                            harm(next(engine for engine in (a, b) if engine.running() > 0))
                    message = stream.get_final_message()
                assert message.content[0].text == truth.content[0].text
                assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 400)
                assert abs(message.usage.input_tokens - truth.usage.input_tokens) <= 3
                assert [kinds.count(kind) for kind in ("message_start", "content_block_start", "message_stop")] == [1] * 3
                assert router.wait_for_nothing().sum("penstock_resumes_total", result="continued") == 1
        for engine in (a, b):
            if engine.process.poll() is None:
                engine.signal(signal.SIGCONT)
