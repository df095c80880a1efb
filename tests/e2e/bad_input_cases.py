"""The errors of a single request: its bytes, the answer, and the kind that counts it.

Each id is a row of docs/bad-input.md; a test compares the two lists.
"""
import dataclasses
import json

from raw_http import chat, request_bytes

MIB = 1 << 20


@dataclasses.dataclass
class Case:
    id: str
    data: bytes
    status: int
    code: str | None = None
    param: str | None = None
    kind: str | None = None  # The label of penstock_bad_input_total.
    reason: str | None = None  # The label of penstock_refusals_total.
    method: str = "POST"
    header: tuple | None = None  # A header that the answer must have.
    many: list = dataclasses.field(default_factory=list)  # Further bytes with the same answer.


def body(text):
    return request_bytes(body=text if isinstance(text, bytes) else text.encode())


def of(path, **fields):
    return request_bytes(path=path, body=fields)


def without(field):
    fields = chat()
    del fields[field]
    return request_bytes(body=fields)


def raw_head(*lines):
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


GOOD = json.dumps(chat(max_tokens=1))
POST = "POST /v1/chat/completions HTTP/1.1"

FORM = {"Content-Type": "multipart/form-data; boundary=b"}
PART = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nllama-3.1-8b\r\n'


def transcription(form):
    return request_bytes("/v1/audio/transcriptions", form, headers=FORM)


