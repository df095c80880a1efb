"""A small engine with a WebSocket at /v1/realtime: it answers each message, and does what messages ask for."""
import asyncio
import http
import json
import threading

from processes import free_port
from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.http11 import Response

MODEL = "voice-1"


class RealtimeEngine:
    """Each text comes back as `echo: TEXT`, each binary message as it is. `close`, `stop`, `silent` and `flood` are orders."""

    def __init__(self, name=MODEL, refuse=None, metrics=None, falsify=None):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.name = name
        self.refuse = refuse  # A status in place of a WebSocket.
        self.falsify = falsify or {}  # Header fields of the handshake's answer in place of its own.
        self.metrics = metrics  # The text of /metrics, of an engine that has some.
        self.heads = []
        self.open = 0
        self.ended = 0
        self._loop = asyncio.new_event_loop()
        self._stop = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self):
        self._loop.run_until_complete(self._serve())

    async def _serve(self):
        self._stop = asyncio.Event()
        async with serve(self._talk, "127.0.0.1", self.port, process_request=self._page, process_response=self._falsify, max_size=None,
                         select_subprotocol=lambda _, offered: "realtime" if "realtime" in offered else None):
            self._ready.set()
            await self._stop.wait()

    def _answer(self, status, body):
        data = json.dumps(body).encode()
        head = Headers([("content-type", "application/json"), ("content-length", str(len(data))), ("connection", "close")])
        return Response(status, http.HTTPStatus(status).phrase, head, data)

    def _falsify(self, _, request, response):
        for name, value in self.falsify.items():
            if name in response.headers:
                del response.headers[name]
            response.headers[name] = value
        return response

    def _page(self, connection, request):
        path = request.path.split("?")[0]
        if path == "/v1/models":
            return self._answer(200, {"object": "list", "data": [{"id": self.name, "object": "model"}]})
        if path == "/metrics" and self.metrics:
            head = Headers([("content-type", "text/plain"), ("content-length", str(len(self.metrics))), ("connection", "close")])
            return Response(200, "OK", head, self.metrics.encode())
        if path == "/health":
            return self._answer(200, {})
        if path != "/v1/realtime":
            return self._answer(404, {"error": {"message": "Not Found", "type": "NotFoundError", "code": 404}})
        self.heads.append((request.path, dict(request.headers.raw_items())))
        if self.refuse:
            return self._answer(self.refuse, {"error": {"message": "no sound here", "type": "invalid_request_error"}})
        return None

    async def _talk(self, socket):
        self.open += 1
        try:
            async for message in socket:
                if message == "close":
                    await socket.close(4001, "asked for it")
                elif message == "flood":
                    for _ in range(256):
                        await socket.send(b"f" * 65536)
                    await socket.send("end")
                elif message == "silent":
                    await socket.wait_closed()
                elif isinstance(message, bytes):
                    await socket.send(message)
                else:
                    await socket.send("echo: " + message)
        finally:
            self.open -= 1
            self.ended += 1
