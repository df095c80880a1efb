"""The checks of one answer of the chaos run against the answer of an undisturbed engine."""

REASONED = {"refused", "failed"}


def problems(outcome, text, finish, usage, restarts):
    """The broken promises of one outcome.

    An undisturbed engine gave `text`, `finish` and `usage`. `restarts` are the times without a router: (begin, end).
    """
    yield from outcome.wrong
    if outcome.kind == "ok":
        if outcome.text != text:
            yield f"text {outcome.text!r} is not {text!r}"
        if outcome.finish != finish:
            yield f"finish {outcome.finish} is not {finish}"
        # A prompt with a part of the answer may have other tokens than the answer had.
        slack = 3 + 0.05 * usage[1]
        if outcome.usage is None or outcome.usage[1] != usage[1] or abs(outcome.usage[0] - usage[0]) > slack:
            yield f"usage {outcome.usage} is not {usage}"
    elif not text.startswith(outcome.text):
        yield f"text {outcome.text!r} does not begin {text!r}"
    if len(outcome.names) > 1:
        yield f"its chunks have several names: {outcome.names}"
    if outcome.roles > 1:
        yield f"its role came {outcome.roles} times"
    if outcome.kind in REASONED and not outcome.error:
        yield f"status {outcome.status} without a reason"
    if outcome.kind in ("cut", "nothing"):
        yield "it was cut without a word"
    if outcome.kind == "unreachable":
        near = any(begin - 1 <= outcome.ended_at <= end + 1 for begin, end in restarts)
        if not near:
            yield "the router could not be reached although it ran"
