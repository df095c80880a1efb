"""Runs the checks whose names come as lines on stdin, and prints one line of JSON for each."""
import json
import os
import sys
import time
import traceback

URL = os.environ["PENSTOCK_URL"]
MODEL = os.environ["PENSTOCK_MODEL"]
QUESTION = "What does a penstock do?"
MESSAGES = [{"role": "user", "content": QUESTION}]
GATE = {"type": "object", "properties": {"centimetres": {"type": "integer"}}, "required": ["centimetres"]}
TOOL = {
    "type": "function",
    "function": {"name": "open_gate", "description": "Opens the gate by so many centimetres.", "parameters": GATE},
}
TOO_LONG = "river " * 20000
ENDED = ("completed", "failed", "expired", "cancelled")


def error_of(call):
    """The class and the status of the error that a call ends with."""
    try:
        call()
    except Exception as error:
        return {"error": type(error).__name__, "status": getattr(error, "status_code", None)}
    raise AssertionError("the call succeeded")


def seconds_of(call):
    began = time.monotonic()
    call()
    return {"seconds": time.monotonic() - began}


def lines_of_job():
    body = {"model": MODEL, "messages": MESSAGES, "max_tokens": 8}
    rows = [{"custom_id": each, "method": "POST", "url": "/v1/chat/completions", "body": body} for each in "ab"]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def result_of_job(status, output):
    rows = [json.loads(row) for row in output.splitlines()]
    texts = {row["custom_id"]: row["response"]["body"]["choices"][0]["message"]["content"] for row in rows}
    return {"status": status, "texts": texts}


def serve(**checks):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # A client's own prints are no answers.
    for line in sys.stdin:
        check = line.strip()
        try:
            result = checks[check]()
        except Exception:
            result = {"failed": traceback.format_exc()}
        print(json.dumps({"check": check, **result}), file=answers, flush=True)
