"""The verbs of engines other than vLLM, from the configuration to the answer."""
import json
import signal
import socket
import subprocess
import time

import pytest
from many_models import LlamaRouter, Ollama, Sglang
from processes import BINARY, Router, get, wait_until
from raw_http import chat, request_bytes, send

# One model has room at a time.
GPU = "gpus: [{id: g, kind: a100-80, memory: 30GB}]\n"
CLASSES = "classes: {standard: {ttft: 20s, tpot: 1s, queue: 60s, default: true}}\n"


def ask(router, model):
    answer = send(router.address, request_bytes(body=chat(model=model, max_tokens=4)), timeout=30)
    assert answer.status == 200, answer.body
    return answer.json()["choices"][0]["message"]["content"]


def config(server, models, after):
    rows = "".join(
        f"  - {{id: {model}, url: '{server.url}', gpus: [g], engine: {server.kind}, model: {model}, resident: 20GB, "
        f"kv_tokens: 10000, sleep: {{after: {after}, wake: 200ms, timeout: 20s}}}}\n"
        for model in models
    )
    return f"{GPU}{CLASSES}replicas:\n{rows}"


@pytest.mark.parametrize("kind", [LlamaRouter, Ollama])
def test_models_of_one_server_take_turns_in_its_memory(folder, kind):
    with kind() as server, Router(folder, config=config(server, ["big", "small"], "60s")) as router:
        router.wait_for_count("penstock_replica_up", 2)
        router.wait_for_count("penstock_replica_asleep", 1, replica="small")
        for model in ("small", "big", "small"):
            assert ask(router, model).startswith(model)
            assert len(server.loaded) == 1, server.loaded
        assert server.early == [], "a model that is not loaded got a request"
        assert router.metrics().sum("penstock_wakes_total", replica="small", result="ok") == 2
        told = router.log().count("found asleep")
        page = "/models" if kind is LlamaRouter else "/api/ps"
        read = server.asked[page]
        wait_until(lambda: server.asked[page] > read + 8, 30, "the page is read again and again")
        assert router.log().count("found asleep") == told, "a state that stays is told once"


def test_a_model_of_llama_server_that_somebody_unloads_is_woken_for_the_next_request(folder):
    with LlamaRouter() as server, Router(folder, config=config(server, ["big"], "60s")) as router:
        router.wait_for_count("penstock_replica_up", 1)
        assert ask(router, "big") == "big"
        server.verb("/models/unload", {"model": "big"})
        assert ask(router, "big") == "big"
        assert router.metrics().sum("penstock_wakes_total", replica="big", result="ok") == 1


def test_a_model_of_ollama_for_embeddings_sleeps_and_wakes(folder):
    with Ollama() as server, Router(folder, config=config(server, ["big", "vectors"], "60s")) as router:
        router.wait_for_count("penstock_replica_up", 2)
        router.wait_for_count("penstock_replica_asleep", 1, replica="vectors")
        body = {"model": "vectors", "input": "some words"}
        answer = send(router.address, request_bytes(path="/v1/embeddings", body=body), timeout=30)
        assert answer.status == 200, answer.body
        assert server.loaded == {"vectors:latest"}
        assert ask(router, "big").startswith("big")


def test_the_models_of_ollama_are_asked_for_with_and_without_their_tag(folder):
    with Ollama() as server:
        given = config(server, ["big"], "60s")
        with Router(folder, config=given) as router:
            router.wait_for_log("engine is ollama", "with model big: context 4096 tokens, at most 1 sequences")
            assert [model["id"] for model in json.loads(get(router.address, "/v1/models")[2])["data"]] == ["big"]
            for name in ("big", "big:latest"):
                assert ask(router, name) == "big"
        path = folder / "tags.yaml"
        path.write_text(given)
        checked = subprocess.run([BINARY, "check", "--live", str(path)], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        assert "replicas: big: ok: ollama" in checked.stderr + checked.stdout
        with Router(folder, config=f"replicas: [{{id: all, url: '{server.url}'}}]\n") as router:
            router.wait_for_count("penstock_replica_up", 1)
            for name in ("small", "small:latest"):
                assert ask(router, name) == "small:latest"


def test_sglang_reads_its_weights_again_when_it_wakes(folder):
    with Sglang() as server, Router(folder, config=config(server, ["big"], "400ms")) as router:
        router.wait_for_count("penstock_replica_up", 1)
        wait_until(lambda: not server.loaded, 20, "it releases its memory")
        assert ask(router, "big") == "big"
        assert server.early == []
        assert [path for path, _ in server.verbs] == [
            "/flush_cache", "/release_memory_occupation", "/resume_memory_occupation", "/update_weights_from_disk"]
        assert server.verbs[-1][1] == {"model_path": "org/big"}


def test_sglang_with_requests_of_others_is_not_put_to_sleep(folder):
    """It would die of the release."""
    with Sglang() as server, Router(folder, config=config(server, ["big"], "400ms")) as router:
        server.busy = True
        wait_until(lambda: router.metrics().sum("penstock_sleeps_total", result="busy") >= 1, 20, "it is found busy")
        assert {path for path, _ in server.verbs} == {"/flush_cache"}
        assert ask(router, "big") == "big"


def test_an_engine_without_its_memory_saver_stays_awake_and_says_why(folder):
    class Plain(Sglang):
        def pages(self):
            pages = super().pages()
            del pages["/server_info"]["enable_memory_saver"]
            return pages

    with Plain() as server, Router(folder, config=config(server, ["big"], "100ms")) as router:
        router.wait_for_log("replica cannot sleep", "--enable-memory-saver")
        assert ask(router, "big") == "big"
        results = {labels["result"]: value for name, labels, value in router.metrics().samples if name == "penstock_sleeps_total"}
        assert results.pop("unable") == 1
        assert len(results) > 5 and set(results.values()) == {0}, "those that did not happen are seen at zero"
        assert server.verbs == []


def connecting(port, but=()):
    """Connections to a local port that are not made yet, but those from some ports."""
    with open("/proc/net/tcp") as lines:
        rows = [line.split() for line in lines][1:]
    waiting = [row[1] for row in rows if row[2].endswith(f":{port:04X}") and row[3] == "02"]
    return [address for address in waiting if int(address.split(":")[1], 16) not in but]


@pytest.mark.alone
def test_the_end_waits_for_no_verb_whose_connection_is_not_made(folder):
    with Sglang() as server, Router(folder, config=config(server, ["big"], "2s")) as router:
        router.wait_for_count("penstock_replica_up", 1)
        # The polls go on over their connection. A full queue lets no further one be made.
        server.http.shutdown()
        server.http.socket.listen(0)
        filling = [socket.socket() for _ in range(3)]
        for one in filling:
            one.setblocking(False)
            one.connect_ex(server.http.server_address)
        own = {one.getsockname()[1] for one in filling}
        wait_until(lambda: connecting(server.http.server_address[1], own), 20, "the verb waits for a connection")
        assert not server.verbs
        router.signal(signal.SIGTERM)
        begun = time.monotonic()
        assert router.process.wait(20) == 0
        assert time.monotonic() - begun < 0.5
        for one in filling:
            one.close()