CASES = [
    # Forms.
    Case("invalid-form", transcription(PART), 400, "invalid_form", kind="malformed_form",
         many=[transcription(b""), transcription(b"--b"), transcription(PART + b"--b\r\nno end")]),
    Case("form-without-model", transcription(b"--b--"), 400, "missing_required_parameter", "model", kind="missing_field"),
    Case("form-with-two-models", transcription(PART + PART + b"--b--"), 400, "duplicate_key", "model", kind="duplicate_key"),
    # The text.
    Case("malformed-json", body('{"model": "llama-3.1-8b", "messages": [}'), 400, "invalid_json", kind="malformed_json",
         many=[body(b""), body("{"), body(GOOD + "x"), body("{'model': 1}"), body('{"a": NaN}')]),
    Case("not-an-object", body("[1, 2]"), 400, "invalid_json", kind="malformed_json", many=[body("null"), body('"x"')]),
    Case("invalid-utf8", body(b'{"model": "m\xff\xfe", "messages": []}'), 400, "invalid_json", kind="malformed_json"),
    Case("nested-too-deep", body('{"model": "m", "x": ' + "[" * 5000 + "]" * 5000 + "}"), 400, "invalid_json",
         kind="malformed_json"),
    Case("duplicate-key", body('{"model": "a", ' + GOOD[1:]), 400, "duplicate_key", "model", kind="duplicate_key",
         many=[]),
    Case("duplicate-key-limit", body('{"max_tokens": 9, ' + GOOD[1:]), 400, "duplicate_key", "max_tokens",
         kind="duplicate_key"),
    Case("duplicate-key-escaped", body('{"mode\\u006c": "a", ' + GOOD[1:]), 400, "duplicate_key", "model",
         kind="duplicate_key"),
    # Fields.
    Case("missing-model", without("model"), 400, "missing_required_parameter", "model", kind="missing_field",
         many=[request_bytes(body=chat(model=None)), request_bytes(body=chat(model=""))]),
    Case("missing-messages", without("messages"), 400, "missing_required_parameter", "messages", kind="missing_field"),
    Case("missing-prompt", of("/v1/completions", model="llama-3.1-8b"), 400, "missing_required_parameter", "prompt",
         kind="missing_field"),
    Case("missing-input", of("/v1/embeddings", model="llama-3.1-8b"), 400, "missing_required_parameter", "input",
         kind="missing_field"),
    Case("empty-messages", request_bytes(body=chat() | {"messages": []}), 400, "empty_array", "messages",
         kind="out_of_range"),
    Case("wrong-type-model", request_bytes(body=chat(model=5)), 400, "invalid_type", "model", kind="wrong_type"),
    Case("wrong-type-messages", request_bytes(body=chat() | {"messages": "hello"}), 400, "invalid_type", "messages",
         kind="wrong_type"),
    Case("wrong-type-stream", request_bytes(body=chat(stream="yes")), 400, "invalid_type", "stream", kind="wrong_type"),
    Case("wrong-type-max-tokens", request_bytes(body=chat(max_tokens="5")), 400, "invalid_type", "max_tokens",
         kind="wrong_type", many=[request_bytes(body=chat(max_tokens=1.5)), request_bytes(body=chat(max_tokens=[1]))]),
    Case("wrong-type-tools", request_bytes(body=chat(tools={})), 400, "invalid_type", "tools", kind="wrong_type"),
    Case("negative-max-tokens", request_bytes(body=chat(max_tokens=-1)), 400, "invalid_value", "max_tokens",
         kind="out_of_range", many=[request_bytes(body=chat(max_tokens=0))]),
    Case("absurd-max-tokens", request_bytes(body=chat(max_tokens=10**15)), 400, "invalid_value", "max_tokens",
         kind="out_of_range"),
    Case("number-beyond-all-bounds", body(GOOD.replace('"max_tokens": 1', '"max_tokens": ' + "9" * 400)), 400,
         "invalid_json"),
    Case("n-out-of-range", request_bytes(body=chat(n=129)), 400, "invalid_value", "n", kind="out_of_range",
         many=[request_bytes(body=chat(n=0)), request_bytes(body=chat(n=-3))]),
    Case("stream-options-without-stream", request_bytes(body=chat(stream_options={"include_usage": True})), 400,
         "invalid_value", "stream_options", kind="out_of_range"),
    Case("unknown-storage-need", request_bytes(body=chat(), headers={"x-penstock-storage": "much"}), 400, None,
         kind="out_of_range"),
    Case("doubled-header", request_bytes(body=chat(), headers={"x-session-id": "a\r\nX-Session-Id: b"}), 400, "invalid_value",
         "x-session-id", kind="out_of_range"),
    Case("unknown-class", request_bytes(body=chat(), headers={"x-penstock-class": "royal"}), 400, None,
         kind="out_of_range"),
    # Requests that the fleet cannot serve.
    Case("unknown-model", request_bytes(body=chat(model="gpt-17")), 404, "model_not_found", "model",
         reason="unknown_model"),
    Case("prompt-over-context", request_bytes(body=chat("river " * 20000)), 400, "context_length_exceeded",
         reason="context_exceeded"),
    Case("max-tokens-over-context", request_bytes(body=chat(max_tokens=100000)), 400, "context_length_exceeded"),
    # HTTP.
    Case("body-too-large", request_bytes(body=b'{"x": "' + b"a" * MIB + b'"}'), 413, None, kind="body_too_large"),
    Case("body-too-large-announced", raw_head(POST, "Host: p", "Content-Type: application/json",
                                              f"Content-Length: {1 << 40}"), 413, None, kind="body_too_large"),
    Case("body-too-large-chunked", raw_head(POST, "Host: p", "Content-Type: application/json",
                                            "Transfer-Encoding: chunked") + b"200000\r\n" + b"a" * (2 * MIB) + b"\r\n0\r\n\r\n",
         413, None, kind="body_too_large"),
    Case("header-too-large", request_bytes(body=chat(), headers={"X-Padding": "a" * 70000}), 431, None,
         kind="header_too_large",
         many=[raw_head("GET /" + "a" * 70000 + " HTTP/1.1", "Host: p")]),
    Case("too-many-headers", request_bytes(body=chat(), headers={f"X-{i}": "a" * 30 for i in range(3000)}), 431, None,
         kind="header_too_large"),
    Case("wrong-method", request_bytes(method="GET", body=b"", headers={"Content-Length": None}), 405, None,
         kind="method", header=("allow", "POST"),
         many=[request_bytes(method="DELETE", body=chat()), request_bytes(method="BREW", body=chat())]),
    Case("wrong-method-models", request_bytes("/v1/models", body=b"{}"), 405, None, kind="method",
         header=("allow", "GET, HEAD")),
    Case("wrong-path", request_bytes("/v1/chat/complete", body=chat()), 404, None, kind="path",
         many=[request_bytes("/../../etc/passwd", body=chat()), request_bytes("/v1/models/%zz", method="GET")]),
    Case("stored-response", request_bytes("/v1/responses/resp_1", method="GET"), 404, "response_not_found",
         kind="path", many=[request_bytes("/v1/responses/resp_1", method="DELETE"),
                            request_bytes("/v1/responses/resp_1/cancel", body=b"{}")]),
    Case("wrong-content-type", request_bytes(body=chat(), headers={"Content-Type": "text/plain"}), 415, None,
         kind="content_type", many=[request_bytes(body=chat(), headers={"Content-Type": "multipart/form-data"})]),
    Case("malformed-http", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n", 400, None,
         kind="malformed_http",
         many=[b"GARBAGE\r\n\r\n", b"POST  HTTP/1.1\r\n\r\n", raw_head("POST /v1/chat/completions HTTP/9.9", "Host: p"),
               raw_head(POST, "Host: p", "No colon here")]),
    Case("two-lengths", raw_head(POST, "Host: p", "Content-Length: 5", "Content-Length: 6") + b"hello!", 400, None,
         kind="malformed_http",
         many=[raw_head(POST, "Host: p", "Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
               raw_head(POST, "Host: p", "Content-Length: -1"), raw_head(POST, "Host: p", "Content-Length: 1e3")]),
    Case("bad-chunk", raw_head(POST, "Host: p", "Content-Type: application/json", "Transfer-Encoding: chunked") +
         b"zz\r\nhello\r\n", 400, None, kind="malformed_http"),
]
