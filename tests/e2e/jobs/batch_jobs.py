"""Jobs for the tests of batches: lines, their upload, and the answers read back."""
import json

from openai import OpenAI
from processes import MODEL, Router, replicas, wait_until

CHAT = "/v1/chat/completions"
ENDED = ("completed", "failed", "expired", "cancelled")


def line(custom_id, content="Tell me of the river.", max_tokens=4, url=CHAT, method="POST", **more):
    body = {"model": MODEL, "messages": [{"role": "user", "content": content}], "max_tokens": max_tokens, **more}
    return {"custom_id": str(custom_id), "method": method, "url": url, "body": body}


def jsonl(lines):
    """Lines are dictionaries, or texts that go in as they are."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    return ("\n".join(texts) + "\n").encode()


def state_config(folder, engines, more="", **state):
    keys = ", ".join(f"{key}: {value}" for key, value in {"path": folder / "state", **state}.items())
    return replicas(engines) + f"state: {{{keys}}}\n" + more


def job_router(folder, engines, more="", port=None, ready=True, **state):
    return Router(folder, config=state_config(folder, engines, more, **state), port=port, ready=ready)


def client_of(router, key="x", retries=2):
    return OpenAI(base_url=router.url + "/v1", api_key=key, max_retries=retries)


def begin(client, lines, endpoint=CHAT, window="24h", **more):
    file = client.files.create(file=("input.jsonl", jsonl(lines)), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window=window, **more)


def wait_for(client, batch, *statuses, seconds=60):
    """The batch as soon as it has one of these statuses; an ended batch that has none of them fails the test."""
    seen = []

    def reached():
        now = client.batches.retrieve(batch.id)
        seen[:] = [now]
        assert now.status in statuses or now.status not in ENDED, now
        return now if now.status in statuses else None

    return wait_until(reached, seconds, lambda: f"{statuses}: {seen}")


def finish(client, batch, seconds=60):
    return wait_for(client, batch, "completed", seconds=seconds)


def rows(client, file_id):
    """The rows of an output or error file, in their order; none for no file."""
    if file_id is None:
        return []
    text = client.files.content(file_id).read().decode()
    assert text.endswith("\n")
    return [json.loads(row) for row in text.splitlines()]


def by_custom_id(listed):
    """The rows by custom_id; each occurs once."""
    found = {}
    for row in listed:
        assert row["custom_id"] not in found, f"two rows: {row}"
        found[row["custom_id"]] = row
    return found
