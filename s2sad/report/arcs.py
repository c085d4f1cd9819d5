"""How adjoints flow between the lines of a function: an arc diagram as SVG."""

from __future__ import annotations

import html

from s2sad.api.explanation import Flow, Part

LINE = 22  # pixels; the height of a line in page.css
_LANE = 9
_LANES = 9


def arcs(part: Part, number: int) -> str:
    """Return arcs from each line that reads a value back to the lines that make it, to stand left of the code."""
    first = part.lines[0].number
    lanes = _lanes(part.flows)
    width = _LANE * (min(max(lanes.values(), default=0), _LANES) + 1) + 14
    height = LINE * len(part.lines)
    drawn = [_arc(flow, lanes[flow], first, width, number) for flow in part.flows]
    marker = (
        f'<defs><marker id="tip{number}" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" '
        'orient="auto"><path d="M0 0L6 3L0 6z"/></marker></defs>'
    )
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
        f"<title>How adjoints flow from line to line of {html.escape(part.name)}</title>{marker}{''.join(drawn)}</svg>"
    )


def _arc(flow: Flow, lane: int, first: int, width: int, number: int) -> str:
    down = flow.makes > flow.reads
    start = (flow.reads - first) * LINE + LINE / 2 + (4 if not down else -4)
    end = (flow.makes - first) * LINE + LINE / 2 + (-2 if down else 2)
    left = width - 12 - _LANE * min(lane + 1, _LANES)
    right = width - 4
    path = f"M{right} {start:.0f}C{left} {start:.0f} {left} {end:.0f} {right} {end:.0f}"
    name = html.escape(flow.name)
    return (
        f'<path class="flow" d="{path}" marker-end="url(#tip{number})" data-from="p{number}-{flow.reads}" '
        f'data-to="p{number}-{flow.makes}"><title>{name}: from line {flow.reads} to line {flow.makes}</title></path>'
    )


def _lanes(flows: tuple[Flow, ...]) -> dict[Flow, int]:
    """Give each arc a distance from the code: short arcs are inside, and arcs that overlap do not share one."""
    lanes: dict[Flow, int] = {}
    for flow in sorted(flows, key=lambda f: abs(f.reads - f.makes)):
        low, high = sorted((flow.reads, flow.makes))
        lane = 0
        while any(
            lanes[other] == lane and min(high, max(other.reads, other.makes)) > max(low, min(other.reads, other.makes))
            for other in lanes
        ):
            lane += 1
        lanes[flow] = lane
    return lanes
