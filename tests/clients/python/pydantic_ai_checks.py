from checks import MODEL, QUESTION, TOO_LONG, URL, error_of, seconds_of, serve
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Gate(BaseModel):
    centimetres: int


def agent(model=MODEL, key="any", retries=0, tokens=8, **more):
    client = AsyncOpenAI(base_url=URL + "/v1", api_key=key, max_retries=retries, timeout=30)
    chats = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))
    return Agent(chats, model_settings={"max_tokens": tokens}, **more)


def chat():
    answer = agent().run_sync(QUESTION)
    return {"text": answer.output, "tokens": answer.usage.output_tokens}


def stream():
    pieces = list(agent().run_stream_sync(QUESTION).stream_text(delta=True, debounce_by=None))
    return {"text": "".join(pieces), "pieces": len(pieces)}


def tool():
    answer = agent(tokens=64, output_type=ToolOutput(Gate, name="open_gate")).run_sync(QUESTION)
    call = next(part for message in answer.all_messages() for part in message.parts if part.part_kind == "tool-call")
    return {"name": call.tool_name, "arguments": answer.output.model_dump()}


serve(
    chat=chat,
    stream=stream,
    tool=tool,
    missing_model=lambda: error_of(lambda: agent(model="no-such-model").run_sync(QUESTION)),
    bad_request=lambda: error_of(lambda: agent().run_sync(TOO_LONG)),
    retry=lambda: seconds_of(lambda: agent(key="limited", retries=1).run_sync(QUESTION)),
)
