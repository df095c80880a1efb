import json
import os

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", HF_HUB_OFFLINE="1")  # Nothing is fetched from other hosts.

import litellm
from checks import MESSAGES, MODEL, TOO_LONG, TOOL, URL, error_of, seconds_of, serve


def create(model=MODEL, key="any", retries=0, **more):
    asked = {"messages": MESSAGES, "max_tokens": 8, "timeout": 30, "max_retries": retries, **more}
    return litellm.completion(model="openai/" + model, api_base=URL + "/v1", api_key=key, **asked)


def chat():
    answer = create()
    return {"text": answer.choices[0].message.content, "tokens": answer.usage.completion_tokens}


def stream():
    pieces = [chunk.choices[0].delta.content or "" for chunk in create(stream=True) if chunk.choices]
    return {"text": "".join(pieces), "pieces": sum(map(bool, pieces))}


def tool():
    answer = create(tools=[TOOL], tool_choice="required", max_tokens=64)
    call = answer.choices[0].message.tool_calls[0].function
    return {"name": call.name, "arguments": json.loads(call.arguments)}


serve(
    chat=chat,
    stream=stream,
    tool=tool,
    missing_model=lambda: error_of(lambda: create(model="no-such-model")),
    bad_request=lambda: error_of(lambda: create(messages=[{"role": "user", "content": TOO_LONG}])),
    retry=lambda: seconds_of(lambda: create(key="limited", retries=1)),
)
