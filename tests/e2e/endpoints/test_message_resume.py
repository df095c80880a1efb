"""Engines that die or stand still in the middle of a message: the client of Anthropic's dialect sees one unbroken message."""
import signal

import anthropic
import pytest
from processes import MODEL, Engine, Router, replicas

TOKENS = 400
ASKED = {"model": MODEL, "max_tokens": TOKENS, "messages": [{"role": "user", "content": "Tell me of the river."}]}
LIMITS = "limits: {first_byte_timeout: 30s, gap_timeout: 1s, connect_timeout: 1s}\n"


def kill(engine):
    engine.kill()


def hang(engine):
    engine.signal(signal.SIGSTOP)


def sdk(server):
    return anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def truth(folder):
    """The message of an undisturbed engine."""
    with Engine(folder, name="truth", time_scale=100, seed=5) as engine:
        return sdk(engine).messages.create(**ASKED)


@pytest.fixture
def pair(folder):
    """Two engines that are read as llama-server, which takes a last message of the assistant as the answer's beginning."""
    options = {"seed": 5, "kv_tokens": 20000, "overflow": "error"}
    with Engine(folder, name="a", **options) as a, Engine(folder, name="b", **options) as b:
        with Router(folder, config=replicas([a, b]) + LIMITS) as router:
            router.wait_for_count("penstock_replica_up", 2)
            yield router, [a, b]
        for engine in (a, b):
            if engine.process.poll() is None:
                engine.signal(signal.SIGCONT)


def broken_off(router, engines, harm, at=20, **more):
    """The events of a stream whose engine is harmed, and the message that the SDK makes of them."""
    with sdk(router).messages.stream(**{**ASKED, **more}) as stream:
        events = []
        for event in stream:
            events.append(event)
            if len(events) == at:
                harm(next(engine for engine in engines if engine.running() > 0))
        return events, stream.get_final_message()


@pytest.mark.parametrize("harm", [kill, hang])
def test_a_message_whose_engine_fails_in_mid_stream_goes_on_elsewhere(pair, truth, harm):
    router, engines = pair
    events, message = broken_off(router, engines, harm)
    kinds = [event.type for event in events if event.type != "text"]
    assert [kind for kind in kinds if kind != "content_block_delta"] == [
        "message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"]
    assert {event.index for event in events if event.type.startswith("content_block")} == {0}
    assert message.content[0].text == truth.content[0].text
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", TOKENS)
    assert abs(message.usage.input_tokens - truth.usage.input_tokens) <= 3
    metrics = router.wait_for_nothing()
    assert metrics.sum("penstock_resumes_total", result="continued") == 1


def test_a_message_with_tools_ends_with_an_error_event(pair):
    router, engines = pair
    tool = {"name": "look", "input_schema": {"type": "object"}}
    with pytest.raises(anthropic.APIStatusError) as failed:
        broken_off(router, engines, kill, tools=[tool])
    assert "offers tools" in str(failed.value)
    assert router.wait_for_nothing().sum("penstock_resumes_total", result="tools") == 1
