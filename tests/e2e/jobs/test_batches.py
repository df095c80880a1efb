"""The life of a batch, through the openai SDK: states, counts, files, faults of lines, cancel, expiry, tenants."""
import json

import openai
import pytest
from batch_jobs import CHAT, begin, by_custom_id, client_of, finish, job_router, line, rows, wait_for
from openai import OpenAI
from openai.types import Batch
from processes import MODEL, Engine, Router, wait_until
from raw_http import request_bytes, send


@pytest.fixture(scope="module")
def fast_engine(folder):
    with Engine(folder, name="fast", time_scale=100) as engine:
        yield engine


@pytest.fixture(scope="module")
def router(folder, fast_engine):
    with job_router(folder, [fast_engine]) as running:
        yield running


@pytest.fixture(scope="module")
def client(router):
    return client_of(router)


def test_a_batch_is_validated_run_and_completed(client, router):
    before = router.metrics().sum("penstock_batch_lines_total", outcome="completed")
    made = begin(client, [line(i) for i in range(50)], metadata={"team": "rivers"})
    assert (made.object, made.endpoint, made.completion_window) == ("batch", CHAT, "24h")
    assert made.metadata == {"team": "rivers"}
    assert made.expires_at == made.created_at + 86400
    assert made.output_file_id is None and made.error_file_id is None
    assert set(made.to_dict()) == set(Batch.model_fields), "every field of the SDK's type"
    batch = finish(client, made)
    assert (batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed) == (50, 50, 0)
    assert batch.created_at <= batch.in_progress_at <= batch.finalizing_at <= batch.completed_at
    assert batch.errors is None and batch.error_file_id is None
    answers = by_custom_id(rows(client, batch.output_file_id))
    assert set(answers) == {str(i) for i in range(50)}
    assert batch.model == MODEL
    used = [row["response"]["body"]["usage"] for row in answers.values()]
    assert batch.usage.input_tokens == sum(each["prompt_tokens"] for each in used) > 0
    assert batch.usage.output_tokens == sum(each["completion_tokens"] for each in used) == 200
    assert batch.usage.total_tokens == batch.usage.input_tokens + batch.usage.output_tokens
    for row in answers.values():
        assert set(row) == {"id", "custom_id", "response", "error"} and row["error"] is None
        response = row["response"]
        assert response["status_code"] == 200 and response["request_id"]
        assert response["body"]["object"] == "chat.completion"
        assert response["body"]["choices"][0]["finish_reason"] == "length"
        assert response["body"]["usage"]["completion_tokens"] == 4
    metrics = router.metrics()
    assert metrics.sum("penstock_batch_lines_total", outcome="completed") == before + 50
    assert metrics.sum("penstock_requests_total", **{"class": "jobs"}) >= 50
    router.wait_for_nothing()


def test_an_answer_is_that_of_the_same_request_over_http(client):
    alone = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "The sea."}], max_tokens=30)
    batch = finish(client, begin(client, [line("one", content="The sea.", max_tokens=30)]))
    body = rows(client, batch.output_file_id)[0]["response"]["body"]
    assert body["choices"][0]["message"]["content"] == alone.choices[0].message.content
    assert body["usage"]["prompt_tokens"] == alone.usage.prompt_tokens


@pytest.mark.parametrize(
    ("endpoint", "body", "kind"),
    [
        ("/v1/completions", {"model": MODEL, "prompt": "The river", "max_tokens": 3}, "text_completion"),
        ("/v1/embeddings", {"model": MODEL, "input": "The river"}, "list"),
    ],
)
def test_other_endpoints_run_too(client, endpoint, body, kind):
    lines = [{"custom_id": str(i), "method": "POST", "url": endpoint, "body": body} for i in range(5)]
    batch = finish(client, begin(client, lines, endpoint=endpoint))
    answers = rows(client, batch.output_file_id)
    assert len(answers) == 5
    assert all(row["response"]["body"]["object"] == kind for row in answers)


