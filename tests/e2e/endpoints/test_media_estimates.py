"""The tokens of pictures and sounds are estimated from their headers, and learned from the engine's counts."""
import base64
import json
import struct
import wave
import zlib
from io import BytesIO

import pytest
from processes import MODEL, Router
from raw_http import request_bytes, send

ENGINES_OWN = 256  # Tokens that the simulated engine gives each part without text.


def png(width, height):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + \
        chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def wav(seconds):
    file = BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(bytes(16000 * seconds))
    return file.getvalue()


def picture(width, height, **more):
    url = "data:image/png;base64," + base64.b64encode(png(width, height)).decode()
    return {"type": "image_url", "image_url": {"url": url, **more}}


def sound(seconds):
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(wav(seconds)).decode(), "format": "wav"}}


REMOTE = {"type": "image_url", "image_url": {"url": "https://pictures.example.invalid/a.png"}}


@pytest.fixture
def own_router(folder, engine):
    with Router(folder, [engine]) as running:
        yield running


def ask(router, parts):
    """The estimate and the engine's count of one prompt."""
    content = [{"type": "text", "text": "Please say in a sentence what there is."}, *parts]
    body = {"model": MODEL, "max_tokens": 1, "messages": [{"role": "user", "content": content}]}
    answer = send(router.address, request_bytes(body=json.dumps(body).encode(), headers={"x-penstock-receipt": "1"}), timeout=30)
    assert answer.status == 200, answer.body
    return (json.loads(answer.headers["x-penstock-receipt"])["prompt_tokens_estimate"],
            json.loads(answer.body)["usage"]["prompt_tokens"])


def test_a_picture_has_the_tokens_of_its_size_at_first(own_router):
    text, _ = ask(own_router, [])
    small, _ = ask(own_router, [picture(150, 100)])
    assert abs(small - text - 20) <= 8  # A token per 750 pixels.


def test_pictures_and_sounds_are_learned_from_usage(own_router):
    sizes = [(150, 100), (900, 700), (400, 1000), (1200, 900), (640, 480)]
    estimate, counted = ask(own_router, [picture(1200, 900)])
    assert abs(estimate - counted) > 500
    for i in range(40):
        ask(own_router, [picture(*sizes[i % 5])] * (1 + i % 2))
    for parts in [[picture(300, 300)], [picture(1000, 1000), picture(200, 700)]]:
        estimate, counted = ask(own_router, parts)
        assert counted > ENGINES_OWN * len(parts)
        assert abs(estimate - counted) < 0.1 * counted, (estimate, counted)


def test_remote_pictures_and_sounds_are_learned_by_their_mean(own_router):
    for kind in (REMOTE, sound(4)):
        for _ in range(30):
            ask(own_router, [kind])
        estimate, counted = ask(own_router, [kind])
        assert abs(estimate - counted) < 0.15 * counted, (estimate, counted)


def test_a_hostile_part_is_passed_to_the_engine(own_router):
    for url in ["", "data:image/png;base64,", "data:image/jpeg;base64,/9j/////", "data:;base64," + "\\/" * 999]:
        assert ask(own_router, [{"type": "image_url", "image_url": {"url": url}}])[1] > 0
    assert ask(own_router, [{"type": "input_audio", "input_audio": {"data": "UklGR", "format": "wav"}}])[1] > 0
