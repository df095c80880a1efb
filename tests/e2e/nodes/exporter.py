"""An exporter of a node whose page a test changes."""
import contextlib
import http.server
import ssl
import threading


class Exporter:
    """`page` is bytes, or a function that writes the whole answer by itself. With a certificate and its key: https."""

    def __init__(self, page, certificate=None, key=None):
        self.page = page
        self.reads = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.reads += 1
                with contextlib.suppress(OSError):
                    if callable(outer.page):
                        return outer.page(self)
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(outer.page)))
                    self.end_headers()
                    self.wfile.write(outer.page)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # A client that does not trust the certificate.

        self.server = Server(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
