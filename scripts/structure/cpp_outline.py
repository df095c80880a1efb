"""The outline of a C++ file: its types with methods and fields, and its functions with their length.

A tokenizer and a parser of declarations, not a compiler: it reads formatted code without macros that hide braces.
"""

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<preprocessor>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\b\d(?:'?[\w.])*)
      | (?P<character>'(?:\\.|[^'\\\n])+')
      | (?P<word>operator\s*(?:\(\)|\[\]|[-+*/%^&|~!=<>,]+)|[A-Za-z_]\w*)
      | (?P<sign>::|->|&&|[^\s\w])
      | (?P<line>\n)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CLOSING = {"(": ")", "{": "}", "[": "]", "<": ">"}


@dataclass
class Type:
    """A class, struct or union that is defined in the file."""

    name: str
    line: int
    is_class: bool
    methods: list = field(default_factory=list)
    fields: list = field(default_factory=list)
    has_private: bool = False
    changes: bool = False  # A method that is not const changes the object.

    def is_aggregate(self):
        """Plain data: a struct without a private part and without a method that changes it."""
        return not self.is_class and not self.has_private and not self.changes


@dataclass
class Function:
    """A function with a body; its length counts the lines from brace to brace."""

    name: str
    line: int
    length: int


@dataclass
class Outline:
    types: list
    functions: list


def outline(text):
    """Reads the text of one file."""
    parser = _Parser(_tokens(text))
    parser.read_scope(None, "")
    return Outline(parser.types, parser.functions)


def _tokens(text):
    """Pairs of token and line number; comments and preprocessor lines are left out, literals are one mark."""
    result = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind, value = match.lastgroup, match.group()
        if kind == "mark":
            kind = "raw"
        if kind in ("string", "raw", "character"):
            result.append(('"', line))
        elif kind in ("word", "number", "sign"):
            result.append((value, line))
        line += value.count("\n")
    return result


def _is_word(token):
    return token[0].isalpha() or token[0] == "_"


class _Parser:
    def __init__(self, tokens):
        self.tokens = tokens
        self.at = 0
        self.types = []
        self.functions = []

    def read_scope(self, owner, prefix):
        """Reads declarations up to the closing brace of a namespace or a type (`owner`)."""
        head = []
        while self.at < len(self.tokens):
            token, line = self.tokens[self.at]
            self.at += 1
            if token == "}":
                return
            if token == ";":
                if owner is not None:
                    _declare(owner, head)
                head = []
            elif token == "{":
                head = self._read_braces(head, owner, prefix, line)
            elif token in ("(", "["):
                head.append(token)
                head.extend(self._skip(token))
            elif token == ":" and len(head) == 1 and head[0] in ("public", "private", "protected"):
                if owner is not None and head[0] != "public":
                    owner.has_private = True
                head = []
            else:
                head.append(token)

    def _read_braces(self, head, owner, prefix, line):
        """Reads what one opening brace begins; returns the head that goes on behind its end."""
        plain = _without_template(head)
        first = plain[0] if plain else ""
        if "namespace" in plain[:2] or first == "extern":
            self.read_scope(None, prefix)
            return []
        if first in ("class", "struct", "union") and not _parameters(plain):
            self._read_type(plain, prefix, line)
            return ["struct"] if self._next() == ";" else ["struct", "unnamed"]
        if first != "enum" and _is_function(plain):
            if _in_member_initialiser(plain):
                self._skip("{")
                return head + ["{", "}"]
            self._read_function(plain, owner, prefix, line)
            return []
        self._skip("{")
        return head + ["{", "}"]

    def _read_type(self, head, prefix, line):
        name = _type_name(head)
        found = Type(prefix + name, line, head[0] == "class", has_private=head[0] == "class")
        self.types.append(found)
        self.read_scope(found, f"{prefix}{name}::")

    def _read_function(self, head, owner, prefix, line):
        self._skip("{")
        end = self.tokens[self.at - 1][1]
        self.functions.append(Function(prefix + _function_name(head), line, end - line + 1))
        if owner is not None:
            _declare(owner, head)

    def _next(self):
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def _skip(self, opening):
        """Skips to the partner of a bracket that was read; returns the tokens on the way, the partner included."""
        closing, depth, skipped = _CLOSING[opening], 1, []
        while self.at < len(self.tokens) and depth > 0:
            token = self.tokens[self.at][0]
            self.at += 1
            skipped.append(token)
            if token == opening:
                depth += 1
            elif token == closing:
                depth -= 1
        return skipped


