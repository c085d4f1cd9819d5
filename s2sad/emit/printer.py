"""Print IR as Python text: few parentheses, comments, lines of at most 88 columns.

Guarantee: the text parses back to the tree that was printed, so that arithmetic keeps its order.
"""

from __future__ import annotations

import inspect
import io
import textwrap
from typing import Any

import astunparse as _astunparse  # pyright: ignore[reportMissingTypeStubs]
import gast as _gast  # pyright: ignore[reportMissingTypeStubs]

from s2sad.emit import to_gast
from s2sad.emit.expressions import expression
from s2sad.emit.names import Names
from s2sad.emit.wrap import STEP, WIDTH, wrap
from s2sad.errors import NOWHERE, Span
from s2sad.ir import nodes as ir
from s2sad.ir.walk import names_in, statements

gast: Any = _gast
astunparse: Any = _astunparse
Node = Any

# How tightly each kind of expression binds, loosest first.
TERNARY, OR, AND, NOT, COMPARE = range(5)
BITOR, BITXOR, BITAND, SHIFT, SUM, TERM, SIGN, POWER, ATOM = range(5, 14)

BINARY = {
    gast.BitOr: BITOR,
    gast.BitXor: BITXOR,
    gast.BitAnd: BITAND,
    gast.LShift: SHIFT,
    gast.RShift: SHIFT,
    gast.Add: SUM,
    gast.Sub: SUM,
    gast.Mult: TERM,
    gast.Div: TERM,
    gast.FloorDiv: TERM,
    gast.Mod: TERM,
    gast.MatMult: TERM,
    gast.Pow: POWER,
}


def print_function(
    fn: ir.Function, names: Names, decorator: str | None = None
) -> tuple[str, list[Span]]:
    """Return the text of a function and, for each of its lines, the span that it came from."""
    names.reserve([fn.name, *(param.name for param in fn.params)])
    names.reserve(names_in(fn.body))
    names.reserve(s.callee for s in statements(fn.body) if isinstance(s, ir.CallStmt) and s.callee)
    printer = Printer()
    if decorator is not None:
        printer.line(f"@{decorator.removeprefix('@')}", fn.span)
    printer.dispatch(to_gast.function(fn, names))
    return printer.finish()


def print_stmt(stmt: ir.Stmt, names: Names) -> str:
    """Return the text of one statement, without a newline at its end."""
    printer = Printer()
    printer.dispatch(to_gast.statement(stmt, names))
    return printer.finish()[0].rstrip("\n")


def print_expr(expr: ir.Expr, names: Names) -> str:
    """Return the text of an expression on one line."""
    return flat(expression(expr, names))


def flat(node: Node) -> str:
    """Return the text of a gast expression on one line."""
    printer = Printer()
    printer.dispatch(node)
    return printer.f.getvalue()


