"""Bodies of requests: long ones beside a stream, compressed ones, and chunks in pieces."""
import gzip
import json
import socket
import threading
import time
import zlib

import pytest

from processes import MODEL, Router, replicas, wait_until
from raw_http import chat, read_answer, request_bytes, send

# The stream has an event every few milliseconds. A body that is read at once held it for 0.4 to 0.7 s.
LONGEST_GAP = 0.25
HEAD = b'{"model":"nobody","messages":[{"role":"user","content":"x"}]'

BODIES = {
    "escaped-keys": HEAD + b',"\\u0061":1' * 800_000 + b"}",
    "exponents": HEAD + b',"x":[' + b"1e9," * 2_000_000 + b"1]}",
    "brackets": HEAD + b',"x":[' + b"[]," * 3_000_000 + b"1]}",
    "escapes": HEAD[:-3] + b"\\u4f60" * 1_500_000 + b'"}]}',
}


@pytest.fixture(scope="module")
def one_loop(folder, engine):
    with Router(folder, config="threads: 1\n" + replicas([engine])) as running:
        yield running


class Stream(threading.Thread):
    """Reads a stream and remembers the longest time between two reads."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.longest = 0.0
        self.pieces = 0
        self._ended = threading.Event()
        self._socket = socket.create_connection(address, timeout=10)
        self._socket.sendall(request_bytes(body=chat(model=MODEL, stream=True, max_tokens=3000)))

    def run(self):
        last = None
        with self._socket:
            while not self._ended.is_set() and self._socket.recv(65536):
                now = time.monotonic()
                self.longest = max(self.longest, now - last) if last else 0.0
                self.pieces += 1
                last = now

    def wait_for(self, pieces):
        wait_until(lambda: self.pieces >= pieces, 20, lambda: f"{self.pieces} pieces")

    def stop(self):
        self._ended.set()
        self.join(timeout=10)


def longest_gap_beside(address, body, path="/v1/chat/completions"):
    """The longest time between two reads of a stream while the body is taken, and the answer to the body."""
    stream = Stream(address)
    stream.start()
    stream.wait_for(5)
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(request_bytes(path, body))
        answer = read_answer(connection)
    stream.wait_for(stream.pieces + 5)
    stream.stop()
    return stream.longest, answer


@pytest.mark.alone
@pytest.mark.parametrize("name", BODIES)
def test_a_long_body_does_not_stop_the_stream_beside_it(one_loop, name):
    longest = []
    for _ in range(3):  # The machine may pause either process.
        gap, answer = longest_gap_beside(one_loop.address, BODIES[name])
        assert answer.status == 404 and json.loads(answer.body)["error"]["code"] == "model_not_found"
        longest.append(gap)
    assert min(longest) < LONGEST_GAP, longest


PICTURE = "iVBORw0KGgo" + "A" * 20_000_000
PICTURES = {
    "/v1/chat/completions": {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PICTURE}},
    "/v1/messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
    "/api/chat": None,
}


@pytest.mark.alone
@pytest.mark.parametrize("path", PICTURES)
def test_a_large_picture_does_not_stop_the_stream_beside_it(one_loop, path):
    """A picture of 20 MB in each dialect. Ollama's is translated before its model is looked up."""
    part = PICTURES[path]
    message = {"role": "user", "content": [part]} if part else {"role": "user", "content": "x", "images": [PICTURE]}
    body = json.dumps({"model": "nobody", "max_tokens": 1, "messages": [message]}).encode()
    longest = []
    for _ in range(3):
        gap, answer = longest_gap_beside(one_loop.address, body, path)
        assert answer.status == 404 and "nobody" in answer.body.decode()
        longest.append(gap)
    assert min(longest) < LONGEST_GAP, longest


BODY = json.dumps(chat("Say it " * 200, max_tokens=2)).encode()
RAW = zlib.compressobj(wbits=-zlib.MAX_WBITS)


def encoded(coding, body):
    return request_bytes(body=body, headers={"Content-Encoding": coding})


@pytest.mark.parametrize("coding, body", [
    ("gzip", gzip.compress(BODY)),
    ("x-gzip", gzip.compress(BODY[:100]) + gzip.compress(BODY[100:])),
    ("deflate", zlib.compress(BODY)),
    ("Deflate", RAW.compress(BODY) + RAW.flush()),
    ("identity", BODY),
], ids=["gzip", "members", "zlib", "raw", "identity"])
def test_a_compressed_body_is_served(router, coding, body):
    answer = send(router.address, encoded(coding, body))
    assert answer.status == 200, answer.body
    plain = send(router.address, request_bytes(body=BODY)).json()
    assert answer.json()["usage"] == plain["usage"]


@pytest.mark.parametrize("coding", ["br", "compress", "gzip, gzip"])
def test_an_unknown_encoding_is_415(router, coding):
    answer = send(router.address, encoded(coding, gzip.compress(BODY)))
    assert answer.status == 415 and "gzip, deflate or zstd" in answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"", BODY, gzip.compress(BODY)[:-5], gzip.compress(BODY) + b"x"])
def test_a_broken_encoding_is_400(router, body):
    answer = send(router.address, encoded("gzip", body))
    assert answer.status == 400 and "not valid gzip" in answer.json()["error"]["message"]


def test_a_bomb_is_refused_at_the_limit(folder, engine):
    with Router(folder, config="limits: {max_body: 1MiB}\n" + replicas([engine])) as router:
        bomb = gzip.compress(b'{"model":"' + b" " * (256 << 20))
        assert len(bomb) < 1 << 20
        answer = send(router.address, encoded("gzip", bomb), timeout=30)
        assert answer.status == 413 and answer.json()["error"]["code"] == "body_too_large"
        assert send(router.address, request_bytes(body=BODY)).status == 200
        router.wait_for_count("penstock_fill_ratio", 0, of="body_memory")


CHUNKED_HEAD = request_bytes(headers={"Content-Length": None, "Transfer-Encoding": "chunked"})


@pytest.mark.parametrize("pieces", [(b"0\r\n", b"\r", b"\n"), (b"0", b"\r\n\r", b"\n"), (b"00\r\n", b"\r\n")])
@pytest.mark.parametrize("server", ["router", "engine"])
def test_an_empty_chunked_body_in_pieces_is_answered(server, pieces, request):
    """An assertion of the HTTP parser once fell over it."""
    process = request.getfixturevalue(server)
    with socket.create_connection(process.address, timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(CHUNKED_HEAD)
        for piece in pieces:
            connection.sendall(piece)
        assert read_answer(connection).status == 400
    assert process.process.poll() is None
