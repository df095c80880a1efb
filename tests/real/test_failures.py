"""Clients that leave, and engines that die, freeze and come back, in the middle of answers."""
import http.client
import json
import signal
import time

import pytest
from engines import Llama, call, wait_until_up
from processes import Router, replicas, wait_until

KINDS = ["llama", pytest.param("vllm", marks=pytest.mark.long)]
PATIENT = "limits: {first_byte_timeout: 60s, gap_timeout: 2s, connect_timeout: 1s}\n"
WORDS = {"llama": 800, "vllm": 1500}


@pytest.fixture(scope="session")
def llamas(folder, llama):
    with Llama(folder, "llama-b") as other:
        yield [llama, other.wait()]


@pytest.fixture
def pair(request):
    return lambda kind: request.getfixturevalue("vllms" if kind == "vllm" else "llamas")


class Stream:
    """An answer that is read event by event."""

    def __init__(self, address, path, body, timeout=150):
        self.connection = http.client.HTTPConnection(*address, timeout=timeout)
        self.connection.request("POST", path, json.dumps({**body, "stream": True}), {
            "content-type": "application/json", "x-penstock-receipt": "1"})
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        self.usage, self.finish, self.fingerprints = None, None, set()

    def __iter__(self):
        """The pieces of text."""
        for line in self.response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            assert "error" not in event, event
            self.usage = event.get("usage") or self.usage
            if event.get("system_fingerprint"):
                self.fingerprints.add(event["system_fingerprint"])
            for choice in event.get("choices", []):
                self.finish = choice.get("finish_reason") or self.finish
                piece = choice["delta"].get("content") if "delta" in choice else choice["text"]
                if piece:
                    yield piece

    def replica(self):
        return json.loads(self.response.getheader("x-penstock-receipt"))["replica"]

    def close(self):
        """Leaves without waiting for the end. The response has the socket's last handle."""
        self.response.close()
        self.connection.close()


def chat(kind, **more):
    return "/v1/chat/completions", {
        "model": "tiny", "messages": [{"role": "user", "content": "tell me of the river"}], "temperature": 0,
        "max_tokens": WORDS[kind], **more}


def text(kind, **more):
    return "/v1/completions", {
        "model": "tiny", "prompt": "the river and the stone", "temperature": 0, "max_tokens": WORDS[kind], **more}


def engine_of(stream, engines):
    return next(engine for engine in engines if engine.url.endswith(stream.replica()))


def disturbed(router, engines, path, body, harm):
    """(text, stream) of an answer whose engine is harmed after twenty pieces."""
    stream = Stream(router.address, path, body)
    pieces = []
    for piece in stream:
        pieces.append(piece)
        if len(pieces) == 20:
            harm(engine_of(stream, engines))
    return "".join(pieces), stream


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_leaves_frees_the_engine_within_a_second(pair, folder, kind, streamed):
    engine = pair(kind)[0]
    with Router(folder, [engine]) as router:
        wait_until_up(router, 1)
        path, body = chat(kind, max_tokens=3900, ignore_eos=True)
        if streamed:
            stream = Stream(router.address, path, body)
            assert next(iter(stream))
            leave = stream.close
        else:
            connection = http.client.HTTPConnection(*router.address)
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            wait_until(lambda: engine.running() == 1, 20, "the engine runs the request")
            leave = connection.close
        leave()
        left = time.monotonic()
        wait_until(lambda: engine.running() == 0, 20, "the engine is free")
        assert time.monotonic() - left < 1
        router.wait_for_nothing([engine])


@pytest.mark.parametrize("make", [chat, text])
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_whose_engine_freezes_goes_on_elsewhere(pair, folder, kind, make):
    engines = pair(kind)
    path, body = make(kind, stream_options={"include_usage": True})
    undisturbed = Stream(engines[0].address, path, body)
    truth = "".join(undisturbed)
    with Router(folder, config=replicas(engines) + PATIENT) as router:
        wait_until_up(router, 2)
        resumed = 0
        # A busy API server may send a whole answer at once; then there was nothing to disturb.
        for _ in range(5):
            try:
                seen, stream = disturbed(router, engines, path, body, lambda engine: engine.signal(signal.SIGSTOP))
            finally:
                for engine in engines:
                    engine.signal(signal.SIGCONT)
            assert seen == truth
            assert (stream.finish, stream.usage["completion_tokens"]) == ("length", WORDS[kind])
            wait_until_up(router, 2)
            resumed = router.wait_for_nothing().sum("penstock_resumes_total", result="continued")
            if resumed:
                break
        assert resumed == 1
        counts = ("prompt_tokens", "completion_tokens", "total_tokens")
        assert [stream.usage[name] for name in counts] == [undisturbed.usage[name] for name in counts]
        router.wait_for_nothing(engines, seconds=20)