class Printer(astunparse.Unparser):
    """Print gast nodes: each statement as one flat line, which `wrap` then breaks."""

    def __init__(self) -> None:  # pyright: ignore[reportMissingSuperCall]
        """Start with no text; astunparse would print a whole tree here."""
        self.f = io.StringIO()
        self.lines: list[str] = []
        self.spans: list[Span] = []
        self._indent = 0
        self._span = NOWHERE

    def finish(self) -> tuple[str, list[Span]]:
        """Return the text, without empty lines at its end, and the span of each line."""
        self._flush()
        while self.lines and not self.lines[-1]:
            self.lines.pop()
            self.spans.pop()
        return "".join(line + "\n" for line in self.lines), self.spans

    def line(self, text: str, span: Span) -> None:
        """Append one line as it is."""
        self._flush()
        self.lines.append(text.rstrip())
        self.spans.append(span)

    def dispatch(self, tree: Node) -> None:
        """Print a node or a list of them, noting where a statement came from."""
        if isinstance(tree, gast.stmt | to_gast.Comment):
            self._flush()
            self._span = getattr(tree, "span", NOWHERE)
        super().dispatch(tree)  # pyright: ignore[reportUnknownMemberType]

    def fill(self, text: str = "") -> None:
        """Start a new statement."""
        self._flush()
        self.write(text)

    def enter(self) -> None:
        """Print the colon of a compound statement and go one level in."""
        super().enter()  # pyright: ignore[reportUnknownMemberType]
        self._flush()

    def leave(self) -> None:
        """Go one level out again, after the last statement of the block."""
        self._flush(-1)

    def _flush(self, step: int = 0) -> None:
        """Lay out the statement that has been written; the indent follows from its colon."""
        text = self.f.getvalue()
        if text:
            depth = self._indent - (1 if text.endswith(":") else 0)
            for line in wrap(text, STEP * depth):
                self.lines.append(line)
                self.spans.append(self._span)
            self.f = io.StringIO()
        self._indent += step

    # ---- statements ----

    def _FunctionDef(self, t: Node) -> None:
        self.fill(f"def {t.name}(")
        plain = len(t.args.args) - len(t.args.defaults)
        for position, param in enumerate(t.args.args):
            self.write((", " if position else "") + param.id)
            if position >= plain:
                self.write("=")
                self.dispatch(t.args.defaults[position - plain])
        self.write(")")
        self.enter()
        body = t.body
        if isinstance(body[0], gast.Expr) and isinstance(body[0].value, gast.Constant):
            self._docstring(body[0].value.value)
            body = body[1:]
        self.dispatch(body)
        self.leave()

    def _docstring(self, doc: str) -> None:
        pad = " " * STEP * self._indent
        text = inspect.cleandoc(doc).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        rows: list[str] = []
        for row in f'"""{text}'.split("\n"):
            rows += _fold(row, WIDTH - len(pad) - 3) or [""]
        if len(rows) > 1:
            rows.append('"""')
        elif text.endswith('"'):
            rows[0] = rows[0][:-1] + '\\""""'
        else:
            rows[0] += '"""'
        for row in rows:
            self.line(pad + row, NOWHERE)

    def _Comment(self, t: Node) -> None:
        pad = " " * STEP * self._indent
        width = WIDTH - len(pad) - 2
        for text in t.text.split("\n"):
            if text.endswith("...") and len(text) > width:  # the beginning of a statement, on one line
                text = text[: width - 3].rstrip() + "..."
            for row in _fold(text, width):
                self.line(f"{pad}# {row}", self._span)
            if not text.strip():
                self.line(f"{pad}#" if "\n" in t.text else "", self._span)

    def _If(self, t: Node, word: str = "if") -> None:
        span = getattr(t, "span", NOWHERE)
        self._span = span
        self.fill(f"{word} ")
        self.dispatch(t.test)
        self.enter()
        self.dispatch(t.body)
        self.leave()
        if not t.orelse:
            return
        *before, last = t.orelse
        if isinstance(last, gast.If) and all(isinstance(s, to_gast.Comment) for s in before):
            self.dispatch([comment for comment in before if comment.text.strip()])
            self._If(last, "elif")
            return
        self._span = span
        self.fill("else")
        self.enter()
        self.dispatch(t.orelse)
        self.leave()

    def _Return(self, t: Node) -> None:
        self.fill("return")
        if t.value is not None:
            self.write(" ")
            self._bare(t.value)

    def _Assign(self, t: Node) -> None:
        self.fill()
        for target in t.targets:
            self._bare(target)
            self.write(" = ")
        if isinstance(t.targets[0], gast.Tuple):
            self._bare(t.value)
        else:
            self.dispatch(t.value)

    def _bare(self, node: Node) -> None:
        """Print a tuple of several items without its parentheses, anything else as it is."""
        if isinstance(node, gast.Tuple) and len(node.elts) > 1:
            self._joined(node.elts)
        else:
            self.dispatch(node)

    # ---- expressions ----

    def _at(self, node: Node, least: int) -> None:
        """Print an operand, in parentheses if it binds less tightly than `least`."""
        if _precedence(node) < least:
            self.write("(")
            self.dispatch(node)
            self.write(")")
        else:
            self.dispatch(node)

    def _joined(self, nodes: list[Node]) -> None:
        for position, node in enumerate(nodes):
            self.write(", " if position else "")
            self.dispatch(node)

    def _BinOp(self, t: Node) -> None:
        level = BINARY[type(t.op)]
        power = level == POWER
        self._at(t.left, level + 1 if power else level)
        symbol = self.binop[type(t.op).__name__]
        signed = isinstance(t.right, gast.UnaryOp)
        exponent = t.right.operand if signed else t.right
        tight = power and _is_simple_power(t.left) and _is_simple_power(exponent)
        self.write(symbol if tight else f" {symbol} ")
        self._at(t.right, SIGN if power else level + 1)

    def _UnaryOp(self, t: Node) -> None:
        if isinstance(t.op, gast.Not):
            self.write("not ")
            self._at(t.operand, NOT)
            return
        self.write(self.unop[type(t.op).__name__])
        # `-x**2` parses as intended, but not every reader knows; ruff writes `-(x**2)` as well.
        power = isinstance(t.operand, gast.BinOp) and isinstance(t.operand.op, gast.Pow)
        self._at(t.operand, ATOM if power else SIGN)

    def _BoolOp(self, t: Node) -> None:
        word, level = (" and ", AND) if isinstance(t.op, gast.And) else (" or ", OR)
        for position, value in enumerate(t.values):
            self.write(word if position else "")
            self._at(value, level + 1)

    def _Compare(self, t: Node) -> None:
        self._at(t.left, COMPARE + 1)
        for op, right in zip(t.ops, t.comparators, strict=True):
            self.write(f" {self.cmpops[type(op).__name__]} ")
            self._at(right, COMPARE + 1)

    def _IfExp(self, t: Node) -> None:
        self._at(t.body, TERNARY + 1)
        self.write(" if ")
        self._at(t.test, TERNARY + 1)
        self.write(" else ")
        self._at(t.orelse, TERNARY)

    def _Attribute(self, t: Node) -> None:
        whole = isinstance(t.value, gast.Constant) and isinstance(t.value.value, int)
        self._at(t.value, ATOM + 1 if whole else ATOM)
        self.write(f".{t.attr}")

    def _Call(self, t: Node) -> None:
        self._at(t.func, ATOM)
        self.write("(")
        self._joined([*t.args, *t.keywords])
        self.write(")")

    def _Subscript(self, t: Node) -> None:
        self._at(t.value, ATOM)
        self.write("[")
        self._bare(t.slice)
        self.write("]")

    def _Slice(self, t: Node) -> None:
        parts = [part for part in (t.lower, t.upper, t.step) if part is not None]
        space = "" if all(_is_simple_bound(part) for part in parts) else " "
        if t.lower is not None:
            self._at(t.lower, TERNARY)
            self.write(space)
        self.write(":")
        if t.upper is not None:
            self.write(space)
            self._at(t.upper, TERNARY)
        if t.step is not None:
            self.write((space if t.upper is not None else "") + ":" + space)
            self._at(t.step, TERNARY)

    def _Constant(self, t: Node) -> None:
        text = "..." if t.value is ... else repr(t.value)
        if isinstance(t.value, str) and '"' not in t.value:
            text = f'"{text[1:-1]}"'
        self.write(text)


