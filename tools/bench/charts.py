"""The charts, as small SVG files that need no library to draw or to read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tools.bench.report import best_peer, measured, present

COLOURS = ("#2563eb", "#d97706", "#059669", "#9333ea", "#64748b")
LEFT, WIDTH, ROW = 230, 760, 17
STYLE = 'font-family="sans-serif" font-size="11" fill="#334155"'


def write_charts(results: dict[str, Any], folder: Path) -> list[Path]:
    """Write the charts that the figures allow, and return their paths."""
    rows = measured(results)
    charts = {}
    if rows:
        bars = [(kernel["name"], [kernel["ratios"]["gradient / hand"][0]]) for kernel in rows]
        charts["performance_hand.svg"] = dots("gradient ÷ adjoint by hand (1 is the limit)", bars, ["s2sad"])
    peers = present(results)
    if peers:
        marks = []
        for kernel in rows:
            ratios = (best_peer(kernel, peer) for peer in peers)
            marks.append((kernel["name"], [ratio[0] if ratio else math.nan for ratio in ratios]))
        charts["performance_peers.svg"] = dots("peer's time ÷ s2sad's (right of 1, we are faster)", marks, peers)
    steps = [entry for entry in results["scaling"] if "seconds" in entry]
    if len(steps) > 1:
        charts["performance_steps.svg"] = growth(steps)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in charts.items():
        (folder / name).write_text(text)
    return [folder / name for name in charts]


def dots(title: str, rows: Sequence[tuple[str, Sequence[float]]], series: Sequence[str]) -> str:
    """Return a chart with a line for each row and a dot for each series, on a logarithmic axis."""
    values = [value for _, row in rows for value in row if math.isfinite(value)]
    low = math.floor(math.log10(min([*values, 1.0])))
    high = max(math.ceil(math.log10(max([*values, 1.0]))), low + 1)
    top = 58
    bottom = top + ROW * len(rows)

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 20) * (math.log10(value) - low) / (high - low)

    parts = [_text(10, 18, title, "start", "14"), *_legend(series, 38)]
    for power in range(low, high + 1):
        place = x(10.0**power)
        parts.append(_line(place, top - 6, place, bottom, "#94a3b8" if power == 0 else "#e2e8f0"))
        parts.append(_text(place, bottom + 14, _power(power), "middle"))
    for at, (name, row) in enumerate(rows):
        y = top + ROW * at + ROW / 2
        parts.append(_text(LEFT - 10, y + 4, name, "end"))
        parts.append(_line(LEFT, y, WIDTH - 20, y, "#f1f5f9"))
        parts += [f'<circle cx="{x(value):.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[which % 5]}"/>'
                  for which, value in enumerate(row) if math.isfinite(value)]
    return _svg(bottom + 24, parts)


def growth(entries: Sequence[dict[str, Any]]) -> str:
    """Return two panels over the number of steps: time over the primal's, and peak memory."""
    names = [name for name in entries[0]["seconds"] if name != "primal"]
    steps = [entry["steps"] for entry in entries]
    times = {name: [entry["seconds"][name][0] / entry["seconds"]["primal"][0] for entry in entries] for name in names}
    sizes = {name: [max(entry["bytes"][name] or 0, 1e4) / 1e6 for entry in entries] for name in names}
    parts = [_text(10, 18, "ten states, Runge-Kutta", "start", "14"), *_legend(names, 38)]
    parts += _panel(60, steps, times, "time ÷ primal") + _panel(430, steps, sizes, "peak memory, MB")
    return _svg(330, parts)


def _panel(left: float, steps: Sequence[float], series: dict[str, list[float]], label: str) -> list[str]:
    values = [value for column in series.values() for value in column]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    high = max(high, low + 1)
    width, top, height = 290.0, 75.0, 215.0
    across = math.log10(steps[0]), math.log10(steps[-1])

    def x(value: float) -> float:
        return left + width * (math.log10(value) - across[0]) / (across[1] - across[0])

    def y(value: float) -> float:
        return top + height * (1.0 - (math.log10(value) - low) / (high - low))

    parts = [_text(left, top - 10, label, "start")]
    for power in range(low, high + 1):
        parts.append(_line(left, y(10.0**power), left + width, y(10.0**power), "#e2e8f0"))
        parts.append(_text(left - 6, y(10.0**power) + 4, _power(power), "end"))
    parts += [_text(x(step), top + height + 16, _power(round(math.log10(step))), "middle") for step in steps]
    for which, column in enumerate(series.values()):
        points = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in zip(steps, column, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[which % 5]}" stroke-width="2"/>')
    return parts


def _legend(series: Iterable[str], y: float) -> Iterable[str]:
    x = 14.0
    for which, name in enumerate(series):
        yield f'<circle cx="{x:.0f}" cy="{y - 4:.0f}" r="4" fill="{COLOURS[which % 5]}"/>'
        yield _text(x + 8, y, name, "start")
        x += 30 + 6.5 * len(name)


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -3 <= power <= 4 else f"1e{power}"


def _text(x: float, y: float, text: str, anchor: str, size: str = "11") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _svg(height: float, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" {STYLE}>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n')
