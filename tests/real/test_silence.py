"""Engines that fall silent without closing anything, under the default limits."""
import concurrent.futures
import os
import signal
import time

import pytest
from engines import call, wait_until_up
from processes import Router
from test_failures import Stream, chat, engine_of

pytestmark = pytest.mark.long


def after_silence(router, engines, harm):
    """(text, finish reason, seconds of silence) of an answer whose engine is harmed in its middle."""
    path, body = chat("vllm")
    stream = Stream(router.address, path, body)
    pieces, since = [], None
    gap = 0.0
    for piece in stream:
        now = time.monotonic()
        gap = max(gap, now - (since or now))
        since = now
        pieces.append(piece)
        if len(pieces) == 20:
            harm(engine_of(stream, engines))
    return "".join(pieces), stream.finish, gap


def truth_of(engine):
    return "".join(Stream(engine.address, *chat("vllm")))


def test_a_stream_goes_on_when_its_engine_is_declared_down(vllms, folder):
    truth = truth_of(vllms[0])
    with Router(folder, vllms) as router:
        wait_until_up(router, 2)
        try:
            text, finish, gap = after_silence(router, vllms, lambda engine: engine.signal(signal.SIGSTOP))
        finally:
            for engine in vllms:
                engine.signal(signal.SIGCONT)
        assert text == truth and finish == "length"
        assert gap < 20, "polls fail within seconds"


def test_a_stream_goes_on_when_the_worker_behind_its_api_server_hangs(vllms, folder):
    truth = truth_of(vllms[0])
    with Router(folder, vllms) as router:
        wait_until_up(router, 2)
        # The step times of a replica explain its silence once it has produced some tokens.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: call(router.address, *chat("vllm", max_tokens=100)), range(8)))
        stopped = []

        def hang(engine):
            stopped.append(engine.core_pid())
            os.kill(stopped[0], signal.SIGSTOP)

        try:
            text, finish, gap = after_silence(router, vllms, hang)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert text == truth and finish == "length"
        assert gap < 60
        router.wait_for_log("error")
