"""An OpenTelemetry collector with scripted answers, which keeps what it got."""
import base64
import http.server
import json
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """Takes everything; the first requests get the answers of `script`: (status, headers, body)."""

    def __init__(self, script=()):
        self.script = list(script)
        self.requests = []  # (path, headers, document), of every request.
        self.taken = []  # The documents of requests that were answered with 200.
        self.go_on = threading.Event()
        self.go_on.set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                document = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append((self.path, dict(self.headers), document))
                outer.go_on.wait(60)
                status, headers, body = outer.script.pop(0) if outer.script else (200, {}, b"{}")
                if status == 200:
                    outer.taken.append(document)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def spans(self):
        """Every span that was taken, with its resource's attributes beside it."""
        found = []
        for document in self.taken:
            message = parsed(document)
            for of_sender in message.resource_spans:
                for scope in of_sender.scope_spans:
                    found += scope.spans
        return found

    def close(self):
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def parsed(document):
    """The document as the protocol's own message. A key that the protocol does not have fails. Ids are hexadecimal in OTLP and
    base64 in the usual JSON of protocol buffers."""
    document = json.loads(json.dumps(document))
    for of_sender in document["resourceSpans"]:
        for scope in of_sender["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return json_format.ParseDict(document, ExportTraceServiceRequest())


def attributes(span):
    """Its attributes as plain values."""
    values = {}
    for entry in span.attributes:
        kind = entry.value.WhichOneof("value")
        value = getattr(entry.value, kind)
        values[entry.key] = [each.string_value for each in value.values] if kind == "array_value" else value
    return values
