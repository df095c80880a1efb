from checks import MODEL, QUESTION, TOO_LONG, TOOL, URL, error_of, seconds_of, serve
from langchain_openai import ChatOpenAI


def client(model=MODEL, key="any", retries=0, tokens=8):
    return ChatOpenAI(base_url=URL + "/v1", api_key=key, model=model, max_retries=retries, max_tokens=tokens, timeout=30)


def chat():
    answer = client().invoke(QUESTION)
    return {"text": answer.content, "tokens": answer.usage_metadata["output_tokens"]}


def stream():
    pieces = [chunk.content for chunk in client().stream(QUESTION)]
    return {"text": "".join(pieces), "pieces": sum(map(bool, pieces))}


def tool():
    call = client(tokens=64).bind_tools([TOOL], tool_choice="required").invoke(QUESTION).tool_calls[0]
    return {"name": call["name"], "arguments": call["args"]}


serve(
    chat=chat,
    stream=stream,
    tool=tool,
    missing_model=lambda: error_of(lambda: client(model="no-such-model").invoke(QUESTION)),
    bad_request=lambda: error_of(lambda: client().invoke(TOO_LONG)),
    retry=lambda: seconds_of(lambda: client(key="limited", retries=1).invoke(QUESTION)),
)
