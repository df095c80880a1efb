"""Agents at simulated engines: answers satisfy schemas, end by themselves, and the model calls tools of its own choice."""
import json

import anthropic
import openai
import pytest
from processes import MODEL, Engine, Router
from pydantic import BaseModel, ConfigDict, Field

SEEDS = range(12)


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=2, max_length=20)
    count: int = Field(ge=1, le=9)
    kind: str | None


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    customer: str
    parts: list[Part] = Field(min_length=1, max_length=4)
    urgent: bool
    price: float = Field(gt=0, lt=100)


PARAMETERS = Order.model_json_schema()
TOOL = {"type": "function", "function": {"name": "place_order", "description": "Orders parts.", "parameters": PARAMETERS}}


@pytest.fixture(scope="module", params=["vllm", "llama"])
def router(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("agents")
    options = {"overflow": "error"} if request.param == "llama" else {}
    with Engine(folder, time_scale=20, natural=True, **options) as engine, Router(folder, [engine]) as running:
        yield running


@pytest.fixture(scope="module")
def client(router):
    with openai.OpenAI(base_url=router.url + "/v1", api_key="any", max_retries=0, timeout=60) as made:
        yield made


def question(seed):
    return [{"role": "user", "content": f"Order parts for gate {seed}."}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_document_satisfies_its_schema(client, stream):
    documents = set()
    for seed in SEEDS:
        form = {"type": "json_schema", "json_schema": {"name": "order", "schema": PARAMETERS, "strict": True}}
        answer = client.chat.completions.create(model=MODEL, messages=question(seed), response_format=form, stream=stream)
        if stream:
            choices = [chunk.choices[0] for chunk in answer if chunk.choices]
            text, reason = "".join(choice.delta.content or "" for choice in choices), choices[-1].finish_reason
        else:
            text, reason = answer.choices[0].message.content, answer.choices[0].finish_reason
        Order.model_validate_json(text)
        assert reason == "stop"
        documents.add(text)
    assert len(documents) > len(SEEDS) / 2


def test_the_sdk_parses_its_own_model(client):
    answer = client.chat.completions.parse(model=MODEL, messages=question(1), response_format=Order)
    assert isinstance(answer.choices[0].message.parsed, Order)


def test_any_object_is_a_json_object(client):
    answer = client.chat.completions.create(model=MODEL, messages=question(1), response_format={"type": "json_object"})
    assert isinstance(json.loads(answer.choices[0].message.content), dict)


def test_a_limit_cuts_a_document_and_says_so(client):
    form = {"type": "json_schema", "json_schema": {"name": "order", "schema": PARAMETERS}}
    answer = client.chat.completions.create(model=MODEL, messages=question(1), response_format=form, max_tokens=3)
    assert (answer.choices[0].finish_reason, answer.usage.completion_tokens) == ("length", 3)


def test_a_schema_that_no_document_satisfies_is_named(client):
    schema = {"type": "integer", "minimum": 2, "maximum": 1}
    form = {"type": "json_schema", "json_schema": {"name": "none", "schema": schema}}
    with pytest.raises(openai.BadRequestError, match="no number lies within the bounds"):
        client.chat.completions.create(model=MODEL, messages=question(1), response_format=form)


def test_answers_end_by_themselves_below_their_limit(client):
    answers = [client.chat.completions.create(model=MODEL, messages=question(seed), max_tokens=12000) for seed in SEEDS]
    lengths = {answer.usage.completion_tokens for answer in answers}
    assert {answer.choices[0].finish_reason for answer in answers} == {"stop"}
    assert max(lengths) < 12000 and len(lengths) > 1


def test_an_agent_of_chats_calls_tools_until_it_answers(client):
    called = 0
    for seed in SEEDS:
        messages = question(seed)
        for _ in range(10):
            message = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
            if not message.tool_calls:
                break
            called += 1
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                Order.model_validate_json(call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "ordered"})
        assert message.content and not message.tool_calls
    assert called >= len(SEEDS) / 2


def test_an_agent_of_messages_calls_tools_until_it_answers(router):
    tool = {"name": "place_order", "input_schema": PARAMETERS}
    called = 0
    with anthropic.Anthropic(base_url=router.url, api_key="any", max_retries=0, timeout=60) as client:
        for seed in SEEDS:
            messages = question(seed)
            for _ in range(10):
                with client.messages.stream(model=MODEL, max_tokens=12000, messages=messages, tools=[tool]) as stream:
                    message = stream.get_final_message()
                if message.stop_reason != "tool_use":
                    break
                called += 1
                call = message.content[-1]
                Order.model_validate(call.input)
                messages.append({"role": "assistant", "content": [block.model_dump() for block in message.content]})
                messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id,
                                                              "content": "ordered"}]})
            assert (message.stop_reason, message.content[-1].type) == ("end_turn", "text")
    assert called >= len(SEEDS) / 2


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_of_responses_calls_tools_until_it_answers(client, stream):
    tool = {"type": "function", "name": "place_order", "parameters": PARAMETERS, "strict": True}
    called = 0
    for seed in SEEDS:
        items = [{"role": "user", "content": f"Order parts for gate {seed}."}]
        for _ in range(10):
            if stream:
                with client.responses.stream(model=MODEL, input=items, tools=[tool]) as events:
                    answer = events.until_done().get_final_response()
            else:
                answer = client.responses.create(model=MODEL, input=items, tools=[tool])
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                break
            called += 1
            for call in calls:
                Order.model_validate_json(call.arguments)
                items.append({"type": "function_call", "call_id": call.call_id, "name": call.name,
                              "arguments": call.arguments})
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": "ordered"})
        assert answer.output_text
    assert called >= len(SEEDS) / 2


def test_a_response_keeps_the_form_of_its_text(client):
    answer = client.responses.parse(model=MODEL, input="Order parts.", text_format=Order)
    assert isinstance(answer.output_parsed, Order)
