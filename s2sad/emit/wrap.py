"""Break a logical line that is too long, much as ruff and Black would: inside brackets only.

A break changes nothing but the layout: it falls inside brackets that are there already, or inside
parentheses put around a whole right-hand side, which parse to the same tree.
"""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass
from itertools import pairwise

WIDTH = 88
STEP = 4

COMMA, TERNARY, OR, AND, COMPARE = 12, 11, 10, 9, 8
OPERATORS = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "is", "in"), COMPARE),
    "|": 7,
    "^": 6,
    "&": 5,
    **dict.fromkeys(("<<", ">>"), 4),
    **dict.fromkeys(("+", "-"), 3),
    **dict.fromkeys(("*", "/", "//", "%", "@"), 2),
    "**": 1,
}
WORDS = {"if": TERNARY, "else": TERNARY, "or": OR, "and": AND}
KEYWORDS = {*WORDS, "not", "in", "is", "return", "assert", "raise", "while", "elif", "for"}


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a flat line: its text, its columns, and how many brackets are open around it."""

    text: str
    start: int
    end: int
    depth: int


def wrap(line: str, indent: int) -> list[str]:
    """Return the lines of one statement, indented, each within `WIDTH` where that is possible."""
    if indent + len(line) <= WIDTH:
        return [" " * indent + line]
    head, value, tail = _parts(line)
    if not value:
        return _in_brackets(line, indent)
    if indent + len(head) >= WIDTH:
        return _wrapped_target(line, head, indent)
    if _keeps_bare(head, value, indent):
        return _in_brackets(line, indent)
    body = _inside(value, indent + STEP, exploded=True)
    return [" " * indent + head + "(", *body, " " * indent + ")" + tail]


def _wrapped_target(line: str, head: str, indent: int) -> list[str]:
    """Break what is assigned to, when the line is full before the value begins."""
    splits = _splits(head.removesuffix(" = "))
    if splits and splits[0][0] == COMMA:
        targets = _inside(head.removesuffix(" = "), indent + STEP, exploded=True)
        return [" " * indent + "(", *targets, *wrap(f") = {line[len(head) :]}", indent)]
    brackets = _brackets(head)
    if not brackets:
        return _in_brackets(line, indent)
    opening, closing = brackets[-1]
    index = _inside(head[opening + 1 : closing], indent + STEP)
    return [" " * indent + line[: opening + 1], *index, *wrap(line[closing:], indent)]


def _parts(line: str) -> tuple[str, str, str]:
    """Split a statement into what precedes its expression, the expression, what follows."""
    if match := re.match(r"(return|raise|if|elif|while|for \w+ in) ", line):
        tail = ":" if line.endswith(":") else ""
        return match[0], line[match.end() : len(line) - len(tail)], tail
    if line.startswith("assert "):
        commas = [at for level, at in _splits(line[7:]) if level == COMMA]
        cut = 7 + commas[0] if commas else len(line)
        return "assert ", line[7:cut].removesuffix(",").rstrip(), line[cut - 1 :].rstrip()
    if not line.startswith(("def ", "@")):
        for token in _tokens(line):
            if token.depth == 0 and re.fullmatch(r"[^\w\s<>!=]{0,2}=|<<=|>>=", token.text):
                cut = token.end + 1
                return line[:cut], line[cut:], ""
    return line, "", ""


def _keeps_bare(head: str, value: str, indent: int) -> bool:
    """Say whether the expression is broken in its own brackets, with no parentheses around."""
    brackets = _brackets(value)
    if not brackets or value.endswith("()"):
        return False
    splits = _splits(value)
    if not splits:
        return True
    # One operator, with parentheses before it, or after it a call that can open on this line.
    operators = [token for token in _tokens(value) if token.depth == 0 and _level(token)]
    opening, closing = brackets[-1]
    fits = indent + len(head) + opening + 1 <= WIDTH
    if splits[0][0] == COMMA or len(operators) != 1:
        return False
    return brackets == [(0, closing)] or (closing == len(value) - 1 and fits)


def _inside(text: str, indent: int, exploded: bool = False) -> list[str]:
    """Lay out what stands between brackets; `exploded`: never several items on one line."""
    splits = _splits(text)
    lists = bool(splits) and splits[0][0] == COMMA
    if indent + len(text) <= WIDTH and not (exploded and lists):
        return [" " * indent + text]
    if not splits:
        return _in_brackets(text, indent)
    cuts = [0, *(at for _, at in splits), len(text)]
    pieces = [text[a:b].strip() for a, b in pairwise(cuts)]
    if lists and not pieces[-1].endswith(","):
        pieces[-1] += ","
    return [line for piece in pieces for line in _inside(piece, indent)]


def _in_brackets(text: str, indent: int) -> list[str]:
    """Break inside the last bracket that can open on the first line, else inside the first one."""
    if indent + len(text) <= WIDTH:
        return [" " * indent + text]
    brackets = _brackets(text)
    if not brackets:
        return _string(text, indent)
    fitting = [pair for pair in brackets if indent + pair[0] + 1 <= WIDTH]
    opening, closing = (fitting or brackets[:1])[-1]
    before = text[:opening].rstrip()
    # A display explodes, one item a line; arguments and indices may share one.
    display = not re.search(r"[\w\])]$", before) or before.split(" ")[-1] in KEYWORDS
    body = _inside(text[opening + 1 : closing], indent + STEP, exploded=display)
    rest = _in_brackets(text[closing:], indent)
    return [" " * indent + text[: opening + 1], *body, *rest]


def _string(text: str, indent: int) -> list[str]:
    """Break a long string at its spaces into adjacent literals, which Python joins again."""
    if not re.fullmatch(r'"(?:[^"\\{]|\\.)*",?', text) or "\\" in text:
        return [" " * indent + text]
    comma = "," if text.endswith(",") else ""
    words = re.findall(r"[^ ]* *", text.removesuffix(",")[1:-1])
    lines = [""]
    for word in words:
        if indent + len(lines[-1]) + len(word) + 3 > WIDTH and lines[-1]:
            lines.append("")
        lines[-1] += word
    quoted = [f'{" " * indent}"{line}"' for line in lines]
    return [*quoted[:-1], quoted[-1] + comma]


def _splits(text: str) -> list[tuple[int, int]]:
    """Return the loosest level of operator outside brackets, with each column where it breaks."""
    found: list[tuple[int, int]] = []
    tokens = [token for token in _tokens(text) if token.depth == 0]
    for before, token in pairwise(tokens):
        level = _level(token)
        if level == COMMA and token.end < len(text):
            found.append((level, token.end))
        elif level and level != COMMA and not _is_prefix(before, token):
            start = before.start if before.text == "not" else token.start
            found.append((level, start))
    loosest = max((level for level, _ in found), default=0)
    return [pair for pair in found if pair[0] == loosest]


def _level(token: Token) -> int:
    if token.text == ",":
        return COMMA
    return WORDS.get(token.text) or OPERATORS.get(token.text) or 0


def _is_prefix(before: Token, token: Token) -> bool:
    """Say whether `token` is a sign, or the second word of `is not` and `not in`'s kind."""
    if token.text == "in":
        return False
    sign = token.text in ("+", "-", "*", "**")
    operand = re.search(r"[\w\])\"']$", before.text) is not None and before.text not in KEYWORDS
    return sign and not operand


