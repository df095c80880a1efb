from checks import GATE, MODEL, QUESTION, TOO_LONG, URL, error_of, seconds_of, serve
from llm import Tool
from llm.default_plugins.openai_models import Chat


class Client(Chat):
    def build_kwargs(self, prompt, stream):
        """The simulated engine calls a tool only where it must, and the client has no option for that."""
        return super().build_kwargs(prompt, stream) | ({"tool_choice": "required"} if prompt.tools else {})


def ask(question=QUESTION, model=MODEL, key="any", tokens=8, **more):
    client = Client(model, model_name=model, api_base=URL + "/v1", key=key, supports_tools=True)
    return client.prompt(question, max_tokens=tokens, **more)


def chat():
    answer = ask(stream=False)
    return {"text": answer.text(), "tokens": answer.usage().output}


def stream():
    pieces = list(ask())
    return {"text": "".join(pieces), "pieces": len(pieces)}


def tool():
    gate = Tool(name="open_gate", description="Opens the gate by so many centimetres.", input_schema=GATE)
    call = ask(tokens=64, tools=[gate]).tool_calls()[0]
    return {"name": call.name, "arguments": call.arguments}


serve(
    chat=chat,
    stream=stream,
    tool=tool,
    missing_model=lambda: error_of(lambda: ask(model="no-such-model").text()),
    bad_request=lambda: error_of(lambda: ask(TOO_LONG).text()),
    retry=lambda: seconds_of(lambda: ask(key="limited").text()),
)
