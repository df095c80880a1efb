"""Every row of docs/bad-input.md: a clear answer of the OpenAI shape, never a crash, a hang or a leak."""
import re
import socket
import time

import pytest
from bad_input_cases import CASES
from processes import ROOT, Engine, Router, replicas
from raw_http import chat, read_answer, request_bytes, send

LIMITS = "limits: {max_body: 1MiB, header_timeout: 700ms, body_timeout: 700ms, idle_timeout: 2s}\n"


@pytest.fixture(scope="module")
def engine(folder):
    with Engine(folder, max_model_len=8192) as running:
        yield running


@pytest.fixture(scope="module")
def router(folder, engine):
    with Router(folder, config=replicas([engine]) + LIMITS) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_is_left_behind(router, engine):
    """Checks after every test: no promise, no lease, no request at the engine, and the router still serves."""
    yield
    router.wait_for_nothing([engine])
    assert send(router.address, request_bytes(body=chat(max_tokens=1))).status == 200


def check_error(answer, case):
    assert answer is not None, "closed without an answer"
    assert answer.status == case.status, answer.body
    assert answer.headers["content-type"].startswith("application/json")
    error = answer.json()["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    assert len(error["message"]) > 5
    assert error["type"] == "invalid_request_error"
    if case.code is not None:
        assert error["code"] == case.code
    if case.param is not None:
        assert error["param"] == case.param
    if case.header is not None:
        assert answer.headers[case.header[0]] == case.header[1]
    assert "retry-after" not in answer.headers
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_one_request(router, case):
    before = router.metrics()
    for data in [case.data, *case.many]:
        check_error(send(router.address, data, case.method), case)
    rows = 1 + len(case.many)
    for name, labels in (("penstock_bad_input_total", {"kind": case.kind}), ("penstock_refusals_total", {"reason": case.reason})):
        if all(labels.values()):
            router.wait_for_count(name, before.sum(name, **labels) + rows, **labels)


def counted(router, kind, before):
    router.wait_for_count("penstock_bad_input_total", before + 1, kind=kind)


@pytest.mark.parametrize("part", [
    b"POST /v1/chat/comp",
    b"POST /v1/chat/completions HTTP/1.1\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nX-Slow: ",
    request_bytes(body=chat())[:-20],
], ids=["slow-request-line", "request-line-only", "slow-header", "slow-body"])
def test_a_slow_request_is_answered_408_and_closed(router, part):
    before = router.metrics().sum("penstock_bad_input_total", kind="too_slow")
    with socket.create_connection(router.address, timeout=10) as connection:
        connection.sendall(part)
        start = time.monotonic()
        answer = read_answer(connection)
        assert answer.status == 408
        assert answer.json()["error"]["type"] == "invalid_request_error"
        assert 0.5 < time.monotonic() - start < 5
        assert connection.recv(1) == b""
    counted(router, "too_slow", before)


def test_a_trickled_head_does_not_escape_its_deadline(router):
    with socket.create_connection(router.address, timeout=10) as connection:
        start = time.monotonic()
        connection.settimeout(0.1)
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n")
        ended = False
        while not ended and time.monotonic() - start < 5:
            try:
                connection.sendall(b"X-A: b\r\n")
                ended = connection.recv(65536) != b"x"
            except socket.timeout:
                continue
            except OSError:
                ended = True
        assert ended and time.monotonic() - start < 4


@pytest.mark.parametrize("part", [
    b"POST /v1/chat/comp",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nContent-Length: 100\r\n\r\n{",
], ids=["half-a-head", "half-a-body"])
def test_a_half_sent_request_is_counted_and_leaves_nothing(router, part):
    before = router.metrics().sum("penstock_bad_input_total", kind="truncated")
    with socket.create_connection(router.address, timeout=10) as connection:
        connection.sendall(part)
    counted(router, "truncated", before)


def test_an_idle_connection_is_closed_without_a_word(router):
    with socket.create_connection(router.address, timeout=10) as connection:
        assert connection.recv(1) == b""


def test_a_connection_that_sends_nothing_wrong_goes_on_after_a_bad_body(router):
    with socket.create_connection(router.address, timeout=10) as connection:
        connection.sendall(request_bytes(body=b"{"))
        assert read_answer(connection).status == 400
        connection.sendall(request_bytes(body=chat(max_tokens=1)))
        assert read_answer(connection).status == 200


def test_two_requests_in_one_write_get_two_answers_in_order(router):
    with socket.create_connection(router.address, timeout=10) as connection:
        connection.sendall(request_bytes(body=chat(max_tokens=1, n=129)) + request_bytes(body=chat(max_tokens=1)))
        first = b""
        while first.count(b"HTTP/1.1 ") < 2 or not first.endswith(b"}"):
            more = connection.recv(65536)
            assert more, first
            first += more
        assert first.index(b"HTTP/1.1 400") < first.index(b"HTTP/1.1 200")


def test_expect_100_continue_is_answered(router):
    body = request_bytes(body=chat(max_tokens=1), headers={"Expect": "100-continue"})
    head, _, rest = body.partition(b"\r\n\r\n")
    with socket.create_connection(router.address, timeout=10) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert read_answer(connection).status == 100
        connection.sendall(rest)
        assert read_answer(connection).status == 200


def test_an_announced_body_that_is_too_large_is_refused_before_it_is_sent(router):
    with socket.create_connection(router.address, timeout=10) as connection:
        connection.sendall(request_bytes(body=b"", headers={"Content-Length": "999999999", "Expect": "100-continue"}))
        assert read_answer(connection).status == 413


def test_random_bytes_never_crash_it(router):
    import random

    seed = 7
    print("seed", seed)
    generator = random.Random(seed)
    good = request_bytes(body=chat(max_tokens=1))
    for _ in range(300):
        data = bytearray(good)
        for _ in range(generator.randint(1, 8)):
            place = generator.randrange(len(data))
            action = generator.randrange(3)
            if action == 0:
                data[place] = generator.randrange(256)
            elif action == 1:
                del data[place:place + generator.randint(1, 30)]
            else:
                data[place:place] = generator.randbytes(generator.randint(1, 30))
        with socket.create_connection(router.address, timeout=10) as connection:
            try:
                connection.sendall(bytes(data))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                pass


def documented():
    """The ids in the last column of the tables of docs/bad-input.md, by section."""
    sections, current = {}, None
    for line in (ROOT / "docs/bad-input.md").read_text().splitlines():
        if line.startswith("## "):
            current = sections.setdefault(line[3:], [])
        row = re.match(r"^\|.*\| `([\w\[\]:,. -]+)` \|$", line)
        if row:
            current.append(row[1])
    return sections


def test_the_table_in_the_documentation_has_every_case():
    sections = documented()
    ids = {case.id for case in CASES}
    assert ids == {row for rows in sections.values() for row in rows if not row.startswith("test_") and "." not in row}
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("*") if path.suffix in (".py", ".cc"))
    for rows in sections.values():
        for row in rows:
            if row.startswith("test_"):
                assert f"def {row}(" in sources, row
            elif "." in row:
                assert re.search(r"TEST(_F|_P)?\(" + row.replace(".", ", ") + r"\)", sources), row
