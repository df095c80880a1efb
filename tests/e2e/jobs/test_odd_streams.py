"""Lines of batches whose engine answers a forced stream with deltas of its own: the whole answer has them, or one fault."""
import json

import pytest
from batch_jobs import begin, by_custom_id, client_of, finish, line, rows
from processes import Router
from raw_http import chat, request_bytes, send
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk


def stream_of(*deltas):
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    events = [{"id": "x", "object": "chat.completion.chunk", "choices": [choice]} for choice in choices]
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    events.append({"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage})
    data = [json.dumps(event) for event in events] + ["[DONE]"]
    return STREAM_HEAD + b"".join(chunk(f"data: {each}\n\n") for each in data) + b"0\r\n\r\n"


@pytest.fixture(scope="module")
def served(folder):
    with ScriptedEngine() as engine:
        # Only an engine that continues chats gets a line as a stream.
        config = (f"replicas: [{{url: '{engine.url}', engine: vllm, model: {MODEL}, kv_tokens: 1000000}}]\n"
                  f"state: {{path: {folder / 'state'}}}\n")
        with Router(folder, config=config) as router:
            yield engine, router


def run(router, count):
    client = client_of(router)
    return client, finish(client, begin(client, [line(f"c{i}", model=MODEL) for i in range(count)]))


def test_fields_of_deltas_that_nobody_knows_are_in_the_answers(served):
    engine, router = served
    engine.script = stream_of(
        {"role": "assistant", "content": [{"type": "text", "text": "a"}], "annotations": [{"type": "url_citation"}]},
        {"content": "b", "function_call": {"name": "f", "arguments": "{"}, "audio": {"id": "a1", "data": "AA"}},
        {"function_call": {"arguments": "}"}, "audio": {"id": "a1", "data": "BB"}, "vendor": "V"})
    calls = engine.calls
    client, batch = run(router, 12)
    assert (batch.request_counts.completed, engine.calls - calls) == (12, 12)
    message = rows(client, batch.output_file_id)[0]["response"]["body"]["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "ab", "annotations": [{"type": "url_citation"}], "vendor": "V",
                       "function_call": {"name": "f", "arguments": "{}"}, "audio": {"id": "a1", "data": "AABB"}}


def test_a_stream_that_makes_no_answer_fails_its_line_after_two_runs(served):
    engine, router = served
    engine.script = stream_of({"content": "SECRET"}, {"content": {"text": "SECRET"}})
    calls, before = engine.calls, router.metrics()
    client, batch = run(router, 2)
    after = router.metrics()
    assert (batch.request_counts.completed, batch.request_counts.failed, engine.calls - calls) == (0, 2, 4)
    errors = by_custom_id(rows(client, batch.error_file_id))
    for row in errors.values():
        assert row["response"]["status_code"] == 502
        assert "makes no answer (delta field content)" in row["response"]["body"]["error"]["message"]

    def grown(name, **labels):
        return after.sum(name, **labels) - before.sum(name, **labels)

    assert grown("penstock_engine_errors_total", kind="garbage") == 4
    assert grown("penstock_requests_total", outcome="ok", **{"class": "jobs"}) == 0
    assert "makes no answer (delta field content)" in router.log() and "SECRET" not in router.log()
    # The engine itself is fine.
    assert router.metrics().sum("penstock_replica_up") == 1
    engine.script = stream_of({"content": "fine"})
    assert send(router.address, request_bytes(body=chat(model=MODEL, stream=True))).status == 200
