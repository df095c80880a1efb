"""HTTP/2 for clients, with curl, httpx, the openai SDK and h2: under TLS by ALPN, and in the clear by prior knowledge."""
import asyncio
import json
import shutil
import signal
import ssl
import subprocess

import httpx
import openai
import pytest
from http2_client import Http2Client
from processes import Router, replicas, wait_until
from raw_http import chat
from test_tls import TLS, TlsRouter

GET = {"method": "GET"}


@pytest.fixture(scope="module")
def router(folder, engine):
    with Router(folder, config=replicas([engine]) + "cors: {origins: ['https://page.example']}\n") as running:
        yield running


@pytest.fixture
def client(router):
    with Http2Client(router.address) as connected:
        yield connected


def curl_with_http2():
    if shutil.which("curl") is None or "HTTP2" not in subprocess.run(["curl", "-V"], capture_output=True, text=True).stdout:
        pytest.skip("curl without HTTP/2")


def test_curl_speaks_it_with_prior_knowledge(router):
    curl_with_http2()
    command = ["curl", "-s", "--http2-prior-knowledge", "-w", "\n%{http_version} %{http_code}", "-H",
               "content-type: application/json", "-d", json.dumps(chat(max_tokens=3)),
               f"{router.url}/v1/chat/completions"]
    body, _, last = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.rpartition("\n")
    assert last == "2 200"
    assert json.loads(body)["choices"][0]["message"]["content"]


@pytest.mark.parametrize(("kind", "size", "code"), [("text/plain", 900_000, "415"), ("application/json", 3_000_000, "413")])
def test_curl_reads_a_refusal_while_it_sends(folder, engine, tmp_path, kind, size, code):
    curl_with_http2()
    (tmp_path / "body").write_bytes(b" " * size)
    with Router(folder, config=replicas([engine]) + "limits: {max_body: 1MB}\n") as router:
        command = ["curl", "-s", "--http2-prior-knowledge", "-w", "\n%{http_code}", "-H", f"content-type: {kind}",
                   "--data-binary", f"@{tmp_path / 'body'}", f"{router.url}/v1/chat/completions"]
        for _ in range(10):
            done = subprocess.run(command, capture_output=True, text=True, timeout=20)
            body, _, last = done.stdout.rpartition("\n")
            assert (last, done.returncode) == (code, 0), done
            assert json.loads(body)["error"]["message"]


@pytest.mark.parametrize(("kind", "size", "status"), [("text/plain", 900_000, 415), ("application/json", 3_000_000, 413)])
def test_a_client_that_reads_no_answer_before_its_body_is_sent_gets_a_refusal(folder, engine, kind, size, status):
    with Router(folder, config=replicas([engine]) + "limits: {max_body: 1MB}\n") as router:
        with httpx.Client(http1=False, http2=True, timeout=10) as client:
            answer = client.post(f"{router.url}/v1/chat/completions", content=b" " * size, headers={"content-type": kind})
            assert answer.status_code == status
            assert client.get(f"{router.url}/v1/models").status_code == 200


def test_alpn_chooses_it_under_tls_and_the_sdk_streams_over_it(folder, engine):
    context = ssl.create_default_context(cafile=TLS / "ca.pem")
    with TlsRouter(folder, replicas([engine])) as router:
        http = httpx.Client(http1=False, http2=True, verify=context)
        with openai.OpenAI(base_url=f"https://127.0.0.1:{router.tls_port}/v1", api_key="k", http_client=http) as client:
            stream = client.chat.completions.create(model="llama-3.1-8b", stream=True, max_tokens=20,
                                                    messages=[{"role": "user", "content": "hi"}])
            assert stream.response.http_version == "HTTP/2"
            assert sum(bool(event.choices and event.choices[0].delta.content) for event in stream) >= 10
        router.wait_for_count("penstock_http2_total", 1, event="connection")
        with httpx.Client(verify=context) as old:
            assert old.get(f"https://127.0.0.1:{router.tls_port}/v1/models").http_version == "HTTP/1.1"


