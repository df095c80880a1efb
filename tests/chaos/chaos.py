#!/usr/bin/env python3
"""Chaos with real processes: engines die, stop, babble and return while clients come and go, and no request is lost.

    python3 tests/chaos/chaos.py --seed 1 --seconds 30

Everything random comes from the seed; the order of events also depends on timing. At the end every request must have
one answer or one refusal with a reason. Every text must equal the text of an undisturbed engine. The router must hold
neither pool memory nor descriptors.
"""
import argparse
import asyncio
import collections
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from answer_checks import problems  # noqa: E402
from client import Client, expected, make_request  # noqa: E402
from faulty_proxy import FAULTS, FaultyProxy  # noqa: E402
from processes import Engine, Router, findings, free_port  # noqa: E402

ENGINES = 4
CLIENTS = 12
ENGINE_OPTIONS = {"seed": 7, "kv_tokens": 40000, "max_seqs": 32, "time_scale": 2}
LIMITS = (
    "limits: {connect_timeout: 1s, first_byte_timeout: 4s, gap_timeout: 2s, answer_timeout: 60s, keepalive_after: 1s,"
    " drain_timeout: 30s, idle_timeout: 5s}\n"
)


class ReplicaSlot:
    """One replica: an engine process behind a proxy, and its present fault."""

    def __init__(self, index, folder, generator):
        self.name = f"engine{index}"
        self.folder = folder
        self.engine = Engine(folder, name=self.name, **ENGINE_OPTIONS)
        self.proxy = FaultyProxy(free_port(), self.engine.port, generator)
        self.fault = None

    def kill(self):
        self.engine.process.kill()
        self.engine.process.wait()

    def restart(self):
        port = self.engine.port
        self.engine._log.close()
        self.engine = Engine(self.folder, name=self.name, port=port, **ENGINE_OPTIONS)


