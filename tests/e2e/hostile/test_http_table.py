"""Strange forms of HTTP/1.1 and the exact answer to each: a table in the manner of h1spec.

An answer is a list of statuses, and whether the connection is closed behind the last of them. What is refused is always
closed: behind bytes that make no sense nothing more can be believed.
"""
import json
import socket

import pytest
from raw_http import chat, read_answer

KEPT, CLOSED = False, True
BODY = json.dumps(chat(max_tokens=1)).encode()
HOST = b"Host: p\r\n"
GET = b"GET /v1/models HTTP/1.1\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
FORM = b"Content-Type: multipart/form-data; boundary=b\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def chunk(data, size=None, more=b""):
    return (b"%x" % len(data) if size is None else size) + more + b"\r\n" + data + b"\r\n"


LAST = b"0\r\n\r\n"

TABLE = [
    # Well-formed requests.
    ("a request", GET + HOST + b"\r\n", [200], KEPT),
    ("two requests at once", 2 * (GET + HOST + b"\r\n"), [200, 200], KEPT),
    ("lower-case names", GET + b"host: p\r\n\r\n", [200], KEPT),
    ("space around a value", GET + b"Host:  \tp \t\r\n\r\n", [200], KEPT),
    ("no space before a value", GET + b"Host:p\r\n\r\n", [200], KEPT),
    ("an empty value", GET + HOST + b"X-Empty:\r\n\r\n", [200], KEPT),
    ("bytes beyond ASCII in a value", GET + HOST + b"X-Name: caf\xc3\xa9\r\n\r\n", [200], KEPT),
    ("a query", b"GET /v1/models?a=b HTTP/1.1\r\n" + HOST + b"\r\n", [200], KEPT),
    ("absolute form", b"GET http://p/v1/models HTTP/1.1\r\n" + HOST + b"\r\n", [200], KEPT),
    ("absolute form of another host", b"GET http://other:1/v1/models?a=/b HTTP/1.1\r\n" + HOST + b"\r\n", [200], KEPT),
    ("absolute form in capitals", b"GET HTTPS://p/v1/models HTTP/1.1\r\n" + HOST + b"\r\n", [200], KEPT),
    ("connection: close", GET + HOST + b"Connection: close\r\n\r\n", [200], CLOSED),
    ("HTTP/1.0", b"GET /v1/models HTTP/1.0\r\n\r\n", [200], CLOSED),
    ("HTTP/1.0 kept alive", b"GET /v1/models HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", [200], KEPT),
    ("a body by length", POST + LENGTH + b"\r\n" + BODY, [200], KEPT),
    ("a body in chunks", POST + CHUNKED + b"\r\n" + chunk(BODY[:9]) + chunk(BODY[9:]) + LAST, [200], KEPT),
    ("chunk sizes in capitals and with zeros", POST + CHUNKED + b"\r\n" + chunk(BODY, b"00%X" % len(BODY)) + LAST, [200], KEPT),
    ("a chunk extension", POST + CHUNKED + b"\r\n" + chunk(BODY, more=b";a=b") + LAST, [200], KEPT),
    ("a trailer", POST + CHUNKED + b"\r\n" + chunk(BODY) + b"0\r\nX-Sum: 1\r\n\r\n", [200], KEPT),
    ("a chunk extension after a space", POST + CHUNKED + b"\r\n" + chunk(BODY, more=b" ;a=b") + LAST, [200], KEPT),
    ("an empty line before a request", b"\r\n" + GET + HOST + b"\r\n", [200], KEPT),
    ("eight empty lines before a request", 8 * b"\r\n" + GET + HOST + b"\r\n", [200], KEPT),
    ("an empty line behind a body", POST + LENGTH + b"\r\n" + BODY + b"\r\n" + GET + HOST + b"\r\n", [200, 200], KEPT),
    ("as many fields as allowed", GET + HOST + b"X-A: b\r\n" * 99 + b"\r\n", [200], KEPT),
    ("as many names in connection as allowed", GET + HOST + b"Connection: " + b"b," * 31 + b"b\r\n\r\n", [200], KEPT),
    ("two bodies at once", 2 * (POST + LENGTH + b"\r\n" + BODY), [200, 200], KEPT),
    # Files, on a router without a job store.
    ("a list of files", b"GET /v1/files HTTP/1.1\r\n" + HOST + b"\r\n", [501], KEPT),
    ("a small upload", b"POST /v1/files HTTP/1.1\r\n" + HOST + FORM + b"Content-Length: 9\r\n\r\n--b--\r\n\r\n", [501], KEPT),
    ("a large upload", b"POST /v1/files HTTP/1.1\r\n" + HOST + FORM + b"Content-Length: 99999\r\n\r\n--b", [501], CLOSED),
    ("an upload in chunks", b"POST /v1/files HTTP/1.1\r\n" + HOST + FORM + CHUNKED + b"\r\n5\r\n", [501], CLOSED),
    ("another method on files", b"PUT /v1/files HTTP/1.1\r\n" + HOST + b"\r\n", [405], KEPT),
    ("a broken escape in the id of a file", b"GET /v1/files/%zz HTTP/1.1\r\n" + HOST + b"\r\n", [404], KEPT),
    # Request lines.
    ("no version", b"GET /v1/models\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("another protocol", b"GET /v1/models ICAP/1.0\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("version 2.0", b"GET /v1/models HTTP/2.0\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("version in small letters", b"GET /v1/models http/1.1\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("HTTP/2 preface behind a request", GET + HOST + b"\r\n" + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [200, 400], CLOSED),
    ("a part of an HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nXM\r\n\r\n", [400], CLOSED),
    ("no target", b"GET HTTP/1.1\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("two spaces", b"GET  /v1/models HTTP/1.1\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("a tab between", b"GET\t/v1/models HTTP/1.1\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("a space in the target", b"GET /v1 /models HTTP/1.1\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("a control character in the target", b"GET /v1/\x01models HTTP/1.1\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("a method that is no token", b"G@T /v1/models HTTP/1.1\r\n" + HOST + b"\r\n", [400], CLOSED),
    ("a line that ends in LF alone", b"GET /v1/models HTTP/1.1\n" + HOST + b"\r\n", [400], CLOSED),
    ("a TLS greeting", b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n", [400], CLOSED),
    # Fields.
    ("space before the colon", GET + HOST + b"X-A : b\r\n\r\n", [400], CLOSED),
    ("a field without a name", GET + HOST + b": b\r\n\r\n", [400], CLOSED),
    ("a field without a colon", GET + HOST + b"X-A\r\n\r\n", [400], CLOSED),
    ("a space in a name", GET + HOST + b"X A: b\r\n\r\n", [400], CLOSED),
    ("a zero byte in a value", GET + HOST + b"X-A: b\x00c\r\n\r\n", [400], CLOSED),
    ("a control character in a value", GET + HOST + b"X-A: b\x07c\r\n\r\n", [400], CLOSED),
    ("a lone CR in a value", GET + HOST + b"X-A: b\rc\r\n\r\n", [400], CLOSED),
    ("a field that ends in LF alone", GET + HOST + b"X-A: b\n\r\n", [400], CLOSED),
    ("a folded line", GET + HOST + b"X-A: b\r\n c\r\n\r\n", [400], CLOSED),
    ("too many fields", GET + HOST + b"X-A: b\r\n" * 100 + b"\r\n", [431], CLOSED),
    ("too many names in connection", GET + HOST + b"Connection: " + b"b," * 32 + b"b\r\n\r\n", [431], CLOSED),
    ("too many connection fields", GET + HOST + b"Connection: b\r\n" * 33 + b"\r\n", [431], CLOSED),
    ("two content types", POST + b"Content-Type: application/json\r\n" + LENGTH + b"\r\n" + BODY, [400], CLOSED),
    ("two codings of the body", POST + b"Content-Encoding: gzip\r\nContent-Encoding: zstd\r\n" + LENGTH + b"\r\n" + BODY, [400], CLOSED),
    ("two keys", GET + HOST + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", [400], CLOSED),
    ("one key twice", GET + HOST + 2 * b"Authorization: Bearer a\r\n" + b"\r\n", [400], CLOSED),
    ("two keys in x-api-key", GET + HOST + b"X-API-Key: a\r\nx-api-key: b\r\n\r\n", [400], CLOSED),
    ("nine empty lines before a request", 9 * b"\r\n" + GET + HOST + b"\r\n", [400], CLOSED),
    ("a lone LF before a request", b"\n" + GET + HOST + b"\r\n", [400], CLOSED),
    ("no host", GET + b"\r\n", [400], CLOSED),
    ("two hosts", GET + HOST + HOST + b"\r\n", [400], CLOSED),
    # Lengths.
    ("a negative length", POST + b"Content-Length: -1\r\n\r\n" + BODY, [400], CLOSED),
    ("a length with a sign", POST + b"Content-Length: +%d\r\n\r\n" % len(BODY) + BODY, [400], CLOSED),
    ("a hexadecimal length", POST + b"Content-Length: 0x10\r\n\r\n" + BODY, [400], CLOSED),
    ("a fractional length", POST + b"Content-Length: 10.0\r\n\r\n" + BODY, [400], CLOSED),
    ("an empty length", POST + b"Content-Length:\r\n\r\n" + BODY, [400], CLOSED),
    ("a length beyond 64 bits", POST + b"Content-Length: 18446744073709551617\r\n\r\n" + BODY, [400], CLOSED),
    ("two equal lengths", POST + LENGTH + LENGTH + b"\r\n" + BODY, [400], CLOSED),
    ("two lengths", POST + LENGTH + b"Content-Length: 3\r\n\r\n" + BODY, [400], CLOSED),
    ("a list of lengths", POST + b"Content-Length: 3, 3\r\n\r\n" + BODY, [400], CLOSED),
    ("length and chunks", POST + LENGTH + CHUNKED + b"\r\n" + chunk(BODY) + LAST, [400], CLOSED),
    ("chunks and length", POST + CHUNKED + LENGTH + b"\r\n" + chunk(BODY) + LAST, [400], CLOSED),
    # Codings.
    ("an unknown coding", POST + b"Transfer-Encoding: gzip\r\n\r\n" + BODY, [400], CLOSED),
    ("a coding before chunks", POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk(BODY) + LAST, [400], CLOSED),
    ("chunked twice", POST + CHUNKED + CHUNKED + b"\r\n" + chunk(BODY) + LAST, [400], CLOSED),
    ("something like chunked", POST + b"Transfer-Encoding: xchunked\r\n\r\n" + chunk(BODY) + LAST, [400], CLOSED),
    ("chunks in HTTP/1.0", POST.replace(b"1.1", b"1.0") + CHUNKED + b"\r\n" + chunk(BODY) + LAST, [400], CLOSED),
    # Chunks.
    ("a chunk size that is no number", POST + CHUNKED + b"\r\nzz\r\n" + BODY, [400], CLOSED),
    ("a negative chunk size", POST + CHUNKED + b"\r\n-5\r\n" + BODY, [400], CLOSED),
    ("a chunk size with a prefix", POST + CHUNKED + b"\r\n" + chunk(BODY, b"0x%x" % len(BODY)) + LAST, [400], CLOSED),
    ("an empty chunk size", POST + CHUNKED + b"\r\n\r\n" + BODY, [400], CLOSED),
    ("a chunk size beyond 64 bits", POST + CHUNKED + b"\r\nfffffffffffffffff\r\n" + BODY, [400], CLOSED),
    ("a chunk longer than its size", POST + CHUNKED + b"\r\n" + chunk(BODY, b"5") + LAST, [400], CLOSED),
    ("a chunk size line that ends in LF alone", POST + CHUNKED + b"\r\n5\nhello\r\n" + LAST, [400], CLOSED),
    ("a chunk extension that ends in LF alone", POST + CHUNKED + b"\r\n5;a\nhello\r\n" + LAST, [400], CLOSED),
    ("a chunk extension without end", POST + CHUNKED + b"\r\n5;" + b"a" * 5000, [400], CLOSED),
    ("a control character in a chunk extension", POST + CHUNKED + b"\r\n5;a\x01\r\nhello\r\n" + LAST, [400], CLOSED),
    ("a space behind a chunk size", POST + CHUNKED + b"\r\n" + chunk(BODY, more=b" ") + LAST, [400], CLOSED),
    ("zeros without end before a chunk size", POST + CHUNKED + b"\r\n" + b"0" * 5000, [400], CLOSED),
    ("a chunk that ends in LF alone", POST + CHUNKED + b"\r\n5\r\nhello\n" + LAST, [400], CLOSED),
    ("a trailer that ends in LF alone", POST + CHUNKED + b"\r\n" + chunk(BODY) + b"0\r\nX-Sum: 1\n\r\n", [400], CLOSED),
    ("a trailer without a name", POST + CHUNKED + b"\r\n" + chunk(BODY) + b"0\r\n: 1\r\n\r\n", [400], CLOSED),
    ("a folded trailer", POST + CHUNKED + b"\r\n" + chunk(BODY) + b"0\r\nX: 1\r\n 2\r\n\r\n", [400], CLOSED),
    ("a last chunk that ends in LF alone", POST + CHUNKED + b"\r\n" + chunk(BODY) + b"0\n\n", [400], CLOSED),
    ("trailers without end", POST + CHUNKED + b"\r\n" + chunk(BODY) + b"0\r\n" + b"X: 1\r\n" * 12000, [431], CLOSED),
    # Bytes behind a request.
    ("bytes behind a body", POST + LENGTH + b"\r\n" + BODY + b"garbage\r\n\r\n", [200, 400], CLOSED),
    ("a request hidden in a body", POST + LENGTH + b"\r\n" + BODY + GET + HOST + b"\r\n", [200, 200], KEPT),
]


@pytest.mark.parametrize(("name", "data", "statuses", "closed"), TABLE, ids=[row[0] for row in TABLE])
def test_every_kind_of_http_has_its_answer(router, name, data, statuses, closed):
    with socket.create_connection(router.address, timeout=10) as connection:
        connection.sendall(data)
        stream = Stream(connection)
        for status in statuses:
            answer = read_answer(stream)
            assert answer is not None, "closed without an answer"
            assert answer.status == status, answer.body
            if status == 400:
                assert answer.json()["error"]["type"] == "invalid_request_error"
        if closed:
            assert stream.recv(1) == b"", "still open"
        else:
            connection.sendall(GET + HOST + b"\r\n")
            assert read_answer(stream).status == 200


class Stream:
    """Gives read_answer the bytes of one answer at a time."""

    def __init__(self, connection):
        self.connection = connection
        self.data = b""

    def recv(self, _):
        if not self.data:
            self.data = self.connection.recv(65536)
        piece, self.data = self.data[:1], self.data[1:]
        return piece
