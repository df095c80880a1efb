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
scripts/plain_words.allow grants. --shrink lowers that file to the findings of today and never raises it. With files as
arguments only these files are checked, and the allowance does not count.
"""

import argparse
import ast
import io
import pathlib
import re
import statistics
import subprocess
import sys
import tokenize

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

EXTENSIONS = (".cc", ".css", ".h", ".html", ".js", ".json", ".md", ".py", ".sh", ".svg", ".txt", ".yaml", ".yml")
READ = (".cc", ".h", ".md", ".py", ".sh", ".yaml", ".yml")
IGNORED_FOLDERS = ("build", ".venv")


class Piece:
    """One comment, paragraph or table cell: the file, the line of each word, and whether it counts for the median."""

    def __init__(self, path, prose=True):
        self.path = path
        self.prose = prose
        self.words = []
        self.lines = []

    def add(self, line, text):
        for word in text.split():
            self.words.append(word)
            self.lines.append(line)

    def sentences(self):
        """(line, words) of each sentence."""
        begin = 0
        for index, word in enumerate(self.words):
            last = index + 1 == len(self.words)
            following = "" if last else self.words[index + 1].lstrip("`*\"'([")
            if last or (re.search(r"[.!?][)\"'*`\]]*$", word) and (following[:1].isupper() or following[:1].isdigit())
                        and not re.search(r"\b(e\.g|i\.e|vs|cf)\.$", word)):
                yield self.lines[begin], self.words[begin:index + 1]
                begin = index + 1


def counted(words):
    return sum(1 for word in words if re.search(r"\w", word))


def slash_comments(path, text):
    """Line comments of C++; a comment behind code begins a piece of its own."""
    pieces = []
    column = None
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', lambda match: "x" * len(match[0]), line)
        at = code.find("//")
        if at < 0:
            column = None
            continue
        body = line[at:].lstrip("/!<").strip()
        if not body or re.match(r"(NOLINT|namespace\b|PENSTOCK_\w+$|clang-format)", body):
            column = None
            continue
        if column != at or code[:at].strip():
            pieces.append(Piece(path))
        column = at
        pieces[-1].add(number, body)
    return pieces


def python_comments(path, text):
    pieces = []
    column = None
    previous = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        number, at = token.start
        body = token.string.lstrip("#!").strip()
        if not body or token.string.startswith("#!"):
            column = None
            continue
        if column != at or number != previous + 1 or token.line[:at].strip():
            pieces.append(Piece(path))
        column, previous = at, number
        pieces[-1].add(number, body)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            pieces += paragraphs(path, node.body[0].lineno, node.body[0].value.value)
    return pieces


def paragraphs(path, first, text):
    pieces = [Piece(path)]
    for offset, line in enumerate(text.splitlines()):
        # An indented line of a docstring is a table or a command.
        if not line.strip() or line.startswith("  " * 3):
            pieces.append(Piece(path))
        if line.strip() and not line.startswith("  " * 3):
            pieces[-1].add(first + offset, line)
    return [piece for piece in pieces if piece.words]


def hash_comments(path, text):
    """Comments of shell scripts, CMake and YAML."""
    pieces = []
    column = None
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(r"(^|\s)#(?!!)(\s*)(.*)$", line)
        if not match or line[:match.start()].count('"') % 2 or line[:match.start()].count("'") % 2:
            column = None
            continue
        at = match.start(3)
        # A line that is indented further is a command or a table.
        if not match[3] or len(match[2]) > 2:
            column = None
            continue
        if column != at or line[:match.start()].strip():
            pieces.append(Piece(path))
        column = at
        pieces[-1].add(number, match[3])
    return pieces


def without_code(line):
    return re.sub(r"`[^`]*`", "CODE", re.sub(r"\]\([^)]*\)", "]", line))


def markdown(path, text):
    pieces = [Piece(path)]
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
        if fenced or not bare or bare.startswith(("```", "#", "<!--", "![")) or re.match(r"\|?[\s:|-]+$", bare):
            pieces.append(Piece(path))
        elif line.startswith("    ") and not pieces[-1].words:
            continue
        elif bare.startswith("|"):
            for cell in bare.strip("|").split(" | "):
                pieces.append(Piece(path, prose=False))
                pieces[-1].add(number, without_code(cell))
            pieces.append(Piece(path))
        else:
            if re.match(r"([*-]|\d+\.) ", bare):
                pieces.append(Piece(path))
                bare = re.sub(r"^([*-]|\d+\.) ", "", bare)
            pieces[-1].add(number, without_code(bare))
    return [piece for piece in pieces if piece.words]


def named_paths(path, text):
    """(line, name) of every file or folder that a document names in backticks, links and commands."""
    tops = {name.split("/")[0] for name in tracked()}
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith("```"):
            fenced = not fenced
            continue
        links = re.findall(r"\]\(([^)#:]+)\)", line)
        quoted = line.split() if fenced else re.findall(r"`([^`]+)`", line)
        for name in links:
            yield number, name
        for name in quoted:
            name = name.split(":")[0].rstrip(",;.)") if not name.startswith("http") else ""
            if not re.fullmatch(r"[\w./*-]+", name) or name.startswith("/") or "..." in name:
                continue
            if name.split("/")[0] in IGNORED_FOLDERS:
                continue
            if ("/" in name and name.split("/")[0] in tops) or (not fenced and name.endswith(EXTENSIONS)):
                yield number, name


def named_tests(text):
    """(line, name) of every test that a document names in backticks: Suite.Name, Suite.* or test_name."""
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"`([A-Z]\w+\.(?:[A-Z]\w*|\*)|test_\w+)`", line):
            yield number, name


def tests(known=set()):
    if not known:
        for path in tracked():
            if path.startswith("tests/") and path.endswith((".cc", ".py")):
                text = (ROOT / path).read_text()
                for suite, name in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text):
                    known.update((f"{suite}.{name}", f"{suite}.*"))
                known.update(re.findall(r"def (test_\w+)", text))
    return known


def tracked(known={}):
    if not known:
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True,
                                capture_output=True, check=True).stdout.splitlines()
        known.update({name: True for name in listed if (ROOT / name).exists()})
    return known


def exists(name, beside):
    for base in (ROOT, beside):
        if (base / name).exists() or next(base.glob(name), None) or next(base.glob(name.rstrip("/") + ".*"), None):
            return True
    return "/" not in name and any(pathlib.PurePath(path).name == name for path in tracked())


def pieces_of(path):
    suffix = pathlib.PurePath(path).suffix
    if suffix not in READ and not path.endswith("CMakeLists.txt"):
        return []
    text = (ROOT / path).read_text(encoding="utf-8")
    if suffix in (".h", ".cc"):
        return slash_comments(path, text)
    if suffix == ".py":
        return python_comments(path, text)
    if suffix in (".sh", ".yaml", ".yml") or path.endswith("CMakeLists.txt"):
        return hash_comments(path, text)
    return markdown(path, text) if suffix == ".md" else []


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
            for match in METAPHOR.finditer(DEFINED.sub("", without_code(text))):
                yield "metaphor", line, f"{match[0]} ({METAPHORS[match[0].lower()]}): {text}"
            if counted(words) > MOST_WORDS:
                yield "long", line, f"{counted(words)} words: {text}"


def findings_of(path):
    """(rule, line, text) of each finding in one file."""
    document = path.endswith(".md")
    pieces = pieces_of(path)
    yield from findings_in(pieces, document)
    if document:
        text = (ROOT / path).read_text()
        yield from (("path", line, name) for line, name in named_paths(path, text) if not exists(name, (ROOT / path).parent))
        yield from (("test", line, name) for line, name in named_tests(text) if name not in tests())
    if path in MEDIAN_BELOW:
        median = statistics.median(counted(words) for piece in pieces if piece.prose for _, words in piece.sentences())
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
    files = [str(pathlib.Path(name).resolve().relative_to(ROOT)) for name in options.files] or sorted(tracked())
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
