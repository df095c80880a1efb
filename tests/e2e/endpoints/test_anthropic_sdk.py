"""The official anthropic SDK, sync and async, understands the server, whose engines speak the dialect or do not."""
import asyncio

import anthropic
import pytest
from no_messages import NoMessages
from processes import MODEL, Engine, Router, replicas, wait_until

MESSAGES = [{"role": "user", "content": "What does a penstock do?"}]
TOOL = {
    "name": "open_gate",
    "description": "Opens the gate by so many centimetres.",
    "input_schema": {"type": "object", "properties": {"centimetres": {"type": "integer"}}, "required": ["centimetres"]},
}
CACHED = {"type": "ephemeral"}
# The shape in which Claude Code asks: blocks with cache marks everywhere, tools, results of tools, thinking, metadata.
CODE = {
    "system": [{"type": "text", "text": "You are an agent for code. " * 40, "cache_control": CACHED},
               {"type": "text", "text": "Be brief."}],
    "tools": [TOOL, {**TOOL, "name": "read_file", "cache_control": CACHED}],
    "metadata": {"user_id": "user_1_account__session_2"},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "extra_body": {"temperature": 1},
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "<system-reminder>Be careful.</system-reminder>"},
                                     {"type": "text", "text": "Fix the gate."}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "I should look.", "signature": "c2ln"},
                                          {"type": "text", "text": "I will look."},
                                          {"type": "tool_use", "id": "toolu_1", "name": "read_file",
                                           "input": {"centimetres": 3}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": False,
                                      "content": [{"type": "text", "text": "the gate is shut"}],
                                      "cache_control": CACHED}]},
    ],
}


@pytest.fixture(scope="module", params=["passed", "translated"])
def router(folder, engine, request):
    if request.param == "passed":
        with Router(folder, [engine]) as running:
            yield running
        return
    with NoMessages(engine) as bare, Router(folder, [bare]) as running:
        yield running


def sdk(router, **more):
    return anthropic.Anthropic(base_url=router.url, api_key="any", max_retries=0, timeout=30, **more)


@pytest.fixture(scope="module")
def client(router):
    with sdk(router) as made:
        yield made


def test_a_message_has_text_usage_and_a_stop_reason(client):
    answer = client.messages.create(model=MODEL, max_tokens=12, messages=MESSAGES, system="Be brief.")
    assert (answer.type, answer.role, answer.model, answer.stop_reason) == ("message", "assistant", MODEL, "max_tokens")
    assert answer.content[0].text
    assert answer.usage.output_tokens == 12
    assert answer.usage.input_tokens > 0
    assert answer._request_id.startswith("req-")


def test_a_message_that_ends_by_itself_ends_its_turn(client):
    headers = {"x-simulated-output-tokens": "25"}
    answer = client.messages.create(model=MODEL, max_tokens=100, messages=MESSAGES, extra_headers=headers)
    assert (answer.stop_reason, answer.usage.output_tokens) == ("end_turn", 25)


def test_a_stream_gives_the_same_message_as_a_whole_answer(client):
    whole = client.messages.create(model=MODEL, max_tokens=30, messages=MESSAGES)
    with client.messages.stream(model=MODEL, max_tokens=30, messages=MESSAGES) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert len(pieces) > 10
    assert "".join(pieces) == message.content[0].text == whole.content[0].text
    assert message.usage.output_tokens == whole.usage.output_tokens == 30
    assert message.stop_reason == whole.stop_reason == "max_tokens"


def test_the_events_of_a_stream_come_in_order(client):
    stream = client.messages.create(model=MODEL, max_tokens=3, messages=MESSAGES, stream=True)
    kinds = [event.type for event in stream]
    assert kinds == ["message_start", "content_block_start", *["content_block_delta"] * 3, "content_block_stop",
                     "message_delta", "message_stop"]


def test_a_forced_tool_is_called(client):
    choice = {"type": "tool", "name": "open_gate"}
    answer = client.messages.create(model=MODEL, max_tokens=9, messages=MESSAGES, tools=[TOOL], tool_choice=choice)
    assert answer.stop_reason == "tool_use"
    assert (answer.content[0].type, answer.content[0].name) == ("tool_use", "open_gate")
    with client.messages.stream(model=MODEL, max_tokens=9, messages=MESSAGES, tools=[TOOL],
                                tool_choice={"type": "any"}) as stream:
        message = stream.get_final_message()
    assert message.content[0].input == answer.content[0].input


def test_a_request_in_the_shape_of_an_agent_for_code(client, router, engine):
    before = router.metrics().sum("penstock_prompt_tokens_total")
    with client.messages.stream(model=MODEL, max_tokens=20, **CODE) as stream:
        message = stream.get_final_message()
    assert message.usage.output_tokens == 20
    router.wait_for_nothing([engine])
    prompt = message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
    router.wait_for_count("penstock_prompt_tokens_total", before + prompt)
    # All kinds of blocks are in the estimate.
    estimate = router.metrics().sum("penstock_prompt_estimate_ratio_sum")
    count = router.metrics().sum("penstock_prompt_estimate_ratio_count")
    assert 0.5 < estimate / count < 2


