"""The name that a client gives its conversation brings it back to the replica that has its context."""
import json
import socket

from processes import Engine, Router, replicas, wait_until
from raw_http import chat, request_bytes, send

LONG = {"max_tokens": 4000, "stream": True}


def replica_of(router, body, headers=None, path="/v1/chat/completions"):
    asked = {"x-penstock-receipt": "1", **(headers or {})}
    answer = send(router.address, request_bytes(path=path, body=body, headers=asked), timeout=30)
    assert answer.status == 200, answer.body
    return json.loads(answer.headers["x-penstock-receipt"])["replica"]


class Stream:
    """A long stream that keeps its replica fuller than the others until it is closed."""

    def __init__(self, router):
        self.connection = socket.create_connection(router.address, timeout=30)
        self.connection.sendall(request_bytes(body=chat(**LONG)))
        assert b"200" in self.connection.recv(65536)
        wait_until(lambda: router.metrics().sum("penstock_replica_running_requests") == 1, 20, router.log)

    def close(self, router):
        self.connection.close()
        router.wait_for_nothing()


def short(**more):
    """Below one block of hashes: only the hint tells where its context is."""
    return chat("A short conversation. " * 12, max_tokens=2, **more)


def test_a_session_goes_back_to_its_replica(folder):
    with Engine(folder, name="a") as first, Engine(folder, name="b") as second, \
            Router(folder, config=replicas([first, second])) as router:
        router.wait_for_count("penstock_replica_up", 2)
        at_first = replica_of(router, short())
        beside = Stream(router)
        named = {"x-session-id": "s1"}
        other = replica_of(router, short(), named)
        assert other != at_first
        assert replica_of(router, short(user="u1")) == other
        assert replica_of(router, short(prompt_cache_key="k1", user="of everybody")) == other
        message = {**short(metadata={"user_id": "m1"})}
        assert replica_of(router, message, path="/v1/messages") == other
        beside.close(router)
        replica_of(router, short())
        replica_of(router, short(), {"x-session-id": "s2"})
        assert router.metrics().sum("penstock_session_hints_total") == 0
        assert replica_of(router, short(), named) == other
        assert replica_of(router, short(user="u1")) == other
        assert replica_of(router, short(prompt_cache_key="k1", user="of somebody")) == other
        assert replica_of(router, message, path="/v1/messages") == other
        assert router.metrics().sum("penstock_session_hints_total") == 4


def test_sessions_of_two_tenants_have_nothing_in_common(folder):
    tenants = "tenants: [{name: a, keys: [key-a]}, {name: b, keys: [key-b]}]\n"
    with Engine(folder, name="a") as first, Engine(folder, name="b") as second, \
            Router(folder, config=replicas([first, second]) + tenants) as router:
        router.wait_for_count("penstock_replica_up", 2)
        of = [{"authorization": f"Bearer key-{name}", "x-session-id": "s"} for name in "ab"]
        replica_of(router, short(), of[0])
        at = replica_of(router, short(), of[1])
        assert router.metrics().sum("penstock_session_hints_total") == 0
        assert replica_of(router, short(), of[1]) == at
        assert router.metrics().sum("penstock_session_hints_total") == 1


def test_names_that_are_none_change_nothing(folder):
    with Engine(folder) as engine, Router(folder, [engine]) as router:
        for value in (7, ["a"], {"a": 1}, "", "x" * 4000):
            assert send(router.address, request_bytes(body=short(user=value)), timeout=30).status in (200, 400)
            replica_of(router, short(), {"x-session-id": "y" * 4000})
        assert router.metrics().sum("penstock_session_hints_total") == 0
        assert router.process.poll() is None
