"""Clients of HTTP/2 that flood, stall, or break its rules: they are stopped and counted, and others notice nothing."""
import contextlib
import json
import select
import socket
import time

import pytest
from http2_client import PREFACE, Http2Client, frame, literal
from neighbour import longest_pause, resident_bytes
from processes import Router, replicas, wait_until
from raw_http import chat, read_answer, request_bytes

LIMITS = ("threads: 1\nlimits: {max_streams: 20, max_header: 4kB, max_body: 20kB, header_timeout: 2s, body_timeout: 1s, "
          "write_timeout: 1s}\n")
END_STREAM, END_HEADERS = 1, 4
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 5, 6, 8, 9
REFUSED_STREAM, ENHANCE_YOUR_CALM = 7, 11
REQUEST = (literal(b":method", b"GET") + literal(b":path", b"/v1/models") + literal(b":scheme", b"http") +
           literal(b":authority", b"p"))
CHAT = (literal(b":method", b"POST") + literal(b":path", b"/v1/chat/completions") + literal(b":scheme", b"http") +
        literal(b":authority", b"p") + literal(b"content-type", b"application/json"))


@pytest.fixture(scope="module")
def router(folder, engine):
    with Router(folder, config=LIMITS + replicas([engine])) as running:
        yield running


@pytest.fixture
def client(router):
    with Http2Client(router.address) as connected:
        yield connected


def bad_input(router, kind):
    return router.metrics().sum("penstock_bad_input_total", kind=kind)


def wait_for_more(router, before, kind):
    wait_until(lambda: bad_input(router, kind) > before, 10, lambda: f"{kind} is {before}")


def head(*fields, base=REQUEST, flags=END_STREAM | END_HEADERS, stream=1):
    return frame(HEADERS, flags, stream, base + b"".join(literal(*field) for field in fields))


def frames_in(data):
    """Kind, stream and payload of the frames of the router."""
    while len(data) >= 9:
        size = int.from_bytes(data[:3], "big")
        yield data[3], int.from_bytes(data[5:9], "big"), data[9:9 + size]
        data = data[9 + size:]


def codes_of(data):
    """The codes of GOAWAY, and of resets by stream, among the frames of the router."""
    gone, resets = None, {}
    for kind, stream, payload in frames_in(data):
        if kind == 7:
            gone = int.from_bytes(payload[4:8], "big")
        if kind == RST_STREAM:
            resets[stream] = int.from_bytes(payload, "big")
    return gone, resets


def converse(router, data, until_reset=False):
    """Sends bytes behind the preface; the codes of the answer."""
    with socket.create_connection(router.address, timeout=20) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(PREFACE + frame(SETTINGS) + data)
        received = b""
        with contextlib.suppress(ConnectionError):
            while chunk := connection.recv(65536):
                received += chunk
                if until_reset and codes_of(received)[1]:
                    break
        return codes_of(received)


@pytest.mark.parametrize("flood", [
    frame(PING, payload=b"12345678"),
    frame(SETTINGS, payload=b"\x00\x04\x00\x00\xff\xff"),
    frame(WINDOW_UPDATE, payload=b"\x00\x00\x00\x01"),
    frame(PRIORITY, stream=1, payload=b"\x00\x00\x00\x03\x10"),
    frame(0xfe, payload=b"nobody knows"),
], ids=["ping", "settings", "window_update", "priority", "unknown"])
def test_a_flood_of_frames_is_stopped_and_counted(router, flood):
    before = bad_input(router, "http2_flood")
    assert longest_pause(router, lambda: converse(router, flood * 20_000)) < 0.5
    wait_for_more(router, before, "http2_flood")


def test_heads_of_a_stream_that_has_ended_are_a_flood(router):
    before = bad_input(router, "http2_flood")
    with socket.create_connection(router.address, timeout=20) as connection:
        connection.sendall(PREFACE + frame(SETTINGS) + head())
        received = b""
        while not any((kind, stream) == (DATA, 1) for kind, stream, _ in frames_in(received)):
            received += connection.recv(65536)
        with contextlib.suppress(ConnectionError):
            connection.sendall(head() * 20_000)
        wait_for_more(router, before, "http2_flood")


