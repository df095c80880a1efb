"""Prompt tokens that llama-server computes for sessions in turn, by its own choice of slot and with one slot per session.

No test: the figures of docs/engine-behaviour.md. Run it as `build/real/light/bin/python tests/real/slot_choice.py` after
`scripts/real_env.sh light`. A pinned session keeps its slot; where all are taken, the one used longest ago gives way.
"""
import http.client
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from engines import CACHE, call  # noqa: E402
from processes import free_port, wait_until  # noqa: E402

SLOTS = 4
TURNS = 6
WORDS = ["river", "mountain", "stone", "light", "cloud", "forest", "water", "night"]
SERVER = """
import signal, sys, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path, parameters.port, parameters.n_ctx = sys.argv[1], int(sys.argv[2]), 16384
parameters.n_parallel, parameters.kv_unified, parameters.cache_ram_mib = 4, sys.argv[3] == "unified", int(sys.argv[4])
server = xllamacpp.Server(parameters)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
"""


def words(draw, count):
    return " ".join(draw.choice(WORDS) for _ in range(count))


class Slots:
    """The slot of each session; None: llama-server chooses."""

    def __init__(self, pinned):
        self.pinned = pinned
        self.of = {}

    def take(self, session):
        if not self.pinned:
            return None
        slot = self.of.pop(session, None)
        if slot is None:
            slot = len(self.of) if len(self.of) < SLOTS else self.of.pop(next(iter(self.of)))
        self.of[session] = slot
        return slot


def computed(address, sessions, shared, own, pinned, seed):
    draw = random.Random(seed)
    system = words(draw, shared)
    text = {session: f"{system} {words(draw, own)}" for session in range(sessions)}
    slots, total = Slots(pinned), 0
    for _ in range(TURNS):
        for session in draw.sample(range(sessions), sessions):
            slot = slots.take(session)
            body = {"prompt": text[session], "n_predict": 8, **({} if slot is None else {"id_slot": slot})}
            status, _, answer = call(address, "/completion", body)
            assert status == 200, answer
            answer = json.loads(answer)
            total += answer["timings"]["prompt_n"]
            text[session] += answer["content"] + " " + words(draw, 12)
    return total


def measure(layout, host_cache, sessions, shared, own, pinned):
    total = 0
    for seed in (1, 2):
        port = free_port()
        with tempfile.TemporaryFile() as log:
            server = subprocess.Popen([CACHE / "light/bin/python", "-c", SERVER, CACHE / "model/model.gguf", str(port), layout,
                                       str(host_cache)], stdout=log, stderr=log)
            try:
                wait_until(lambda: is_up(port), 60, "llama-server is up")
                total += computed(("127.0.0.1", port), sessions, shared, own, pinned, seed)
            finally:
                server.terminate()
                server.wait()
    return total


def is_up(port):
    try:
        return call(("127.0.0.1", port), "/health")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def main():
    print("| slots | host cache | sessions | words in common, own | own choice | pinned |")
    print("|---|---:|---:|---:|---:|---:|")
    for layout in ("unified", "split"):
        for host_cache in (8192, 0):
            for sessions in (3, 6):
                for shared, own in ((120, 200), (250, 60)):
                    figures = [measure(layout, host_cache, sessions, shared, own, pinned) for pinned in (False, True)]
                    print(f"| {layout} | {host_cache} MiB | {sessions} | {shared}, {own} | {figures[0]} | {figures[1]} |", flush=True)


if __name__ == "__main__":
    main()
