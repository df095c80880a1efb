"""A client of HTTP/2 with its own socket, for windows, resets and frames that a library would not send."""
import contextlib
import json
import socket
import time

import h2.config
import h2.connection
import h2.events
import h2.settings
from raw_http import Answer

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
JSON = [("content-type", "application/json")]


def frame(kind, flags=0, stream=0, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A field that no table keeps."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


class Http2Client:
    def __init__(self, address, window=None, tls=None, timeout=20, first=b""):
        """`address` may be the path of a unix socket. `first`: bytes before TLS and all frames, such as a PROXY header."""
        if isinstance(address, tuple):
            plain = socket.create_connection(address, timeout=timeout)
        else:
            plain = socket.socket(socket.AF_UNIX)
            plain.settimeout(timeout)
            plain.connect(str(address))
        if first:
            plain.sendall(first)
        self.socket = tls.wrap_socket(plain, server_hostname="127.0.0.1") if tls else plain
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8", validate_outbound_headers=False))
        if window is not None:
            self.h2.local_settings = h2.settings.Settings(
                client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        # The library ends with a GOAWAY, but streams that began go on behind it.
        machine, going = self.h2.state_machine, (h2.connection.ConnectionState.CLIENT_OPEN, h2.connection.ConnectionInputs.RECV_GOAWAY)
        machine._transitions = {**machine._transitions, going: (None, going[0])}
        self.h2.initiate_connection()
        self.answers = {}  # Stream: status, headers, bytes, ended, reset code.
        self.gone = None  # The error code of GOAWAY.
        self.closed = False
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def send(self, body=None, path="/v1/chat/completions", method="POST", headers=(), end=True):
        """Sends a request and returns its stream. A dict as body is sent as JSON."""
        stream = self.h2.get_next_available_stream_id()
        if isinstance(body, dict):
            body, headers = json.dumps(body).encode(), [*JSON, *headers]
        fields = [(":method", method), (":path", path), (":scheme", "http"), (":authority", "penstock"), *headers]
        self.h2.send_headers(stream, fields, end_stream=end and not body)
        self.answers[stream] = {"status": 0, "headers": {}, "body": b"", "ended": False, "reset": None, "interim": []}
        if body:
            for at in range(0, len(body), 16384):
                self.h2.send_data(stream, body[at:at + 16384], end_stream=end and at + 16384 >= len(body))
        self.flush()
        return stream

    def read(self, renew=True):
        """Reads once. False: the router has ended the connection."""
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            self.closed = True
            return False
        for event in self.h2.receive_data(data):
            self._take(event, renew)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # The next read tells, behind what is still unread.
            self.flush()
        return True

    def _take(self, event, renew):
        answer = self.answers.get(getattr(event, "stream_id", None) or 0)
        if isinstance(event, h2.events.ConnectionTerminated):
            self.gone = event.error_code
        if answer is None:
            return
        if isinstance(event, h2.events.InformationalResponseReceived):
            answer["interim"].append(int(dict(event.headers)[":status"]))
        elif isinstance(event, h2.events.ResponseReceived):
            answer["headers"] = dict(event.headers)
            answer["status"] = int(answer["headers"][":status"])
        elif isinstance(event, h2.events.DataReceived):
            answer["body"] += event.data
            if renew:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            answer["reset"] = event.error_code
        elif isinstance(event, h2.events.StreamEnded):
            answer["ended"] = True

    def until(self, condition, seconds=20, renew=True):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not within {seconds} s: {self.answers}"
            assert self.read(renew), f"the router closed: {self.answers}, {self.gone}"

    def answer(self, stream, seconds=20):
        """The whole answer on a stream."""
        found = self.answers[stream]
        self.until(lambda: found["ended"] or found["reset"] is not None, seconds)
        assert found["ended"], f"reset with {found['reset']}"
        return Answer(found["status"], found["headers"], found["body"])

    def ask(self, *arguments, **more):
        return self.answer(self.send(*arguments, **more))

    def reset(self, stream, code=8):
        self.h2.reset_stream(stream, code)
        self.flush()

    def until_closed(self, seconds=20):
        end = time.monotonic() + seconds
        while not self.closed:
            assert time.monotonic() < end, f"open after {seconds} s"
            self.read()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()
