"""Publishers of cache events whose message has no end, in the stream of events or in a replay."""
import socket
import struct
import threading

from processes import Router, wait_until
from scripted_engine import ScriptedEngine, http

GREETING = b"\xff" + bytes(7) + b"\x01\x7f\x03\0NULL" + bytes(16 + 32)
PARTS = (b"\x01\xff" + b"x" * 255) * 256  # More parts follow each of them.


def ready(kind):
    words = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    return b"\x04" + bytes([len(words)]) + words


def exactly(peer, size):
    data = b""
    while len(data) < size:
        more = peer.recv(size - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def batch(number):
    """A message of the stream: topic, number, and a batch without events."""
    frames = [b"", struct.pack(">Q", number), b"\x92\xcb" + bytes(8) + b"\x90"]
    return b"".join(bytes([frame is not frames[-1], len(frame)]) + frame for frame in frames)


class Peer:
    """A socket of ZeroMQ by hand. `serve` has each of its connections."""

    def __init__(self, kind, serve):
        self._kind, self._serve = kind, serve
        self.begun = 0
        self.cut = 0  # Connections that nobody reads any more.
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer):
        self.begun += 1
        try:
            with peer:
                peer.sendall(GREETING + ready(self._kind))
                # Messages before the other side is ready end the connection.
                exactly(peer, len(GREETING))
                exactly(peer, exactly(peer, 2)[1])
                self._serve(peer)
        except OSError:
            self.cut += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()


def babble(peer):
    while True:
        peer.sendall(PARTS)


def followed(folder, engine, endpoints):
    engine.pages["/metrics"] = http(200, b"vllm:num_requests_running 0\n", "text/plain")
    fleet = f"{{url: '{engine.url}', engine: vllm, kv_tokens: 100000, kv_events: {{{endpoints}}}}}"
    return Router(folder, config=f"replicas:\n  - {fleet}\n")


def garbage(router):
    return router.metrics().sum("penstock_kv_event_batches_total", result="garbage")


def test_a_message_without_an_end_ends_its_connection(folder):
    with Peer(b"PUB", babble) as publisher, ScriptedEngine() as engine:
        with followed(folder, engine, f"endpoint: '{publisher.endpoint}'") as router:
            wait_until(lambda: publisher.cut >= 2, 20, lambda: f"{publisher.cut} {router.log()}")
            wait_until(lambda: garbage(router) >= 2, 20, router.log)
            assert "message without an end" in router.log()


def test_a_replay_without_an_end_ends_its_connection_and_the_events_go_on(folder):
    # Numbers with a hole behind each replay that was cut, so that the next one is asked for.
    def publish(peer):
        numbers = iter(range(10, 10_000, 10))
        while not done.wait(0.05):
            peer.sendall(batch(next(numbers)))

    done = threading.Event()
    with Peer(b"PUB", publish) as publisher, Peer(b"ROUTER", babble) as replay, ScriptedEngine() as engine:
        with followed(folder, engine, f"endpoint: '{publisher.endpoint}', replay: '{replay.endpoint}'") as router:
            wait_until(lambda: replay.cut >= 2 and garbage(router) >= 2, 20, lambda: f"{replay.cut} {router.log()}")
            taken = router.metrics().sum("penstock_kv_event_batches_total", result="taken")
            wait_until(lambda: router.metrics().sum("penstock_kv_event_batches_total", result="taken") > taken, 20, router.log)
            assert (publisher.begun, publisher.cut) == (1, 0)
            assert "message without an end" not in router.log()
        done.set()