def _brackets(text: str) -> list[tuple[int, int]]:
    """Return the columns of each outermost pair of brackets that holds anything."""
    pairs: list[tuple[int, int]] = []
    opening = -1
    for token in _tokens(text):
        if token.depth != 0:
            continue
        if token.text in ("(", "[", "{"):
            opening = token.start
        elif token.text in (")", "]", "}") and opening >= 0:
            if token.start > opening + 1:
                pairs.append((opening, token.start))
            opening = -1
    return pairs


def _tokens(text: str) -> list[Token]:
    """Split a piece of a line into tokens; it may start by closing an earlier bracket."""
    tokens: list[Token] = []
    depth = 0
    # A lone closing bracket or an operator in front is no statement, but it tokenizes all the same
    # inside brackets that are never closed.
    closers = len(text) - len(text.lstrip(")]}"))
    tokens += [Token(text[at], at, at + 1, 0) for at in range(closers)]
    reader = io.StringIO("(" + text[closers:] + ")").readline
    for token in tokenize.generate_tokens(reader):
        start, end = token.start[1] - 1 + closers, token.end[1] - 1 + closers
        if token.start == (1, 0) or not token.string.strip() or start >= len(text):
            continue
        if token.string in (")", "]", "}"):
            depth -= 1
        tokens.append(Token(token.string, start, end, max(depth, 0)))
        if token.string in ("(", "[", "{"):
            depth += 1
    return tokens