def test_rapid_resets_are_stopped_and_free_everything(router, engine):
    before = bad_input(router, "http2_flood")
    body = json.dumps(chat(max_tokens=1000)).encode()
    flood = b"".join(
        frame(HEADERS, END_HEADERS, stream, CHAT) + frame(DATA, END_STREAM, stream, body) +
        frame(RST_STREAM, 0, stream, b"\x00\x00\x00\x08") for stream in range(1, 4000, 2))
    gone, _ = converse(router, flood)
    assert gone in (None, ENHANCE_YOUR_CALM)  # The router may close before it is read.
    wait_for_more(router, before, "http2_flood")
    router.wait_for_nothing([engine])


def test_frames_in_the_moment_of_a_deadline_end_a_connection_only(folder, engine):
    """The bytes are there when the router gives the connection up, which waits for them at that moment."""
    ping = frame(PING, payload=b"12345678")
    with Router(folder, config="threads: 1\nlimits: {header_timeout: 1s}\n" + replicas([engine])) as router:
        for _ in range(8):
            with contextlib.ExitStack() as held:
                begun = time.monotonic()
                left = [held.enter_context(socket.create_connection(router.address, timeout=20)) for _ in range(20)]
                for connection in left:
                    connection.sendall(PREFACE + frame(SETTINGS) + frame(SETTINGS, 1))
                    connection.setblocking(False)
                select.select([], [], [], 0.98 - (time.monotonic() - begun))
                until = time.monotonic() + 0.2
                while left and time.monotonic() < until:
                    for connection in list(left):
                        try:
                            connection.send(ping)
                        except BlockingIOError:
                            continue
                        except OSError:
                            left.remove(connection)
        assert router.get("/healthz")[0] == 200


def test_an_endless_head_is_stopped(router):
    floods, breaks = bad_input(router, "http2_flood"), bad_input(router, "malformed_http2")
    converse(router, head(flags=END_STREAM) + frame(CONTINUATION, 0, 1, literal(b"x-a", b"b" * 100) * 150) * 200)
    wait_until(lambda: bad_input(router, "http2_flood") + bad_input(router, "malformed_http2") > floods + breaks, 10, "it is counted")


def test_a_head_that_stands_for_much_more_is_stopped(router):
    """One long field in the table of the connection, and its number again and again."""
    kept = b"\x40" + bytes([3]) + b"x-a" + b"\x7f\xa1\x1e" + b"b" * 4000
    before = bad_input(router, "http2_flood")
    head_of_numbers = frame(HEADERS, END_STREAM, 1, REQUEST + kept + b"\xbe" * 10_000)
    assert longest_pause(router, lambda: converse(router, head_of_numbers + frame(CONTINUATION, 4, 1, b"\xbe" * 16_000))) < 0.5
    wait_for_more(router, before, "http2_flood")


@pytest.mark.parametrize("numbers", [31, 32, 33])
def test_a_head_that_ends_where_its_reading_pauses_is_answered(router, numbers):
    """With 32 numbers the last byte of all is the one that fills a turn."""
    kept = b"\x40" + bytes([3]) + b"x-a" + b"\x7f\xa1\x1e" + b"b" * 4000
    request = frame(HEADERS, END_STREAM | END_HEADERS, 1, REQUEST + kept + b"\xbe" * numbers)
    with socket.create_connection(router.address, timeout=20) as connection:
        connection.sendall(PREFACE + frame(SETTINGS) + request)
        received = b""
        while not any((kind, stream) == (HEADERS, 1) for kind, stream, _ in frames_in(received)):
            chunk = connection.recv(65536)
            assert chunk, f"closed without an answer: {received!r}"
            received += chunk


@pytest.mark.parametrize(("request_bytes", "code"), [
    (frame(HEADERS, 5, 1, REQUEST + literal(b"connection", b"close")), 1),
    (frame(HEADERS, 5, 1, REQUEST + literal(b"transfer-encoding", b"chunked")), 1),
    (frame(HEADERS, 5, 1, REQUEST + literal(b":path", b"/again")), 1),
    (frame(HEADERS, 5, 1, literal(b"x-a", b"b") + REQUEST), 1),
    (frame(HEADERS, 5, 1, REQUEST + literal(b":status", b"200")), 1),
    (frame(HEADERS, 5, 1, literal(b":method", b"GET")), 1),
    (head((b"content-length", b"5")), 1),
], ids=["connection", "transfer-encoding", "two-paths", "pseudo-last", "status", "no-path", "length"])
def test_a_malformed_request_is_reset_and_counted(router, request_bytes, code):
    before = bad_input(router, "malformed_http2")
    _, resets = converse(router, request_bytes, until_reset=True)
    assert resets == {1: code}
    wait_for_more(router, before, "malformed_http2")


