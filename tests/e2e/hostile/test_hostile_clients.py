"""Clients that send without end, hold memory, or ask for more than their part: they are stopped, and others notice nothing."""
import contextlib
import json
import socket
import time

import pytest
from neighbour import connect, disturbance, longest_pause, resident_bytes
from processes import Router, replicas, wait_until
from raw_http import chat, read_answer, request_bytes, send

MIB = 1 << 20
HOST = b"Host: p\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ONE_LOOP = "threads: 1\n"
MOST_LONG_TURNS = 400  # In 1.5 s. A loop whose every turn takes more than a millisecond has more.


@pytest.fixture(scope="module")
def router(folder, engine):
    with Router(folder, config=ONE_LOOP + replicas([engine])) as running:
        yield running


def test_a_client_that_ends_its_sending_direction_has_left(router, engine):
    with connect(router) as connection:
        connection.sendall(request_bytes("/healthz", method="GET", headers={"Content-Length": None, "Content-Type": None}))
        connection.shutdown(socket.SHUT_WR)
        assert read_answer(connection).status == 200
    before = router.metrics().sum("penstock_requests_total", outcome="client_gone")
    with connect(router) as connection:
        connection.settimeout(10)
        connection.sendall(request_bytes(body=chat(max_tokens=4000)))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    router.wait_for_count("penstock_requests_total", before + 1, outcome="client_gone")
    router.wait_for_nothing([engine])


