"""Load clients that users run against an OpenAI server work against the router, and each of their requests succeeds."""
import json
import os
import subprocess

import pytest
from engines import CACHE, MODEL, VLLM_ENVIRONMENT, installed, wait_until_up
from processes import Router

pytestmark = pytest.mark.long
TOKENIZER = str(CACHE / "model/hf")
REQUESTS = 24


@pytest.fixture(scope="module")
def router(vllms, folder):
    with Router(folder, vllms) as running:
        yield wait_until_up(running, 2)


def environment_of(name):
    """aiperf takes a folder for a tokenizer's name when it may not look names up."""
    offline = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE") if name == "clients" else ()
    return {key: value for key, value in VLLM_ENVIRONMENT.items() if key not in offline}


def run(environment, command, folder):
    if not installed(environment):
        pytest.skip(f"run scripts/real_env.sh {environment}")
    program, *arguments = command
    done = subprocess.run([str(CACHE / environment / "bin/python"), *program, *arguments], cwd=folder, timeout=400,
                          env={**os.environ, **environment_of(environment)}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.mark.parametrize(("backend", "endpoint"), [
    ("openai-chat", "/v1/chat/completions"), ("openai", "/v1/completions")])
def test_vllm_bench_serve(router, tmp_path, backend, endpoint):
    run("vllm", [
        ["-m", "vllm.entrypoints.cli.main"], "bench", "serve", "--backend", backend, "--base-url", router.url, "--endpoint",
        endpoint, "--model", MODEL, "--tokenizer", TOKENIZER, "--dataset-name", "random", "--random-input-len", "60",
        "--random-output-len", "30", "--num-prompts", str(REQUESTS), "--request-rate", "20", "--save-result",
        "--result-dir", str(tmp_path), "--result-filename", "result.json"], tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["completed"], result.get("failed", 0)) == (REQUESTS, 0)
    assert result["total_output_tokens"] == REQUESTS * 30


def test_aiperf(router, tmp_path):
    run("clients", [
        ["-c", "from aiperf.cli import app; app()"], "profile", "-m", MODEL, "--url", router.url, "--endpoint-type", "chat", "--streaming",
        "--tokenizer", TOKENIZER, "--request-count", str(REQUESTS), "--concurrency", "4", "--isl", "60", "--osl", "30",
        "--artifact-dir", str(tmp_path), "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics"], tmp_path)
    result = json.loads((tmp_path / "profile_export_aiperf.json").read_text())
    assert result["completed_request_count"]["avg"] == REQUESTS and result["error_summary"] == []


def test_guidellm(router, tmp_path):
    run("clients", [
        ["-m", "guidellm"], "run", "--backend", f"kind=openai_http,target={router.url},model={MODEL}", "--profile",
        "kind=concurrent,streams=4", "--constraint", f"kind=max_requests,count={REQUESTS}", "--tokenizer",
        f"kind=huggingface_auto,model={TOKENIZER}", "--data", "kind=synthetic_text,prompt_tokens=60,output_tokens=30",
        "--output", f"kind=json,path={tmp_path}/result.json", "--disable-console-interactive"], tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    counts = result["benchmarks"][0]["metrics"]["request_totals"]
    assert (counts["successful"], counts["errored"], counts["incomplete"]) == (REQUESTS, 0, 0)
