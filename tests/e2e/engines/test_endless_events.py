"""A publisher of cache events whose message has no end."""
import socket
import threading

from processes import Router, wait_until
from scripted_engine import ScriptedEngine, http

GREETING = b"\xff" + bytes(7) + b"\x01\x7f\x03\0NULL" + bytes(16 + 32)
READY = b"\x05READY\x0bSocket-Type\0\0\0\x03PUB"
PARTS = (b"\x01\xff" + b"x" * 255) * 256  # More parts follow each of them.


class EndlessPublisher:
    def __init__(self):
        self.sent = 0
        self.cut = 0  # Connections that nobody reads any more.
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            try:
                peer.sendall(GREETING + b"\x04" + bytes([len(READY)]) + READY)
                while True:
                    self.sent += peer.send(PARTS)
            except OSError:
                self.cut += 1

    def close(self):
        self._listener.close()


def test_a_message_without_an_end_ends_its_connection(folder):
    publisher = EndlessPublisher()
    with ScriptedEngine() as engine:
        engine.pages["/metrics"] = http(200, b"vllm:num_requests_running 0\n", "text/plain")
        config = f"replicas:\n  - {{url: '{engine.url}', engine: vllm, kv_tokens: 100000, kv_events: {{endpoint: '{publisher.endpoint}'}}}}\n"
        with Router(folder, config=config) as router:
            wait_until(lambda: publisher.cut >= 2, 20, lambda: f"{publisher.sent} {publisher.cut} {router.log()}")
            wait_until(lambda: router.metrics().sum("penstock_kv_event_batches_total", result="garbage") >= 2, 20, router.log)
            assert "message without an end" in router.log()
    publisher.close()
