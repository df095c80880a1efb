import asyncio
import json

import openai
from checks import ENDED, MESSAGES, MODEL, TOO_LONG, TOOL, URL, error_of, lines_of_job, result_of_job, seconds_of, serve

client = openai.AsyncOpenAI(base_url=URL + "/v1", api_key="any", max_retries=0, timeout=30)
loop = asyncio.new_event_loop()


def wait(work):
    return loop.run_until_complete(work)


def create(by=client, **more):
    return by.chat.completions.create(**{"model": MODEL, "messages": MESSAGES, "max_tokens": 8, **more})


async def chat():
    answer = await create()
    return {"text": answer.choices[0].message.content, "tokens": answer.usage.completion_tokens}


async def stream():
    pieces = [chunk.choices[0].delta.content or "" async for chunk in await create(stream=True) if chunk.choices]
    return {"text": "".join(pieces), "pieces": sum(map(bool, pieces))}


async def tool():
    answer = await create(tools=[TOOL], tool_choice="required", max_tokens=64)
    call = answer.choices[0].message.tool_calls[0].function
    return {"name": call.name, "arguments": json.loads(call.arguments)}


async def job():
    file = await client.files.create(file=("in.jsonl", lines_of_job()), purpose="batch")
    batch = await client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    while batch.status not in ENDED:
        await asyncio.sleep(0.05)
        batch = await client.batches.retrieve(batch.id)
    output = (await client.files.content(batch.output_file_id)).text
    await client.files.delete(file.id)
    return result_of_job(batch.status, output)


serve(
    chat=lambda: wait(chat()),
    stream=lambda: wait(stream()),
    tool=lambda: wait(tool()),
    missing_model=lambda: error_of(lambda: wait(create(model="no-such-model"))),
    bad_request=lambda: error_of(lambda: wait(create(messages=[{"role": "user", "content": TOO_LONG}]))),
    retry=lambda: seconds_of(lambda: wait(create(client.with_options(api_key="limited", max_retries=1)))),
    job=lambda: wait(job()),
)
