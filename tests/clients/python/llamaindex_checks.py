from checks import GATE, MODEL, QUESTION, TOO_LONG, URL, error_of, seconds_of, serve
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.llms.openai_like import OpenAILike

MESSAGES = [ChatMessage(role="user", content=QUESTION)]


class Gate(ToolMetadata):
    def get_parameters_dict(self):
        return GATE


def client(model=MODEL, key="any", retries=0, tokens=8):
    return OpenAILike(api_base=URL + "/v1", api_key=key, model=model, max_retries=retries, max_tokens=tokens, timeout=30,
                      is_chat_model=True, is_function_calling_model=True)


def chat():
    answer = client().chat(MESSAGES)
    return {"text": answer.message.content, "tokens": answer.raw.usage.completion_tokens}


def stream():
    pieces = [event.delta for event in client().stream_chat(MESSAGES)]
    return {"text": "".join(pieces), "pieces": sum(map(bool, pieces))}


def tool():
    gate = FunctionTool(metadata=Gate("Opens the gate by so many centimetres.", "open_gate"), fn=lambda **given: None)
    asker = client(tokens=64)
    answer = asker.chat_with_tools([gate], user_msg=QUESTION, tool_required=True)
    call = asker.get_tool_calls_from_response(answer)[0]
    return {"name": call.tool_name, "arguments": call.tool_kwargs}


serve(
    chat=chat,
    stream=stream,
    tool=tool,
    missing_model=lambda: error_of(lambda: client(model="no-such-model").chat(MESSAGES)),
    bad_request=lambda: error_of(lambda: client().chat([ChatMessage(role="user", content=TOO_LONG)])),
    retry=lambda: seconds_of(lambda: client(key="limited", retries=1).chat(MESSAGES)),
)
