"""Requests whose answers through the router must equal the engine's own. A case is (path, body)."""
CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
SAID = [{"role": "system", "content": "You read a list."}, {"role": "user", "content": "Tell me of the river and the stone."}]
SHORT = {"model": "tiny", "temperature": 0, "max_tokens": 12}
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
TOOL = {"type": "function", "function": {"name": "look", "description": "Look at a place.", "parameters": {
    "type": "object", "properties": {"place": {"enum": ["river", "stone"]}, "times": {"enum": [1, 2]}},
    "required": ["place", "times"]}}}
SCHEMA = {"type": "object", "properties": {"kind": {"enum": ["river", "stone"]}, "many": {"type": "boolean"}},
          "required": ["kind", "many"], "additionalProperties": False}
CALLED = [*SAID, {"role": "assistant", "content": None, "tool_calls": [
    {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"place": "river", "times": 1}'}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "water"}]


def chat(**more):
    return CHAT, {**SHORT, "messages": SAID, **more}


def text(**more):
    return TEXT, {**SHORT, "prompt": "the river and the stone", **more}


BOTH = {
    "chat": chat(),
    "chat, streamed": chat(stream=True),
    "chat, streamed with usage": chat(**USAGE),
    "chat, streamed without usage": chat(stream=True, stream_options={"include_usage": False}),
    "chat of one token": chat(max_tokens=1),
    "chat, max_completion_tokens": chat(max_tokens=None, max_completion_tokens=7),
    "chat, n": chat(n=3, temperature=0.9, seed=7),
    "chat, n, streamed with usage": chat(n=2, temperature=0.9, seed=5, **USAGE),
    "chat, logprobs": chat(logprobs=True, top_logprobs=2),
    "chat, logprobs, streamed": chat(logprobs=True, top_logprobs=1, stream=True),
    "chat, logprobs without alternatives": chat(logprobs=True),
    "chat, seed": chat(temperature=1.0, seed=11),
    "chat, stop": chat(max_tokens=60, stop=[" man", " the"]),
    "chat, stop, streamed": chat(max_tokens=60, stop=" man", stream=True),
    "chat, content parts": chat(messages=[{"role": "user", "content": [{"type": "text", "text": "the river"}]}]),
    "chat after a tool call": chat(messages=CALLED, tools=[TOOL]),
    "chat with tools": chat(tools=[TOOL]),
    "chat with tools, streamed": chat(tools=[TOOL], stream=True),
    "chat with a required tool": chat(tools=[TOOL], tool_choice="required", max_tokens=120),
    "chat with a required tool, streamed": chat(tools=[TOOL], tool_choice="required", max_tokens=120, **USAGE),
    "chat with a schema": chat(max_tokens=100, response_format={
        "type": "json_schema", "json_schema": {"name": "thing", "strict": True, "schema": SCHEMA}}),
    "chat with a schema, streamed": chat(max_tokens=100, stream=True, response_format={
        "type": "json_schema", "json_schema": {"name": "thing", "strict": True, "schema": SCHEMA}}),
    "chat with json": chat(response_format={"type": "json_object"}),
    "chat with a penalty": chat(frequency_penalty=1.5, presence_penalty=0.5, top_p=0.9),
    "chat, a wrong type": chat(temperature="warm"),
    "text": text(),
    "text, streamed": text(stream=True),
    "text, streamed with usage": text(**USAGE),
    "text, n": text(n=2, temperature=0.9, seed=3),
    "text, logprobs": text(logprobs=2),
    "text, logprobs, streamed": text(logprobs=1, stream=True),
    "text, stop": text(max_tokens=60, stop=[" man"]),
    "text of token ids": text(prompt=[300, 301, 302, 303]),
    "text, a list of prompts": text(prompt=["the river", "the stone and"]),
    "text, a list of lists of token ids": text(prompt=[[300, 301], [302, 303, 304]]),
    "text, scored": text(max_tokens=0, echo=True, logprobs=1),
    "message": ("/v1/messages", {"model": "tiny", "max_tokens": 12, "messages": SAID[1:], "temperature": 0}),
    "message, streamed": ("/v1/messages", {
        "model": "tiny", "max_tokens": 12, "messages": SAID[1:], "temperature": 0, "stream": True}),
    "tokens of a prompt": ("/tokenize", {"model": "tiny", "prompt": "the river", "content": "the river"}),
    "response": ("/v1/responses", {"model": "tiny", "temperature": 0, "input": "the river", "max_output_tokens": 12}),
    "response, streamed": ("/v1/responses", {
        "model": "tiny", "temperature": 0, "input": "the river", "max_output_tokens": 12, "stream": True}),
    "response of items": ("/v1/responses", {
        "model": "tiny", "temperature": 0, "input": SAID, "max_output_tokens": 12, "instructions": "Read."}),
}

VLLM = {
    "chat, usage in each event": chat(stream=True, stream_options={
        "include_usage": True, "continuous_usage_stats": True}),
    "chat, a named tool": chat(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "look"}}, max_tokens=120),
    "chat, a named tool, streamed": chat(
        tools=[TOOL], tool_choice={"type": "function", "function": {"name": "look"}}, max_tokens=120, stream=True),
    "chat that continues a message": chat(
        messages=[*SAID, {"role": "assistant", "content": "the river was"}], add_generation_prompt=False,
        continue_final_message=True),
    "chat, ended by the model": chat(max_tokens=60, vllm_xargs={"output_tokens": 9}),
    "chat, ended by the model, streamed": chat(max_tokens=60, vllm_xargs={"output_tokens": 9}, **USAGE),
    "chat, the engine's own fields": chat(top_k=5, min_p=0.1, ignore_eos=True, return_token_ids=True, seed=1, temperature=1),
    "chat, prompt_logprobs": chat(prompt_logprobs=1),
    "chat, structured outputs": chat(structured_outputs={"choice": [" river", " stone"]}),
    "text, echo": text(echo=True),
    "text, echo, streamed": text(echo=True, stream=True),
    "text, a list of prompts, streamed": text(prompt=["the river", "the stone and"], **USAGE),
    "text, usage in each event": text(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True}),
    "text, scored, without output": text(max_tokens=0, echo=True, logprobs=0),
}

LLAMA = {
    "text, a list of prompts, streamed": text(prompt=["the river", "the stone and"], stream=True),
    "chat, grammar": chat(grammar='root ::= " river" | " stone"'),
    "text, n_predict": text(max_tokens=None, n_predict=5),
    "text, timings": text(stream=True, timings_per_token=True),
    "chat, progress of the prompt": chat(stream=True, return_progress=True),
    "text, logit_bias": text(logit_bias=[[300, 5.0]]),
}
