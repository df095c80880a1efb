"""The memory of requests over HTTP/2 whose clients read no answer: it is counted, and has a bound."""
import contextlib
import socket

import pytest
from http2_client import PREFACE, Http2Client, frame
from neighbour import resident_bytes
from processes import Router, replicas, wait_until
from test_http2_hostile import CONTINUATION, END_HEADERS, END_STREAM, HEADERS, REFUSED_STREAM, REQUEST, SETTINGS, head

WITHOUT_A_WINDOW = PREFACE + frame(SETTINGS, payload=b"\x00\x04\x00\x00\x00\x00")


def long_head(stream, size):
    """A request with one field of so many bytes, in frames of 16 KiB."""
    rest, length = size - 127, b"\x7f"
    while rest >= 128:
        length += bytes([rest & 127 | 128])
        rest >>= 7
    block = REQUEST + b"\x00\x03x-a" + length + bytes([rest]) + b"b" * size
    parts = [block[at:at + 16384] for at in range(0, len(block), 16384)]
    frames = [frame(CONTINUATION, END_HEADERS if part is parts[-1] else 0, stream, part) for part in parts[1:]]
    return frame(HEADERS, END_STREAM, stream, parts[0]) + b"".join(frames)


@pytest.mark.unsanitized
def test_large_heads_are_in_memory_once_and_counted(folder, engine):
    """Their answers wait for a window that the client does not open."""
    clients, streams, size, memory = 8, 100, 56_000, 512_000_000
    limits = f"limits: {{max_body_memory: {memory}B, write_timeout: 60s}}\n"
    with Router(folder, config=replicas([engine]) + limits) as router, contextlib.ExitStack() as held:

        def counted():
            return router.metrics().sum("penstock_fill_ratio", of="body_memory") * memory

        assert counted() == 0
        before = resident_bytes(router)
        heads = b"".join(long_head(stream, size) for stream in range(1, 2 * streams, 2))
        for _ in range(clients):
            connection = held.enter_context(socket.create_connection(router.address, timeout=20))
            connection.sendall(WITHOUT_A_WINDOW + heads)
        sent = clients * streams * size
        wait_until(lambda: counted() > sent, 20, lambda: f"{counted()} of {sent} bytes are counted")
        assert resident_bytes(router) - before < 1.25 * counted() + 8_000_000
        held.close()
        router.wait_for_count("penstock_fill_ratio", 0, of="body_memory")


def test_a_head_without_memory_is_refused(folder, engine):
    with Router(folder, config=replicas([engine]) + "limits: {max_body_memory: 1MB}\n") as router:
        with Http2Client(router.address, window=0) as client:
            large = [("x-a", "b" * 56_000)]
            asked = [client.send(path="/v1/models", method="GET", headers=large) for _ in range(30)]
            client.until(lambda: all(client.answers[stream]["status"] or client.answers[stream]["reset"] for stream in asked))
            answers = [client.answers[stream] for stream in asked]
            assert {answer["status"] for answer in answers} - {0} == {200, 503}
            refused = [answer["headers"] for answer in answers if answer["status"] == 503]
            assert all(head["x-penstock-reason"] == "body_memory" and head["retry-after"] for head in refused)
            resets = [answer["reset"] for answer in answers if answer["status"] == 0]
            assert set(resets) <= {REFUSED_STREAM}, "a stream of which nothing is kept"
            router.wait_for_count("penstock_turned_away_total", len(refused) + len(resets), limit="body_memory")
        router.wait_for_count("penstock_fill_ratio", 0, of="body_memory")


@pytest.mark.unsanitized
def test_streams_that_nobody_reads_hold_no_more_than_the_budget(folder, engine):
    """Each asks for a short answer, for which there is no window."""
    limits = "limits: {max_body_memory: 4MiB, max_streams: 1000, write_timeout: 60s}\n"
    with Router(folder, config=replicas([engine]) + limits) as router, contextlib.ExitStack() as held:
        before = resident_bytes(router)
        connections = [held.enter_context(socket.create_connection(router.address, timeout=20)) for _ in range(20)]
        for connection in connections:
            connection.sendall(WITHOUT_A_WINDOW)
            assert connection.recv(65536), "its part of the memory is there"
        for connection in connections:
            connection.sendall(b"".join(head(stream=stream) for stream in range(1, 2000, 2)))
        turned_away = []
        wait_until(lambda: turned_away.append(router.metrics().sum("penstock_turned_away_total", limit="body_memory")) or
                   (turned_away[-1] > 1000 and len(set(turned_away[-5:])) == 1), 20, lambda: f"{turned_away[-1]}")
        assert resident_bytes(router) - before < 24_000_000
        assert router.get("/healthz")[0] == 200
        held.close()
        router.wait_for_count("penstock_fill_ratio", 0, of="body_memory")
