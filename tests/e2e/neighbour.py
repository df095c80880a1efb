"""A stream beside a peer that misbehaves, and the memory of the router."""
import socket
import threading
import time

from raw_http import chat, request_bytes


def resident_bytes(process):
    with open(f"/proc/{process.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def connect(router, source="127.0.0.1"):
    return socket.create_connection(router.address, timeout=20, source_address=(source, 0))


class Neighbour:
    """A stream whose longest pause between two pieces is measured."""

    def __init__(self, router):
        self.connection = connect(router)
        self.connection.sendall(request_bytes(body=chat(max_tokens=4000, stream=True)))
        assert b"data:" in self.connection.recv(65536)
        self.longest = 0.0
        self.pieces = 0
        self.stopped = False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        last = time.monotonic()
        while not self.stopped and self.connection.recv(65536):
            now = time.monotonic()
            self.longest = max(self.longest, now - last)
            self.pieces += 1
            last = now

    def stop(self):
        self.stopped = True
        self.thread.join()
        self.connection.close()
        return self.longest


def long_turns(router):
    """Turns of more than a millisecond that the first loop had so far."""
    return router.metrics().sum("penstock_loop_long_turns_total", loop="0")


def disturbance(router, misbehave, enough=0.25):
    """The longest pause of a neighbour, and the long turns of its loop. The best of some attempts, because a busy machine
    pauses everybody at times."""
    seen = []
    while len(seen) < 5 and min(seen, default=(1, 0))[0] > enough:
        before = long_turns(router)
        neighbour = Neighbour(router)
        try:
            misbehave()
        finally:
            pause = neighbour.stop()
        seen.append((pause, long_turns(router) - before))
    return min(seen)


def longest_pause(router, misbehave, enough=0.25):
    return disturbance(router, misbehave, enough)[0]