def test_the_key_http2_turns_it_off(folder, engine):
    with TlsRouter(folder, replicas([engine]) + "http2: false\n") as router:
        context = ssl.create_default_context(cafile=TLS / "ca.pem")
        with httpx.Client(http2=True, verify=context) as client:
            assert client.get(f"https://127.0.0.1:{router.tls_port}/v1/models").http_version == "HTTP/1.1"


def test_many_streams_share_a_connection(router, engine):
    async def ask(client, i):
        answer = await client.post(f"{router.url}/v1/chat/completions", json=chat(max_tokens=5 + i % 7))
        return answer.status_code, answer.http_version

    async def run():
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(http1=False, http2=True, limits=limits, timeout=60) as client:
            return await asyncio.gather(*(ask(client, i) for i in range(80)))

    before = router.metrics().sum("penstock_http2_total", event="connection")
    assert set(asyncio.run(run())) == {(200, "HTTP/2")}
    assert router.metrics().sum("penstock_http2_total", event="connection") == before + 1
    router.wait_for_nothing([engine])


def test_the_answers_are_those_of_http1(client):
    models = client.ask(path="/v1/models", **GET)
    assert models.status == 200 and models.headers["content-type"] == "application/json"
    assert int(models.headers["content-length"]) == len(models.body)
    assert models.headers["x-request-id"].startswith("req-") and "connection" not in models.headers
    named = client.ask(path="/v1/models", headers=[("x-request-id", "mine"), ("origin", "https://page.example")], **GET)
    assert named.headers["x-request-id"] == "mine"
    assert named.headers["access-control-allow-origin"] == "https://page.example"
    head = client.ask(path="/v1/models", method="HEAD")
    assert head.status == 200 and head.headers["content-length"] == models.headers["content-length"] and not head.body
    assert client.ask(path="/nothing", **GET).status == 404
    wrong = client.ask(path="/v1/chat/completions", **GET)
    assert wrong.status == 405 and wrong.headers["allow"] == "POST"
    assert client.ask(b"{", headers=[("content-type", "application/json")]).status == 400
    assert client.ask(chat(model="other")).status == 404


def test_a_client_that_asks_for_leave_gets_it(client):
    stream = client.send(headers=[("content-type", "application/json"), ("expect", "100-continue")], end=False)
    client.until(lambda: client.answers[stream]["interim"] == [100])
    client.h2.send_data(stream, json.dumps(chat(max_tokens=2)).encode(), end_stream=True)
    client.flush()
    assert client.answer(stream).status == 200


def test_a_refusal_does_not_wait_for_the_body(client):
    stream = client.send(path="/nothing", headers=[("content-length", "1000")], end=False)
    found = client.answers[stream]
    client.until(lambda: found["ended"] and found["reset"] is not None)
    assert found["status"] == 404 and found["reset"] == 0
    assert client.ask(path="/v1/models", **GET).status == 200


def test_trailers_are_passed_over(client):
    stream = client.send(chat(max_tokens=2), end=False)
    client.h2.send_headers(stream, [("x-sum", "1")], end_stream=True)
    client.flush()
    assert client.answer(stream).status == 200


def test_a_reset_frees_everything_and_the_neighbour_goes_on(router, engine, client):
    resets = router.metrics().sum("penstock_http2_total", event="reset")
    left = router.metrics().sum("penstock_requests_total", outcome="client_gone")
    reset = client.send(chat(max_tokens=5000, stream=True))
    other = client.send(chat(max_tokens=40, stream=True))
    client.until(lambda: client.answers[reset]["body"].count(b"data:") >= 3)
    client.reset(reset)
    assert b"[DONE]" in client.answer(other).body
    router.wait_for_count("penstock_requests_total", left + 1, outcome="client_gone")
    router.wait_for_count("penstock_http2_total", resets + 1, event="reset")
    wait_until(lambda: engine.running() == 0, 2, "the engine is free")
    router.wait_for_nothing([engine])


