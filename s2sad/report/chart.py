"""A bar chart as SVG, without a plotting library."""

from __future__ import annotations

import html
from collections.abc import Mapping

_WIDTH, _ROW, _LEFT, _RIGHT = 640, 34, 110, 110
_STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#222}rect{fill:#3b6fb6}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#7aa7e0}}"
)


def bars(title: str, values: Mapping[str, float], unit: str) -> str:
    """Return an SVG picture with one horizontal bar for each value."""
    top = max(values.values(), default=0.0) or 1.0
    height = _ROW * (len(values) + 1) + 16
    rows = [f'<text x="8" y="22">{html.escape(title)}</text>']
    for position, (name, value) in enumerate(values.items(), 1):
        y = position * _ROW
        width = max(1.0, (_WIDTH - _LEFT - _RIGHT) * value / top)
        rows.append(f'<text x="{_LEFT - 8}" y="{y + 22}" text-anchor="end">{html.escape(name)}</text>')
        rows.append(f'<rect x="{_LEFT}" y="{y + 6}" width="{width:.1f}" height="{_ROW - 12}" rx="3"/>')
        rows.append(f'<text x="{_LEFT + width + 8:.1f}" y="{y + 22}">{value:,.4g} {html.escape(unit)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
        + "".join(rows)
        + "</svg>\n"
    )
