"""A stream that is far ahead of its due times lends its memory, and its client sees one unbroken answer."""
import threading

import pytest
from openai import OpenAI, RateLimitError
from processes import Engine, Router, replicas, wait_until

TOKENS = 600
FAR_AHEAD = 380
# Of the pool of 2,000 tokens, the crowding prompt and the first part of the stream leave nothing.
CROWD = {"model": "llama-3.1-8b", "prompt": "river " * 1300, "max_tokens": 20}
CLASSES = "classes: {standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true, parking: %s}}\n"
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


@pytest.mark.long
@pytest.mark.parametrize("kind,body", STREAMS)
def test_a_parked_stream_goes_on_as_if_nothing_had_happened(folder, kind, body):
    with small_engine(folder, "alone") as alone:
        truth = answer_of(open_stream(alone.url, kind, body), kind)
    crowd = {}
    with small_engine(folder, "crowded") as engine, Router(folder, config=replicas([engine]) + CLASSES % "true") as router:

        def ask():
            client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0, timeout=60)
            crowd["answer"] = client.completions.create(**CROWD)

        asking = threading.Thread(target=ask)
        answer = answer_of(open_stream(router.url, kind, body), kind, FAR_AHEAD, asking.start)
        asking.join()
        assert crowd["answer"].usage.completion_tokens == CROWD["max_tokens"]
        metrics = router.metrics()
        assert metrics.sum("penstock_parked_total") == 1
        assert metrics.sum("penstock_parked_streams") == 0
        assert metrics.sum("penstock_resumes_total", result="continued") == 1
        router.wait_for_nothing(5, [engine])
    assert answer[:2] == truth[:2]
    assert answer[2].completion_tokens == TOKENS
    # An engine counts a text in two parts a little differently.
    assert abs(answer[2].prompt_tokens - truth[2].prompt_tokens) <= 8


def test_a_class_without_parking_keeps_its_streams(folder):
    with small_engine(folder, "calm") as engine, Router(folder, config=replicas([engine]) + CLASSES % "false") as router:
        client = OpenAI(base_url=router.url + "/v1", api_key="x", max_retries=0)
        wait_until(lambda: router.metrics().sum("penstock_replica_up") == 1, 5, "the replica is up")

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
        assert router.metrics().sum("penstock_parked_total") == 0
