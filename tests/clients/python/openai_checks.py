import json
import time

import openai
from checks import ENDED, MESSAGES, MODEL, TOO_LONG, TOOL, URL, error_of, lines_of_job, result_of_job, seconds_of, serve

client = openai.OpenAI(base_url=URL + "/v1", api_key="any", max_retries=0, timeout=30)


def create(by=client, **more):
    return by.chat.completions.create(**{"model": MODEL, "messages": MESSAGES, "max_tokens": 8, **more})


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


def job():
    file = client.files.create(file=("in.jsonl", lines_of_job()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    while batch.status not in ENDED:
        time.sleep(0.05)
        batch = client.batches.retrieve(batch.id)
    output = client.files.content(batch.output_file_id).read().decode()
    client.files.delete(file.id)
    return result_of_job(batch.status, output)


serve(
    chat=chat,
    stream=stream,
    tool=tool,
    missing_model=lambda: error_of(lambda: create(model="no-such-model")),
    bad_request=lambda: error_of(lambda: create(messages=[{"role": "user", "content": TOO_LONG}])),
    retry=lambda: seconds_of(lambda: create(client.with_options(api_key="limited", max_retries=1))),
    job=job,
)
