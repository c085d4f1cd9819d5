"""The figures as a table: in the terminal, worst first, and as a page of the documentation."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from tools.bench.kernels import KERNELS

PEERS = ("JAX", "PyTorch", "autograd", "tangent-ad", "differences")


def measured(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the kernels that have figures, the furthest behind the hand-written adjoint first."""
    done = [kernel for kernel in results["kernels"] if "ratios" in kernel]
    return sorted(done, key=lambda kernel: -kernel["ratios"]["gradient / hand"][0])


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean, NaN of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def best_peer(kernel: dict[str, Any], peer: str) -> list[float] | None:
    """Return a peer's time over ours in its fastest form, with quartiles."""
    forms = [ratio for name, ratio in kernel["ratios"].items()
             if name == f"{peer} / gradient" or name.startswith(f"{peer} (")]
    return min(forms, default=None)


def present(results: dict[str, Any]) -> list[str]:
    """Return the peers with at least one figure."""
    return [peer for peer in PEERS if any(best_peer(kernel, peer) for kernel in measured(results))]


def cells(kernel: dict[str, Any], peers: list[str]) -> list[str]:
    """Return a kernel's row: times in µs, ratios, and each peer's fastest form over ours."""
    seconds, ratios = kernel["seconds"], kernel["ratios"]
    row = [kernel["name"], *(short(1e6 * seconds[name][0]) for name in ("primal", "hand", "tuned", "s2sad")),
           short(ratios["gradient / primal"][0]), spread(ratios["gradient / hand"])]
    for peer in peers:
        ratio = best_peer(kernel, peer)
        row.append(short(ratio[0]) if ratio else "–")
    return row


def short(value: float) -> str:
    """Return three figures, without an exponent, thousands apart."""
    if not math.isfinite(value):
        return "–"
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(digits, 2 if value >= 0.1 else 4)}f}".replace(",", " ")


def spread(ratio: list[float]) -> str:
    """Return a median with its quartiles."""
    return f"{short(ratio[0])} ({short(ratio[1])}–{short(ratio[2])})"


def headings(peers: list[str]) -> list[str]:
    """Return the columns' names."""
    return ["kernel", "primal", "hand", "tuned", "s2sad", "÷ primal", "÷ hand", *(f"{peer} ÷ ours" for peer in peers)]


def summary(results: dict[str, Any]) -> list[str]:
    """Return sentences: geometric means, worst cases, medians of first calls."""
    rows, lines = measured(results), []
    for name, words in (("gradient / hand", "Gradient ÷ adjoint by hand"), ("gradient / primal", "Gradient ÷ primal")):
        values = [kernel["ratios"][name][0] for kernel in rows]
        if values:
            lines.append(f"{words}: geometric mean {geometric_mean(values):.2f}, worst {short(max(values))}.")
    for peer in present(results):
        values = [ratio[0] for kernel in rows if (ratio := best_peer(kernel, peer))]
        lines.append(f"{peer} ÷ s2sad: geometric mean {short(geometric_mean(values))} over {len(values)} kernels, "
                     f"ahead of us on {sum(value < 1.0 for value in values)}.")
    for label in ("s2sad, cold", "s2sad, warm", "hand", "JAX"):
        values = sorted(kernel["first"][label] for kernel in results["kernels"] if label in kernel.get("first", {}))
        if values:
            lines.append(f"First gradient, {label}: median {values[len(values) // 2]:.2f} s, worst {values[-1]:.1f} s.")
    pairs = [kernel["lines"] for kernel in rows if kernel.get("lines")]
    if pairs:
        mean = geometric_mean([written / read for read, written in pairs])
        lines.append(f"Lines of code written for each line read: geometric mean {mean:.1f}.")
    return lines


def print_table(results: dict[str, Any], console: Console) -> None:
    """Print the table, the peers' apart, and what did not work."""
    peers = present(results)
    own, wide = len(headings([])), Console(width=max(console.width, 110))
    rows = [cells(kernel, peers) for kernel in measured(results)]
    heading = headings(peers)
    wide.print(_grid("µs a call, medians; ratios with quartiles; worst first", heading[:own],
                     [row[:own] for row in rows]))
    if peers:
        wide.print(_grid("peers, fastest form ÷ s2sad; above 1 we are faster",
                         ["kernel", *peers], [[row[0], *row[own:]] for row in rows]))
    for line in summary(results):
        console.print(line)
    for kernel in results["kernels"]:
        if "error" in kernel:
            console.print(f"[red]{kernel['name']}:[/red] {kernel['error']}", markup=True, highlight=False)
        for peer, reason in kernel.get("failed", {}).items():
            console.print(f"[yellow]{kernel['name']}, {peer}:[/yellow] {reason}", highlight=False)
        for name in ("s2sad", "tuned"):
            error = kernel.get("errors", {}).get(name, 0.0)
            if error > 1e-8:
                console.print(f"[red]{kernel['name']}:[/red] {name} is {error:.1e} off the gradient by hand")


