"""Responses with the official SDK: ids that find their replica, and work in the background, behind two engines that store."""
import concurrent.futures
import pathlib
import signal
import socket
import time

import openai
import pytest
from processes import MODEL, Engine, Router, replicas, wait_until
from raw_http import read_answer, request_bytes, send

ENDED = ("completed", "incomplete", "failed", "cancelled")


def sdk(router, key="any"):
    return openai.OpenAI(base_url=router.url + "/v1", api_key=key, max_retries=0, timeout=30)


@pytest.fixture(scope="module")
def pair(folder):
    with Engine(folder, name="one") as one, Engine(folder, name="two") as two:
        yield [one, two]


@pytest.fixture(scope="module")
def router(folder, pair):
    with Router(folder, pair) as running:
        yield running


@pytest.fixture(scope="module")
def client(router):
    with sdk(router) as made:
        yield made


def ask(client, text="What does a penstock do?", tokens=12, **more):
    return client.responses.create(model=MODEL, input=text, max_output_tokens=tokens, **more)


def work(client, tokens=300, **more):
    """A response in the background with so many tokens."""
    return client.responses.create(model=MODEL, input="a long story", background=True,
                                   extra_headers={"x-simulated-output-tokens": str(tokens)}, **more)


def many(client, count=24):
    """So many responses at a time, so that several engines get some."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda i: ask(client, f"story {i} " * 200, tokens=40), range(count)))


def homes(pair, made):
    """The engines that keep each of these responses."""
    return [{engine.port for engine in pair if engine.get(f"/v1/responses/{response.id}")[0] == 200} for response in made]


def test_every_stored_response_is_found_at_its_own_replica(client, pair):
    made = many(client)
    where = homes(pair, made)
    assert all(len(ports) == 1 for ports in where)
    assert set.union(*where) == {engine.port for engine in pair}, "both engines got some"
    for response in made:
        again = client.responses.retrieve(response.id)
        assert (again.id, again.output_text, again.usage) == (response.id, response.output_text, response.usage)


def test_the_items_of_the_input_are_listed(client):
    made = ask(client, [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}])
    items = client.responses.input_items.list(made.id)
    assert [item.content[0].text for item in items.data] == ["one", "two", "three"]


def test_a_deleted_response_is_unknown(client):
    made = ask(client)
    client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError, match="not found"):
        client.responses.retrieve(made.id)


def test_a_response_goes_on_with_an_earlier_one_at_its_replica(client, pair):
    for turn in range(6):
        first = ask(client, f"turn {turn}")
        second = ask(client, "go on", previous_response_id=first.id)
        third = ask(client, "go on", previous_response_id=second.id, stream=True)
        last = [event for event in third][-1].response
        assert first.usage.input_tokens < second.usage.input_tokens < last.usage.input_tokens
        assert len({str(home) for home in homes(pair, [first, second, last])}) == 1


def test_a_streamed_response_is_stored_under_the_id_of_its_first_event(client):
    events = list(ask(client, stream=True))
    assert events[0].type == "response.created" and events[-1].type == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert client.responses.retrieve(events[0].response.id).output_text == events[-1].response.output_text


def test_a_client_does_not_choose_the_id(client):
    made = ask(client, extra_body={"request_id": "resp_mine"})
    assert made.id != "resp_mine"
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_mine")


@pytest.mark.parametrize("bad", ["resp_1", "x", "resp_" + "0" * 48, "resp_" + "a" * 10_000, "%00", "..%2f..", "resp_é"])
def test_an_id_of_nobody_is_unknown(router, pair, bad):
    calls = [engine.get("/metrics")[0] for engine in pair]
    assert calls == [200, 200]
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items"), ("GET", "?stream=true")):
        answer = send(router.address, request_bytes(f"/v1/responses/{bad}{path}".encode().decode("latin-1"), method=method, body=b""))
        assert answer.status in (400, 404, 431), answer.body
        assert len(answer.body) < 1000
    body = {"model": MODEL, "input": "a", "previous_response_id": bad}
    answer = send(router.address, request_bytes("/v1/responses", body))
    error = answer.json()["error"]
    expected = (400, "invalid_value") if len(bad) > 1000 else (404, "response_not_found")
    assert (answer.status, error["code"], error["param"]) == (*expected, "previous_response_id")


def test_work_in_the_background_holds_its_lease_until_it_ends(client, router, pair):
    made = work(client)
    assert made.status == "queued"
    router.wait_for_count("penstock_replica_running_requests", 1)
    assert router.promised() > 0
    seen = client.responses.retrieve(made.id)
    assert seen.status == "in_progress"
    wait_until(lambda: client.responses.retrieve(made.id).status in ENDED, 60, "the end of the work")
    ended = client.responses.retrieve(made.id)
    assert (ended.status, ended.usage.output_tokens) == ("completed", 300)
    router.wait_for_nothing(pair)


def test_a_cancelled_work_ends_at_the_engine_and_its_lease_ends(client, router, pair):
    made = work(client, 100_000)
    router.wait_for_count("penstock_replica_running_requests", 1)
    assert client.responses.cancel(made.id).status == "cancelled"
    router.wait_for_nothing(pair)
    assert client.responses.retrieve(made.id).status == "cancelled"


def test_a_deleted_work_gives_its_lease_back(client, router, pair):
    made = work(client, 100_000)
    router.wait_for_count("penstock_replica_running_requests", 1)
    client.responses.delete(made.id)
    router.wait_for_nothing(pair)


def test_a_stream_of_background_work_goes_on_where_its_client_left(client, router, pair):
    whole = work(client, 400, stream=True)
    begun = []
    for event in whole:
        begun.append(event)
        if len(begun) == 20:
            break
    whole.close()
    id, last = begun[0].response.id, begun[-1].sequence_number
    assert router.metrics().sum("penstock_replica_running_requests") == 1, "the lease outlives its reader"
    rest = list(client.responses.retrieve(id, stream=True, starting_after=last))
    assert [event.sequence_number for event in rest] == list(range(last + 1, last + 1 + len(rest)))
    assert rest[-1].type == "response.completed"
    text = "".join(event.delta for event in begun + rest if event.type == "response.output_text.delta")
    assert text == rest[-1].response.output_text
    router.wait_for_nothing(pair)


def test_head_answers_with_a_head_alone_and_its_connection_serves_on(client, router):
    made = ask(client)
    with socket.create_connection(router.address, timeout=10) as connection:
        for query in ("", "?stream=true", ""):
            for method in ("HEAD", "GET"):
                connection.sendall(request_bytes(f"/v1/responses/{made.id}{query}", b"", method, {"Authorization": "Bearer any"}))
                answer = read_answer(connection, method)
                assert (answer.status, answer.body == b"") == (200, method == "HEAD")


def test_background_needs_a_store_and_a_plain_key(router):
    unstored = send(router.address, request_bytes("/v1/responses", {"model": MODEL, "input": "a", "background": True, "store": False}))
    assert (unstored.status, unstored.json()["error"]["param"]) == (400, "background")
    hidden = send(router.address, request_bytes(
        "/v1/responses", b'{"model":"%s","input":"a","\\u0062ackground":true}' % MODEL.encode()))
    assert (hidden.status, hidden.json()["error"]["code"]) == (400, "unsupported_parameter")


def test_an_engine_that_keeps_nothing_is_named(folder):
    with Engine(folder, name="llama", overflow="error") as engine, Router(folder, [engine]) as router:
        answer = send(router.address, request_bytes("/v1/responses", {"model": MODEL, "input": "a", "background": True}))
        assert (answer.status, answer.json()["error"]["param"]) == (400, "background")
        assert "keeps responses" in answer.json()["error"]["message"]


def test_a_restarted_router_and_a_second_one_find_every_response(folder, client, pair):
    made = many(client, 8)
    with Router(folder, pair) as other, sdk(other) as second:
        for response in made:
            assert second.responses.retrieve(response.id).output_text == response.output_text
            assert ask(second, "go on", previous_response_id=response.id).status in ENDED


def test_an_engine_that_restarted_has_forgotten(folder):
    with Engine(folder, name="mortal") as engine:
        with Router(folder, [engine]) as router, sdk(router) as client:
            kept, running = ask(client), work(client, 100_000)
            router.wait_for_count("penstock_replica_running_requests", 1)
            engine.kill()
            with Engine(folder, name="reborn", port=engine.port):
                def gone():
                    try:
                        client.responses.retrieve(kept.id)
                    except openai.NotFoundError:
                        return True
                    except openai.APIError:
                        return False
                wait_until(gone, 30, "the engine's own 404")
                with pytest.raises(openai.NotFoundError):
                    client.responses.retrieve(running.id)
                wait_until(lambda: router.in_flight() == 0, 60, "the end of the lease")


def test_a_replica_that_left_by_a_reload_is_named(folder, pair):
    one, two = pair
    with Router(folder, config=replicas(pair)) as router, sdk(router) as client:
        made = many(client)
        lost = next(response for response, ports in zip(made, homes(pair, made)) if two.port in ports)
        router.write_config(replicas([one]))
        router.signal(signal.SIGHUP)
        def status():
            return send(router.address, request_bytes(f"/v1/responses/{lost.id}", method="GET", body=b"",
                                                      headers={"Authorization": "Bearer any"})).status
        wait_until(lambda: status() == 410, 20, status)
        with pytest.raises(openai.APIStatusError, match="left the fleet") as error:
            ask(client, "go on", previous_response_id=lost.id)
        assert error.value.code == "response_lost"


TENANTS = """
tenants:
  - {name: red, keys: [key-red], max_concurrent: 2}
  - {name: blue, keys: [key-blue]}