def test_tokens_of_a_message_are_counted_as_its_usage_counts_them(client):
    more = {key: value for key, value in CODE.items() if key not in ("metadata", "extra_body", "thinking")}
    answer = client.messages.create(model=MODEL, max_tokens=1, **more)
    counted = client.messages.with_raw_response.count_tokens(model=MODEL, **more)
    prompt = answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0)
    if "x-penstock-estimate" in counted.headers:
        assert abs(counted.parse().input_tokens - prompt) < prompt / 2
    else:
        assert counted.parse().input_tokens == prompt


def test_async_messages_share_the_router(router):
    async def run():
        async with anthropic.AsyncAnthropic(base_url=router.url, api_key="any", max_retries=0, timeout=30) as made:
            calls = [made.messages.create(model=MODEL, max_tokens=5, messages=MESSAGES) for _ in range(8)]
            return await asyncio.gather(*calls)

    assert {answer.usage.output_tokens for answer in asyncio.run(run())} == {5}


def test_a_cancelled_stream_frees_its_engine(client, router, engine):
    headers = {"x-simulated-output-tokens": "100000"}
    with client.messages.stream(model=MODEL, max_tokens=100000, messages=MESSAGES, extra_headers=headers) as stream:
        next(stream.text_stream)
    router.wait_for_nothing([engine])


def kind(error):
    return error.body["error"]["type"]


def test_faults_of_a_client_raise_their_own_classes(client):
    with pytest.raises(anthropic.NotFoundError) as unknown:
        client.messages.create(model="claude-17", max_tokens=5, messages=MESSAGES)
    assert kind(unknown.value) == "not_found_error"
    assert unknown.value.body["type"] == "error"
    with pytest.raises(anthropic.BadRequestError) as empty:
        client.messages.create(model=MODEL, max_tokens=5, messages=[])
    assert kind(empty.value) == "invalid_request_error"
    with pytest.raises(anthropic.BadRequestError) as long:
        client.messages.create(model=MODEL, max_tokens=5, system="river " * 200000, messages=MESSAGES)
    assert "maximum context length" in str(long.value)
    with pytest.raises(anthropic.NotFoundError) as nothing:
        client.messages.batches.list()
    assert "Penstock does not route /v1/messages/batches" in str(nothing.value)


def test_keys_of_tenants_come_as_x_api_key_or_as_bearer(folder, engine):
    tenants = "tenants:\n  - {name: team-a, keys: [secret-a]}\n"
    with Router(folder, config=replicas([engine]) + tenants) as router:
        for given in ({"api_key": "secret-a"}, {"auth_token": "secret-a"}):
            with anthropic.Anthropic(base_url=router.url, max_retries=0, **given) as good:
                assert good.messages.create(model=MODEL, max_tokens=2, messages=MESSAGES).content
        with sdk(router) as bad, pytest.raises(anthropic.AuthenticationError) as denied:
            bad.messages.create(model=MODEL, max_tokens=2, messages=MESSAGES)
        assert kind(denied.value) == "authentication_error"
        router.wait_for_count("penstock_tenant_requests_total", 2, tenant="team-a", outcome="ok")


def test_a_refusal_says_when_to_try_again(folder, engine):
    tenants = "tenants:\n  - {name: team-a, keys: [any], max_concurrent: 1}\n"
    with Router(folder, config=replicas([engine]) + tenants) as router, sdk(router) as client:
        long = {"x-simulated-output-tokens": "100000"}
        with client.messages.stream(model=MODEL, max_tokens=100000, messages=MESSAGES, extra_headers=long) as first:
            next(first.text_stream)
            with pytest.raises(anthropic.RateLimitError) as refused:
                client.messages.create(model=MODEL, max_tokens=2, messages=MESSAGES)
        assert kind(refused.value) == "rate_limit_error"
        assert int(refused.value.response.headers["retry-after"]) >= 1
        router.wait_for_nothing([engine])


def test_a_waiting_stream_gets_pings_that_the_sdk_passes_over(folder):
    limits = "limits: {keepalive_after: 100ms}\n"
    with Engine(folder, max_seqs=1) as engine, Router(folder, config=replicas([engine]) + limits) as router:
        with sdk(router) as client:
            long = {"x-simulated-output-tokens": "100000"}
            with client.messages.stream(model=MODEL, max_tokens=100000, messages=MESSAGES, extra_headers=long) as first:
                next(first.text_stream)
                waiting = client.messages.with_raw_response.create(
                    model=MODEL, max_tokens=3, messages=MESSAGES, stream=True)
                assert waiting.headers["content-type"].startswith("text/event-stream")
            events = [event.type for event in waiting.parse()]
        assert events[0] == "message_start"
        assert events[-1] == "message_stop"
        wait_until(lambda: router.in_flight() == 0, 20, "nothing runs")
