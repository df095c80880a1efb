"""/metrics of a router that is reloaded again and again, each time with new names."""
import signal
import socket

import pytest
from processes import Router, wait_until
from raw_http import chat, read_answer, request_bytes, send
from scripted_engine import ScriptedEngine, http

RELOADS = 30
ANSWER = http(200, {"id": "x", "object": "chat.completion", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]})


def config(engines, number):
    """One replica that stays, and one replica, a model, a class and a tenant of this reload only."""
    return f"""
classes: {{class-{number}: {{ttft: 2s, tpot: 100ms, queue: 30s}}}}
tenants: [{{name: tenant-{number}, keys: [key-{number}]}}, {{name: always, keys: [key]}}]
replicas:
  - {{id: stays, url: '{engines[0].url}', model: steady, engine: openai, kv_tokens: 100000}}
  - {{id: replica-{number}, url: '{engines[1].url}', model: model-{number}, engine: openai, kv_tokens: 100000}}
"""


def request_of(number):
    headers = {"x-penstock-class": f"class-{number}", "authorization": f"Bearer key-{number}"}
    return request_bytes(body=chat("Hello", model=f"model-{number}", max_tokens=4), headers=headers)


def names_in(router, number):
    text = router.metrics().text
    return [name for kind in ("model", "class", "tenant", "replica") if (name := f'"{kind}-{number}"') in text]


@pytest.fixture
def engines():
    with ScriptedEngine() as steady, ScriptedEngine() as changing:
        steady.script = changing.script = ANSWER
        yield steady, changing


def reload(router, engines, number):
    router.write_config(config(engines, number))
    router.signal(signal.SIGHUP)
    wait_until(lambda: send(router.address, request_of(number)).status == 200, 20, router.log)


def test_the_series_of_names_that_reloads_dropped_leave_the_page(folder, engines):
    with Router(folder, config=config(engines, 99)) as router:
        sizes = []
        for number in range(100, 100 + RELOADS):
            reload(router, engines, number)
            steady = request_bytes(body=chat("Hello", model="steady"), headers={"authorization": "Bearer key"})
            assert send(router.address, steady).status == 200
            wait_until(lambda: len(names_in(router, number)) == 4, 20, lambda: names_in(router, number))
            sizes.append(len(router.metrics().text))
        wait_until(lambda: not any(names_in(router, number) for number in range(99, 99 + RELOADS)), 20, lambda: sizes)
        assert len(router.metrics().text) < 1.2 * sizes[0], sizes
        router.wait_for_count("penstock_replica_requests_total", RELOADS, replica="stays", outcome="ok")


def test_a_running_request_holds_the_series_of_its_names_until_it_ends(folder, engines):
    with Router(folder, config=config(engines, 1)) as router:
        reload(router, engines, 1)
        _, changing = engines
        changing.hang, changing.last_words, changing.script = True, ANSWER, b""
        with socket.create_connection(router.address) as connection:
            connection.sendall(request_of(1))
            router.wait_for_count("penstock_replica_running_requests", 1, replica="replica-1")
            calls = changing.calls
            changing.hang, changing.script = False, ANSWER
            reload(router, engines, 2)
            assert (changing.calls, len(names_in(router, 1))) == (calls + 1, 4)
            changing.let_go()
            assert read_answer(connection).status == 200
        wait_until(lambda: names_in(router, 1) == [], 20, lambda: names_in(router, 1))
