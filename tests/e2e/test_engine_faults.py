"""Faults of engines: the client gets a clear error, the metric its kind, and the ledger its memory."""
import concurrent.futures
import json
import signal

import pytest
from processes import Engine, Router, free_port, replicas, wait_until
from raw_http import chat, events, request_bytes, send
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, event, http

BODY = request_bytes(body=chat(model=MODEL, max_tokens=50))
STREAM = request_bytes(body=chat(model=MODEL, max_tokens=50, stream=True))


@pytest.fixture(scope="module")
def engine():
    with ScriptedEngine() as running:
        yield running


@pytest.fixture(scope="module")
def router(folder, engine):
    config = (
        f"replicas:\n  - {{id: scripted, url: '{engine.url}', engine: openai, model: {MODEL}, kv_tokens: 100000}}\n"
        "limits: {first_byte_timeout: 1s, gap_timeout: 1s}\n"
    )
    with Router(folder, config=config) as running:
        yield running


@pytest.fixture(autouse=True)
def whole_again(router, engine):
    """Each test starts with a healthy replica and leaves no lease behind."""
    engine.script, engine.reset, engine.hang = http(200, {"choices": [{}]}), False, False
    router.wait_for_count("penstock_replica_up", 1)
    yield
    engine.hang = False
    router.wait_for_nothing()


def faults(router):
    metrics = router.metrics()
    return {
        labels["kind"]: value for name, labels, value in metrics.samples if name == "penstock_engine_errors_total"
    }


def wait_for_fault(router, before, kinds):
    """One of these kinds is counted, since `before`."""

    def grown():
        return {kind for kind, value in faults(router).items() if value > before.get(kind, 0)}

    wait_until(lambda: grown() & kinds, 20, lambda: f"counted {grown()}, wanted one of {kinds}")


def check_failure(router, data, kinds, statuses=(502, 503, 504)):
    before = faults(router)
    answer = send(router.address, data, timeout=20)
    assert answer is not None and answer.status in statuses, answer and (answer.status, answer.body)
    error = answer.json()["error"]
    assert error["message"] and error["type"] == "server_error"
    wait_for_fault(router, before, kinds)