def test_bad_lines_are_in_the_error_file_and_leave_the_rest_unharmed(client):
    lines = [
        line("good"),
        '{"custom_id": "cut", "method": "POST", "url": ',
        "",
        line("wrong-url", url="/v1/embeddings"),
        line("wrong-method", method="GET"),
        line("good"),
        json.dumps({"custom_id": "no-body", "method": "POST", "url": CHAT}),
        line("also-good"),
    ]
    batch = finish(client, begin(client, lines))
    assert (batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed) == (7, 2, 5)
    assert set(by_custom_id(rows(client, batch.output_file_id))) == {"good", "also-good"}
    errors = rows(client, batch.error_file_id)
    assert all(row["response"] is None for row in errors)
    codes = [row["error"]["code"] for row in errors]
    assert sorted(codes) == sorted(
        ["invalid_json_line", "mismatched_url", "invalid_method", "duplicate_custom_id", "missing_required_parameter"]
    )
    assert "column 47" in next(row for row in errors if row["error"]["code"] == "invalid_json_line")["error"]["message"]
    assert {(row["custom_id"], row["error"]["line"]) for row in errors} == {
        ("cut", 2), ("wrong-url", 4), ("wrong-method", 5), ("good", 6), ("no-body", 7)}
    assert {(error.line, error.code) for error in batch.errors.data} == {
        (2, "invalid_json_line"),
        (4, "mismatched_url"),
        (5, "invalid_method"),
        (6, "duplicate_custom_id"),
        (7, "missing_required_parameter"),
    }


def test_a_file_without_a_good_line_fails_the_batch(client):
    for lines, code in ((["{", "}"], "invalid_json_line"), ([""], "empty_file")):
        batch = wait_for(client, begin(client, lines), "failed")
        assert batch.failed_at >= batch.created_at
        assert batch.errors.data[0].code == code


def test_a_body_that_no_engine_takes_has_its_error_as_response(client):
    lines = [line("unknown", model="none"), line("stream", stream=True), line("long", max_tokens="x"), line("good")]
    batch = finish(client, begin(client, lines))
    assert (batch.request_counts.completed, batch.request_counts.failed) == (1, 3)
    errors = by_custom_id(rows(client, batch.error_file_id))
    assert errors["unknown"]["response"]["status_code"] == 404
    assert errors["unknown"]["response"]["body"]["error"]["code"] == "model_not_found"
    assert errors["stream"]["response"]["status_code"] == 400
    assert errors["stream"]["response"]["body"]["error"]["param"] == "stream"
    assert errors["long"]["response"]["status_code"] == 400
    assert all(row["error"] is None for row in errors.values())


@pytest.mark.parametrize(
    ("change", "status", "param"),
    [
        ({"endpoint": "/v1/models"}, 400, "endpoint"),
        ({"completion_window": "soon"}, 400, "completion_window"),
        ({"input_file_id": "file-none"}, 404, "input_file_id"),
        ({"metadata": {"a": "b" * 600}}, 400, "metadata"),
        ({"output_expires_after": {"anchor": "created_at", "seconds": 5}}, 400, "output_expires_after"),
    ],
)
def test_a_request_for_a_batch_that_makes_no_sense_is_refused(client, change, status, param):
    file = client.files.create(file=("input.jsonl", b"{}\n"), purpose="batch")
    good = {"input_file_id": file.id, "endpoint": CHAT, "completion_window": "24h"}
    with pytest.raises(openai.APIStatusError) as refused:
        client.batches.create(**{**good, **change})
    assert refused.value.status_code == status
    assert refused.value.param == param


def post_batch(router, body, **headers):
    return send(router.address, request_bytes("/v1/batches", body=body, headers=headers))


def test_a_body_that_makes_no_batch_is_refused(router):
    assert post_batch(router, b"{").status == 400
    assert post_batch(router, b"[]").status == 400
    assert post_batch(router, b"{}", **{"Content-Type": "text/plain"}).status == 415
    assert post_batch(router, b"{}", **{"Content-Encoding": "gzip"}).status == 415
    assert post_batch(router, b" " * (65 << 10) + b"{}").status == 413


def test_a_file_of_another_purpose_makes_no_batch(client):
    file = client.files.create(file=("input.jsonl", b"{}\n"), purpose="user_data")
    with pytest.raises(openai.BadRequestError) as refused:
        client.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
    assert refused.value.param == "input_file_id"


