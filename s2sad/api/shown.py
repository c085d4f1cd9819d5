"""A derivative as something to look at: its text in colours, its file, why it is as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from s2sad.api.plan import Entry

if TYPE_CHECKING:
    from s2sad.api.explanation import Explanation


class DerivativeView:
    """One derivative as its text and its flat callable.

    Attributes:
        mode: which derivative.
        source: its Python text.
        path: the file that holds the text.
    """

    def __init__(self, mode: str, made: Entry) -> None:
        """Hold what was derived and loaded."""
        self.mode, self.source, self._made, self._loaded = mode, made.derivative.text, made, made.loaded
        self.path = made.loaded.path

    @property
    def explanation(self) -> Explanation:
        """Why the derivative is as it is, line by line; for reverse modes."""
        from s2sad.api.explanation import explanation

        return explanation(self._made.derivative, self.mode)

    @property
    def py_func(self) -> Callable[..., Any]:
        """The derivative as plain Python: step through it in a debugger."""
        return self._loaded.py_func

    def __call__(self, *leaves: Any) -> Any:
        """Run the derivative over flat leaves."""
        return self._loaded.entry(*leaves)

    def __repr__(self) -> str:
        """Name the mode and the file."""
        return f"<s2sad derivative {self.mode!r} in {self.path}>"

    def _repr_html_(self) -> str:
        return highlighted(self.source)


class Source(str):
    """Python text that a notebook shows in colours."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return highlighted(self)


def highlighted(text: str) -> str:
    """Return Python text as HTML, coloured where pygments is installed."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        import html

        return f"<pre>{html.escape(text)}</pre>"
    formatter: Any = HtmlFormatter(noclasses=True)
    return str(highlight(text, PythonLexer(), formatter))
