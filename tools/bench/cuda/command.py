"""`python -m tools.bench cuda`: the table of machine code, then times where there is a GPU."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ARCHITECTURE = (9, 0)


def why_no_times() -> str:
    """Return why nothing can be timed here, or an empty text."""
    from s2sad.backends import cuda as backend

    if backend.is_simulated():
        return "the simulator is on; unset NUMBA_ENABLE_CUDASIM"
    return "" if backend.front_end().is_available() else "no GPU and driver are found here"


def run(console: Console, size: str, rounds: int, json_path: Path | None) -> dict[str, Any]:
    """Print the figures, keep them in a file if asked to, and return them."""
    os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "0")  # the examples would turn the simulator on
    from tools.bench.cuda.static import compared

    static = compared(ARCHITECTURE)
    _print_static(static, console)
    found: dict[str, Any] = {
        "static": {name: c if isinstance(c, str) else [asdict(each) for each in c] for name, c in static.items()},
        "times": [], "skipped": why_no_times(),
    }  # fmt: skip
    if found["skipped"]:
        console.print(f"Times: skipped, as {found['skipped']}.", soft_wrap=True)
    else:
        from tools.bench.cuda.timed import measured

        for figure in measured(size, rounds):
            found["times"].append(asdict(figure))
            console.print(f"{figure.name}: {figure.value:.2f} (aim {figure.aim}), {1e3 * figure.seconds:.3f} ms")
    if json_path is not None:
        json_path.write_text(json.dumps(found, indent=1) + "\n")
    return found


def _print_static(static: dict[str, Any], console: Console) -> None:
    table = Table(title=f"PTX for sm_{ARCHITECTURE[0]}{ARCHITECTURE[1]}: generated / by hand")
    for heading in ("derivative", "kernels", "instructions", "atomics", "registers", "spills"):
        table.add_column(heading, justify="left" if heading == "derivative" else "right")
    for name, costs in static.items():
        if isinstance(costs, str):
            continue
        made, hand = costs
        pairs = [(made.kernels, hand.kernels), (made.instructions, hand.instructions), (made.atomics, hand.atomics),
                 (made.registers, hand.registers), (made.spills, hand.spills)]  # fmt: skip
        table.add_row(name, *(f"{_shown(a)} / {_shown(b)}" for a, b in pairs))
    console.print(table)
    for name, why in static.items():
        if isinstance(why, str):
            console.print(f"{name}: no figures. {why}", soft_wrap=True)


def _shown(value: int | None) -> str:
    return "?" if value is None else str(value)
