"""Sound and pictures: forms pass byte for byte, answers of any type as they come, by the OpenAI SDK."""
import json
import socket

import pytest
from openai import NotFoundError, OpenAI
from processes import Router, replicas
from raw_http import request_bytes, send
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, http

SOUND = bytes(range(256)) * 40


@pytest.fixture(scope="module")
def scripted(folder):
    with ScriptedEngine() as engine:
        config = replicas([engine], model="ears") + "models: [{name: ears, aliases: [scripted]}]\n"
        with Router(folder, config=config) as router:
            yield engine, router


@pytest.fixture
def client(scripted):
    return OpenAI(base_url=scripted[1].url + "/v1", api_key="none", max_retries=0)


def body_of(engine):
    return engine.last.partition(b"\r\n\r\n")[2]


def form(*parts, boundary="xyz"):
    """A form; a part is (name, content) or (name, content, file name)."""
    lines = b""
    for name, content, *file in parts:
        more = f'; filename="{file[0]}"' if file else ""
        lines += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + content + b"\r\n"
    return lines + f"--{boundary}--\r\n".encode()


def post(router, path, body, boundary="xyz", kind=None):
    kind = kind or f"multipart/form-data; boundary={boundary}"
    return send(router.address, request_bytes(path, body, headers={"Content-Type": kind}))


def test_a_transcription(scripted, client):
    engine, _ = scripted
    engine.script = http(200, {"text": "Hello there."})
    answer = client.audio.transcriptions.create(model="ears", file=("a.wav", SOUND, "audio/wav"))
    assert answer.text == "Hello there."
    assert engine.last.startswith(b"POST /v1/audio/transcriptions HTTP/1.1")
    assert SOUND in body_of(engine)


def test_a_transcription_as_text(scripted, client):
    engine, _ = scripted
    engine.script = http(200, b"Hello there.\n", kind="text/plain; charset=utf-8")
    answer = client.audio.transcriptions.create(model="ears", file=("a.wav", SOUND), response_format="text")
    assert answer == "Hello there.\n"


def test_a_transcription_as_a_stream(scripted, client):
    engine, _ = scripted
    events = [{"type": "transcript.text.delta", "delta": word} for word in ["Hello", " there"]]
    events.append({"type": "transcript.text.done", "text": "Hello there"})
    engine.script = STREAM_HEAD + b"".join(chunk(f"data: {json.dumps(event)}\n\n") for event in events) + b"0\r\n\r\n"
    stream = client.audio.transcriptions.create(model="ears", file=("a.wav", SOUND), stream=True)
    assert [event.type for event in stream] == ["transcript.text.delta"] * 2 + ["transcript.text.done"]


def test_a_translation(scripted, client):
    engine, _ = scripted
    engine.script = http(200, {"text": "Good day."})
    assert client.audio.translations.create(model="ears", file=("a.wav", SOUND)).text == "Good day."


def test_speech_comes_as_bytes(scripted, client):
    engine, _ = scripted
    engine.script = http(200, SOUND, kind="audio/mpeg")
    answer = client.audio.speech.create(model="ears", voice="alloy", input="Say this.")
    assert answer.content == SOUND
    assert answer.response.headers["content-type"] == "audio/mpeg"


def test_speech_begins_before_it_ends(scripted):
    engine, router = scripted
    engine.script = b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    engine.last_words = b"3\r\ndef\r\n0\r\n\r\n"
    engine.hang = True
    with socket.create_connection(router.address, timeout=20) as connection:
        connection.sendall(request_bytes("/v1/audio/speech", {"model": "ears", "voice": "x", "input": "hello"}))
        seen = b""
        while b"abc" not in seen:
            seen += connection.recv(65536)
        engine.let_go()
        while not seen.endswith(b"0\r\n\r\n"):
            more = connection.recv(65536)
            assert more
            seen += more
    engine.last_words = b""
    assert b"def" in seen


def test_pictures(scripted, client):
    engine, _ = scripted
    engine.script = http(200, {"created": 1, "data": [{"b64_json": "aGVsbG8="}]})
    answer = client.images.generate(model="ears", prompt="A river", n=1)
    assert answer.data[0].b64_json == "aGVsbG8="


def test_an_edit_of_a_picture(scripted, client):
    engine, _ = scripted
    engine.script = http(200, {"created": 1, "data": [{"b64_json": "aGVsbG8="}]})
    answer = client.images.edit(model="ears", image=("a.png", SOUND, "image/png"), prompt="A bank")
    assert answer.data[0].b64_json == "aGVsbG8="
    assert SOUND in body_of(engine)


