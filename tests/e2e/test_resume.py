"""Engines that die, hang or vanish in the middle of an answer: the client sees one unbroken stream."""
import signal
import threading

import pytest
from openai import OpenAI
from processes import Engine, Router, replicas, wait_until

TOKENS = 400
LIMITS = "limits: {first_byte_timeout: 30s, gap_timeout: 1s, connect_timeout: 1s}\n"


@pytest.fixture(scope="module")
def truth(folder):
    """The answers of an undisturbed engine: (chat text, completion text, chat usage)."""
    with Engine(folder, name="truth", time_scale=100, seed=5) as engine:
        client = OpenAI(base_url=engine.url + "/v1", api_key="x")
        chat = client.chat.completions.create(**CHAT)
        text = client.completions.create(**TEXT)
        return chat.choices[0].message.content, text.choices[0].text, chat.usage


CHAT = {
    "model": "llama-3.1-8b",
    "messages": [{"role": "user", "content": "Tell me of the river."}],
    "max_tokens": TOKENS,
}
TEXT = {"model": "llama-3.1-8b", "prompt": "The river", "max_tokens": TOKENS}


def kill(engine):
    engine.kill()


def hang(engine):
    engine.signal(signal.SIGSTOP)


def busy_one(engines):
    return next(engine for engine in engines if engine.running() > 0)


@pytest.fixture
def pair(folder):
    with Engine(folder, name="a", seed=5, kv_tokens=20000) as a, Engine(folder, name="b", seed=5, kv_tokens=20000) as b:
        with Router(folder, config=replicas([a, b]) + LIMITS) as router:
            router.wait_for_count("penstock_replica_up", 2)
            yield router, [a, b]
        for engine in (a, b):
            if engine.process.poll() is None:
                engine.signal(signal.SIGCONT)


@pytest.mark.parametrize("harm", [kill, hang])
def test_a_chat_whose_engine_dies_in_mid_stream_goes_on_elsewhere(pair, truth, harm):
    router, engines = pair
    client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0)
    stream = client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True})
    text, names, roles, usage, finish = "", set(), 0, None, None
    for count, event in enumerate(stream):
        if count == 20:
            harm(busy_one(engines))
        names.add((event.id, event.created, event.model))
        usage = event.usage or usage
        for choice in event.choices:
            text += choice.delta.content or ""
            roles += 1 if choice.delta.role else 0
            finish = choice.finish_reason or finish
    assert text == truth[0]
    assert (finish, roles, len(names)) == ("length", 1, 1)
    assert usage.completion_tokens == TOKENS
    # A prompt with a part of the answer may have other tokens than the answer had.
    assert abs(usage.prompt_tokens - truth[2].prompt_tokens) <= 3
    assert router.wait_for_nothing().sum("penstock_resumes_total", result="continued") == 1


def test_streams_of_a_sole_engine_that_dies_wait_for_it_and_go_on(folder, truth):
    """Each stream meets refused connections before the router has heard of the death."""
    engine = Engine(folder, name="sole", seed=5, kv_tokens=20000)
    with Router(folder, config=replicas([engine]) + LIMITS) as router:
        client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0)

        def read(ends, begun):
            text, finish = "", None
            try:
                for event in client.completions.create(**TEXT | {"max_tokens": 100}, stream=True):
                    begun.set()
                    text += event.choices[0].text
                    finish = event.choices[0].finish_reason
            except Exception as error:  # The assertion names it.
                finish = str(error)
            ends.append((finish, truth[1].startswith(text)))

        for _ in range(5):
            router.wait_for_count("penstock_replica_up", 1)
            ends, begun = [], [threading.Event(), threading.Event()]
            threads = [threading.Thread(target=read, args=[ends, event]) for event in begun]
            for thread in threads:
                thread.start()
            assert all(event.wait(20) for event in begun)
            engine.kill()
            engine = Engine(folder, name="sole", seed=5, kv_tokens=20000, port=engine.port)
            for thread in threads:
                thread.join(60)
            assert ends == [("length", True)] * 2
    engine.kill()


@pytest.mark.parametrize("harm", [kill, hang])
def test_a_completion_whose_engine_dies_in_mid_stream_goes_on_elsewhere(pair, truth, harm):
    router, engines = pair
    client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0)
    text = ""
    for count, event in enumerate(client.completions.create(**TEXT, stream=True)):
        if count == 20:
            harm(busy_one(engines))
        text += event.choices[0].text if event.choices else ""
    assert text == truth[1]


def test_a_whole_answer_whose_engine_dies_is_generated_elsewhere(pair, truth):
    router, engines = pair
    client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(client.chat.completions.create(**CHAT)))
    asking.start()
    wait_until(lambda: any(engine.running() > 0 for engine in engines), 20, "it runs")
    kill(busy_one(engines))
    asking.join(30)
    assert answers[0].choices[0].message.content == truth[0]
    assert answers[0].usage == truth[2]
