"""Numbers and names as a sentence has them."""

from __future__ import annotations

import re
from collections.abc import Sequence


def ranges(numbers: Sequence[int]) -> str:
    """Write ascending numbers with their runs drawn together: `4, 7-9`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def subject(names: list[str]) -> tuple[str, str, str]:
    """Return the names as the subject of a sentence, with the verbs that agree with it."""
    listed = ", ".join(f"`{name}`" for name in names)
    return (listed, "is", "does") if len(names) == 1 else (listed, "are", "do")


def written(names: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the names that stand in the user's line; all of them where none does."""
    return tuple(name for name in names if re.search(rf"\b{re.escape(name)}\b", text)) or tuple(names)
