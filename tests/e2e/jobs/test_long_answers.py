"""Lines of batches with answers of many megabytes: no loop stands still, and the memory of answers bounds them."""
import json
import threading
import time

import pytest
from batch_jobs import begin, client_of, finish, line, rows
from neighbour import longest_pause
from processes import Router
from scripted_engine import MODEL, STREAM_HEAD, ScriptedEngine, chunk, event, http

MIB = 1 << 20
EMBEDDINGS = "/v1/embeddings"
PIECE = 64 << 10


def embedding(size, **more):
    """An answer with numbers that take so many bytes."""
    numbers = [0.01234567] * (size // 12)
    return http(200, {"object": "list", "model": MODEL, "usage": {"prompt_tokens": 5, "total_tokens": 5},
                      "data": [{"object": "embedding", "index": 0, "embedding": numbers}], **more})


def embedding_line(number):
    return {"custom_id": str(number), "method": "POST", "url": EMBEDDINGS, "body": {"model": MODEL, "input": f"x{number}"}}


@pytest.fixture(scope="module")
def scripted():
    with ScriptedEngine() as running:
        yield running


@pytest.fixture(scope="module")
def router(folder, engine, scripted):
    config = (
        f"threads: 1\nbatching: {{embeddings: false}}\nstate: {{path: {folder / 'state'}}}\nreplicas:\n"
        f"  - {{id: good, url: '{engine.url}'}}\n"
        # Only an engine that continues chats gets a line as a stream.
        f"  - {{id: scripted, url: '{scripted.url}', engine: vllm, model: {MODEL}, kv_tokens: 1000000, max_seqs: 64}}\n"
    )
    with Router(folder, config=config) as running:
        running.wait_for_count("penstock_replica_up", 2)
        yield running


class Watch:
    """Asks for the metrics again and again; the longest wait, and the most bytes of answers that they show."""

    def __init__(self, router):
        self.router = router
        self.longest = self.most = 0.0
        self.stopped = False
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()

    def ask(self):
        while not self.stopped:
            began = time.monotonic()
            metrics = self.router.metrics()
            self.longest = max(self.longest, time.monotonic() - began)
            self.most = max(self.most, metrics.sum("penstock_buffered_bytes"))

    def stop(self):
        self.stopped = True
        self.thread.join()
        return self


@pytest.mark.alone
@pytest.mark.parametrize("more", [{}, {"seed": 123456789012345678901234567890}], ids=["plain", "large integer"])
def test_long_answers_of_lines_hold_no_metrics_and_count_as_memory_of_answers(router, scripted, more):
    answer = embedding(8 * MIB, **more)
    scripted.posts[EMBEDDINGS] = lambda body: answer
    client = client_of(router)
    watch = Watch(router)
    try:
        batch = finish(client, begin(client, [embedding_line(i) for i in range(12)], endpoint=EMBEDDINGS))
    finally:
        watch.stop()
    assert batch.request_counts.completed == 12
    assert watch.longest < 1
    # Sessions alone hold a megabyte each.
    assert watch.most > 14 * MIB
    router.wait_for_count("penstock_buffered_bytes", 0)
    listed = rows(client, batch.output_file_id)
    assert sorted(int(row["custom_id"]) for row in listed) == list(range(12))
    assert listed[0]["response"]["body"] == json.loads(answer.partition(b"\r\n\r\n")[2])


def long_delta(size):
    """An event with a list of objects that merge by their index."""
    parts = [{"text": "word", "index": i * 7919 % 1000} for i in range(size // 30)]
    choice = {"index": 0, "delta": {"content": "long ", "vendor": parts}, "finish_reason": None}
    return "data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}) + "\n\n"


@pytest.mark.alone
def test_a_long_event_in_the_stream_of_a_line_holds_no_loop(router, scripted):
    text = event("first ") + long_delta(5 * MIB) + event("last") + event("", "stop") + "data: [DONE]\n\n"
    pieces = [chunk(text[i : i + PIECE]) for i in range(0, len(text), PIECE)]
    scripted.script = STREAM_HEAD + b"".join(pieces) + b"0\r\n\r\n"
    client = client_of(router)
    ended = []

    def run():
        ended.append(finish(client, begin(client, [line("a", model=MODEL)])))

    assert longest_pause(router, run, enough=0.1) < 0.1
    message = rows(client, ended[0].output_file_id)[0]["response"]["body"]["choices"][0]["message"]
    assert message["content"] == "first long last"
    assert len(message["vendor"]) == 1000


def test_lines_share_a_small_memory_and_one_that_never_fits_fails(tmp_path, scripted):
    scripted.posts[EMBEDDINGS] = lambda body: embedding(4 * MIB)
    config = (
        f"limits: {{max_answer_memory: 6MiB}}\nbatching: {{embeddings: false}}\nstate: {{path: {tmp_path / 'state'}}}\n"
        f"replicas: [{{url: '{scripted.url}', engine: openai, model: {MODEL}, kv_tokens: 1000000}}]\n"
    )
    with Router(tmp_path, config=config) as router:
        client = client_of(router)
        batch = finish(client, begin(client, [embedding_line(0)], endpoint=EMBEDDINGS))
        assert (batch.request_counts.completed, batch.request_counts.failed) == (0, 1)
        [row] = rows(client, batch.error_file_id)
        assert "third of limits.max_answer_memory" in row["response"]["body"]["error"]["message"]
        # Twelve answers of a quarter of the memory.
        scripted.posts[EMBEDDINGS] = lambda body: embedding(3 * MIB // 2)
        batch = finish(client, begin(client, [embedding_line(i) for i in range(12)], endpoint=EMBEDDINGS))
        assert batch.request_counts.completed == 12