class Message:
    """A streamed message of Anthropic's dialect, harmed after so many of its texts."""

    def __init__(self, address, harm=None, at=20):
        connection = http.client.HTTPConnection(*address, timeout=60)
        body = {"model": "tiny", "messages": [{"role": "user", "content": "tell me of the river"}], "temperature": 0,
                "max_tokens": WORDS["llama"], "stream": True}
        connection.request("POST", "/v1/messages", json.dumps(body), {
            "content-type": "application/json", "x-penstock-receipt": "1"})
        response = connection.getresponse()
        self.texts, self.kinds, self.usage = [], [], {}
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            assert event["type"] != "error", event
            if event["type"] != "content_block_delta":
                self.kinds.append(event["type"])
            self.usage.update(event.get("usage") or event.get("message", {}).get("usage", {}))
            self.texts += [event["delta"]["text"]] if event["type"] == "content_block_delta" else []
            if harm and len(self.texts) == at:
                harm(json.loads(response.getheader("x-penstock-receipt"))["replica"])
                harm = None
        connection.close()


def test_a_message_whose_engine_freezes_goes_on_elsewhere(llamas, folder):
    truth = Message(llamas[0].address)
    with Router(folder, config=replicas(llamas) + PATIENT) as router:
        wait_until_up(router, 2)

        def freeze(replica):
            next(engine for engine in llamas if engine.url.endswith(replica)).signal(signal.SIGSTOP)

        try:
            seen = Message(router.address, freeze)
        finally:
            for engine in llamas:
                engine.signal(signal.SIGCONT)
        assert "".join(seen.texts) == "".join(truth.texts)
        assert seen.kinds == truth.kinds == ["message_start", "content_block_start", "content_block_stop",
                                             "message_delta", "message_stop"]
        assert seen.usage["output_tokens"] == WORDS["llama"]
        wait_until_up(router, 2)
        assert router.wait_for_nothing(llamas).sum("penstock_resumes_total", result="continued") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_whose_engine_is_killed_goes_on_and_the_engine_is_used_again(pair, folder, kind):
    engines = pair(kind)
    path, body = chat(kind)
    truth = "".join(Stream(engines[0].address, path, body))
    with Router(folder, config=replicas(engines) + PATIENT) as router:
        wait_until_up(router, 2)
        harmed = []
        seen, stream = disturbed(router, engines, path, body, lambda engine: (harmed.append(engine), engine.kill()))
        assert seen == truth and stream.finish == "length"
        wait_until(lambda: router.metrics().sum("penstock_replica_up") == 1, 20, "one replica is down")
        assert json.loads(call(router.address, *text(kind, max_tokens=5))[2])["choices"][0]["finish_reason"] == "length"
        harmed[0].start().wait()
        wait_until_up(router, 2)
        # The other engine freezes, so that the answer can come from the new one only.
        other = next(engine for engine in engines if engine is not harmed[0])
        other.signal(signal.SIGSTOP)
        try:
            wait_until(lambda: router.metrics().sum("penstock_replica_up") == 1, 30, "the other replica is down")
            assert "".join(Stream(router.address, path, body)) == truth
        finally:
            other.signal(signal.SIGCONT)
        wait_until_up(router, 2)


@pytest.mark.long
def test_an_answer_whose_engine_is_told_to_end_goes_on_elsewhere(pair, folder):
    engines = pair("vllm")
    path, body = chat("vllm")
    truth = "".join(Stream(engines[0].address, path, body))
    with Router(folder, config=replicas(engines) + PATIENT) as router:
        wait_until_up(router, 2)
        harmed = []

        def end(engine):
            harmed.append(engine)
            engine.process.terminate()

        seen, stream = disturbed(router, engines, path, body, end)
        assert seen == truth and stream.finish == "length"
        harmed[0].process.wait(60)
        harmed[0].stop()
        harmed[0].start().wait()
        wait_until_up(router, 2)
