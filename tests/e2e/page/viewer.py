"""A viewer of /penstock/events on a plain socket, which decides when it reads."""
import json
import socket


class Viewer:
    def __init__(self, address, key=None, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(20)
        self.socket.connect(address)
        more = f"Authorization: Bearer {key}\r\n" if key else ""
        self.socket.sendall(f"GET /penstock/events HTTP/1.1\r\nHost: penstock\r\n{more}\r\n".encode())
        self.data = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def until(self, end):
        while end not in self.data:
            more = self.socket.recv(65536)
            assert more, f"the stream ended within {self.data[-200:]!r}"
            self.data += more
        found, _, self.data = self.data.partition(end)
        return found

    def status(self):
        return int(self.until(b"\r\n\r\n").split()[1])

    def event(self):
        """The data of the next event; the stream sends one event per chunk."""
        size = int(self.until(b"\r\n"), 16)
        while len(self.data) < size + 2:
            more = self.socket.recv(65536)
            assert more, "the stream ended within an event"
            self.data += more
        text, self.data = self.data[:size].decode(), self.data[size + 2:]
        lines = text.split("\n")
        assert lines[0] == "event: snapshot" and lines[1].startswith("data: ") and lines[2:] == ["", ""], text[:200]
        return json.loads(lines[1][6:])