class Chaos:
    def __init__(self, seed, seconds, folder):
        self.seed, self.seconds, self.folder = seed, seconds, folder
        self.generator = random.Random(seed)
        self.slots = []
        self.outcomes = []
        self.next_number = 0
        self.restarts = []  # [begin, end) of the times without a router.
        self.resumes = collections.Counter()
        self.faults = collections.Counter()
        self.wrong = []

    def config(self, without=None, more=""):
        lines = ["replicas:"]
        for slot in self.slots:
            if slot is not without:
                lines.append(f"  - {{id: {slot.name}, url: 'http://127.0.0.1:{slot.proxy.port}'}}")
        return "\n".join(lines) + "\n" + LIMITS + more

    def collect_metrics(self):
        for name, labels, value in self.router.metrics().samples:
            if name == "penstock_resumes_total":
                self.resumes[labels["result"]] += int(value)

    # Faults. Each heals itself.

    async def kill_engine(self, slot):
        slot.kill()
        await asyncio.sleep(self.generator.uniform(0.2, 2))
        await asyncio.to_thread(slot.restart)

    async def stop_engine(self, slot):
        slot.engine.signal(signal.SIGSTOP)
        await asyncio.sleep(self.generator.uniform(0.5, 4))
        slot.engine.signal(signal.SIGCONT)

    async def damage(self, slot):
        slot.proxy.mode = self.generator.choice(FAULTS)
        self.faults[slot.proxy.mode] += 1
        await asyncio.sleep(self.generator.uniform(0.5, 3))
        slot.proxy.mode = "pass"

    async def drop_replica(self, slot):
        self.router.write_config(self.config(without=slot))
        self.router.signal(signal.SIGHUP)
        await asyncio.sleep(self.generator.uniform(0.5, 2))
        self.router.write_config(self.config())
        self.router.signal(signal.SIGHUP)

    async def bad_reload(self):
        self.router.write_config("replicas: 7\n")
        self.router.signal(signal.SIGHUP)
        await asyncio.sleep(0.3)
        self.router.write_config(self.config(more="classes: {background: {ttft: 1h, tpot: 1s, queue: 1h}}\n"))
        self.router.signal(signal.SIGHUP)

    async def restart_router(self, patient):
        """Drained, or cut short by a second signal: streams then end with an error."""
        begin = asyncio.get_running_loop().time()
        self.collect_metrics()
        if not patient:
            self.router.signal(signal.SIGTERM)
            await asyncio.sleep(self.generator.uniform(0.05, 0.5))
        code = await asyncio.to_thread(self.router.stop, 40)
        if code not in ((0,) if patient else (0, 3)):
            self.wrong.append(f"the drained router ended with {code}: {self.router.log()[-1500:]}")
        self.router._log.close()
        self.router = await asyncio.to_thread(Router, self.folder, (), self.config(), self.router.port)
        self.baseline = self.usage()
        self.restarts.append((begin, asyncio.get_running_loop().time()))
        print(f"router {'drained' if patient else 'cut short'} and restarted in {self.restarts[-1][1] - begin:.1f} s")

    async def trouble(self, end):
        """Faults at seeded moments until the end; at least one engine stays whole."""
        running = set()
        loop = asyncio.get_running_loop()
        while loop.time() < end:
            await asyncio.sleep(self.generator.expovariate(2))
            whole = [slot for slot in self.slots if slot.fault is None]
            if len(whole) <= 1:
                continue
            slot = self.generator.choice(whole)
            slot.fault = self.generator.choice(["kill_engine", "kill_engine", "stop_engine", "damage", "damage", "drop_replica"])
            self.faults[slot.fault] += 1
            task = asyncio.create_task(self.heal_after(slot))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)

    async def heal_after(self, slot):
        try:
            await getattr(self, slot.fault)(slot)
        finally:
            slot.fault = None

    async def worker(self, index, end):
        generator = random.Random(self.seed * 1000 + index)
        client = Client(self.router.port)
        while asyncio.get_running_loop().time() < end:
            number = self.next_number
            self.next_number += 1
            path, body, leave_after = make_request(number, random.Random(self.seed * 1_000_003 + number))
            outcome = await client.ask(number, path, body, leave_after)
            self.outcomes.append(outcome)
            if outcome.kind != "ok":
                await asyncio.sleep(0.2)
            elif generator.random() < 0.3:
                client.close()
        client.close()

    def usage(self):
        pid = self.router.process.pid
        resident = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return len(os.listdir(f"/proc/{pid}/fd")), resident

    async def run(self):
        # Memory in the quarantine of the address sanitizer would look like growth.
        os.environ["ASAN_OPTIONS"] += " quarantine_size_mb=16"
        self.slots = [ReplicaSlot(i, self.folder, self.generator) for i in range(ENGINES)]
        for slot in self.slots:
            await slot.proxy.start()
        self.router = await asyncio.to_thread(Router, self.folder, (), self.config())
        self.baseline = self.usage()
        loop = asyncio.get_running_loop()
        begin = loop.time()
        try:
            clients = [asyncio.create_task(self.worker(i, begin + self.seconds)) for i in range(CLIENTS)]
            await self.trouble(begin + self.seconds * 0.4)
            await self.bad_reload()
            await self.restart_router(patient=True)
            await self.trouble(begin + self.seconds * 0.7)
            await self.restart_router(patient=False)
            await self.trouble(begin + self.seconds)
            await asyncio.gather(*clients)
            await self.check_rest()
            await self.check_answers()
            await self.check_end()
        finally:
            for slot in self.slots:
                await slot.proxy.stop()
            self.router.process.kill()
            for slot in self.slots:
                slot.engine.kill()
        return self.report()

    async def check_rest(self):
        """Nothing is left behind: no lease, no connection, no descriptor, no memory."""
        try:
            await asyncio.to_thread(self.router.wait_for_nothing, [slot.engine for slot in self.slots], 20)
        except AssertionError as error:
            self.wrong.append(f"at the end: {error}")
        self.collect_metrics()
        descriptors, resident = self.usage()
        deadline = time.monotonic() + 15  # Idle connections are closed after their time limit.
        while descriptors > self.baseline[0] + 8 and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
            descriptors, resident = self.usage()
        if descriptors > self.baseline[0] + 8:
            self.wrong.append(f"{descriptors} descriptors at the end, {self.baseline[0]} at the start")
        if resident > self.baseline[1] + (48 << 20):
            self.wrong.append(f"{resident >> 20} MiB resident at the end, {self.baseline[1] >> 20} at the start")

    async def check_end(self):
        try:
            code = await asyncio.to_thread(self.router.stop, 20)
        except AssertionError as error:
            code = error
        if code != 0:
            self.wrong.append(f"the idle router ended with {code}: {self.router.log()[-1500:]}")

    async def check_answers(self):
        reference = await asyncio.to_thread(
            Engine, self.folder, name="reference", seed=7, time_scale=1000, max_seqs=64, kv_tokens=400000
        )
        gate = asyncio.Semaphore(16)

        async def check(outcome):
            async with gate:
                truth = await expected(reference.port, outcome.path, outcome.body)
            for problem in problems(outcome, *truth, self.restarts):
                self.wrong.append(f"request {outcome.number} ({outcome.kind}, {outcome.path}): {problem}")

        try:
            await asyncio.gather(*(check(outcome) for outcome in self.outcomes))
        finally:
            reference.kill()

    def report(self):
        self.wrong += findings()
        kinds = collections.Counter(outcome.kind for outcome in self.outcomes)
        errors = collections.Counter(
            (outcome.status, outcome.reason, outcome.error[:110]) for outcome in self.outcomes if outcome.error
        )
        print(f"{len(self.outcomes)} requests: {dict(kinds)}")
        print(f"faults: {dict(self.faults)}")
        print(f"resumes: {({key: value for key, value in self.resumes.items() if value})}")
        for error, count in errors.most_common(12):
            print(f"  {count} x {error}")
        if kinds["ok"] < 0.5 * (len(self.outcomes) - kinds["unreachable"]):
            self.wrong.append("fewer than half of the requests came through")
        if not self.resumes["continued"]:
            self.wrong.append("no answer was continued: the run shows nothing")
        return self.wrong


def replay_command(seed, seconds):
    return f"python3 tests/chaos/chaos.py --seed {seed} --seconds {seconds:g}"


def run(seed, seconds, folder):
    """The problems of a run; an empty list when it passes."""
    print(f"seed {seed}; replay: {replay_command(seed, seconds)}")
    return asyncio.run(Chaos(seed, seconds, pathlib.Path(folder)).run())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wrong = run(given.seed, given.seconds, folder)
    for problem in wrong[:40]:
        print("WRONG", problem)
    print("nothing lost" if not wrong else f"{len(wrong)} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
