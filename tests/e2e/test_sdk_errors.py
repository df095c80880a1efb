"""Each error arrives as the SDK's matching exception, with an error object and an honest retry hint."""
import asyncio

import openai
import pytest
from processes import MODEL, Engine, Router, free_port, replicas, wait_until

MESSAGES = [{"role": "user", "content": "Hello"}]


def client_of(router, key="any", **options):
    return openai.OpenAI(base_url=router.url + "/v1", api_key=key, max_retries=0, timeout=20, **options)


def create(router, key="any", **more):
    arguments = {"model": MODEL, "messages": MESSAGES, "max_tokens": 2, **more}
    with client_of(router, key) as client:
        return client.chat.completions.create(**arguments)


def check(error, status, code, retries):
    assert error.status_code == status
    assert error.code == code
    assert error.body["message"]
    assert set(error.body) >= {"message", "type", "param", "code"}
    if retries:
        assert int(error.response.headers["retry-after"]) >= 1
    else:
        assert "retry-after" not in error.response.headers
    return error


def test_a_bad_request_is_bad_request_error(router):
    with pytest.raises(openai.BadRequestError) as caught:
        create(router, n=1000)
    error = check(caught.value, 400, "invalid_value", retries=False)
    assert error.param == "n"


def test_a_prompt_above_the_context_is_bad_request_error_and_names_the_bound(folder):
    with Engine(folder, max_model_len=512) as engine, Router(folder, [engine]) as router:
        with pytest.raises(openai.BadRequestError) as caught:
            create(router, messages=[{"role": "user", "content": "river " * 2000}])
        error = check(caught.value, 400, "context_length_exceeded", retries=False)
        assert "512" in error.message


def test_an_unknown_model_is_not_found_error(router):
    with pytest.raises(openai.NotFoundError) as caught:
        create(router, model="no-such-model")
    error = check(caught.value, 404, "model_not_found", retries=False)
    assert error.param == "model"
    with pytest.raises(openai.NotFoundError), client_of(router) as client:
        client.models.retrieve("no-such-model")


def test_a_wrong_key_is_authentication_error(folder, engine):
    config = replicas([engine]) + "tenants:\n  - {name: team-a, keys: [sk-team-a]}\n"
    with Router(folder, config=config) as router:
        with pytest.raises(openai.AuthenticationError) as caught:
            create(router, key="sk-wrong")
        check(caught.value, 401, "invalid_api_key", retries=False)
        assert create(router, key="sk-team-a").usage.completion_tokens == 2
        metrics = router.wait_for_nothing([engine])
        assert metrics.sum("penstock_tenant_requests_total", tenant="team-a", outcome="ok") == 1
        assert "sk-" not in metrics.text
        router.wait_for_log("invalid_key")
        assert "sk-" not in router.log()


def test_a_queue_timeout_is_rate_limit_error(folder):
    config = "classes:\n  standard: {ttft: 1h, tpot: 1s, queue: 300ms, default: true}\n"
    with Engine(folder, max_seqs=1) as engine, Router(folder, config=replicas([engine], max_seqs=1) + config) as router:
        with client_of(router) as client:
            stream = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=5000, stream=True)
            next(iter(stream))
            with pytest.raises(openai.RateLimitError) as caught:
                create(router)
            check(caught.value, 429, "rate_limit_exceeded", retries=True)
            stream.close()
        assert router.wait_for_nothing([engine]).sum("penstock_refusals_total", reason="queue_timeout") == 1


def test_a_full_queue_is_rate_limit_error(folder):
    config = "limits: {max_queued_requests: 1}\n"
    with Engine(folder, max_seqs=1) as engine, Router(folder, config=replicas([engine], max_seqs=1) + config) as router:

        async def fill():
            async with openai.AsyncOpenAI(base_url=router.url + "/v1", api_key="any", max_retries=0) as client:
                running = await client.chat.completions.create(
                    model=MODEL, messages=MESSAGES, max_tokens=5000, stream=True
                )
                await running.__anext__()
                calls = [
                    asyncio.create_task(client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=2))
                    for _ in range(12)
                ]
                while not any(call.done() for call in calls):
                    await asyncio.sleep(0.01)
                await running.close()
                return await asyncio.gather(*calls, return_exceptions=True)

        answers = asyncio.run(asyncio.wait_for(fill(), 30))
        refused = [answer for answer in answers if isinstance(answer, Exception)]
        assert refused and len(refused) < len(answers)
        for error in refused:
            assert isinstance(error, openai.RateLimitError)
            check(error, 429, "rate_limit_exceeded", retries=True)
        assert router.wait_for_nothing([engine]).sum("penstock_refusals_total", reason="queue_full") == len(refused)


def test_nothing_there_to_serve_is_internal_server_error(folder):
    with Engine(folder) as engine, Router(folder, [engine]) as router:
        engine.kill()
        router.wait_for_count("penstock_replica_up", 0)
        with pytest.raises(openai.InternalServerError) as caught:
            create(router)
        check(caught.value, 503, "service_unavailable", retries=True)
        wait_until(lambda: router.get("/readyz")[0] == 503, 20, "the page says so")
        assert router.get("/healthz")[0] == 200


def test_no_router_is_a_connection_error():
    with openai.OpenAI(base_url=f"http://127.0.0.1:{free_port()}/v1", api_key="any", max_retries=0) as client:
        with pytest.raises(openai.APIConnectionError):
            client.models.list()


def test_the_sdk_retries_a_refusal_until_there_is_room(folder):
    config = "classes:\n  standard: {ttft: 1h, tpot: 1s, queue: 300ms, default: true}\n"
    with Engine(folder, max_seqs=1) as engine, Router(folder, config=replicas([engine], max_seqs=1) + config) as router:
        with client_of(router) as client:
            stream = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=150, stream=True)
            next(iter(stream))

            async def patient():
                async with openai.AsyncOpenAI(base_url=router.url + "/v1", api_key="any", max_retries=8) as retrying:
                    return await retrying.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=2)

            answer = asyncio.run(asyncio.wait_for(patient(), 60))
            assert answer.usage.completion_tokens == 2
            stream.close()
