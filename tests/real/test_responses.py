"""Responses that a real vLLM keeps: ids that find their replica, conversations, and work in the background."""
import concurrent.futures
import json

import openai
import pytest
from engines import MODEL, call, wait_until_up
from processes import Router, wait_until

pytestmark = pytest.mark.long
SENTENCE = "the river runs past the stone and the mill "
# An answer that its limit of tokens ends is incomplete.
ENDED = ("completed", "incomplete")


@pytest.fixture(scope="module")
def router(folder, vllms):
    with Router(folder, vllms) as running:
        yield wait_until_up(running, 2)


@pytest.fixture(scope="module")
def client(router):
    with openai.OpenAI(base_url=router.url + "/v1", api_key="any", max_retries=0, timeout=120) as made:
        yield made


def ask(client, text=SENTENCE, tokens=16, **more):
    return client.responses.create(model=MODEL, input=text, max_output_tokens=tokens, temperature=0, **more)


def work(client, tokens=2500, **more):
    """A response in the background that takes a while."""
    return ask(client, tokens=tokens, background=True, extra_body={"ignore_eos": True}, **more)


def homes(vllms, made):
    """The engines that keep each of these responses."""
    return [{engine.port for engine in vllms if call(engine.address, f"/v1/responses/{response.id}")[0] == 200} for response in made]


def test_every_stored_response_is_found_at_its_own_replica(client, vllms):
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        made = list(pool.map(lambda i: ask(client, f"story {i} " + SENTENCE * 10, tokens=60), range(12)))
    where = homes(vllms, made)
    assert all(len(ports) == 1 for ports in where)
    assert set.union(*where) == {engine.port for engine in vllms}, "both engines got some"
    for response in made:
        again = client.responses.retrieve(response.id)
        assert (again.id, again.output_text, again.usage) == (response.id, response.output_text, response.usage)


def test_a_response_goes_on_with_an_earlier_one_at_its_replica(client, vllms):
    for turn in range(4):
        first = ask(client, f"turn {turn} {SENTENCE}")
        second = ask(client, "go on", previous_response_id=first.id)
        last = [event for event in ask(client, "go on", previous_response_id=second.id, stream=True)][-1].response
        assert first.usage.input_tokens < second.usage.input_tokens < last.usage.input_tokens
        assert len({str(home) for home in homes(vllms, [first, second, last])}) == 1


def test_a_streamed_response_is_stored_under_the_id_of_its_first_event(client):
    events = list(ask(client, stream=True))
    assert events[0].type == "response.created" and events[-1].type == "response.completed"
    assert client.responses.retrieve(events[0].response.id).output_text == events[-1].response.output_text


def test_work_in_the_background_holds_its_lease_until_it_ends(client, router, vllms):
    made = work(client, tokens=400)
    assert made.status in ("queued", "in_progress")
    assert router.metrics().sum("penstock_replica_running_requests") == 1
    wait_until(lambda: client.responses.retrieve(made.id).status in ENDED, 120, "the response has ended")
    assert client.responses.retrieve(made.id).usage.output_tokens == 400
    router.wait_for_nothing(vllms)


def test_a_cancelled_response_frees_its_engine(client, router, vllms):
    made = work(client)
    # Without a stream, the gauges of vLLM show the request at its end only.
    router.wait_for_count("penstock_replica_running_requests", 1)
    assert client.responses.cancel(made.id).status == "cancelled"
    router.wait_for_nothing(vllms)


def test_a_stream_of_background_work_goes_on_behind_the_event_that_its_client_had(client, router, vllms):
    had = []
    with work(client, tokens=200, stream=True) as stream:
        for event in stream:
            had.append(event)
            if len(had) == 20:
                break
    id = had[0].response.id
    rest = list(client.responses.retrieve(id, stream=True, starting_after=had[-1].sequence_number))
    numbers = [event.sequence_number for event in had + rest]
    assert numbers == list(range(len(numbers)))
    assert rest[-1].response.status in ENDED and rest[-1].response.usage.output_tokens == 200
    router.wait_for_nothing(vllms)


def test_an_id_of_nobody_is_unknown(router):
    status, _, answer = call(router.address, "/v1/responses/resp_1")
    assert status == 404 and "not found" in json.loads(answer)["error"]["message"]
