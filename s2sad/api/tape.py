"""The tape of a launch: how long it must be, its memory, and what happens if it is too short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from s2sad.api.launch import interface
from s2sad.backends import cuda as backend
from s2sad.errors import Span, TapeLimitError
from s2sad.transform.device_tape import DeviceTape


class Tape:
    """The tape of one launch of an adjoint whose loops have no known length."""

    def __init__(self, tape: DeviceTape, loaded: backend.LoadedCuda, configuration: Any) -> None:
        """Prepare for a launch of this configuration."""
        self.tape, self.functions, self.configuration = tape, loaded.functions, configuration
        self.cuda = loaded.front_end
        self.threads = 1
        for dims in configuration[:2]:
            for n in dims if isinstance(dims, tuple | list) else (dims,):
                self.threads *= int(n)

    def counted(self, values: Sequence[Any]) -> int:
        """Run the forward sweep only, and return how many steps a thread saves at most."""
        needed = np.zeros(1, np.int64)
        self.functions[self.tape.counter][self.configuration](*values, needed)
        return max(1, int(needed[0]))

    def run(
        self, kernels: Sequence[str], args: Sequence[Any], steps: int, bars: Sequence[Any], label: str, span: Span
    ) -> None:
        """Launch with a tape of `steps`.

        Raises:
            TapeLimitError: a thread needed more; the shadows are NaN then, and no number stands in them.
        """
        tape = self.cuda.device_array((steps, max(self.tape.values, 1), self.threads), np.dtype(self.tape.dtype))
        slots = self.threads if self.tape.marks else 1
        marks = self.cuda.device_array((steps, max(self.tape.marks, 1), slots), np.int64)
        needed = np.zeros(1, np.int64)
        for name in kernels:
            self.functions[name][self.configuration](*args, tape, marks, needed)
        if needed[0] > steps:
            for bar in bars:
                _spoil(bar)
            raise TapeLimitError(
                f"a loop in `{label}` took {int(needed[0])} steps, and the tape holds {steps}", span,
                f"Pass max_steps={int(needed[0])} or more to s2sad.cuda.kernel, or leave it out to have them counted "
                "before each launch. The shadows now hold NaN.",
            )  # fmt: skip


def run_again(
    functions: Mapping[str, Any], kernels: Sequence[str], configuration: Any, args: Sequence[Any], bars: Sequence[Any],
    label: str, span: Span,
) -> None:  # fmt: skip
    """Launch kernels that compute again what their loops overwrote.

    Raises:
        TapeLimitError: a loop took another number of steps the second time; the shadows are NaN then.
    """
    needed = np.zeros(1, np.int64)
    for name in kernels:
        functions[name][configuration](*args, needed)
    if needed[0]:
        for bar in bars:
            _spoil(bar)
        raise TapeLimitError(
            f"a loop in `{label}` took another number of steps when it was computed again", span,
            "Its length hangs on the last bit of a number. Leave `recompute` out, so that a tape is kept. The shadows "
            "now hold NaN.",
        )  # fmt: skip


def own_copies(values: Sequence[Any], names: Sequence[str], written: Sequence[str], cuda: Any) -> list[Any]:
    """Return the values, those copied that the kernel writes into; `cuda` is its front end."""
    return [_copy(v, cuda) if n in written else v for v, n in zip(values, names, strict=True)]


def _copy(value: Any, cuda: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    source = backend.as_device_array(value, cuda) if interface(value) is not None else value
    made = cuda.device_array_like(source)
    made.copy_to_device(source)
    return made


def _spoil(bar: Any) -> None:
    if isinstance(bar, np.ndarray):
        bar[...] = np.nan
        return
    array = backend.as_device_array(bar)
    array.copy_to_device(np.full(array.shape, np.nan, array.dtype))
