"""Where something happened, and every exception that s2sad raises.

An error says what, where (file, line, column, a caret under the expression), why, and the way out.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the user's source: one-based lines, zero-based columns, as `ast` counts them."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""

    def text(self) -> str:
        """Return the first source line that the span covers, without its newline."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def statement(self, width: int = 80) -> str:
        """Return the statement on one line: of a compound one its head, of a long one its start."""
        first = self.text().strip()
        if self.end_line == self.line or first.endswith(":") or first.startswith(("def ", "@")):
            return first
        lines = [linecache.getline(self.file, n).strip() for n in range(self.line, self.end_line + 1)]
        whole = " ".join(line.split("  #")[0] for line in lines).replace("( ", "(").replace(" )", ")")
        return whole if len(whole) <= width else whole[: width - 2].rstrip() + "..."

    def call_of(self, name: str) -> Span:
        """Return the stretch of the one call of `name` within this one; this one where there is none, or several."""
        lines = [linecache.getline(self.file, n) for n in range(self.line, self.end_line + 1)]
        indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        text = textwrap.dedent("".join(lines))
        try:
            tree = ast.parse(text + "    pass" if text.rstrip().endswith(":") else text)
        except SyntaxError:
            return self
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node.func) == name]
        if len(calls) != 1:
            return self
        first, last = self.line + calls[0].lineno - 1, self.line + (calls[0].end_lineno or 1) - 1
        start, end = calls[0].col_offset + indent, (calls[0].end_col_offset or 0) + indent
        return replace(self, line=first, column=start, end_line=last, end_column=end)


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


NOWHERE = Span("<unknown>", 0, 0, 0, 0)
UNEQUAL = "operands could not be broadcast together"
"""What NumPy says, and derivatives too, where two lengths do not fit."""


def frame(span: Span) -> str:
    """Draw the code frame of `span`: the location, the line, carets under the expression."""
    if span.line == 0:
        return f"  --> {span.file}" + (f" in `{span.function}`" if span.function else "")
    place = f"  --> {span.file}:{span.line}:{span.column + 1}"
    if span.function:
        place += f" in `{span.function}`"
    source = span.text()
    if not source:
        return place
    end = span.end_column if span.end_line == span.line else len(source)
    number = str(span.line)
    carets = "^" * max(1, end - span.column)
    return (
        f"{place}\n{number} | {source}\n{' ' * len(number)} | "
        f"{' ' * span.column}{carets}"
    )


class S2SADError(Exception):
    """Base of every error that s2sad raises: what, where, why and the way out.

    Attributes:
        what: one sentence naming the problem.
        span: where in the user's source, or None.
        why: the reason, and what to do instead.
    """

    def __init__(self, what: str, span: Span | None = None, why: str = "") -> None:
        """Compose the message from the sentence, the code frame and the reason."""
        self.what, self.span, self.why = what, span, why
        parts = [what]
        if span is not None:
            parts.append(frame(span))
        if why:
            parts.append(why)
        super().__init__("\n".join(parts))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the three parts, so that an error crosses process boundaries whole."""
        return type(self), (self.what, self.span, self.why)


class UnsupportedSyntaxError(S2SADError):
    """The function uses Python that cannot be differentiated."""


class SourceNotFoundError(S2SADError):
    """The source text of a function could not be found."""


class MissingRuleError(S2SADError):
    """A call has neither a derivative rule nor Python source to differentiate."""


class NotDifferentiableError(S2SADError, TypeError):
    """The derivative that was asked for does not exist: integer input, non-scalar output, or the like."""


class ArgumentError(S2SADError, TypeError):
    """A transform was given arguments that do not fit: structure, shape, dtype or name."""


class RuleError(S2SADError):
    """A custom rule returned something of the wrong structure, shape or dtype."""


class RuleShapeError(RuleError):
    """A custom rule returned an array of the wrong shape, seen when it ran."""

    def __init__(self, what: str, expected: tuple[int, ...], received: tuple[int, ...]) -> None:
        """Compose the message from the sentence and both shapes."""
        super().__init__(what, None, f"Expected: shape {tuple(expected)}.\nReceived: shape {tuple(received)}.")
        self.shapes = expected, received

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by what it was made of."""
        return type(self), (self.what, *self.shapes)


class AliasError(S2SADError):
    """Two names may share memory that is written, so that the derivative cannot be decided."""


class TapeLimitError(S2SADError):
    """Saving what the adjoint needs would take more memory than allowed."""


class CompileError(S2SADError):
    """The compiled target could not take the derivative's text."""


class CacheError(S2SADError):
    """The cache directory cannot be used: not private, or not writable."""


class VerifyError(S2SADError):
    """An internal invariant of the IR does not hold: a bug in s2sad, never the user's mistake."""
