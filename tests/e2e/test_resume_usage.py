"""The usage of an answer that went on at another engine, whose template counts a continued text in its own way."""
import json

import pytest
from processes import Router
from raw_http import chat, events, request_bytes, send
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, event, http

USAGE = "data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [],
                               "usage": {"prompt_tokens": 28, "completion_tokens": 3, "total_tokens": 31}}) + "\n\n"


class BreaksOff(ScriptedEngine):
    """Breaks each answer off, and finishes the continuation of one."""

    @property
    def script(self):
        if b'"continue_final_message"' not in self.last:
            return STREAM_HEAD + chunk(event("one")) + chunk(event(" two"))
        return STREAM_HEAD + chunk(event(" three", "stop")) + chunk(USAGE) + chunk("data: [DONE]\n\n") + b"0\r\n\r\n"

    @script.setter
    def script(self, value):
        pass


def count(body):
    """The prompt has 20 tokens, the text to go on from has 5, and both in one prompt have 28."""
    return http(200, {"count": 20 if b'"messages"' in body else 5, "max_model_len": 4096, "tokens": []})


def no_requests(body):
    return http(400, {"error": {"message": "prompt is missing"}}) if b'"messages"' in body else count(body)


@pytest.mark.parametrize("answer, prompt", [(count, 20), (no_requests, 23)], ids=["counted", "by difference"])
def test_the_prompt_of_a_resumed_answer_is_that_of_the_request(folder, answer, prompt):
    with BreaksOff() as one, BreaksOff() as two:
        for engine in (one, two):
            engine.pages["/metrics"] = http(200, b"vllm:num_requests_running 0\n", "text/plain")
            engine.posts["/tokenize"] = answer
        lines = [f"  - {{url: '{engine.url}', engine: vllm, kv_tokens: 100000}}\n" for engine in (one, two)]
        with Router(folder, config="replicas:\n" + "".join(lines)) as router:
            body = chat(model=MODEL, stream=True, stream_options={"include_usage": True})
            got = events(send(router.address, request_bytes(body=body)).body)
            assert got[-1] == "[DONE]", got
            told = [json.loads(each) for each in got[:-1]]
            text = "".join(choice["delta"].get("content", "") for each in told for choice in each["choices"])
            assert text == "one two three"
            usage = told[-1]["usage"]
            assert (usage["prompt_tokens"], usage["total_tokens"] - usage["completion_tokens"]) == (prompt, prompt)
