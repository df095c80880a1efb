"""Agents for the command line work against the router: an answer, and the reason of a refusal in the user's sight."""
import json
import os
import re
import subprocess

import pytest
from processes import MODEL, Engine, Router
from programs import CACHE, CONFINED

QUESTION = "What does a penstock do?"


@pytest.fixture(scope="module")
def router(folder):
    # Codex's own instructions and tools are some 9,000 tokens.
    with Engine(folder, max_model_len=32_768) as engine, Router(folder, [engine]) as running:
        yield running


def run(name, program, arguments, home, **environment):
    """The exit code and the output of an agent that was given one question and no terminal."""
    if not (CACHE / name / "stamp").exists():
        pytest.skip(f"{name} is not installed: run scripts/clients_env.sh")
    return subprocess.run([CACHE / name / program, *arguments, QUESTION], cwd=home, timeout=120, capture_output=True,
                          stdin=subprocess.DEVNULL, text=True,
                          env={**os.environ, **CONFINED, "HOME": str(home), **environment})


CODEX = """
model = "{model}"
model_provider = "penstock"
[model_providers.penstock]
name = "penstock"
base_url = "{url}/v1"
env_key = "PENSTOCK_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
"""


def codex(router, model, home):
    """The exit code and the events of one turn."""
    (home / "config.toml").write_text(CODEX.format(model=model, url=router.url))
    arguments = ["exec", "--json", "--skip-git-repo-check"]
    done = run("codex", "node_modules/.bin/codex", arguments, home, CODEX_HOME=str(home), PENSTOCK_KEY="any")
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_codex_gets_an_answer(router, tmp_path):
    code, events = codex(router, MODEL, tmp_path)
    assert code == 0, events
    assert [event["item"]["text"] for event in events if event.get("item", {}).get("type") == "agent_message"]
    assert events[-1]["type"] == "turn.completed"
    assert events[-1]["usage"]["output_tokens"] > 0


def test_codex_shows_why_a_model_is_refused(router, tmp_path):
    code, events = codex(router, "no-such-model", tmp_path)
    assert code == 1, events
    assert events[-1]["type"] == "turn.failed"
    assert "`no-such-model` does not exist" in events[-1]["error"]["message"]


AIDER = ["--no-git", "--yes-always", "--no-check-update", "--analytics-disable", "--no-show-model-warnings",
         "--no-show-release-notes", "--no-pretty", "--no-detect-urls", "--map-tokens", "0"]


def aider(router, model, home):
    """Returns what aider prints. Its files name the model's limits, so that it asks no other host for them."""
    limits = {"max_tokens": 8192, "max_input_tokens": 8192, "max_output_tokens": 4096, "litellm_provider": "openai"}
    (home / ".aider.model.metadata.json").write_text(json.dumps({f"openai/{model}": limits}))
    (home / ".aider.model.settings.yml").write_text("- {name: aider/extra_params, extra_params: {max_tokens: 40}}\n")
    prices = home / ".aider/caches/model_prices_and_context_window.json"
    prices.parent.mkdir(parents=True)
    prices.write_text('{"none": {}}')
    done = run("aider", "bin/aider", ["--model", f"openai/{model}", *AIDER, "--message"], home, HF_HUB_OFFLINE="1",
               LITELLM_LOCAL_MODEL_COST_MAP="True", OPENAI_API_BASE=router.url + "/v1", OPENAI_API_KEY="any")
    return done.stdout


def test_aider_gets_an_answer(router, tmp_path):
    before = router.metrics().sum("penstock_requests_total", outcome="ok")
    printed = aider(router, MODEL, tmp_path)
    assert "hit a token limit" in printed, printed  # It asked for 40 tokens.
    assert re.search(r"Repo-map: disabled\n\n\w+", printed), printed
    router.wait_for_count("penstock_requests_total", before + 1, outcome="ok")


def test_aider_shows_why_a_model_is_refused(router, tmp_path):
    printed = " ".join(aider(router, "no-such-model", tmp_path).split())
    assert "litellm.NotFoundError" in printed and "`no-such-model` does not exist" in printed, printed
