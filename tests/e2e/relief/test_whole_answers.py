"""A whole answer of an evictable class makes room for a burst, and its client sees one answer as of an undisturbed run."""
import pytest
from processes import Router, replicas, wait_until
from test_eviction import BEGUN, BURST, CLASSES, JOB, TOKENS, client_of, in_thread, small_engine

CHAT = {
    "model": "llama-3.1-8b",
    "messages": [{"role": "user", "content": "mountain " * 400}],
    "max_tokens": TOKENS,
}
IN_BACKGROUND = {"x-penstock-class": "background"}


def whole_text(url, more=None):
    answer = client_of(url).completions.with_raw_response.create(**JOB, **(more or {}), extra_headers=IN_BACKGROUND)
    return answer, lambda parsed: parsed.choices[0].text


def whole_chat(url, more=None):
    answer = client_of(url).chat.completions.with_raw_response.create(
        **CHAT, **(more or {}), extra_headers=IN_BACKGROUND)
    return answer, lambda parsed: parsed.choices[0].message.content


def read(ask, url, more=None):
    """(status, type, text, finish reason, prompt tokens, completion tokens)"""
    answer, text_of = ask(url, more)
    parsed = answer.parse()
    usage = parsed.usage
    return (answer.status_code, answer.headers["content-type"], text_of(parsed), parsed.choices[0].finish_reason,
            usage.prompt_tokens, usage.completion_tokens)


def generated(engine):
    return engine.metrics().sum("vllm:generation_tokens_total")


@pytest.mark.parametrize("ask", [whole_text, whole_chat])
def test_a_burst_takes_the_place_of_a_whole_answer_that_goes_on_later(folder, ask):
    with small_engine(folder, "alone") as alone:
        truth = read(ask, alone.url)
    assert truth[0] == 200 and truth[5] == TOKENS
    with small_engine(folder, "shared") as engine, Router(folder, config=replicas([engine]) + CLASSES % "true") as router:
        job = in_thread(lambda: read(ask, router.url))
        wait_until(lambda: generated(engine) > BEGUN, 60, "the job has begun")
        answer = client_of(router.url).completions.create(**BURST)
        assert answer.usage.completion_tokens == BURST["max_tokens"]
        evicted = router.metrics().sum("penstock_evicted_total")
        assert job() == truth
        assert evicted == 1
        assert router.metrics().sum("penstock_resumes_total", result="continued") == 1
        assert engine.metrics().sum("vllm:num_preemptions_total") == 0
        assert router.metrics().sum("penstock_requests_total", outcome="ok") == 2
        router.wait_for_nothing([engine])


def test_a_whole_answer_that_cannot_be_continued_runs_to_its_end(folder):
    with small_engine(folder, "shared") as engine, Router(folder, config=replicas([engine]) + CLASSES % "true") as router:
        job = in_thread(lambda: read(whole_text, router.url, {"seed": 1}))
        wait_until(lambda: generated(engine) > BEGUN, 60, "the job has begun")
        burst = in_thread(lambda: client_of(router.url).completions.create(**BURST))
        assert job()[5] == TOKENS
        assert burst().usage.completion_tokens == BURST["max_tokens"]
        assert router.metrics().sum("penstock_evicted_total") == 0


@pytest.mark.parametrize("ask", [whole_text, whole_chat])
def test_a_whole_answer_goes_on_elsewhere_when_its_engine_dies(folder, ask):
    with small_engine(folder, "alone") as alone:
        truth = read(ask, alone.url)
    with small_engine(folder, "a") as a, small_engine(folder, "b") as b:
        with Router(folder, config=replicas([a, b]) + CLASSES % "true") as router:
            router.wait_for_count("penstock_replica_up", 2)
            job = in_thread(lambda: read(ask, router.url))
            wait_until(lambda: max(generated(a), generated(b)) > BEGUN, 60, "the job has begun")
            busy, other = (a, b) if generated(a) > 0 else (b, a)
            busy.kill()
            assert job() == truth
            assert generated(other) < TOKENS
