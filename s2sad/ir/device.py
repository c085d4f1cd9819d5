"""What a thread of a GPU can ask and do, as operations of the IR: indices, barriers, memory, atomics.

Each is printed as the attribute of `numba.cuda` of the same path. None carries a derivative; what
they mean to one is said where they are transformed (`transform/kernel.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class Intrinsic:
    """A member of `numba.cuda`.

    Attributes:
        path: how it is written after `cuda.`.
        args: literal arguments of the call, or None for what is no call.
        item: which item of the returned tuple is meant, or None.
    """

    path: str
    args: tuple[int, ...] | None = None
    item: int | None = None

    @property
    def __name__(self) -> str:
        """Return a word for names that are built on it."""
        return self.path.split(".")[0]

    def __call__(self, *args: Any) -> Any:
        """Refuse: a thread's index means nothing outside a kernel."""
        raise RuntimeError(f"cuda.{self.path} runs on a device only")


THREAD = tuple(Intrinsic(f"threadIdx.{axis}") for axis in AXES)
BLOCK = tuple(Intrinsic(f"blockIdx.{axis}") for axis in AXES)
BLOCK_SIZE = tuple(Intrinsic(f"blockDim.{axis}") for axis in AXES)
GRID_SIZE = tuple(Intrinsic(f"gridDim.{axis}") for axis in AXES)
GRID = {(n, a): Intrinsic("grid", (n,), a if n > 1 else None) for n in (1, 2, 3) for a in range(n)}
"""`cuda.grid(n)`, the item for an axis: the thread's place among all threads."""
STRIDE = {(n, a): Intrinsic("gridsize", (n,), a if n > 1 else None) for n in (1, 2, 3) for a in range(n)}
"""`cuda.gridsize(n)`, the item for an axis: how many threads there are along it."""
LANE = Intrinsic("laneid")
WARP_SIZE = Intrinsic("warpsize")
BARRIER = Intrinsic("syncthreads", ())
FENCE = Intrinsic("threadfence", ())
SHARED = Intrinsic("shared.array", ())
LOCAL = Intrinsic("local.array", ())
ATOMIC_ADD = Intrinsic("atomic.add", ())
FORMER = Intrinsic("atomic.add", (), 0)
"""What `cuda.atomic.add` returns, the value before: it hangs on the order of threads and is refused if used."""
ATOMIC_MAX = Intrinsic("atomic.max", ())
SYNC_OR = Intrinsic("syncthreads_or", ())
"""A barrier that tells every thread of the block whether any of them says yes."""

VALUES: dict[str, Intrinsic] = {
    i.path: i for i in (*THREAD, *BLOCK, *BLOCK_SIZE, *GRID_SIZE, LANE, WARP_SIZE)
}
"""What is read as an attribute: integers that no derivative flows through."""

MEMORY = (SHARED, LOCAL)


def is_index(fn: Any) -> bool:
    """Say whether `fn` gives an integer that stays the same for the life of a thread."""
    return isinstance(fn, Intrinsic) and (fn.path in VALUES or fn.path in ("grid", "gridsize"))


def axis_of(fn: Intrinsic) -> int:
    """Return the axis that an index is along."""
    if fn.path in ("grid", "gridsize"):
        return fn.item or 0
    return AXES.index(fn.path[-1])


def parts_of(fn: Intrinsic) -> frozenset[Intrinsic]:
    """Return the parts of a thread's place, of `threadIdx.x … blockIdx.z`, that an intrinsic tells."""
    if fn.path == "grid":
        return frozenset({THREAD[axis_of(fn)], BLOCK[axis_of(fn)]})
    if fn.path == "laneid":
        return frozenset(THREAD)
    return frozenset({fn} & {*THREAD, *BLOCK})


def is_barrier(expr: Any) -> bool:
    """Say whether an expression makes the threads of a block wait for each other."""
    return isinstance(getattr(expr, "fn", None), Intrinsic) and expr.fn.path == "syncthreads"
