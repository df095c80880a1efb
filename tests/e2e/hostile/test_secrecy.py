"""Secrets never leave the router: keys and prompts in logs, engines' development endpoints, files and URLs of the client."""
import socket
import subprocess

import pytest
from processes import BINARY, Engine, Router, replicas, wait_until
from raw_http import chat, request_bytes, send
from scripted_engine import ScriptedEngine, http

PROMPT = "canary-prompt-7f3a"
TENANT_KEY = "canary-tenant-key-91bc"
WRONG_KEY = "canary-wrong-key-22de"
ENGINE_KEY = "canary-engine-key-c0de"


def with_key(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("everything", [False, True])
def test_keys_and_prompts_are_in_no_log_metric_or_error(folder, everything):
    decisions = folder / f"decisions-{everything}.log"
    config = (
        f"tenants: [{{name: team, keys: [{TENANT_KEY}]}}]\n"
        f"log: {{path: {decisions}, all_decisions: {str(everything).lower()}}}\n"
    )
    with Engine(folder) as engine, ScriptedEngine() as broken:
        broken.script = http(500, {"error": {"message": "it broke"}})
        urls = [engine.url, broken.url]
        section = "replicas:\n" + "".join(f"  - {{url: '{url}', key: {ENGINE_KEY}}}\n" for url in urls)
        with Router(folder, config=section + config) as router:
            answers = []

            def ask(body, key=TENANT_KEY):
                answers.append(send(router.address, request_bytes(body=body, headers=with_key(key))))
                return answers[-1]

            wait_until(lambda: ask(chat(PROMPT, max_tokens=3)).status == 200, 20, "the engine is up")
            assert ask(chat(PROMPT, max_tokens=3, stream=True)).status == 200
            assert ask(chat(PROMPT, max_tokens=3), WRONG_KEY).status == 401
            assert ask(chat(PROMPT * 30_000)).status == 400
            assert ask(chat(PROMPT, max_tokens="many")).status == 400
            assert ask(f'{{"model": "llama-3.1-8b", "messages": "{PROMPT}'.encode()).status == 400
            assert ask(chat(PROMPT, model="no-such-model")).status == 404
            ask(chat(PROMPT, model="scripted"))
            shown = router.wait_for_nothing().text + "".join(f"{a.headers} {a.body if a.status >= 400 else ''}" for a in answers)
            check = subprocess.run([BINARY, "check", "--config", str(router.config_path)], capture_output=True, text=True)
            assert check.returncode == 0
        if everything:
            assert '"forward"' in decisions.read_text()
        shown += router.log() + decisions.read_text() + check.stdout + check.stderr
        for canary in (PROMPT, TENANT_KEY, WRONG_KEY, ENGINE_KEY):
            assert canary not in shown


@pytest.mark.parametrize("status", [400, 404, 502, 503])
def test_a_page_of_a_proxy_before_an_engine_stays_in_the_log(folder, status):
    page = b"<html><h1>error</h1>upstream 10.7.7.7:8000 (engine-7.internal) failed</html>"
    with ScriptedEngine() as engine, Router(folder, config=replicas([engine])) as router:
        for body, kind in ((page, "text/html"), (b'{"upstream": "10.7.7.7:8000"}', "application/json")):
            engine.script = http(status, body, kind)
            answer = send(router.address, request_bytes(body=chat(model="scripted", max_tokens=1)))
            assert answer.status in (status, 502, 503) and answer.json()["error"]["message"]
            assert b"10.7.7.7" not in answer.body and b"internal" not in answer.body
        router.wait_for_log("10.7.7.7")


def test_development_endpoints_of_engines_are_not_relayed(folder):
    paths = [
        "/sleep", "/wake_up", "/is_sleeping", "/collective_rpc", "/reset_prefix_cache", "/start_profile", "/stop_profile",
        "/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/server_info", "/flush_cache", "/update_weights_from_disk",
        "/props", "/slots", "/slots/0?action=save", "/tokenize", "/detokenize", "/apply-template", "/infill", "/metrics",
        "/api/pull", "/api/delete", "/api/generate", "/info", "/v1/completions/../../sleep", "//sleep", "/v1/models/load",
    ]
    with ScriptedEngine() as engine, Router(folder, config=replicas([engine])) as router:
        for path in paths:
            assert send(router.address, request_bytes(path, body=chat())).status in (404, 405), path
        assert engine.calls == 0


def test_no_url_of_the_client_is_opened(folder, engine):
    with socket.create_server(("127.0.0.1", 0)) as trap, Router(folder, [engine]) as router:
        url = f"http://127.0.0.1:{trap.getsockname()[1]}/x.png"
        parts = [{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": url}}]
        body = {"model": "llama-3.1-8b", "max_tokens": 1, "messages": [{"role": "user", "content": parts}]}
        send(router.address, request_bytes(body=body))
        send(router.address, request_bytes(url, body=chat(max_tokens=1)))
        trap.settimeout(0.3)
        with pytest.raises(TimeoutError):
            trap.accept()
