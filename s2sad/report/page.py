"""An explanation as one page: no network, light and dark, primal and derivative side by side."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from s2sad.api.comparison import Compared
from s2sad.api.explanation import Explanation, Line, Part
from s2sad.report.arcs import arcs

_CLOSE = 1e-5


def page(explained: Explanation, checks: Sequence[Compared] = ()) -> str:
    """Return the page's HTML."""
    sources = "".join(_part(part, number) for number, part in enumerate(explained.parts))
    title = f"{explained.function}: {explained.mode} by {', '.join(explained.inputs) or 'nothing'}"
    fields = {
        "TITLE": html.escape(title),
        "STYLE": _asset("page.css") + _token_styles(),
        "SCRIPT": _asset("page.js"),
        "PRIMAL": sources,
        "DERIVATIVE": _derivative(explained),
        "CHECKS": _checks(checks),
    }
    text = _asset("page.html")
    for name, value in fields.items():
        text = text.replace(f"<!--{name}-->", value)
    return text


def _asset(name: str) -> str:
    return (files("s2sad.report") / name).read_text(encoding="utf-8")


def _part(part: Part, number: int) -> str:
    code = tokens("\n".join(line.text for line in part.lines))
    rows = [_line(line, text, f"p{number}-{line.number}") for line, text in zip(part.lines, code, strict=True)]
    head = f'<h2>{html.escape(part.name)} <span class="file">{html.escape(part.file)}</span></h2>'
    picture = arcs(part, number)
    code_block = f'<div class="arcs">{picture}</div><div>{"".join(rows)}</div>'
    return f'<section>{head}<div class="code">{code_block}</div></section>'


def _line(line: Line, text: str, key: str) -> str:
    links = " ".join(f"d{n}" for n in line.emitted)
    notes = [line.why, *(f"{item.place} is saved in {item.tape}, {item.cost()}: {item.why}" for item in line.saved)]
    notes += [f"{name}: computed again in the reverse sweep" for name in line.again]
    badges = "".join(f'<span class="tape">{html.escape(item.cost())}</span>' for item in line.saved)
    badges += '<span class="again" aria-hidden="true">↻</span>' if line.again else ""
    return _row(key, str(line.number), text, links, line.state, "; ".join(filter(None, notes)), badges)


def _row(key: str, number: str, text: str, links: str, kind: str, note: str, badges: str = "") -> str:
    title = f' data-note="{html.escape(note)}"' if note else ""
    return (
        f'<div class="line {kind}" id="{key}" data-links="{links}" tabindex="-1"{title}>'
        f'<span class="number">{number}</span><code>{text or " "}</code>{badges}</div>'
    )


def _derivative(explained: Explanation) -> str:
    origin: dict[int, list[str]] = {}
    for number, part in enumerate(explained.parts):
        for line in part.lines:
            for emitted in line.emitted:
                origin.setdefault(emitted, []).append(f"p{number}-{line.number}")
    taped = {item.tape for part in explained.parts for line in part.lines for item in line.saved}
    rows: list[str] = []
    plain = explained.source.rstrip("\n").split("\n")
    for number, text in enumerate(tokens("\n".join(plain)), 1):
        on_tape = any(tape in plain[number - 1] for tape in taped)
        rows.append(_row(f"d{number}", str(number), text, " ".join(origin.get(number, ())), "taped" * on_tape, ""))
    return f'<div class="code"><div>{"".join(rows)}</div></div>'


def _checks(checks: Iterable[Compared]) -> str:
    rows = [
        f'<tr class="{"good" if row.error() < _CLOSE else "bad"}"><th scope="row">{html.escape(row.argument)}</th>'
        f"<td>{_number(row.tangent)}</td><td>{row.adjoint:.8g}</td><td>{row.difference:.8g}</td><td>{row.error():.1e}</td></tr>"
        for row in checks
    ]
    if not rows:
        return ""
    head = "<tr><th>argument</th><th>forward</th><th>reverse</th><th>differences</th><th>apart by</th></tr>"
    caption = "<caption>In a random direction of each argument, against finite differences</caption>"
    return f'<table class="checks">{caption}<thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def _number(value: float) -> str:
    return "—" if math.isnan(value) else f"{value:.8g}"


def tokens(code: str) -> list[str]:
    """Return the lines of Python code as HTML, their tokens in spans of pygments' classes."""
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    out = io.StringIO()
    lexer: Any = PythonLexer(stripnl=False, ensurenl=False)
    formatter: Any = HtmlFormatter(nowrap=True)
    formatter.format(lexer.get_tokens(code), out)
    lines = out.getvalue().split("\n")
    count = len(code.split("\n"))
    return [*lines, *[""] * (count - len(lines))][:count]


def _token_styles() -> str:
    from pygments.formatters import HtmlFormatter

    light: Any = HtmlFormatter(style="friendly")
    dark: Any = HtmlFormatter(style="github-dark")
    return _within(light, ":root:not([data-theme=dark]) code") + _within(dark, ":root[data-theme=dark] code")


def _within(formatter: Any, scope: str) -> str:
    rules = formatter.get_style_defs(scope).splitlines()
    return "\n".join(rule for rule in rules if rule.startswith(f"{scope} .")) + "\n"
