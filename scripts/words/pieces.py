"""Comments, paragraphs and sentences of the files that scripts/plain_words.py checks."""

import ast
import io
import pathlib
import re
import tokenize

READ = (".cc", ".h", ".md", ".py", ".sh", ".yaml", ".yml")


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
        # A line that is indented further is a table or a formula.
        if not body or re.match(r"\s*//\s{3}", line) or re.match(r"(NOLINT|namespace\b|PENSTOCK_\w+$|clang-format)", body):
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
            pieces += paragraphs(path, node.body[0].lineno, ast.get_docstring(node))
    return pieces


def paragraphs(path, first, text):
    pieces = [Piece(path)]
    for offset, line in enumerate(text.splitlines()):
        # An indented line of a docstring is a table or a command.
        if not line.strip() or line.startswith("  "):
            pieces.append(Piece(path))
        else:
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
            # A cell that lists the values of a key is no sentence.
            for cell in (each for each in bare.strip("|").split(" | ") if not each.strip().startswith("one of ")):
                pieces.append(Piece(path, prose=False))
                pieces[-1].add(number, without_code(cell))
            pieces.append(Piece(path))
        else:
            if re.match(r"([*-]|\d+\.) ", bare):
                pieces.append(Piece(path))
                bare = re.sub(r"^([*-]|\d+\.) ", "", bare)
            pieces[-1].add(number, without_code(bare))
    return [piece for piece in pieces if piece.words]


def pieces_of(root, path):
    suffix = pathlib.PurePath(path).suffix
    if suffix not in READ and not path.endswith("CMakeLists.txt"):
        return []
    text = (root / path).read_text(encoding="utf-8")
    if suffix in (".h", ".cc"):
        return slash_comments(path, text)
    if suffix == ".py":
        return python_comments(path, text)
    if suffix in (".sh", ".yaml", ".yml") or path.endswith("CMakeLists.txt"):
        return hash_comments(path, text)
    return markdown(path, text) if suffix == ".md" else []
