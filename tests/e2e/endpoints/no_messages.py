"""An engine without Anthropic's dialect: its paths are 404 in front of a simulated engine, which has everything else."""
import socket
import threading

NOT_FOUND = b'{"detail":"Not Found"}'


class NoMessages:
    def __init__(self, engine):
        self.engine = engine
        self.model = engine.model
        self.asked = []  # The bodies that reached the chat's path.
        self.refused = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def running(self):
        return self.engine.running()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, client):
        with client:
            try:
                self._relay(client)
            except OSError:
                pass  # One of the two ends is gone.

    def _relay(self, client):
        data = b""
        while b"\r\n\r\n" not in data:
            data += (piece := client.recv(65536))
            if not piece:
                return
        head, body = data.split(b"\r\n\r\n", 1)
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        length = int(lengths[0].split(b":")[1]) if lengths else 0
        while len(body) < length:
            body += client.recv(1 << 20)
        path = head.split(b" ")[1]
        if path.startswith(b"/v1/messages"):
            self.refused += 1
            client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nConnection: close\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(NOT_FOUND) + NOT_FOUND)
            return
        if path == b"/v1/chat/completions":
            self.asked.append(body)
        with socket.create_connection(self.engine.address) as engine:
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            engine.sendall(b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body)
            gone = threading.Thread(target=self._watch, args=(client, engine), daemon=True)
            gone.start()
            while piece := engine.recv(65536):
                client.sendall(piece)

    @staticmethod
    def _watch(client, engine):
        """Ends the engine's connection when the router leaves."""
        try:
            if not client.recv(1):
                engine.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
