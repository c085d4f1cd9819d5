"""Differentiate random whole programs for as long as wanted, keeping a reproducer file per failure.

python tools/fuzz.py --minutes 10 --target python
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.property.test_programs import FOLDER, check, sources

REPRODUCER = """

if __name__ == "__main__":
    import sys

    sys.path.insert(0, {root!r})
    from tests.property.test_programs import check

    text = open(__file__).read().split("\\n# ---- failure ----")[0]
    check(text.rstrip() + "\\n", {may_alias!r}, {target!r})
"""


def batch(number: int, size: int, target: str) -> tuple[int, tuple[str, bool, str] | None]:
    """Run one seeded batch; return how many programs ran, and the smallest failing one with its traceback."""
    ran = 0
    failed: tuple[str, bool, str] | None = None

    @seed(number)
    @settings(max_examples=size, deadline=None, database=None, report_multiple_bugs=False,
              phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck))
    @given(sources())
    def run(drawn: tuple[str, bool]) -> None:
        nonlocal ran, failed
        ran += 1
        try:
            check(*drawn, target)
        except Exception:
            text = traceback.format_exc()
            if failed is None or len(drawn[0]) <= len(failed[0]):
                failed = (*drawn, text)
            raise

    try:
        run()
    except Exception:
        if failed is None:
            raise
    return ran, failed


def save(folder: Path, failure: tuple[str, bool, str], target: str) -> Path:
    """Write a failing program, the traceback as comments, and the lines that run it again."""
    source, may_alias, text = failure
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"fuzz_{hashlib.sha256(source.encode()).hexdigest()[:10]}.py"
    comment = "\n".join("# " + line for line in text.rstrip().splitlines()[-40:])
    root = str(Path(__file__).resolve().parent.parent)
    path.write_text(f"{source}\n# ---- failure ----\n{comment}\n"
                    + REPRODUCER.format(root=root, may_alias=may_alias, target=target))
    return path


def main() -> int:
    """Fuzz until the time is up; the exit status is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", default="python")
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--out", type=Path, default=Path("fuzz_failures"))
    options = parser.parse_args()
    console, saved, total = Console(), set(), 0
    start, limit = time.monotonic(), options.minutes * 60
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("fuzzing", total=limit)
        number = options.seed
        while time.monotonic() - start < limit:
            ran, failure = batch(number, options.batch, options.target)
            number, total = number + 1, total + ran
            if failure is not None:
                path = save(options.out, failure, options.target)
                saved.add(path)
                console.print(f"seed {number - 1}: {path}: {failure[2].rstrip().splitlines()[-1][:200]}")
            for stale in FOLDER.glob("program_*.py"):
                sys.modules.pop(stale.stem, None)
                stale.unlink()
            done = time.monotonic() - start
            progress.update(task, completed=min(done, limit), description=f"{total} programs, {len(saved)} failures")
    return 1 if saved else 0


if __name__ == "__main__":
    sys.exit(main())