@pytest.mark.parametrize("request_data", [BODY, STREAM], ids=["whole", "streamed"])
@pytest.mark.parametrize("script", [b"\x00\x01garbage\r\n\r\n", b"HTTP/1.1 banana\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_garbage_instead_of_http(router, engine, script, request_data):
    engine.script = script
    check_failure(router, request_data, {"garbage", "closed", "connect"})


@pytest.mark.parametrize("script", [
    b"SSH-2.0-secret\r\n", b"HTTP/9.9 secret\r\n\r\n", b"HTTP/1.1 200 OK\r\nsecret\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nx: " + b"secret" * 20_000, b"HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n",
], ids=["ssh", "version", "field", "endless", "length"])
def test_the_message_says_that_the_answer_is_no_http(router, engine, script):
    engine.script = script
    answer = send(router.address, BODY, timeout=20)
    assert answer.status == 502 and b"secret" not in answer.body
    assert answer.json()["error"]["message"].startswith("The engine's answer cannot be read as HTTP.")


def test_garbage_instead_of_json(router, engine):
    engine.script = http(200, b"<html>It works!</html>")
    check_failure(router, BODY, {"garbage"})


def test_a_body_that_is_shorter_than_its_length(router, engine):
    engine.script = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"choices": ['
    check_failure(router, BODY, {"closed", "garbage"})


def test_a_connection_closed_before_the_first_byte(router, engine):
    engine.script = b""
    check_failure(router, BODY, {"closed", "connect"})


def test_a_connection_reset_before_the_first_byte(router, engine):
    engine.script, engine.reset = b"", True
    check_failure(router, BODY, {"closed", "connect"})


def test_an_engine_that_never_answers(router, engine):
    engine.script, engine.hang = b"", True
    check_failure(router, BODY, {"timeout"})


def test_an_internal_error_of_the_engine(router, engine):
    engine.script = http(500, {"error": {"message": "CUDA error", "type": "InternalServerError"}})
    before = faults(router)
    answer = send(router.address, BODY)
    assert answer.status in (500, 502)
    assert "CUDA error" in answer.json()["error"]["message"]
    wait_for_fault(router, before, {"server"})


def test_an_error_of_a_shape_of_its_own(router, engine):
    engine.script = http(400, {"object": "error", "message": "temperature is odd", "type": "BadRequestError", "code": 400})
    answer = send(router.address, BODY)
    assert answer.status == 400
    assert "temperature is odd" in answer.json()["error"]["message"]


def test_requests_that_an_engine_finds_bad_are_no_errors_and_do_not_fill_the_log(router, engine):
    def lines():
        return [json.loads(line) for line in router.log().splitlines() if "never so cold" in line]

    def next_line_tells_all():
        assert send(router.address, BODY).status == 400
        left_out = sum(line.get("suppressed", 0) for line in lines())
        return left_out > 0 and left_out + len(lines()) > 100

    engine.script = http(400, {"error": {"message": "never so cold", "type": "BadRequestError", "code": 400}})
    answers = [send(router.address, BODY) for _ in range(100)]
    assert {(answer.status, answer.headers["x-penstock-reason"]) for answer in answers} == {(400, "rejected")}
    router.wait_for_log("never so cold")
    assert len(lines()) < 60
    wait_until(next_line_tells_all, 20, router.log)
    assert {(line["event"], line["level"], line["ended"], line["reason"]) for line in lines()} == {
        ("error", "warning", "request", "rejected")}


@pytest.mark.parametrize("request_data", [BODY, STREAM], ids=["whole", "streamed"])
def test_an_error_with_status_200_is_an_error(router, engine, request_data):
    engine.script = http(200, {"error": {"message": "CUDA error", "type": "InternalServerError"}})
    before = faults(router)
    answer = send(router.address, request_data)
    assert answer.status == 502 and "CUDA error" in answer.json()["error"]["message"]
    wait_for_fault(router, before, {"server"})
    engine.script = http(200, {"error": {"message": "temperature is odd", "code": 400}})
    answer = send(router.address, request_data)
    assert answer.status == 400 and "temperature is odd" in answer.json()["error"]["message"]


def test_an_error_of_null_is_none(router, engine):
    engine.script = http(200, {"choices": [{}], "error": None})
    assert send(router.address, BODY).status == 200


def test_an_error_without_shape_is_not_told_as_a_status_that_nobody_sent(router, engine):
    engine.script = STREAM_HEAD + chunk('event: error\ndata: {"odd": 1}\n\n') + chunk("")
    message = send(router.address, STREAM).json()["error"]["message"]
    assert "status 500" not in message and "inside its answer" in message


@pytest.mark.parametrize("status", [400, 500, 200])
@pytest.mark.parametrize("opening", [b'{"error":', b'{"detail":', b'{"x":', b""], ids=["error", "detail", "other", "bare"])
def test_a_body_of_great_depth(router, engine, status, opening):
    engine.script = http(status, opening + b"[" * 500_000 + b"]" * 500_000 + (b"}" if opening else b""))
    answer = send(router.address, BODY, timeout=20)
    assert answer.status in (status, 502)
    assert answer.json()["error"]["message"]


def test_a_stream_that_breaks_after_some_tokens_ends_with_an_error_event(router, engine):
    engine.script = STREAM_HEAD + chunk(event("one")) + chunk(event(" two"))
    before = faults(router)
    answer = send(router.address, STREAM, timeout=20)
    assert answer.status == 200
    data = events(answer.body)
    assert any('"one"' in item for item in data)
    assert any('"error"' in item for item in data), data
    wait_for_fault(router, before, {"closed"})


def test_a_stream_that_breaks_within_a_character_says_so(router, engine):
    before = router.metrics()
    engine.script = STREAM_HEAD + chunk(event("one\ud83d"))
    answer = send(router.address, STREAM, timeout=20)
    assert b"half of a character" in answer.body, answer.body
    router.wait_for_count("penstock_resumes_total", before.sum("penstock_resumes_total", result="other_text") + 1, result="other_text")


def test_a_request_that_the_engine_aborts_is_an_error_of_the_engine(router, engine):
    choice = {"index": 0, "message": {"role": "assistant", "content": "one"}, "finish_reason": "abort"}
    engine.script = http(200, {"id": "x", "object": "chat.completion", "choices": [choice]})
    check_failure(router, BODY, {"server"}, statuses=(500,))

    engine.script = STREAM_HEAD + chunk(event("one")) + chunk(event(" two", "abort")) + chunk("data: [DONE]\n\n") + chunk("")
    answer = send(router.address, STREAM, timeout=20)
    data = events(answer.body)
    assert any('"one"' in item for item in data) and not any('"abort"' in item for item in data), data
    assert any('"error"' in item for item in data), data


def test_a_stream_of_garbage_events_ends_with_an_error(router, engine):
    engine.script = STREAM_HEAD + chunk(event("one")) + chunk("data: {not json}\n\n") + b"0\r\n\r\n"
    before = faults(router)
    answer = send(router.address, STREAM, timeout=20)
    assert any('"error"' in item for item in events(answer.body)), answer.body
    wait_for_fault(router, before, {"garbage"})


def test_a_stream_that_stalls_ends_with_an_error(router, engine):
    engine.script, engine.hang = STREAM_HEAD + chunk(event("one")), True
    answer = send(router.address, STREAM, timeout=20)
    assert any('"error"' in item for item in events(answer.body)), answer.body


@pytest.mark.parametrize("models", ["", "models: [{name: llama-3.1-8b}]\n"], ids=["discovered", "configured"])
def test_an_engine_that_is_down_at_start_is_served_once_it_comes(folder, models):
    port = free_port()
    with Router(folder, config=f"replicas: [{{url: 'http://127.0.0.1:{port}'}}]\n{models}", ready=False) as router:
        assert router.get("/healthz")[0] == 200
        assert router.get("/readyz")[0] == 503
        answer = send(router.address, request_bytes(body=chat(max_tokens=1)))
        assert answer.status == 503 and answer.headers["x-penstock-reason"] == "no_replica"
        with Engine(folder, port=port) as engine:
            wait_until(lambda: router.get("/readyz")[0] == 200, 20, lambda: router.log()[-2000:])
            assert send(router.address, request_bytes(body=chat(max_tokens=1))).status == 200
            router.wait_for_nothing([engine])


def test_an_engine_killed_before_the_first_byte_is_replaced_by_another(folder):
    with Engine(folder, name="first") as first, Engine(folder, name="second") as second:
        with Router(folder, [first, second]) as router:
            router.wait_for_count("penstock_replica_up", 2)
            first.kill()
            for _ in range(6):
                answer = send(router.address, request_bytes(body=chat(max_tokens=2)), timeout=20)
                assert answer.status == 200
            router.wait_for_nothing([second])


def test_a_large_request_that_engines_do_not_read_to_its_end_meets_two_of_them_at_most(folder):
    engines = [ScriptedEngine() for _ in range(4)]
    rows = "".join(
        f"  - {{id: e{i}, url: '{engine.url}', engine: openai, model: {MODEL}, kv_tokens: 100000}}\n"
        for i, engine in enumerate(engines)
    )
    with Router(folder, config="replicas:\n" + rows) as router:
        router.wait_for_count("penstock_replica_up", 4)
        for engine in engines:
            engine.impatient = True
        body = chat(model=MODEL, max_tokens=50, padding="x" * 8_000_000)
        answer = send(router.address, request_bytes(body=body), timeout=20)
        assert answer.status == 502 and "127.0.0.1" not in answer.body.decode()
        assert sum(engine.calls for engine in engines) <= 2
        assert router.wait_for_nothing().sum("penstock_replica_up") == 4
    for engine in engines:
        engine.close()


def test_a_request_that_kills_its_engines_meets_two_of_them(folder):
    engines = [ScriptedEngine() for _ in range(4)]
    rows = "".join(
        f"  - {{id: e{i}, url: '{engine.url}', engine: openai, model: {MODEL}, kv_tokens: 100000}}\n"
        for i, engine in enumerate(engines)
    )
    with Router(folder, config="replicas:\n" + rows) as router:
        for engine in engines:
            engine.script, engine.poison = http(200, {"choices": [{}]}), b"die of this"
        router.wait_for_count("penstock_replica_up", 4)
        body = chat(model=MODEL, max_tokens=50)
        body["messages"][0]["content"] = "die of this"
        for _ in range(2):
            before = sum(engine.poisoned for engine in engines)
            answer = send(router.address, request_bytes(body=body), timeout=20)
            assert answer.status == 502 and "127.0.0.1" not in answer.body.decode()
            assert sum(engine.poisoned for engine in engines) - before == 2
            assert send(router.address, BODY).status == 200
        assert router.wait_for_nothing().sum("penstock_replica_up") == 4
    for engine in engines:
        engine.close()


def test_requests_wait_for_a_replica_that_a_reload_moved(folder):
    port = free_port()
    with Engine(folder) as first, Router(folder, config=replicas([first], id="one", model=MODEL)) as router:
        router.write_config(f"replicas: [{{id: two, url: 'http://127.0.0.1:{port}', model: {MODEL}}}]\n")
        router.signal(signal.SIGHUP)
        router.wait_for_count("penstock_config_reloads_total", 1, result="ok")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(send, router.address, BODY) for _ in range(4)]
            router.wait_for_count("penstock_queued_requests", 4)
            with Engine(folder, port=port, name="moved"):
                assert [each.result().status for each in asked] == [200] * 4, router.log()[-2000:]
