"""A stream that is far ahead of its due times lends its memory, and its client sees one unbroken answer."""
import threading
import time

import pytest
from openai import OpenAI, RateLimitError
from processes import Engine, Router, replicas, wait_until

TOKENS = 600
FAR_AHEAD = 380
# Of the pool of 2,000 tokens, the crowding prompt and the first part of the stream leave nothing.
CROWD = {"model": "llama-3.1-8b", "prompt": "river " * 1300, "max_tokens": 20}
CLASSES = "classes: {standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true, parking: %s}}\n"
EVEN = "classes: {standard: {ttft: 2s, tpot: %s, queue: 30s, default: true, parking: true, even_delivery: true}}\n"
STREAMS = [
    ("chat", {"messages": [{"role": "user", "content": "Tell me of the river."}]}),
    ("completions", {"prompt": "The river"}),
]


def small_engine(folder, name):
    return Engine(folder, name=name, seed=5, kv_tokens=2000, time_scale=2)


def open_stream(url, kind, body):
    client = OpenAI(base_url=url + "/v1", api_key="x", max_retries=0, timeout=120)
    endpoint = client.chat.completions if kind == "chat" else client.completions
    return endpoint.create(
        model="llama-3.1-8b", max_tokens=TOKENS, stream=True, stream_options={"include_usage": True}, **body)


def text_of(event, kind):
    if not event.choices:
        return ""
    return (event.choices[0].delta.content if kind == "chat" else event.choices[0].text) or ""


def answer_of(stream, kind, at_count=None, then=None):
    """(text, finish reason, usage); `then` runs once when so many events came."""
    text, finish, usage = "", None, None
    for count, event in enumerate(stream):
        if count == at_count:
            then()
        text += text_of(event, kind)
        finish = (event.choices[0].finish_reason if event.choices else None) or finish
        usage = event.usage or usage
    return text, finish, usage


class Crowd:
    """One large request that only the memory of a parked stream can hold."""

    def __init__(self, router, engine=None):
        """With an engine, it waits until that has generated enough."""
        self.answer = None
        self._engine = engine
        self._thread = threading.Thread(target=self._ask, args=(router.url,))

    def start(self):
        self._thread.start()

    def join(self):
        self._thread.join()
        assert self.answer.usage.completion_tokens == CROWD["max_tokens"]

    def _ask(self, url):
        if self._engine is not None:
            wait_until(lambda: self._engine.metrics().sum("vllm:generation_tokens_total") >= FAR_AHEAD, 60, "far ahead")
        client = OpenAI(base_url=url + "/v1", api_key="x", max_retries=0, timeout=60)
        self.answer = client.completions.create(**CROWD)


@pytest.mark.long
@pytest.mark.parametrize("kind,body", STREAMS)
def test_a_parked_stream_goes_on_as_if_nothing_had_happened(folder, kind, body):
    with small_engine(folder, "alone") as alone:
        truth = answer_of(open_stream(alone.url, kind, body), kind)
    with small_engine(folder, "crowded") as engine, Router(folder, config=replicas([engine]) + CLASSES % "true") as router:
        crowd = Crowd(router)
        answer = answer_of(open_stream(router.url, kind, body), kind, FAR_AHEAD, crowd.start)
        crowd.join()
        metrics = router.wait_for_nothing([engine])
        assert metrics.sum("penstock_parked_total") == 1
        assert metrics.sum("penstock_parked_streams") == 0
        assert metrics.sum("penstock_resumes_total", result="continued") == 1
    assert answer[:2] == truth[:2]
    assert answer[2].completion_tokens == TOKENS
    # An engine counts a text in two parts a little differently.
    assert abs(answer[2].prompt_tokens - truth[2].prompt_tokens) <= 8


@pytest.mark.long
def test_a_reader_at_an_even_pace_sees_no_pause(folder):
    with small_engine(folder, "even") as engine, Router(folder, config=replicas([engine]) + EVEN % "100ms") as router:
        kind, body = STREAMS[0]
        # The engine has so many tokens long before their client.
        crowd = Crowd(router, engine)
        crowd.start()
        times = []
        for event in open_stream(router.url, kind, body):
            if text_of(event, kind):
                times.append(time.monotonic())
        crowd.join()
        metrics = router.wait_for_nothing([engine])
        assert metrics.sum("penstock_parked_total") == 1
        assert metrics.sum("penstock_resumes_total", result="continued") == 1
    assert len(times) == TOKENS
    assert max(after - before for before, after in zip(times, times[1:])) < 2
    assert times[-1] - times[0] > (TOKENS - 1) * 0.1 - 2.5


def test_an_even_pace_is_the_promised_pace(folder):
    with Engine(folder, name="quick", seed=5) as engine, Router(folder, config=replicas([engine]) + EVEN % "60ms") as router:
        client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0)
        begin = time.monotonic()
        stream = client.completions.create(model="llama-3.1-8b", prompt="The river", max_tokens=41, stream=True)
        text, finish, _ = answer_of(stream, "completions")
        assert (bool(text), finish) == (True, "length")
        # The last token is due 40 TPOT behind the first; its TTFT is the tolerance.
        assert time.monotonic() - begin > 40 * 0.06 - 0.5


def test_a_class_without_parking_keeps_its_streams(folder):
    with small_engine(folder, "calm") as engine, Router(folder, config=replicas([engine]) + CLASSES % "false") as router:
        client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0)
        router.wait_for_count("penstock_replica_up", 1)

        refused = []

        def ask():
            try:
                client.completions.create(**CROWD)
            except RateLimitError as error:
                refused.append(error.status_code)

        asking = threading.Thread(target=ask)
        kind, body = STREAMS[1]
        _, finish, usage = answer_of(open_stream(router.url, kind, body), kind, FAR_AHEAD, asking.start)
        asking.join()
        assert (finish, usage.completion_tokens) == ("length", TOKENS)
        assert router.wait_for_nothing([engine]).sum("penstock_parked_total") == 0