def test_a_connection_that_breaks_frees_all_of_its_streams(router, engine):
    with Http2Client(router.address) as client:
        streams = [client.send(chat(max_tokens=5000, stream=True)) for _ in range(5)]
        client.until(lambda: all(client.answers[stream]["body"] for stream in streams))
    router.wait_for_nothing([engine])
    wait_until(lambda: engine.running() == 0, 2, "the engine is free")


def test_a_large_body_passes_its_windows(client):
    answer = client.send(headers=[("content-type", "application/json")], end=False)
    body = json.dumps(chat("word " * 300_000, max_tokens=2)).encode()
    while body:
        room = min(client.h2.local_flow_control_window(answer), 16384, len(body))
        if room == 0:
            client.read()
            continue
        client.h2.send_data(answer, body[:room], end_stream=room == len(body))
        body = body[room:]
        client.flush()
    assert client.answer(answer).status in (200, 400, 413)


def test_a_file_goes_up_in_pieces_and_comes_back(folder, engine):
    data = b'{"custom_id": "a"}\n' * 200_000
    with Router(folder, config=f"{replicas([engine])}state: {{path: {folder}/http2}}\n") as router:
        http = httpx.Client(http1=False, http2=True, timeout=60)
        with openai.OpenAI(base_url=f"{router.url}/v1", api_key="k", http_client=http) as client:
            file = client.files.create(file=("a.jsonl", data), purpose="batch")
            assert file.bytes == len(data)
            assert client.files.content(file.id).read() == data
        assert router.metrics().sum("penstock_http2_total", event="request") == 2
        router.wait_for_count("penstock_fill_ratio", 0, of="body_memory")


def test_a_key_is_asked_for(folder, engine):
    keyed = replicas([engine]) + "tenants: [{name: a, keys: [sk-a]}]\n"
    with Router(folder, config=keyed) as router, Http2Client(router.address) as client:
        stream = client.send(headers=[("content-type", "application/json")], end=False)
        assert client.answer(stream).status == 401
        assert client.ask(chat(max_tokens=1), headers=[("authorization", "Bearer sk-a")]).status == 200


def test_half_a_request_is_refused_when_the_router_drains(folder, engine):
    with Router(folder, [engine]) as router, Http2Client(router.address) as client:
        whole = json.dumps(chat(max_tokens=1)).encode()
        stream = client.send(whole[:-10], headers=[("content-type", "application/json")], end=False)
        assert client.ask(chat(max_tokens=1)).status == 200
        router.signal(signal.SIGTERM)
        answer = client.answer(stream)
        assert answer.status == 503
        assert "shutting down" in answer.json()["error"]["message"]


def test_a_drain_says_goaway_and_finishes_its_streams(folder, engine):
    with Router(folder, [engine]) as router, Http2Client(router.address) as client:
        stream = client.send(chat(max_tokens=60, stream=True))
        client.until(lambda: client.answers[stream]["body"])
        router.signal(signal.SIGTERM)
        client.until(lambda: client.gone is not None)
        assert client.gone == 0
        assert b"[DONE]" in client.answer(stream).body
        client.until_closed()
        assert router.process.wait(20) == 0


def test_an_access_line_has_the_stream(folder, engine):
    with Router(folder, config=replicas([engine]) + "log: {access: true}\n") as router, Http2Client(router.address) as client:
        assert client.ask(chat(max_tokens=3)).status == 200
        router.wait_for_log("access", "/v1/chat/completions")
        (line,) = [line for line in map(json.loads, filter(lambda text: text.startswith("{"), router.log().splitlines()))
                   if line["event"] == "access" and line["path"] == "/v1/chat/completions"]
        assert line["status"] == 200 and line["model"] == "llama-3.1-8b" and line["method"] == "POST"
