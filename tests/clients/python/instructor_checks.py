import instructor
import openai
from checks import MESSAGES, MODEL, TOO_LONG, URL, error_of, seconds_of, serve
from pydantic import BaseModel


class open_gate(BaseModel):
    """The name of the class is the tool's."""

    centimetres: int


def client(key="any", retries=0):
    sdk = openai.OpenAI(base_url=URL + "/v1", api_key=key, max_retries=retries, timeout=30)
    return instructor.from_openai(sdk, mode=instructor.Mode.TOOLS)


def create(by=None, **more):
    asked = {"model": MODEL, "messages": MESSAGES, "max_tokens": 64, "max_retries": 0, **more}
    return (by or client()).chat.completions.create_with_completion(response_model=open_gate, **asked)


def chat():
    asked = {"model": MODEL, "messages": MESSAGES, "max_tokens": 8}
    answer = client().chat.completions.create(response_model=None, **asked)
    return {"text": answer.choices[0].message.content, "tokens": answer.usage.completion_tokens}


def stream():
    chunks = client().chat.completions.create(
        response_model=None, model=MODEL, messages=MESSAGES, max_tokens=8, stream=True
    )
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    return {"text": "".join(pieces), "pieces": sum(map(bool, pieces))}


def tool():
    parsed, answer = create()
    return {"name": answer.choices[0].message.tool_calls[0].function.name, "arguments": parsed.model_dump()}


serve(
    chat=chat,
    stream=stream,
    tool=tool,
    missing_model=lambda: error_of(lambda: create(model="no-such-model")),
    bad_request=lambda: error_of(lambda: create(messages=[{"role": "user", "content": TOO_LONG}])),
    retry=lambda: seconds_of(lambda: create(client(key="limited", retries=1))),
)
