"""The official openai SDK, sync and async, understands the server."""
import asyncio

import openai
import pytest
from processes import MODEL

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What does a penstock do?"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "open_gate",
        "description": "Opens the gate by so many centimetres.",
        "parameters": {"type": "object", "properties": {"centimetres": {"type": "integer"}}, "required": ["centimetres"]},
    },
}


@pytest.fixture(scope="module")
def client(router):
    with openai.OpenAI(base_url=router.url + "/v1", api_key="any", max_retries=0, timeout=30) as made:
        yield made


def on_async_client(router, work):
    """Runs work(client) with an async client."""

    async def run():
        async with openai.AsyncOpenAI(base_url=router.url + "/v1", api_key="any", max_retries=0, timeout=30) as made:
            return await work(made)

    return asyncio.run(run())


def test_a_chat_completion_has_text_usage_and_a_finish_reason(client):
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=12)
    assert answer.object == "chat.completion"
    assert answer.model == MODEL
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 12
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 12


def test_an_answer_that_ends_by_itself_stops(client):
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, extra_headers={"x-simulated-output-tokens": "25"}
    )
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens == 25


def test_max_completion_tokens_counts_like_max_tokens(client):
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_completion_tokens=7)
    assert answer.usage.completion_tokens == 7


def test_several_choices_of_one_prompt(client):
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=5, n=3)
    assert sorted(choice.index for choice in answer.choices) == [0, 1, 2]
    assert answer.usage.completion_tokens == 15


def test_completions_of_a_string_and_of_a_list(client):
    answer = client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=6)
    assert answer.object == "text_completion"
    assert answer.choices[0].text
    assert answer.usage.completion_tokens == 6
    answer = client.completions.create(model=MODEL, prompt=["One.", "Two."], max_tokens=4)
    assert len(answer.choices) == 2
    assert answer.usage.completion_tokens == 8


def test_completions_of_token_ids(client):
    answer = client.completions.create(model=MODEL, prompt=[1, 2, 3, 4, 5], max_tokens=4)
    assert answer.usage.prompt_tokens == 5


def test_streamed_completions(client):
    text = ""
    for chunk in client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=6, stream=True):
        text += chunk.choices[0].text
    assert text == client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=6).choices[0].text


def test_embeddings_of_one_and_of_many(client):
    one = client.embeddings.create(model=MODEL, input="A gate.")
    assert len(one.data) == 1
    assert all(isinstance(value, float) for value in one.data[0].embedding)
    assert one.usage.prompt_tokens > 0
    many = client.embeddings.create(model=MODEL, input=["A gate.", "A turbine.", "A river."], encoding_format="float")
    assert [row.index for row in many.data] == [0, 1, 2]
    assert len(many.data[0].embedding) == len(one.data[0].embedding)


def test_models_are_listed_and_retrieved(client):
    assert [model.id for model in client.models.list()] == [MODEL]
    model = client.models.retrieve(MODEL)
    assert model.id == MODEL
    assert model.object == "model"


def stream_of(client, **more):
    return list(client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True, **more))


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_a_stream_brings_the_same_text_token_by_token(client):
    whole = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=20)
    chunks = stream_of(client, max_tokens=20)
    assert text_of(chunks) == whole.choices[0].message.content
    assert sum(1 for chunk in chunks if chunk.choices and chunk.choices[0].delta.content) == 20
    assert chunks[-1].choices[0].finish_reason == "length"


def test_usage_is_hidden_from_a_stream_that_did_not_ask(client):
    chunks = stream_of(client, max_tokens=5)
    assert all(chunk.choices for chunk in chunks)
    assert all(chunk.usage is None for chunk in chunks)


def test_usage_is_the_last_chunk_of_a_stream_that_asked(client):
    chunks = stream_of(client, max_tokens=5, stream_options={"include_usage": True})
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 5
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_usage_is_hidden_when_it_was_asked_not_to_come(client):
    chunks = stream_of(client, max_tokens=5, stream_options={"include_usage": False})
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


def test_tools_are_passed_through(client):
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, tools=[TOOL], tool_choice="required", max_tokens=64
    )
    call = answer.choices[0].message.tool_calls[0]
    assert call.function.name == "open_gate"
    assert answer.choices[0].finish_reason == "tool_calls"


def test_streamed_tool_calls_are_passed_through(client):
    chunks = stream_of(client, tools=[TOOL], tool_choice="required", max_tokens=64)
    names = [
        call.function.name
        for chunk in chunks if chunk.choices
        for call in chunk.choices[0].delta.tool_calls or []
        if call.function and call.function.name
    ]
    assert names == ["open_gate"]
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"


def test_every_answer_carries_a_request_id(client):
    answer = client.chat.completions.with_raw_response.create(model=MODEL, messages=MESSAGES, max_tokens=1)
    assert answer.headers["x-request-id"]
    named = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=MESSAGES, max_tokens=1, extra_headers={"x-request-id": "my-own-id-7"}
    )
    assert named.headers["x-request-id"] == "my-own-id-7"


def test_unknown_fields_survive(client):
    answer = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, max_tokens=3, extra_body={"some_new_field": {"a": [1, 2]}}
    )
    assert answer.usage.completion_tokens == 3


def test_a_slow_answer_ends_in_the_clients_timeout_and_frees_its_memory(client, router, engine):
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.3).chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=4000)
    router.wait_for_nothing([engine])


def test_async_chat_many_at_once(router):
    async def work(client):
        calls = [
            client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": f"Number {i}"}], max_tokens=3 + i % 5
            )
            for i in range(24)
        ]
        return await asyncio.gather(*calls)

    answers = on_async_client(router, work)
    assert [answer.usage.completion_tokens for answer in answers] == [3 + i % 5 for i in range(24)]


def test_async_streams_many_at_once(router):
    async def one(client, i):
        messages = [{"role": "user", "content": f"Stream number {i}"}]
        whole = await client.chat.completions.create(model=MODEL, messages=messages, max_tokens=10)
        stream = await client.chat.completions.create(
            model=MODEL, messages=messages, max_tokens=10, stream=True, stream_options={"include_usage": True}
        )
        text, usage = "", None
        async for chunk in stream:
            text += chunk.choices[0].delta.content or "" if chunk.choices else ""
            usage = chunk.usage or usage
        return text == whole.choices[0].message.content and usage.completion_tokens == 10

    async def work(client):
        return await asyncio.gather(*(one(client, i) for i in range(12)))

    assert all(on_async_client(router, work))


def test_async_completions_embeddings_and_models(router):
    async def work(client):
        text = await client.completions.create(model=MODEL, prompt="Hello", max_tokens=2)
        vectors = await client.embeddings.create(model=MODEL, input=["a", "b"])
        names = [model.id async for model in client.models.list()]
        model = await client.models.retrieve(MODEL)
        return text.usage.completion_tokens, len(vectors.data), names, model.id

    assert on_async_client(router, work) == (2, 2, [MODEL], MODEL)


def test_an_async_stream_that_is_dropped_frees_its_memory(router, engine):
    async def work(client):
        stream = await client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=4000, stream=True)
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                break
        await stream.close()

    on_async_client(router, work)
    router.wait_for_nothing([engine])
