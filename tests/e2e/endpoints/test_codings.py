"""Bodies in zstd, and whole JSON answers in gzip for clients that accept it."""
import gzip
import json

import httpx
import pytest
from processes import Router, replicas
from raw_http import chat, request_bytes, send
from scripted_engine import MODEL as SCRIPTED
from scripted_engine import ScriptedEngine, http

GZIP = {"Accept-Encoding": "gzip"}


def zstd(data, window=None):
    """A frame with raw blocks. With `window`, a power of two, the frame asks for a window of that size."""
    head = b"\x28\xb5\x2f\xfd"
    if window is None:
        head += b"\xa0" + len(data).to_bytes(4, "little")
    else:
        head += b"\x00" + bytes([(window - 10) << 3])
    blocks = b""
    parts = [data[i:i + 100_000] for i in range(0, len(data), 100_000)] or [b""]
    for i, part in enumerate(parts):
        blocks += (int(i == len(parts) - 1) | len(part) << 3).to_bytes(3, "little") + part
    return head + blocks


def post(router, body, coding="zstd"):
    return send(router.address, request_bytes(body=body, headers={"Content-Encoding": coding}))


@pytest.mark.parametrize("body", [chat(max_tokens=2), chat("word " * 900, max_tokens=2)], ids=["short", "long"])
def test_a_body_in_zstd_is_read(router, body):
    assert post(router, zstd(json.dumps(body).encode())).status == 200


def test_several_frames_are_one_body(router):
    data = json.dumps(chat(max_tokens=2)).encode()
    assert post(router, zstd(data[:20]) + zstd(data[20:])).status == 200


@pytest.mark.parametrize("data", [b"", b"nonsense", zstd(b"{}")[:-1], zstd(b"{}") + b"x", zstd(b"{}", window=27)],
                         ids=["empty", "no zstd", "cut off", "rest", "window of 128 MiB"])
def test_a_broken_body_in_zstd_is_named(router, data):
    answer = post(router, data)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_content_encoding")


def test_answers_to_broken_codings_are_counted_as_all_others(router):
    body = json.dumps(chat(max_tokens=2)).encode()
    before = router.metrics().sum("penstock_responses_total", status="400")
    for coding, data in (("gzip", gzip.compress(body)[:-4]), ("zstd", b"nothing"), ("deflate", b"nothing")):
        assert post(router, data, coding).status == 400
    router.wait_for_count("penstock_responses_total", before + 3, status="400")
    before = router.metrics().sum("penstock_responses_total", status="415")
    assert post(router, body, "br").status == 415
    assert send(router.address, request_bytes(body=body, headers={"Content-Type": "text/plain"})).status == 415
    router.wait_for_count("penstock_responses_total", before + 2, status="415")


def test_a_bomb_in_zstd_is_refused_at_the_limit(folder, engine):
    # A block of one repeated byte stands for 128 KiB.
    repeated = (2 | (1 << 17) << 3).to_bytes(3, "little") + b" "
    bomb = b"\x28\xb5\x2f\xfd\x00" + bytes([(20 - 10) << 3]) + repeated * 1000
    with Router(folder, config=replicas([engine]) + "limits: {max_body: 1MB}\n") as router:
        assert post(router, bomb).status == 413


@pytest.fixture(scope="module")
def scripted(folder):
    with ScriptedEngine() as engine, Router(folder, [engine]) as router:
        yield engine, router


@pytest.fixture(scope="module")
def passing(folder):
    with ScriptedEngine() as engine:
        routes = "routes: [{path: /own, model: \"body:model\"}]\n"
        with Router(folder, config=replicas([engine]) + routes) as router:
            yield engine, router


def pass_on(router):
    return send(router.address, request_bytes("/own", {"model": SCRIPTED}, headers=GZIP), timeout=30)


def embed(router, headers=GZIP):
    body = {"model": SCRIPTED, "input": "x", "dimensions": 3}
    return send(router.address, request_bytes("/v1/embeddings", body, headers=headers), timeout=30)


def vectors(count):
    data = [{"object": "embedding", "index": 0, "embedding": [0.25] * count}]
    return {"object": "list", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@pytest.mark.parametrize("count", [5_000, 100_000, 600_000], ids=["30 KB", "600 KB", "3.6 MB"])
def test_a_long_whole_answer_is_compressed_on_request(scripted, count):
    engine, router = scripted
    engine.script = http(200, vectors(count))
    answer = embed(router)
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert json.loads(gzip.decompress(answer.body)) == vectors(count)
    assert len(answer.body) < count


@pytest.mark.parametrize("accept", ["", "identity", "gzip;q=0", "br, zstd", "gzip; q=0.0", "gzip;Q=0", "gzip; q = 0"])
def test_a_client_that_does_not_accept_it_gets_plain_bytes(scripted, accept):
    engine, router = scripted
    engine.script = http(200, vectors(5_000))
    answer = embed(router, {"Accept-Encoding": accept})
    assert "content-encoding" not in answer.headers
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.json() == vectors(5_000)


@pytest.mark.parametrize("more", ["Content-Range: bytes 0-9/10", "Cache-Control: no-cache, no-transform",
                                  "Repr-Digest: sha-256=:AA==:"])
def test_an_answer_whose_headers_speak_of_its_bytes_is_not_compressed(passing, more):
    engine, router = passing
    engine.script = http(200, vectors(5_000), more=more + "\r\n")
    answer = pass_on(router)
    name, _, value = more.partition(": ")
    assert answer.headers[name.lower()] == value
    assert "content-encoding" not in answer.headers


def test_a_strong_entity_tag_becomes_weak(passing):
    engine, router = passing
    engine.script = http(200, vectors(5_000), more='ETag: "a"\r\nVary: Origin\r\n')
    answer = pass_on(router)
    assert (answer.headers["content-encoding"], answer.headers["etag"]) == ("gzip", 'W/"a"')


@pytest.mark.parametrize("size", [5_000, 600_000])
def test_another_success_is_not_compressed(passing, size):
    engine, router = passing
    engine.script = http(201, vectors(size))
    answer = pass_on(router)
    assert (answer.status, "content-encoding" in answer.headers) == (201, False)
    assert answer.json() == vectors(size)


def test_a_short_answer_is_not_compressed(scripted):
    engine, router = scripted
    engine.script = http(200, vectors(10))
    assert "content-encoding" not in embed(router).headers


def test_a_stream_is_not_compressed(router):
    answer = send(router.address, request_bytes(body=chat(max_tokens=500, stream=True), headers=GZIP))
    assert "content-encoding" not in answer.headers
    assert answer.body.endswith(b"data: [DONE]\n\n")


def test_it_can_be_switched_off(folder):
    with ScriptedEngine() as engine:
        with Router(folder, config=replicas([engine]) + "compression: {answers: false}\n") as router:
            engine.script = http(200, vectors(5_000))
            assert "content-encoding" not in embed(router).headers


def test_an_answer_that_breaks_off_is_an_error_or_reaches_no_end(scripted):
    engine, router = scripted
    engine.script = http(200, vectors(5_000))[:-10]
    answer = embed(router)
    assert (answer.status, "content-encoding" in answer.headers) == (502, False)


def test_httpx_reads_it(scripted):
    engine, router = scripted
    engine.script = http(200, vectors(5_000))
    answer = httpx.post(router.url + "/v1/embeddings", json={"model": SCRIPTED, "input": "x"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json() == vectors(5_000)
    router.wait_for_nothing()
