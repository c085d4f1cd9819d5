"""Write docs/rules.md: every function with a rule, each cell from a call that climbed the ladder.

python tools/rules_table.py --targets python,cpu
python tools/rules_table.py --only np.partition,np.linalg.tensorinv    climbs these again, and writes their rows
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from s2sad.rules import REGISTRY, Constant, Elementwise, Structured
from s2sad.rules.registry import EXPANSIONS
from tests.rulebook import Call, calls_of, climb_call, is_ours, registered
from tests.rulebook_scipy import registered as scipys

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Functions with a derivative

Each row is written by `python tools/rules_table.py` from calls that climbed the ladder: value, tangent
(against differences), cotangents (dot products), dtypes and shapes, arguments untouched. A cell says how
many calls did, of how many; an empty cell says that no such call was made. `tests/unit/test_registry.py`
makes the same calls.

- *real*: numbers, arrays, shapes that broadcast each way, one element, none, Fortran order, strides;
- *float32*: the result and the gradients are single precision as NumPy's;
- *complex*: by JAX's conventions; no entry means that complex arguments are refused;
- *compiled*: one call of each, under Numba;
- a function of SciPy that cannot vary by all its arguments is called with the others as constants;
- *read as*: how the rule is written: partial derivatives, a tangent and an adjoint, or other code.

"""


@functools.cache
def everything() -> list[Any]:
    """List every function that has a rule, SciPy's included."""
    return [*registered(), *scipys()]


def one(job: tuple[int, int, str]) -> str:
    """Climb one call, and say how it went: nothing, or the error's first line."""
    warnings.simplefilter("ignore")
    position, number, target = job
    call = calls_of(everything()[position])[number]
    try:
        climb_call(call, target)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
    return ""


def jobs_for(position: int, targets: list[str]) -> list[tuple[int, int, str]]:
    """List the calls of one function: all in CPython, its first one compiled."""
    count = len(calls_of(everything()[position]))
    plain = [(position, k, "python") for k in range(count)] if "python" in targets else []
    return plain + ([(position, 0, "cpu")] if "cpu" in targets and count else [])


def shown(results: Iterable[str]) -> str:
    """Say how many of these climbed."""
    listed = list(results)
    good = sum(not result for result in listed)
    return "" if not listed else f"{good}" if good == len(listed) else f"{good} of {len(listed)}"


def kind(fn: Any) -> str:
    """Say how a rule is written."""
    rule = REGISTRY.get(fn)
    words = {Elementwise: "partials", Structured: "tangent, adjoint"}
    found = [words[type(rule)]] if type(rule) in words else []
    return "; ".join([*found, *(["other code"] if fn in EXPANSIONS else [])]) or "writes"


def row(position: int, results: dict[tuple[int, int, str], str]) -> str:
    """Write the line of one function."""
    calls = calls_of(everything()[position])

    def of(*variants: str, other: bool = False) -> str:
        return shown(
            results[position, k, "python"] for k, call in enumerate(calls)
            if (position, k, "python") in results and (call.variant in variants) != other
        )  # fmt: skip

    compiled = shown(result for job, result in results.items() if job[0] == position and job[2] == "cpu")
    cells = (f"`{name(calls[0])}`", of("float32", "complex", other=True), of("float32"), of("complex"), compiled,
             kind(calls[0].fn))  # fmt: skip
    return f"| {' | '.join(cells)} |"


def name(call: Call) -> str:
    """Name a function as a user writes it."""
    return call.label.replace("numpy.", "np.", 1).replace("_operator.", "operator.").removeprefix("builtins.")


def again(page: Path, rows: dict[int, str], results: dict[tuple[int, int, str], str]) -> int:
    """Write the rows of a few functions anew, and take those that climb now off the list of those that did not."""
    names = {name(calls_of(everything()[k])[0]): line for k, line in rows.items()}
    failed = {name(calls_of(everything()[k])[n]) for (k, n, _), result in results.items() if result}
    new = set(names)
    lines: list[str] = []
    for line in page.read_text().splitlines():
        own = next((text for text in names if line.startswith((f"| `{text}` ", f"- `{text}`,"))), None)
        if own is None or (line.startswith("- ") and own in failed):
            lines.append(line)
        elif line.startswith("| "):
            lines.append(names[own])
            new.discard(own)
    head = next(k for k, line in enumerate(lines) if line.startswith("|---")) + 1
    last = next(k for k in range(head, len(lines)) if not lines[k].startswith("| "))
    lines[head:last] = sorted([*lines[head:last], *(names[text] for text in new)])
    page.write_text("\n".join(lines) + "\n")
    print(f"{len(rows)} functions, {len(results)} calls, {sum(map(bool, results.values()))} did not climb: {page}")
    return 0


def main() -> int:
    """Climb everything, write the file, and say what did not climb."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", default="python,cpu")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "rules.md")
    parser.add_argument("--only", default="", help="how names in the table begin, with commas between")
    options = parser.parse_args()
    functions = everything()
    only = tuple(text for text in options.only.split(",") if text)
    chosen = [k for k, fn in enumerate(functions) if not only or name(calls_of(fn)[0]).startswith(only)]
    jobs = [job for k in chosen for job in jobs_for(k, options.targets.split(","))]
    with ProcessPoolExecutor(options.processes) as pool:
        found = pool.map(one, jobs, chunksize=8)
        results = dict(zip(jobs, track(found, "climbing", total=len(jobs)), strict=True))
    if only:
        return again(options.out, {k: row(k, results) for k in chosen}, results)
    lines = ["| function | real | float32 | complex | compiled | read as |", "|---|---|---|---|---|---|"]
    lines += sorted(row(k, results) for k in range(len(functions)))
    still = sorted(f"{getattr(fn, '__module__', '') or 'numpy'}.{getattr(fn, '__name__', fn)}"
                   for fn, rule in REGISTRY.items() if isinstance(rule, Constant) and not is_ours(fn))  # fmt: skip
    listed = ", ".join(f"`{text.removeprefix('builtins.')}`" for text in dict.fromkeys(still))
    failed = [f"- `{name(calls_of(functions[job[0]])[job[1]])}`, {calls_of(functions[job[0]])[job[1]].variant}, "
              f"{job[2]}: {result}" for job, result in results.items() if result]  # fmt: skip
    below = "\n## Calls that did not climb\n\n" + "\n".join(failed) + "\n" if failed else ""
    constants = f"\n## Known to have no derivative\n\n{listed}\n"
    options.out.write_text(HEAD + "\n".join(lines) + "\n" + below + constants)
    print(f"{len(functions)} functions, {len(jobs)} calls, {len(failed)} did not climb: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
