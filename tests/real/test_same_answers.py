"""Answers through the router equal the engine's own, apart from ids and times."""
import pytest
from answers import seen
from cases import BOTH, LLAMA, VLLM
from engines import call

NULL_LOGPROBS = "an answer that is put together from a stream has `logprobs: null`"
FINGERPRINT = "a stream without usage loses the `system_fingerprint` of vLLM's last event"
WAITING = {
    **{("vllm", name): FINGERPRINT for name in (
        "chat, streamed", "chat, streamed without usage", "chat, logprobs, streamed", "chat, stop, streamed",
        "chat with tools, streamed", "chat with a schema, streamed", "chat, a named tool, streamed", "text, streamed",
        "text, logprobs, streamed", "text, echo, streamed")},
    **{("llama", name): NULL_LOGPROBS for name in (
        "chat", "chat of one token", "chat, max_completion_tokens", "chat, seed", "chat, stop", "chat, content parts",
        "chat after a tool call", "chat with tools", "chat with a required tool", "chat with a schema", "chat with json",
        "chat with a penalty", "chat, grammar")},
    ("llama", "text, a list of prompts, streamed"): "the first event of llama-server is `data: null`",
}


def parameters():
    for kind, own in (("llama", LLAMA), ("vllm", VLLM)):
        for name in [*BOTH, *own]:
            marks = [pytest.mark.long] if kind == "vllm" else []
            if (kind, name) in WAITING:
                marks.append(pytest.mark.xfail(reason=WAITING[kind, name], strict=True))
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