@pytest.mark.parametrize("data", [
    frame(DATA, 1, 1, b"x"), frame(HEADERS, 5, 2, REQUEST), frame(HEADERS, 5, 0, REQUEST), frame(CONTINUATION, 4, 1, REQUEST),
    frame(SETTINGS, payload=b"12345"), frame(PING, payload=b"1"), frame(WINDOW_UPDATE, payload=b"\0\0\0\0"),
    frame(PUSH_PROMISE, 4, 1, b"\0\0\0\2" + REQUEST), b"\xff" * 64, frame(HEADERS, 5, 1, b"\xff\xff\xff\xff\xff"),
    frame(WINDOW_UPDATE, payload=b"\x7f\xff\xff\xff") * 2, frame(SETTINGS, payload=b"\x00\x04\xff\xff\xff\xff"),
    frame(HEADERS, END_STREAM, 1, REQUEST) + frame(PING, payload=b"12345678"),
], ids=["data-idle", "even-stream", "stream-0", "lone-continuation", "settings-size", "ping-size", "window-0", "push", "huge-frame",
        "bad-hpack", "window-overflow", "window-size", "interleaved"])
def test_frames_that_break_the_rules_end_the_connection_with_their_code(router, data):
    before = bad_input(router, "malformed_http2")
    gone, _ = converse(router, data)
    assert gone not in (None, 0)
    wait_for_more(router, before, "malformed_http2")


@pytest.mark.parametrize(("fields", "status"), [
    ([("x-a", "b" * 5000)], 431), ([("x-a", "b")] * 101, 431), ([("content-type", "a"), ("content-type", "b")], 400),
    ([("host", "other")], 400), ([("authorization", "a"), ("authorization", "b")], 400),
])
def test_heads_have_the_limits_of_http1(client, fields, status):
    assert client.ask(path="/v1/models", method="GET", headers=fields).status == status
    assert client.ask(path="/v1/models", method="GET").status == 200


def test_bodies_have_the_limits_of_http1(client, router):
    assert client.ask(chat("word " * 6000)).status == 413
    announced = client.send(headers=[("content-type", "application/json"), ("content-length", "99999")], end=False)
    assert client.answer(announced).status == 413
    late = client.send(headers=[("content-type", "application/json")], end=False)
    assert client.answer(late).status == 408
    assert client.ask(path="/v1/models", method="GET").status == 200


def test_half_a_head_ends_the_connection_in_time(router):
    before = bad_input(router, "too_slow")
    gone, _ = converse(router, head(flags=END_STREAM))
    assert gone == 0
    wait_for_more(router, before, "too_slow")


def test_more_streams_than_allowed_are_refused(router, engine):
    body = json.dumps(chat(max_tokens=4000, stream=True)).encode()
    many = b"".join(frame(HEADERS, END_HEADERS, stream, CHAT) + frame(DATA, END_STREAM, stream, body) for stream in range(1, 43, 2))
    _, resets = converse(router, many, until_reset=True)
    assert resets[41] == REFUSED_STREAM
    router.wait_for_nothing([engine])


def test_a_client_without_a_window_stalls_itself_alone(router, engine):
    with Http2Client(router.address, window=0) as client:
        client.until(lambda: client.h2.remote_settings.max_concurrent_streams == 20)
        stalled = client.send(chat(max_tokens=4000, stream=True))
        client.until(lambda: client.answers[stalled]["status"] == 200)
        other = client.send(chat(max_tokens=4, stream=True))
        client.h2.increment_flow_control_window(1 << 20, other)
        client.flush()
        assert b"[DONE]" in client.answer(other).body
        client.until(lambda: client.answers[stalled]["reset"] is not None, 10)
        assert client.answers[stalled]["body"] == b""
        assert client.ask(path="/v1/models", method="HEAD").status == 200
    router.wait_for_nothing([engine])


UPGRADE = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


def test_requests_for_sockets_that_are_refused_take_no_place_while_nobody_reads_that(folder, engine):
    with Router(folder, config=replicas([engine]) + "realtime: {connections: 2}\n") as router:
        with Http2Client(router.address, window=0) as idle:
            refused = [idle.send(path="/v1/realtime?model=any", method="GET") for _ in range(5)]
            idle.until(lambda: all(idle.answers[stream]["status"] == 426 for stream in refused))
            with socket.create_connection(router.address, timeout=20) as client:
                client.sendall(request_bytes("/v1/realtime?model=any", method="GET", headers=UPGRADE))
                answer = read_answer(client)
    assert answer.status == 404 and b"model" in answer.body, answer.body
