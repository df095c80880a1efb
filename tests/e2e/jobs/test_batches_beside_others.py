"""A batch beside interactive requests: these stay within their goal, and it takes what they leave."""
import random
import statistics
import threading
import time

import pytest
from batch_jobs import begin, client_of, line, wait_for
from processes import MODEL, Engine, Router, replicas

LEARNING, REQUESTS = 40, 160
RATE = 4.0  # Interactive requests per second.
GOAL = 1.0  # The time to first token of the class interactive, in seconds.
LEFT = 1000  # Tokens per second that the job has at least; an idle machine leaves it some 7,000.


def ask(client, prompt, took):
    """One interactive stream; notes the time to its first token."""
    began = time.monotonic()
    stream = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": prompt}], max_tokens=40, stream=True,
        extra_headers={"x-penstock-class": "interactive"},
    )
    first = None
    for event in stream:
        if first is None and event.choices and event.choices[0].delta.content:
            first = time.monotonic() - began
    took.append(first)


def interactive_load(client, seed, requests):
    """Open load of equal arrivals and prompts for equal seeds; returns the times to the first token."""
    chance = random.Random(seed)
    took, threads = [], []
    for _ in range(requests):
        threads.append(threading.Thread(target=ask, args=(client, "word " * chance.randrange(50, 400), took)))
        threads[-1].start()
        time.sleep(chance.expovariate(RATE))
    for thread in threads:
        thread.join()
    assert len(took) == requests
    return took


@pytest.mark.long
def test_a_job_of_ten_thousand_lines_leaves_interactive_requests_within_their_goal(folder, tmp_path):
    seed = random.randrange(1 << 32)
    engines = [Engine(folder, name=f"beside-{i}", kv_tokens=40000, max_seqs=64) for i in range(2)]
    try:
        # An engine does not tell the rows of its batch.
        config = replicas(engines, max_seqs=64) + f"state: {{path: {tmp_path / 'state'}}}\n"
        with Router(tmp_path, config=config) as router:
            client = client_of(router)
            interactive_load(client, seed + 1, LEARNING)  # The router learns the fleet.
            batch = begin(client, [line(i, content="word " * 200, max_tokens=200) for i in range(10_000)])
            wait_for(client, batch, "in_progress")
            before, began = router.metrics(), time.monotonic()
            took = interactive_load(client, seed, REQUESTS)
            after, seconds = router.metrics(), time.monotonic() - began
            client.batches.cancel(batch.id)
        tokens = after.sum("penstock_batch_tokens_total", kind="output") - before.sum("penstock_batch_tokens_total", kind="output")
        evicted = after.sum("penstock_evicted_total") - before.sum("penstock_evicted_total")
        p99 = statistics.quantiles(took, n=100)[98]
        print(f"seed {seed}: p50 {statistics.median(took):.3f} s, p99 {p99:.3f} s; the job had {tokens / seconds:.0f} tokens/s "
              f"meanwhile, {evicted:.0f} evictions")
        assert tokens >= LEFT * seconds
        assert p99 <= GOAL
    finally:
        for engine in engines:
            engine.kill()