def send_until_refused(connection, start, piece, most):
    """Sends `start` and then `piece` again and again, until the router closes or `most` bytes are out."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(start)
        for _ in range(most // len(piece)):
            connection.sendall(piece)


@pytest.mark.parametrize(("start", "piece", "status"), [
    (CHUNKED + b"1;", b"e" * 65536, 400),
    (CHUNKED, b"0" * 65536, 400),
    (CHUNKED, (b"1;" + b"e" * 2000 + b"\r\n{\r\n") * 32, 400),
    (CHUNKED, (b"0" * 2000 + b"1\r\n{\r\n") * 32, 400),
    (CHUNKED + b"0\r\n", b"X-A: b\r\n" * 9000, 431),
    (CHUNKED + b"0\r\nX-A: ", b"b" * 65536, 431),
    (POST, b"X-A: b\r\n" * 9000, 431),
    (POST, b"Connection: " + b"b," * 500 + b"\r\n", 431),
    (b"GET /", b"a" * 65536, 431),
], ids=["extension", "zeros", "many-extensions", "many-zeros", "trailers", "trailer", "fields", "connection", "target"])
def test_endless_framing_is_refused_and_takes_no_memory(router, start, piece, status):
    before = resident_bytes(router)
    with connect(router) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        send_until_refused(connection, start, piece, 64 * MIB)
        assert resident_bytes(router) < before + 16 * MIB
        router.wait_for_count("penstock_fill_ratio", 0, of="body_memory")
    with connect(router) as connection:
        connection.sendall(start + piece + b"\r\n")
        assert read_answer(connection).status == status


def pipelined_requests(connection, path=b"/healthz"):
    flood = (b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n") * 2000
    connection.setblocking(False)
    end = time.monotonic() + 1.5
    left = b""
    while time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):
            left = left or flood
            left = left[connection.send(left):]
        with contextlib.suppress(BlockingIOError):
            connection.recv(1 << 20)


def questions_for_models(connection):
    # While the list is made, nobody may send more than 64 KiB ahead.
    connection.sendall(b"GET /v1/models HTTP/1.1\r\n" + HOST + b"\r\n")
    assert read_answer(connection, "GET").status == 200
    pipelined_requests(connection, b"/v1/models")


def large_body(connection):
    connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % (60 * MIB))
    for _ in range(59):
        connection.sendall(b" " * MIB)


def long_list_of_tensors(connection):
    # With escapes, a second pass over it would take a tenth of a second.
    body = b'{"model":"nobody","prompt_embeds":[' + b",".join([b'"' + b"A\\n" * 7000 + b'"'] * 2000) + b"]}"
    connection.sendall(request_bytes("/v1/completions", body))
    assert read_answer(connection).status == 404


def bytes_behind_an_error(connection):
    send_until_refused(connection, b"nonsense\r\n\r\n", b"x" * 65536, 400 * MIB)


@pytest.mark.alone
@pytest.mark.unsanitized
@pytest.mark.parametrize("misbehave", [pipelined_requests, questions_for_models, large_body, long_list_of_tensors,
                                       bytes_behind_an_error])
def test_no_client_keeps_its_loop(router, misbehave):
    def once():
        with connect(router) as connection:
            misbehave(connection)

    pause, long_turns = disturbance(router, once)
    assert pause < 0.25
    # Each of the hundreds of turns is short, but for those in which a busy machine takes the thread away.
    assert long_turns < MOST_LONG_TURNS


@pytest.mark.alone
def test_many_names_in_connection_cost_little(router):
    body = json.dumps(chat(max_tokens=1)).encode()
    head = POST + b"Connection: b,b,b\r\n" * 3000 + b"Content-Length: %d\r\n\r\n" % len(body)

    def ask():
        for _ in range(5):
            assert send(router.address, head + body).status == 431

    assert longest_pause(router, ask) < 0.25


REFUSED = [
    (b"POST /v1/nothing HTTP/1.1\r\n" + HOST, 404),
    (b"PUT /v1/chat/completions HTTP/1.1\r\n" + HOST, 405),
    (b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Type: text/plain\r\n", 415),
    (b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST, 401),
    (b"GET /healthz HTTP/1.1\r\n" + HOST, 200),
]


@pytest.fixture(scope="module")
def keyed(folder, engine):
    tenants = "tenants:\n  - {name: team, keys: [secret-key-of-team]}\n"
    limits = "limits: {max_body_memory: 1MiB}\n"
    with Router(folder, config=ONE_LOOP + replicas([engine]) + tenants + limits) as running:
        yield running


@pytest.mark.parametrize(("head", "status"), REFUSED)
@pytest.mark.parametrize("more", [b"", b"Expect: 100-continue\r\n"], ids=["", "expect"])
def test_a_refused_head_is_answered_before_its_body(keyed, head, status, more):
    for framing in (b"Content-Length: 1000000\r\n", b"Transfer-Encoding: chunked\r\n"):
        with connect(keyed) as connection:
            connection.sendall(head + more + framing + b"\r\n")
            assert read_answer(connection).status == status
            assert connection.recv(1) == b"", "still open"


@pytest.mark.parametrize(("head", "status"), REFUSED)
def test_the_small_body_of_a_refused_head_is_passed_over(keyed, head, status):
    with connect(keyed) as connection:
        for _ in range(2):
            connection.sendall(head + b"Content-Length: 20000\r\n\r\n" + b"x" * 10000)
            connection.sendall(b"x" * 10000)
            assert read_answer(connection).status == status


def fill_memory(router, stack, source, more=b""):
    """Four requests whose bodies never end."""
    for _ in range(4):
        connection = stack.enter_context(connect(router, source))
        connection.sendall(POST + more + b"Content-Length: 900000\r\n\r\n")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(b" " * 500000)


def ask_with_24_kilobytes(router, source, headers=None):
    with connect(router, source) as connection:
        connection.sendall(request_bytes(body=chat(max_tokens=1) | {"user": "u" * 24000}, headers=headers))
        return read_answer(connection).status


def test_clients_without_a_key_take_no_memory_from_others(keyed):
    with contextlib.ExitStack() as stack:
        fill_memory(keyed, stack, "127.0.0.1")
        assert ask_with_24_kilobytes(keyed, "127.0.0.1", {"Authorization": "Bearer secret-key-of-team"}) == 200


def test_one_address_takes_no_memory_from_another(folder, engine):
    with Router(folder, config=ONE_LOOP + replicas([engine]) + "limits: {max_body_memory: 1MiB}\n") as router:
        with contextlib.ExitStack() as stack:
            fill_memory(router, stack, "127.0.0.1")
            wait_until(lambda: router.metrics().sum("penstock_fill_ratio", of="body_memory") > 0.3, 20, "memory is taken")
            assert ask_with_24_kilobytes(router, "127.0.0.2") == 200


@pytest.mark.parametrize("ahead", [70_000, 400_000])
def test_a_client_that_leaves_behind_much_input_is_noticed(router, engine, ahead):
    connection = connect(router)
    connection.sendall(request_bytes(body=chat(max_tokens=5000, stream=True)))
    assert b"data:" in connection.recv(65536)
    # The router may have closed the connection by then.
    with contextlib.suppress(OSError):
        connection.sendall(b"x" * ahead)
        connection.shutdown(socket.SHUT_WR)
    router.wait_for_nothing([engine])
    connection.close()


@pytest.mark.parametrize("limit", ["min_body_rate: 100kB, body_timeout: 500ms", "max_body_time: 500ms, min_body_rate: 0B"])
def test_a_body_has_a_least_rate_and_a_longest_time(folder, engine, limit):
    with Router(folder, config=replicas([engine]) + f"limits: {{{limit}}}\n") as router, connect(router) as connection:
        connection.sendall(POST + b"Content-Length: 100000\r\n\r\n")
        began = time.monotonic()
        connection.settimeout(0.02)
        status = None
        while status is None and time.monotonic() - began < 10:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(b" ")
            with contextlib.suppress(socket.timeout):
                status = read_answer(connection).status
        assert status == 408
        assert 0.4 < time.monotonic() - began < 5


def test_wrong_keys_do_not_fill_the_log(keyed):
    def ask_with_a_wrong_key():
        return send(keyed.address, request_bytes(body=chat(), headers={"Authorization": "Bearer wrong"})).status

    def lines():
        return [json.loads(line) for line in keyed.log().splitlines() if "invalid_key" in line]

    def next_line_tells_all():
        ask_with_a_wrong_key()
        left_out = sum(line.get("suppressed", 0) for line in lines())
        return left_out > 0 and left_out + len(lines()) > 100

    assert {ask_with_a_wrong_key() for _ in range(100)} == {401}
    send(keyed.address, request_bytes(body=chat(model="the-last"), headers={"Authorization": "Bearer secret-key-of-team"}))
    keyed.wait_for_log("invalid_key", "unknown_model")
    assert len(lines()) < 60
    assert all(line["client"] == "127.0.0.1" for line in lines())
    wait_until(next_line_tells_all, 20, keyed.log)