def _without_template(head):
    """The head without attributes and without its template parameters."""
    start = 0
    while start < len(head):
        if head[start] == "template" and start + 1 < len(head) and head[start + 1] == "<":
            start = _end_of(head, start + 1)
        elif head[start] == "[":
            start = _end_of(head, start)
        else:
            break
    return head[start:]


def _end_of(head, start):
    """The index behind the partner of the bracket at `start`."""
    opening = head[start]
    closing, depth = _CLOSING[opening], 0
    for index in range(start, len(head)):
        if head[index] == opening:
            depth += 1
        elif head[index] == closing:
            depth -= 1
            if depth == 0:
                return index + 1
    return len(head)


def _top_level(head):
    """Pairs of index and token outside of parentheses, template arguments and initialisers."""
    index = 0
    while index < len(head):
        token = head[index]
        yield index, token
        if token in ("(", "[", "{") or token == "<" and index > 0 and _is_word(head[index - 1]):
            index = _end_of(head, index)
        else:
            index += 1


def _parameters(head):
    """The index of the parenthesis that opens a function's parameters; 0 for anything else."""
    for index, token in _top_level(head):
        before = head[index - 1] if index else ""
        if token == "=":
            return 0
        if token == "(" and index:
            if before in ("alignas", "decltype", "noexcept", "explicit", "requires"):
                continue
            if head[index + 1] == "*":
                return 0
            return index
    return 0


def _is_function(head):
    return _parameters(head) > 0


def _in_member_initialiser(head):
    """Tells whether a brace behind this head initialises a member of a constructor."""
    behind = head[_end_of(head, _parameters(head)) :]
    colon = next((index for index, token in _top_level(behind) if token == ":"), None)
    return colon is not None and bool(behind) and (_is_word(behind[-1]) or behind[-1] == ">")


def _function_name(head):
    index = _parameters(head)
    start = index
    while start > 0 and (head[start - 1] in ("::", "~") or _is_word(head[start - 1])):
        if start < index and _is_word(head[start]) and _is_word(head[start - 1]):
            break
        start -= 1
    name = "".join(head[start:index])
    if name in ("TEST", "TEST_F", "TEST_P", "TYPED_TEST", "BENCHMARK_F"):
        return ".".join(token for token in head[index + 1 : _end_of(head, index) - 1] if token != ",")
    return name


def _type_name(head):
    for index in range(1, len(head)):
        if head[index] != "alignas" and _is_word(head[index]) and (index + 1 == len(head) or head[index + 1] not in ("(", "::")):
            return head[index]
    return "(unnamed)"


def _declare(owner, head):
    """Adds the method or the fields that one declaration of a type's body makes."""
    head = _without_template(head)
    if not head or head[0] in ("using", "typedef", "friend", "static_assert", "enum"):
        return
    if head[0] in ("class", "struct", "union"):
        if head == ["struct", "unnamed"] or len(head) > 2 and head[1] == "unnamed":
            owner.fields.append(head[-1])
        return
    index = _parameters(head)
    if index:
        behind = head[_end_of(head, index) :]
        if "=" in behind and behind[-1] in ("default", "delete"):
            return
        name = _function_name(head)
        owner.methods.append(name)
        constructor = name.lstrip("~") == owner.name.rsplit("::", 1)[-1]
        if "static" not in head[:index] and "const" not in behind and not constructor:
            owner.changes = True
        return
    if "static" in head:
        return
    owner.fields.extend(_field_names(head))


def _field_names(head):
    """One name per declarator of a declaration of fields."""
    names, last, closed = [], "", False
    for index, token in _top_level(head):
        if token == ",":
            names.append(last)
            closed = False
        elif token in ("=", "{", ":"):
            closed = True
        elif _is_word(token) and not closed:
            last = token
        elif token == "(" and not closed:
            last = next((word for word in head[index:] if _is_word(word)), last)
            closed = True
    return names + [last]