"""


def test_a_tenant_has_its_own_responses_only_and_its_limits_count_work_in_the_background(folder, pair):
    with Router(folder, config=replicas(pair) + TENANTS) as router, sdk(router, "key-red") as red, sdk(router, "key-blue") as blue:
        made = ask(red)
        assert red.responses.retrieve(made.id).id == made.id
        for attempt in (lambda: blue.responses.retrieve(made.id), lambda: blue.responses.delete(made.id),
                        lambda: blue.responses.cancel(made.id), lambda: blue.responses.input_items.list(made.id),
                        lambda: ask(blue, previous_response_id=made.id)):
            with pytest.raises(openai.NotFoundError):
                attempt()
        running = [work(red, 100_000), work(red, 100_000)]
        with pytest.raises(openai.RateLimitError):
            work(red, 100_000)
        assert ask(blue).status in ENDED
        for response in running:
            red.responses.cancel(response.id)
        router.wait_for_nothing(pair)
        assert ask(red).status in ENDED


def test_a_draining_router_leaves_the_work_to_its_engine(folder, pair):
    with Router(folder, pair) as router, sdk(router) as client:
        made = work(client, 5000)
        router.wait_for_count("penstock_replica_running_requests", 1)
        began = time.monotonic()
        assert router.stop() == 0
        assert time.monotonic() - began < 10
    with Router(folder, pair) as other, sdk(other) as client:
        assert client.responses.retrieve(made.id).status in ("in_progress", "completed")
        client.responses.delete(made.id)


def resident_kilobytes(router):
    status = pathlib.Path(f"/proc/{router.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


@pytest.mark.unsanitized
def test_a_flood_of_ids_costs_no_memory(client, router):
    for _ in range(300):
        ask(client, tokens=1)
    before = resident_kilobytes(router)
    for _ in range(1500):
        ask(client, tokens=1)
    assert resident_kilobytes(router) - before < 4096