def _precedence(node: Node) -> int:
    """Return how tightly the outermost operator of an expression binds."""
    match type(node).__name__:
        case "IfExp":
            return TERNARY
        case "BoolOp":
            return AND if isinstance(node.op, gast.And) else OR
        case "Compare":
            return COMPARE
        case "UnaryOp":
            return NOT if isinstance(node.op, gast.Not) else SIGN
        case "BinOp":
            return BINARY[type(node.op)]
        case _:
            return ATOM


def _is_simple_power(node: Node) -> bool:
    """Say whether ruff hugs `**` next to this operand."""
    if isinstance(node, gast.Attribute):
        return _is_simple_power(node.value)
    return isinstance(node, gast.Name | gast.Constant) and not isinstance(
        getattr(node, "value", None), str
    )


def _is_simple_bound(node: Node) -> bool:
    """Say whether ruff hugs the colon of a slice next to this bound."""
    if isinstance(node, gast.UnaryOp):
        return not isinstance(node.op, gast.Not) and _is_simple_bound(node.operand)
    return isinstance(node, gast.Name | gast.Constant)


_NARROWEST = 24


def _fold(text: str, width: int) -> list[str]:
    """Fold a line of prose at its spaces, keeping what stands between them and the indent."""
    text, width = text.rstrip(), max(width, _NARROWEST)
    if len(text) <= width:
        return [text] if text else []
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