def test_batches_are_listed_newest_first_in_pages(client):
    made = [finish(client, begin(client, [line("a")])).id for _ in range(3)]
    listed = [batch.id for batch in client.batches.list(limit=2)]  # The SDK asks for every page.
    assert listed[:3] == made[::-1]
    assert len(listed) == len(set(listed))
    page = client.batches.list(limit=2)
    assert page.has_more and [batch.id for batch in page.data] == made[:0:-1]
    after = client.batches.list(limit=1, after=page.data[-1].id)
    assert after.data[0].id == made[0]
    for bad in ({"limit": 1000}, {"after": "batch_none"}):
        with pytest.raises(openai.BadRequestError) as refused:
            client.batches.list(**bad)
        assert refused.value.param == next(iter(bad))


def test_an_unknown_batch_is_not_found(client):
    for ask in (client.batches.retrieve, client.batches.cancel):
        with pytest.raises(openai.NotFoundError):
            ask("batch_none")


def test_without_state_path_the_error_names_the_key(folder, fast_engine):
    with Router(folder, [fast_engine]) as plain:
        with pytest.raises(openai.APIStatusError) as refused:
            client_of(plain, retries=0).batches.list()
        assert "state.path" in refused.value.message


@pytest.fixture
def slow(folder, tmp_path):
    """(router, engine): an engine that takes seconds for a line and few at a time."""
    with Engine(folder, name="slow", max_seqs=4) as engine, job_router(tmp_path, [engine]) as router:
        yield router, engine


def test_a_cancelled_batch_runs_no_further_line_and_shows_its_answers(slow):
    router, engine = slow
    client = client_of(router)
    batch = begin(client, [line(i, max_tokens=20) for i in range(200)])
    wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed >= 4, 60, "some answers")
    cancelling = client.batches.cancel(batch.id)
    assert cancelling.status == "cancelling" and cancelling.cancelling_at
    ended = wait_for(client, batch, "cancelled")
    assert ended.cancelled_at >= ended.cancelling_at
    counts = ended.request_counts
    assert 4 <= counts.completed < 200 and counts.total == 200
    assert len(by_custom_id(rows(client, ended.output_file_id))) == counts.completed
    router.wait_for_nothing([engine])
    with pytest.raises(openai.ConflictError):
        client.batches.cancel(batch.id)


def test_an_expired_batch_has_an_error_for_each_line_without_an_answer(slow):
    router, engine = slow
    client = client_of(router)
    batch = wait_for(client, begin(client, [line(i, max_tokens=50) for i in range(100)], window="4s"), "expired")
    assert batch.expired_at >= batch.expires_at
    counts = batch.request_counts
    assert counts.completed + counts.failed == counts.total == 100
    done = by_custom_id(rows(client, batch.output_file_id))
    late = by_custom_id(rows(client, batch.error_file_id))
    assert len(done) == counts.completed and not set(done) & set(late)
    assert {row["error"]["code"] for row in late.values()} == {"batch_expired"}
    router.wait_for_nothing([engine])


TENANTS = """
tenants:
  - {name: red, keys: [red-key]}
  - {name: blue, keys: [blue-key], max_concurrent: 4}
"""


def test_tenants_have_batches_of_their_own_and_take_turns(folder, tmp_path):
    with Engine(folder, name="shared", max_seqs=8, time_scale=4) as engine:
        with job_router(tmp_path, [engine], TENANTS) as router:
            red, blue = client_of(router, "red-key"), client_of(router, "blue-key")
            of_red = begin(red, [line(i, max_tokens=20) for i in range(600)])
            of_blue = begin(blue, [line(i, max_tokens=20) for i in range(20)])
            # Those of the second tenant do not wait for the long batch of the first one.
            assert finish(blue, of_blue).request_counts.completed == 20
            assert red.batches.retrieve(of_red.id).status == "in_progress"
            assert [batch.id for batch in blue.batches.list()] == [of_blue.id]
            for ask in (blue.batches.retrieve, blue.batches.cancel):
                with pytest.raises(openai.NotFoundError):
                    ask(of_red.id)
            with pytest.raises(openai.AuthenticationError):
                OpenAI(base_url=router.url + "/v1", api_key="none").batches.list()
            finish(red, of_red)
            # Lines count for their tenant.
            metrics = router.metrics()
            assert metrics.sum("penstock_tenant_requests_total", tenant="red", outcome="ok") == 600
            assert metrics.sum("penstock_tenant_requests_total", tenant="blue", outcome="ok") == 20
