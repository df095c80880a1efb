#!/usr/bin/env python3
"""Checks the plain English of comments and documents: scripts/plain_words.py [--shrink] [FILE...].

Rules, each with its name in the findings:
  headless  a comment begins with What, Of, By, Who, Whom, Whose, Where, Whether, Which or How and has no main clause
  metaphor  a comment or a document uses a word of METAPHORS
  long      a sentence of a comment or a document has more than 25 words
  median    the median sentence of ARCHITECTURE.md has 18 words or more
  path      a document names a file or a folder that does not exist
  test      a document names a test that does not exist

A finding is printed as file:line: rule: text. The exit code is 1 when a rule has more findings than
scripts/plain_words.allow grants. The flag --shrink lowers that file to the findings of today and never raises it. With files
as arguments only these files are checked, and the allowance does not count.
"""

import argparse
import pathlib
import re
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from words import pieces as reader, references  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWANCE = ROOT / "scripts/plain_words.allow"
MOST_WORDS = 25
MEDIAN_BELOW = {"ARCHITECTURE.md": 18}
RULES = ("headless", "metaphor", "long", "median", "path", "test")

HEADLESS = re.compile(r"(what|of|by|who|whom|whose|where|whether|which|how)\b", re.IGNORECASE)
# These beginnings are whole sentences when a main clause follows the comma.
CLAUSES = re.compile(r"(of|by|where)\b", re.IGNORECASE)

# Private metaphors, each with the plain word.
METAPHORS = {
    "dear": "expensive", "dearer": "more expensive", "dearest": "most expensive",
    "lead": "advantage, or head", "leads": "is ahead, or advantages",
    "seat": "place, or ticket", "seats": "places, or tickets",
    "told": "reported, or informed", "kept": "stored, held or preserved", "carried": "transported; only load is carried",
}
METAPHOR = re.compile(r"(?<![\w\"-])(" + "|".join(METAPHORS) + r")(?![\w\"-])", re.IGNORECASE)
# Terms with a row in docs/glossary.md.
DEFINED = re.compile(r"carried (load|rate)|(load|rate)s? carried|(load|rate)s? \w+ carried|kept alive", re.IGNORECASE)


def findings_in(pieces, document):
    """(rule, line, text) of each finding in the sentences of one file."""
    for piece in pieces:
        beginning = " ".join(piece.words)
        if not document and HEADLESS.match(beginning):
            sentence = next(piece.sentences())[1]
            whole = CLAUSES.match(beginning) and any(word.endswith(",") for word in sentence[:-1])
            if not whole and not beginning.lower().startswith("by default"):
                yield "headless", piece.lines[0], " ".join(sentence)
        for line, words in piece.sentences():
            text = " ".join(words)
            for match in METAPHOR.finditer(DEFINED.sub("", reader.without_code(text))):
                yield "metaphor", line, f"{match[0]} ({METAPHORS[match[0].lower()]}): {text}"
            if reader.counted(words) > MOST_WORDS:
                yield "long", line, f"{reader.counted(words)} words: {text}"


def findings_of(path):
    """(rule, line, text) of each finding in one file."""
    document = path.endswith(".md")
    pieces = reader.pieces_of(ROOT, path)
    yield from findings_in(pieces, document)
    if document:
        text = (ROOT / path).read_text()
        for line, name in references.named_paths(ROOT, text):
            if not references.exists(ROOT, name, (ROOT / path).parent):
                yield "path", line, name
        for line, name in references.named_tests(text):
            if name not in references.tests(ROOT):
                yield "test", line, name
    if path in MEDIAN_BELOW:
        median = statistics.median(reader.counted(words) for piece in pieces if piece.prose for _, words in piece.sentences())
        if median >= MEDIAN_BELOW[path]:
            yield "median", 1, f"the median sentence has {median:.0f} words"


def allowance():
    rows = [line.split() for line in ALLOWANCE.read_text().splitlines() if line and not line.startswith("#")] \
        if ALLOWANCE.exists() else []
    return {rule: int(count) for rule, count in rows}


def main():
    parser = argparse.ArgumentParser(prog="scripts/plain_words.py")
    parser.add_argument("--shrink", action="store_true", help="lower the allowance to the findings of today")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    files = [str(pathlib.Path(name).resolve().relative_to(ROOT)) for name in options.files] or sorted(references.tracked(ROOT))
    found = {rule: [] for rule in RULES}
    for path in files:
        for rule, line, text in findings_of(path):
            found[rule].append(f"{path}:{line}: {rule}: {text}")
    granted = allowance()
    allowed = {rule: 0 if options.files else granted.get(rule, 0) for rule in RULES}
    if options.shrink:
        lower = {rule: min(allowed[rule], len(found[rule])) for rule in RULES}
        ALLOWANCE.write_text("# The findings that scripts/plain_words.py still grants. The numbers may only shrink.\n" +
                             "".join(f"{rule} {lower[rule]}\n" for rule in RULES if lower[rule]))
        allowed = lower
    broken = [rule for rule in RULES if len(found[rule]) > allowed[rule]]
    for rule in broken:
        print("\n".join(found[rule]))
    for rule in RULES:
        if rule in broken or len(found[rule]) < allowed[rule]:
            note = "" if rule in broken else "; --shrink lowers the allowance"
            print(f"plain words: {len(found[rule])} findings of {rule}, {allowed[rule]} allowed{note}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
