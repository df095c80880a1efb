"""A real vLLM writes sound down over /v1/realtime, through the router. Its small speech model has drawn weights."""
import subprocess

import pytest
from engines import CACHE, HERE, Vllm, call, installed
from processes import Router, wait_until

MODEL = "voice"
SPEAKS = ("--served-model-name", MODEL, "--load-format", "dummy", "--max-model-len", "2048", "--max-num-seqs", "8")


@pytest.fixture(scope="module")
def voice(folder):
    if not installed("vllm"):
        pytest.skip("no vLLM: run scripts/real_env.sh vllm")
    model = folder / "voice-model"
    subprocess.run([CACHE / "vllm/bin/python", HERE / "voice/make_voice_model.py", CACHE / "model/hf", model], check=True)
    with Vllm(folder, "vllm-voice", *SPEAKS, model=model) as engine:
        yield engine.wait()


@pytest.mark.long
def test_sound_is_written_down_over_a_websocket(folder, voice):
    with Router(folder, [voice]) as router:
        wait_until(lambda: router.metrics().sum("penstock_replica_up", model=MODEL) == 1, 30, "the replica is up")
        _, _, models = call(router.address, "/v1/models")
        assert b'"realtime"' in models
        url = f"ws://127.0.0.1:{router.address[1]}/v1/realtime?model={MODEL}"
        client = subprocess.run([CACHE / "vllm/bin/python", HERE / "voice/voice_client.py", url, MODEL], capture_output=True,
                                text=True, timeout=300)
        events = client.stdout.split()
        assert events[0] == "session.created" and events[-1] == "transcription.done", client.stdout + client.stderr
        assert events.count("transcription.delta") >= 1
        wait_until(lambda: router.metrics().sum("penstock_realtime_open") == 0, 30, "the lease has ended")