def test_the_name_of_the_model_becomes_that_of_the_engine_and_no_other_byte_changes(scripted):
    engine, router = scripted
    engine.script = http(200, {"text": ""})
    body = form(("language", b"en"), ("model", b"ears"), ("file", SOUND + b"\r\n--xy", "a.wav"))
    assert post(router, "/v1/audio/transcriptions", body).status == 200
    assert body_of(engine) in (body, body.replace(b"\r\n\r\nears\r\n", b"\r\n\r\n" + MODEL.encode() + b"\r\n"))


def test_a_long_form_is_read_in_slices(scripted):
    engine, router = scripted
    engine.script = http(200, {"text": ""})
    body = form(("file", b"\r\n--xy" * 500_000, "a.wav"), ("model", b"ears"))
    assert post(router, "/v1/audio/transcriptions", body).status == 200
    assert len(body_of(engine)) in (len(body), len(body) + len(MODEL) - len("ears"))


@pytest.mark.parametrize("body, status, code", [
    (form(("file", SOUND, "a.wav")), 400, "missing_required_parameter"),
    (form(("model", b"")), 400, "missing_required_parameter"),
    (form(("model", b"ears"), ("model", b"other")), 400, "duplicate_key"),
    (form(("model", b"stranger")), 404, "model_not_found"),
    (form(("model", b"x" * 2000)), 400, "invalid_value"),
    (form(("model", b"ears", "model.txt")), 400, "missing_required_parameter"),
    (form(("model", b"ears"))[:-5], 400, "invalid_form"),
    (b"", 400, "invalid_form"),
    (b"no form at all", 400, "invalid_form"),
    (b"--xyz\r\nContent-Disposition: form-data; name=model\r\n", 400, "invalid_form"),
    (b"--xyz nonsense\r\n\r\n\r\n--xyz--", 400, "invalid_form"),
    (form(*[("a", b"b")] * 1100), 400, "invalid_form"),
], ids=["no model", "empty model", "two models", "unknown model", "long name", "model in a file", "cut off", "empty", "no form",
        "head cut off", "bad boundary line", "many parts"])
def test_a_bad_form_is_named(scripted, body, status, code):
    engine, router = scripted
    calls = engine.calls
    answer = post(router, "/v1/audio/transcriptions", body)
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)
    assert engine.calls == calls


@pytest.mark.parametrize("kind, status, code", [
    ("application/json", 415, "unsupported_media_type"),
    ("multipart/form-data", 400, "invalid_form"),
    ("multipart/form-data; boundary=" + "b" * 71, 400, "invalid_form"),
    ("multipart/mixed; boundary=xyz", 415, "unsupported_media_type"),
])
def test_a_bad_type_is_named(scripted, kind, status, code):
    _, router = scripted
    answer = post(router, "/v1/audio/transcriptions", form(("model", b"ears")), kind=kind)
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)


def test_bad_forms_are_counted(scripted):
    _, router = scripted
    assert router.metrics().sum("penstock_bad_input_total", kind="malformed_form") > 0


def test_a_form_is_no_json(scripted):
    _, router = scripted
    assert post(router, "/v1/audio/speech", form(("model", b"ears"))).status == 415


def test_an_engine_without_the_path_is_named(scripted, client):
    engine, _ = scripted
    engine.script = http(404, {"detail": "Not Found"})
    with pytest.raises(NotFoundError, match="No engine of `ears` serves /v1/audio/speech"):
        client.audio.speech.create(model="ears", voice="alloy", input="x")


def test_an_error_of_the_engine_passes(scripted):
    engine, router = scripted
    engine.script = http(400, {"error": {"message": "Invalid sound.", "type": "invalid_request_error", "code": None}})
    answer = post(router, "/v1/audio/transcriptions", form(("model", b"ears")))
    assert (answer.status, answer.json()["error"]["message"]) == (400, "Invalid sound.")


def test_sound_that_breaks_off_reaches_no_end(scripted):
    engine, router = scripted
    engine.script = b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 9000000\r\n\r\nabc"
    with pytest.raises(AssertionError, match="shorter than its length"):
        send(router.address, request_bytes("/v1/audio/speech", {"model": "ears", "input": "x"}))


def test_short_sound_that_breaks_off_is_an_error(scripted):
    engine, router = scripted
    engine.script = b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 9\r\n\r\nabc"
    assert send(router.address, request_bytes("/v1/audio/speech", {"model": "ears", "input": "x"})).status == 502


def test_nothing_is_left(scripted):
    _, router = scripted
    router.wait_for_nothing()
    assert router.metrics().sum("penstock_requests_total", endpoint="transcriptions") > 0
