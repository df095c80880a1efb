import anthropic
from checks import GATE, MESSAGES, MODEL, TOO_LONG, URL, error_of, seconds_of, serve

client = anthropic.Anthropic(base_url=URL, api_key="any", max_retries=0, timeout=30)
TOOL = {"name": "open_gate", "description": "Opens the gate by so many centimetres.", "input_schema": GATE}


def create(by=client, **more):
    return by.messages.create(**{"model": MODEL, "messages": MESSAGES, "max_tokens": 8, **more})


def chat():
    answer = create()
    return {"text": answer.content[0].text, "tokens": answer.usage.output_tokens}


def stream():
    with client.messages.stream(model=MODEL, messages=MESSAGES, max_tokens=8) as events:
        pieces = list(events.text_stream)
    return {"text": "".join(pieces), "pieces": len(pieces)}


def tool():
    answer = create(tools=[TOOL], tool_choice={"type": "any"}, max_tokens=64)
    call = next(block for block in answer.content if block.type == "tool_use")
    return {"name": call.name, "arguments": call.input}


serve(
    chat=chat,
    stream=stream,
    tool=tool,
    missing_model=lambda: error_of(lambda: create(model="no-such-model")),
    bad_request=lambda: error_of(lambda: create(messages=[{"role": "user", "content": TOO_LONG}])),
    retry=lambda: seconds_of(lambda: create(client.with_options(api_key="limited", max_retries=1))),
)
