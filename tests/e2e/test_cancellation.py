"""The engine's time and the ledger's memory of a vanished client are free within a second."""
import asyncio
import random
import socket
import struct
import time

import pytest
from processes import Engine, Router, replicas, wait_until
from raw_http import chat, request_bytes


def leave(connection, how):
    if how == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.alone
@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("overflow", ["preempt", "error"])
def test_a_client_killed_in_mid_stream_frees_everything_within_a_second(folder, how, overflow):
    with Engine(folder, overflow=overflow, kv_tokens=100000) as engine, Router(folder, [engine]) as router:
        connection = socket.create_connection(router.address, timeout=20)
        connection.sendall(request_bytes(body=chat(max_tokens=5000, stream=True)))
        received = b""
        while received.count(b"data:") < 5:
            received += connection.recv(65536)
        assert engine.running() == 1
        assert router.promised() > 0
        leave(connection, how)
        gone = time.monotonic()
        wait_until(lambda: router.promised() == 0, 1.0, lambda: f"promised {router.promised()}")
        wait_until(lambda: engine.running() == 0, max(0.1, gone + 1.0 - time.monotonic()), lambda: f"{engine.running()}")
        router.wait_for_count("penstock_requests_total", 1, outcome="client_gone")
        assert router.wait_for_nothing([engine]).sum("penstock_abandoned_tokens_total") >= 4


@pytest.mark.alone
def test_a_client_that_waits_for_a_whole_answer_and_leaves_frees_everything(folder):
    with Engine(folder, overflow="error", kv_tokens=100000) as engine, Router(folder, [engine]) as router:
        connection = socket.create_connection(router.address, timeout=20)
        connection.sendall(request_bytes(body=chat(max_tokens=5000)))
        wait_until(lambda: engine.running() == 1, 20, "it runs")
        connection.close()
        router.wait_for_nothing([engine], seconds=1)


def test_a_client_that_leaves_while_it_waits_in_the_queue_frees_everything(folder):
    with Engine(folder, max_seqs=1) as engine, Router(folder, config=replicas([engine], max_seqs=1)) as router:
        connections = [socket.create_connection(router.address, timeout=20) for _ in range(6)]
        for connection in connections:
            connection.sendall(request_bytes(body=chat(max_tokens=5000, stream=True)))
        wait_until(lambda: router.metrics().sum("penstock_queued_requests") > 0, 20, "some wait")
        for connection in reversed(connections):
            connection.close()
        router.wait_for_nothing([engine])


class Tally:
    def __init__(self):
        self.finished = 0
        self.left = 0
        self.errors = {}


async def one_request(address, generator, tally):
    """One random request and, as often as not, a random way to leave it."""
    body = chat(
        "river " * generator.randint(1, 400),
        stream=generator.random() < 0.6,
        max_tokens=generator.choice([1, 5, 20, 60, 200]),
        n=generator.choice([1, 1, 1, 2]),
    )
    if generator.random() < 0.2:
        del body["max_tokens"]
    path = "/v1/chat/completions"
    if generator.random() < 0.1:
        path, body = "/v1/embeddings", {"model": body["model"], "input": ["gate"] * generator.randint(1, 5)}
    data = request_bytes(path, body, headers={"Connection": "close"})
    reader, writer = await asyncio.open_connection(*address)
    patience = generator.choice([None, None, 0.0, 0.002, 0.02, 0.1])
    try:
        writer.write(data if generator.random() > 0.03 else data[: generator.randrange(1, len(data))])
        await writer.drain()
        if generator.random() < 0.03:
            return
        received = await asyncio.wait_for(reader.read(-1) if patience is None else read_for(reader, patience), 60)
        if patience is None:
            status = received[9:12].decode()
            if status == "200":
                tally.finished += 1
            else:
                tally.errors[status] = tally.errors.get(status, 0) + 1
        else:
            tally.left += 1
    finally:
        if generator.random() < 0.5:
            writer.transport.abort()
        else:
            writer.close()


async def read_for(reader, seconds):
    try:
        return await asyncio.wait_for(reader.read(-1), seconds)
    except asyncio.TimeoutError:
        return b""


async def storm(address, count, concurrency, seed):
    generator = random.Random(seed)
    tally = Tally()
    left = iter(range(count))

    async def worker():
        for _ in left:
            await one_request(address, generator, tally)

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return tally


def test_ten_thousand_random_requests_with_random_aborts_leave_exactly_nothing(folder):
    seed = 20240917
    print("seed", seed)
    options = {"time_scale": 40, "max_seqs": 32, "kv_tokens": 40000}
    with Engine(folder, name="a", **options) as a, Engine(folder, name="b", **options) as b:
        # The router gives up on half a request long before its sender does.
        limits = "limits: {header_timeout: 2s, body_timeout: 2s}\n"
        with Router(folder, config=replicas([a, b]) + limits) as router:
            tally = asyncio.run(storm(router.address, 10_000, 64, seed))
            print("finished", tally.finished, "left", tally.left, "errors", tally.errors)
            metrics = router.wait_for_nothing([a, b])
            assert metrics.sum("penstock_pool_promised_bytes") == 0
            assert metrics.sum("penstock_pool_held_bytes") == 0
            assert metrics.sum("penstock_buffered_bytes") == 0
            assert tally.finished > 2000 and tally.left > 3000
            assert not {status for status in tally.errors if status not in ("400", "408", "429")}, tally.errors
            assert metrics.sum("penstock_requests_total", outcome="engine_error") == 0
            assert metrics.sum("penstock_requests_total", outcome="ok") >= tally.finished