def _grid(title: str, heading: list[str], rows: list[list[str]]) -> Table:
    table = Table(title=title, pad_edge=False)
    for which, name in enumerate(heading):
        table.add_column(name, justify="right" if which else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def markdown(heading: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown, numbers to the right."""
    rule = ["---"] + ["---:"] * (len(heading) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in (heading, rule, *rows)) + "\n"


def page(results: dict[str, Any]) -> str:
    """Return the documentation's page, charts named beside it."""
    peers = present(results)
    rows = [cells(kernel, peers) for kernel in measured(results)]
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    parts = [OPENING.format(machine=results["machine"], versions=versions, rounds=results["rounds"]),
             "\n".join(f"- {line}" for line in summary(results)) + "\n",
             "![gradient over adjoint by hand](performance_hand.svg)\n",
             "## Every kernel\n", COLUMNS, markdown(headings(peers), rows)]
    if peers:
        parts.append("![peers over s2sad](performance_peers.svg)\n")
    parts += _first_and_memory(results) + _scaling(results) + _missing(results)
    return "\n".join(parts)


OPENING = """# How fast

This page is written by `python -m tools.bench --docs docs`; the same command measures your
machine. Everything is in double precision.

{machine}. {versions}.

Every kernel is measured in a process of its own, all functions in turn, {rounds} times; a figure
is the median of the rounds' least times, a ratio the median of the rounds' ratios. Times are the
processor's, which leaves out waiting for other programs, but not their use of caches and memory:
the quartiles say how quiet the machine was. Each derivative is compared with the one by hand, and
the tests compare that one with finite differences.
"""

COLUMNS = """Times are µs a call. *hand* is an adjoint by hand under plain `@njit`, *tuned* the same one
compiled with what C compilers take for granted (no aliasing, no negative indices, vectors of
`exp` and its kin; `tools/bench/tuning.py`); *÷ hand* is against the faster of the two. A peer's
ratio is that of its fastest form over ours: above 1 we are faster.
"""


def _first_and_memory(results: dict[str, Any]) -> list[str]:
    labels = ("s2sad, cold", "s2sad, warm", "hand", "JAX")
    names = ("primal", "hand", "s2sad")
    rows = []
    for kernel in results["kernels"]:
        first, memory = kernel.get("first", {}), kernel.get("memory", {})
        if first:
            rows.append([kernel["name"], *(f"{first[label]:.2f}" if label in first else "–" for label in labels),
                         *(_megabytes(memory.get(name)) for name in names)])
    if not rows:
        return []
    heading = ["kernel", *(f"{label}, s" for label in labels), *(f"{name}, MB" for name in names)]
    return ["## First call and memory\n",
            "Processor seconds of a new process up to its first derivative, imports included: with an empty cache,\n"
            "with a full one, compiling the adjoint by hand, and in JAX. Memory is the peak of one call above\n"
            "what was there before, results included.\n", markdown(heading, rows)]


def _megabytes(count: int | None) -> str:
    return "–" if count is None else f"{count / 1e6:.1f}"


def _scaling(results: dict[str, Any]) -> list[str]:
    done = [entry for entry in results["scaling"] if "seconds" in entry]
    if not done:
        return []
    names = [name for name in done[0]["seconds"] if name != "primal"]
    rows = []
    for entry in done:
        primal = entry["seconds"]["primal"][0]
        rows.append([f"{entry['steps']:,}".replace(",", " "), short(1e6 * primal),
                     *(f"{entry['seconds'][name][0] / primal:.1f}, {_megabytes(entry['bytes'][name])} MB"
                       for name in names)])
    return ["## Growth with the steps of an integrator\n",
            "Runge-Kutta with ten states: time over the primal's, and peak memory. Segments are √n checkpoints.\n",
            markdown(["steps", "primal, µs", *names], rows), "![growth with steps](performance_steps.svg)\n"]


def _missing(results: dict[str, Any]) -> list[str]:
    lines = [f"- {kernel['name']}: {kernel['error']}" for kernel in results["kernels"] if "error" in kernel]
    seen = {kernel["name"] for kernel in results["kernels"]}
    absent = [kernel.name for kernel in KERNELS if kernel.name not in seen]
    if absent:
        lines.append(f"- not tried this time: {'; '.join(absent)}")
    return ["## Not measured\n", "\n".join(lines) + "\n"] if lines else []
