"""An engine whose KV pool fails every running request when it overflows: behind Penstock the pool never overflows."""
import asyncio
import json
import random

import httpx
from processes import Engine, Router

SEED = 11
CLIENTS = 64
REQUESTS = 128
WORDS = "river gate water turbine power valve pressure flow dam head spill wheel".split()


def conversations():
    """Prompts of 200 to 800 tokens, half of the requests streamed, none with a limit."""
    generator = random.Random(SEED)
    made = []
    for index in range(REQUESTS):
        words = [generator.choice(WORDS) for _ in range(generator.randint(170, 700))]
        text = f"Story {index}: " + " ".join(words)
        made.append({"model": "llama-3.1-8b", "messages": [{"role": "user", "content": text}], "stream": index % 2 == 0})
    return made


async def ask(client, url, body):
    """(text, finish reason, error) of one request."""
    response = await client.post(url + "/v1/chat/completions", json=body)
    if response.status_code != 200:
        return "", None, response.text
    if not body["stream"]:
        choice = response.json()["choices"][0]
        return choice["message"]["content"], choice["finish_reason"], None
    text, finish = "", None
    for line in response.text.splitlines():
        if not line.startswith("data:") or "[DONE]" in line:
            continue
        event = json.loads(line[5:])
        if "error" in event:
            return text, finish, line
        for choice in event["choices"]:
            text += choice["delta"].get("content") or ""
            finish = choice["finish_reason"] or finish
    return text, finish, None


async def ask_all(url, bodies, concurrency):
    gate = asyncio.Semaphore(concurrency)
    async with httpx.AsyncClient(timeout=240, limits=httpx.Limits(max_connections=None)) as client:

        async def one(body):
            async with gate:
                try:
                    return await ask(client, url, body)
                except httpx.HTTPError as error:
                    return "", None, repr(error)

        return await asyncio.gather(*(one(body) for body in bodies))


def small_engine(folder, name):
    return Engine(folder, name=name, overflow="error", kv_tokens=8192, max_seqs=64, time_scale=10, seed=SEED)


def test_no_request_fails_and_no_answer_is_cut_short(folder):
    print("seed", SEED)
    bodies = conversations()
    with Engine(folder, name="big", kv_tokens=400000, max_model_len=8192, max_seqs=64, time_scale=20, seed=SEED) as big:
        alone = asyncio.run(ask_all(big.url, bodies, 16))
    assert all(error is None and finish == "stop" for _, finish, error in alone)

    with small_engine(folder, "direct") as engine:
        direct = asyncio.run(ask_all(engine.url, bodies, CLIENTS))
    failed = [error for _, _, error in direct if error]
    assert failed, "the engine alone is expected to overflow"
    assert any("Context size has been exceeded" in error for error in failed), failed[0]

    with small_engine(folder, "routed") as engine, Router(folder, [engine]) as router:
        routed = asyncio.run(ask_all(router.url, bodies, CLIENTS))
        metrics = router.wait_for_nothing([engine])
    assert [error for _, _, error in routed if error] == []
    for (text, finish, _), (whole, whole_finish, _) in zip(routed, alone):
        assert finish == whole_finish
        assert text == whole
    assert metrics.sum("penstock_engine_errors_total", kind="overflow") == 0
    assert metrics.sum("penstock_requests_total", outcome="ok") == REQUESTS
