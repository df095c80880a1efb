"""The form in which two answers of one engine can be compared: without names and times, and independent of timing.

An engine under load puts several tokens into one event, so the pieces of a stream are joined. Every other value of every
event stays.
"""
import json
import re

# Names and times of one answer; any two answers of an engine differ in them.
CHANGING = {"id", "created", "created_at", "completed_at", "item_id", "request_id", "timings", "metrics", "time_ms",
            "sequence_number"}
MADE_UP = re.compile(r"\b(chatcmpl-tool|call|fc|msg|resp|rs|chatcmpl|cmpl)[-_][0-9A-Za-z-]{8,}")
PIECES = ("delta", "text", "logprobs", "token_ids", "prompt_token_ids")


def steady(value):
    """A JSON value without its changing parts."""
    if isinstance(value, dict):
        return {key: steady(inner) for key, inner in value.items() if key not in CHANGING}
    if isinstance(value, list):
        return [steady(inner) for inner in value]
    return MADE_UP.sub("ID", value) if isinstance(value, str) else value


def joined(a, b):
    """One value for two consecutive pieces."""
    if isinstance(a, dict) and isinstance(b, dict):
        return {key: joined(a.get(key), b.get(key)) for key in [*a, *(key for key in b if key not in a)]}
    if isinstance(a, list) and isinstance(b, list):
        if all(isinstance(call, dict) and "index" in call for call in a + b):  # Tool calls.
            calls = {}
            for call in a + b:
                known = {**calls.get(call["index"], {}), "index": None}
                calls[call["index"]] = {**joined(known, {**call, "index": None}), "index": call["index"]}
            return list(calls.values())
        return a + b
    if isinstance(a, str) and isinstance(b, str):
        return a + b
    return a if b is None else b


def frame(event):
    """A chunk without its pieces."""
    choices = [{key: value for key, value in choice.items() if key not in PIECES} for choice in event.get("choices") or []]
    left = {key: value for key, value in event.items() if key not in ("choices", "prompt_token_ids", "prompt_text")}
    if choices and left.get("usage"):
        left["usage"] = sorted(left["usage"])  # Counts of the tokens so far.
    return {**left, "choices": choices}


def chunks(events):
    """Chunks of chat or text: their frames, each once, and the joined pieces of every choice."""
    pieces, frames = {}, set()
    for event in events:
        frames.add(json.dumps(frame(event), sort_keys=True))
        for choice in event.get("choices") or []:
            index = choice.get("index", 0)
            own = {key: choice[key] for key in PIECES if key in choice}
            # The place of a prompt's tokens in a stream of several choices is the engine's own affair.
            pieces[index] = joined(pieces.get(index, {}), own)
    return {"frames": sorted(frames), "pieces": sorted(pieces.items(), key=lambda item: item[0])}


def typed(events):
    """Events with a type: consecutive ones of one type are joined where they carry a delta."""
    kept = []
    for event in events:
        if kept and "delta" in event and kept[-1].get("type") == event.get("type"):
            kept[-1] = {**event, "delta": joined(kept[-1]["delta"], event["delta"])}
        else:
            kept.append(event)
    return kept


def stream(body):
    """(events, the end) of the bytes of an event stream."""
    values, names, end = [], [], None
    for block in re.split(r"\r?\n\r?\n", body.decode()):
        for line in block.splitlines():
            name, _, value = line.partition(":")
            value = value.strip()
            if name == "data" and value == "[DONE]":
                end = value
            elif name == "data":
                values.append(steady(json.loads(value)))
            elif name:
                names.append((name, value))
    values = [value for value in values if value is not None]
    if any("type" in value for value in values):
        return {"names": sorted(set(names)), "events": typed(values), "end": end}
    return {"names": names, **chunks(values), "end": end}


def seen(status, headers, body):
    """The status, the content type and the comparable answer, as a client sees them."""
    kind = headers.get("content-type", "").split(";")[0]
    if kind == "text/event-stream":
        return status, kind, stream(body)
    value = steady(json.loads(body)) if body else None
    if status >= 400:
        # The router completes the members of OpenAI's error object, and types of other words become OpenAI's.
        value = value.get("error", value)
        return status, kind, value["message"] if isinstance(value, dict) and "message" in value else value
    return status, kind, value
