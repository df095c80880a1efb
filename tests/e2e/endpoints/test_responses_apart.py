"""Responses at the edges of their lives: in the queue, behind their answer, and before any engine is known."""
import json
import socket
import threading

import openai
import pytest
from processes import MODEL, Engine, Router, replicas, wait_until
from raw_http import request_bytes, send

TENANTS = """
tenants:
  - {name: red, keys: [key-red]}
  - {name: blue, keys: [key-blue]}
"""


def sdk(router, key="any"):
    return openai.OpenAI(base_url=router.url + "/v1", api_key=key, max_retries=0, timeout=30)


def ask(client, **more):
    return client.responses.create(model=MODEL, input="a", max_output_tokens=3, **more)


def work(client, tokens):
    """A response in the background with so many tokens."""
    return client.responses.create(model=MODEL, input="a long story", background=True,
                                   extra_headers={"x-simulated-output-tokens": str(tokens)})


def test_a_client_that_leaves_the_queue_ends_its_request_in_the_background(folder):
    with Engine(folder, name="narrow", max_seqs=1) as engine:
        with Router(folder, config=replicas([engine], max_seqs=1)) as router, sdk(router) as client:
            running = work(client, 100_000)
            router.wait_for_count("penstock_replica_running_requests", 1)
            body = {"model": MODEL, "input": "a", "background": True}
            with socket.create_connection(router.address, timeout=10) as connection:
                connection.sendall(request_bytes("/v1/responses", body))
                router.wait_for_count("penstock_queued_requests", 1)
            router.wait_for_count("penstock_queued_requests", 0)
            client.responses.cancel(running.id)
            router.wait_for_nothing([engine])


class Wire:
    """A line to an engine that cut() breaks: all connections so far end, and so does each whose request says `dropped`."""

    def __init__(self, engine):
        self._engine = ("127.0.0.1", engine.port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self._open = []
        self.dropped = b""
        self.drops = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                pair = [self._server.accept()[0], socket.create_connection(self._engine)]
            except OSError:
                return
            self._open += pair
            for source, sink in (pair, pair[::-1]):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source, sink):
        try:
            while data := source.recv(65536):
                if self.drops and self.dropped in data:
                    self.drops -= 1
                    source.shutdown(socket.SHUT_RDWR)
                    break
                sink.sendall(data)
            sink.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def cut(self):
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self._server.close()
        self.cut()
        for connection in self._open:
            connection.close()


def test_a_broken_stream_of_background_work_has_its_engine_cancel_the_work(folder):
    with Engine(folder, name="wired") as engine, Wire(engine) as wire:
        with Router(folder, config=replicas([wire])) as router, sdk(router) as client:
            stream = client.responses.create(model=MODEL, input="a long story", background=True, stream=True,
                                             extra_headers={"x-simulated-output-tokens": "100000"})
            id = next(iter(stream)).response.id
            assert engine.running() == 1
            wire.cut()
            router.wait_for_nothing([engine])
            stream.close()
        with sdk(engine) as direct:
            assert direct.responses.retrieve(id).status == "cancelled"


def test_a_cancellation_that_fails_is_tried_again(folder):
    with Engine(folder, name="dropped") as engine, Wire(engine) as wire:
        with Router(folder, config=replicas([wire])) as router, sdk(router) as client:
            stream = client.responses.create(model=MODEL, input="a long story", background=True, stream=True,
                                             extra_headers={"x-simulated-output-tokens": "100000"})
            next(iter(stream))
            wire.dropped, wire.drops = b"/cancel", 1  # The cut may take a first one along.
            wire.cut()
            router.wait_for_nothing([engine])
            assert wire.drops == 0
            stream.close()


def test_the_access_line_of_a_request_that_may_run_apart_names_its_replica(folder):
    with Engine(folder, name="logged") as engine, Router(folder, config=replicas([engine]) + "log: {access: true}\n") as router, sdk(router) as client:
        work(client, 10)
        send(router.address, request_bytes("/v1/responses", {"model": MODEL, "input": "a", "max_output_tokens": 3, "metadata": {"background": "no"}}))
        router.wait_for_nothing([engine])

        def lines():
            found = [json.loads(line) for line in router.log().splitlines() if '"event":"access"' in line]
            return [line for line in found if line["path"] == "/v1/responses"]

        wait_until(lambda: len(lines()) == 2, 20, lines)
        first, second = lines()
        assert first["model"] == second["model"] == MODEL
        assert first["replica"] == second["replica"] != ""
        assert second["output_tokens"] == 3


def test_a_tenant_learns_nothing_of_a_foreign_id_while_no_engine_is_known(folder):
    with Engine(folder, name="short-lived") as engine:
        with Router(folder, config=replicas([engine]) + TENANTS) as router, sdk(router, "key-red") as red:
            made = ask(red)
        engine.kill()
        with Router(folder, config=replicas([engine], model=MODEL) + TENANTS, ready=False) as router, sdk(router, "key-blue") as blue:
            with pytest.raises(openai.NotFoundError):
                ask(blue, previous_response_id=made.id)
