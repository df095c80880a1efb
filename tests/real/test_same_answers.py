"""Answers through the router equal the engine's own, apart from ids and times."""
import json

import pytest
from answers import seen
from cases import BOTH, LLAMA, VLLM
from engines import call


def parameters():
    for kind, own in (("llama", LLAMA), ("vllm", VLLM)):
        for name in [*BOTH, *own]:
            marks = [pytest.mark.long] if kind == "vllm" else []
            yield pytest.param(kind, name, id=f"{kind}: {name}", marks=marks)


@pytest.mark.parametrize(("kind", "name"), list(parameters()))
def test_the_answer_is_the_engines_own(engines, through, kind, name):
    path, body = {**BOTH, **(VLLM if kind == "vllm" else LLAMA)}[name]
    body = {key: value for key, value in body.items() if value is not None}
    engine, router = engines(kind)[0], through(kind)
    # The first answer fills the engine's prefix cache, so that the next two start from the same state.
    call(engine.address, path, body)
    direct = seen(*call(engine.address, path, body))
    assert seen(*call(router.address, path, body)) == direct


@pytest.mark.parametrize("kind", ["llama", pytest.param("vllm", marks=pytest.mark.long)])
def test_the_error_of_a_missing_endpoint_names_it(engines, through, kind):
    body = {"model": "tiny", "input": "the river"}
    direct = call(engines(kind)[0].address, "/v1/embeddings", body)
    status, _, answer = call(through(kind).address, "/v1/embeddings", body)
    assert status == direct[0]
    assert "embeddings" in json.loads(answer)["error"]["message"]
