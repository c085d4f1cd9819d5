"""What a kernel must be for its adjoint to mean anything: threads that do not step on each other.

Refused are barriers that only some threads reach, and global arrays in which a thread reads or
writes what another thread writes in the same launch: there the primal itself has no defined result.
Shared memory, and a part of an array that one block has to itself, are ordered by the kernel's own
barriers, which are taken to be enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from s2sad.analysis.on_device import shared_memory
from s2sad.analysis.threads import Threads
from s2sad.errors import AliasError, Span, UnsupportedSyntaxError
from s2sad.ir.device import is_barrier
from s2sad.ir.nodes import (
    Assign,
    CallStmt,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.types import Array
from s2sad.ir.walk import blocks_of, children, exprs_of, statements


@dataclass(frozen=True, slots=True)
class Access:
    """One reading or writing of an element: `index` is None where it is not known."""

    root: str
    index: tuple[Any, ...] | None
    kind: str  # "read", "write" or "add"
    stmt: Stmt


def accesses(fn: Function, threads: Threads) -> list[Access]:
    """Return every element access of a function, those through views as accesses of their roots."""
    found: list[Access] = []
    for stmt in statements(fn.body):
        if isinstance(stmt, Assign) and stmt.target.name in threads.views:
            continue
        skipped: Expr | None = None
        if isinstance(stmt, Store) and isinstance(stmt.place, Index):
            kind = "add" if stmt.accumulate else "write"
            found.append(_access(stmt.place, kind, stmt, threads))
            if stmt.op and not stmt.accumulate:
                found.append(_access(stmt.place, "read", stmt, threads))
            for item in stmt.place.index:
                _reads(item, stmt, threads, found)
            skipped = stmt.place
        for expr in exprs_of(stmt):
            if expr is not skipped:
                _reads(expr, stmt, threads, found)
    return [a for a in found if a.root]


def _access(place: Index, kind: str, stmt: Stmt, threads: Threads) -> Access:
    known = threads.resolved(place)
    if known is None:
        return Access("", None, kind, stmt)
    return Access(known[0], known[1], kind, stmt)


def _reads(expr: Any, stmt: Stmt, threads: Threads, found: list[Access]) -> None:
    if isinstance(expr, Index) and not isinstance(expr.type, Array):
        found.append(_access(expr, "read", stmt, threads))
        for item in expr.index:
            _reads(item, stmt, threads, found)
        return
    if isinstance(expr, Var) and isinstance(expr.type, Array) and isinstance(stmt, CallStmt):
        found.append(Access(expr.name, None, "read", stmt))
        return
    for child in children(expr):
        _reads(child, stmt, threads, found)


def check_kernel(fn: Function, threads: Threads, written_by_calls: set[str]) -> None:
    """Raise a located error where threads would meet.

    Raises:
        AliasError: an element that one thread writes and another reads or writes.
        UnsupportedSyntaxError: a barrier that not every thread of the block reaches.
    """
    _check_barriers(fn.body, threads)
    shared = shared_memory(fn)
    params = {p.name for p in fn.params} - shared
    by_root: dict[str, list[Access]] = {}
    for access in accesses(fn, threads):
        by_root.setdefault(access.root, []).append(access)
    for root, found in by_root.items():
        if root in params and (root in written_by_calls or any(a.kind == "write" for a in found)):
            _check_array(root, found, threads)
        elif root in params and any(a.kind == "add" for a in found):
            for access in found:
                if access.kind == "read":
                    raise AliasError(f"`{root}` is read here while other threads add to it", access.stmt.span,
                                     "Add into another array, and read this one in the next launch.")  # fmt: skip


def _check_array(root: str, found: list[Access], threads: Threads) -> None:
    tuples = [a.index for a in found]
    known = [t for t in tuples if t is not None]
    if len(known) == len(tuples) and threads.are_own(known):
        return
    if len(known) == len(tuples) and threads.stay_in_block(known) and _waits(threads.fn):
        return  # as with shared memory, the kernel's barriers keep the threads of a block apart
    if all(a.kind == "write" for a in found):
        for access in found:
            if access.index is not None and not _may_differ(access, threads):
                raise AliasError(f"every thread writes this element of `{root}`", access.stmt.span,
                                 "Which one comes last is not defined. Let one thread write, or use "
                                 "`cuda.atomic.add`.")  # fmt: skip
        return
    first = next((a for a in found if a.kind == "write"), found[0])
    culprit = next((a for a in found if a.kind != "write" and a.index != first.index), None)
    culprit = culprit or next((a for a in found if a.kind != "write"), found[0])
    if culprit.stmt is first.stmt and culprit.index == first.index:
        raise AliasError(f"threads may meet in `{root}`: this index is not surely the thread's own", culprit.stmt.span,
                         "Use `cuda.atomic.add`, or index by the thread's own place (`cuda.grid(1)`).")  # fmt: skip
    raise AliasError(f"`{root}` is read here at an element that another thread may write", culprit.stmt.span,
                     f"It is written in line {first.stmt.span.line} of the same launch, in no defined order. Read "
                     "from one array and write to another, or use two launches.")  # fmt: skip


def _waits(fn: Function) -> bool:
    return any(isinstance(s, Effect) and is_barrier(s.value) for s in statements(fn.body))


def _may_differ(access: Access, threads: Threads) -> bool:
    """Say whether a write may be one thread's own: by its index, or by a branch around it."""
    assert access.index is not None
    if any(not isinstance(i, Slice) and not threads.same_everywhere(i) for i in access.index):
        return True
    if any(not isinstance(i, Slice) and not threads.is_uniform(i) for i in access.index):
        return True
    return _guarded(threads.fn.body, access.stmt, threads)


def _guarded(body: tuple[Stmt, ...], wanted: Stmt, threads: Threads) -> bool:
    for stmt in body:
        if not any(s is wanted for block in blocks_of(stmt) for s in statements(block)):
            continue
        if isinstance(stmt, If | While) and not threads.same_everywhere(stmt.test):
            return True
        return any(_guarded(block, wanted, threads) for block in blocks_of(stmt))
    return not threads.axes


def _check_barriers(body: tuple[Stmt, ...], threads: Threads) -> None:
    left = False
    for stmt in body:
        if isinstance(stmt, Effect) and is_barrier(stmt.value) and left:
            raise _divergent(stmt.span, "some threads have returned before it")
        inside = [s for block in blocks_of(stmt) for s in statements(block)]
        waits = [s for s in inside if isinstance(s, Effect) and is_barrier(s.value)]
        if waits:
            tests = (stmt.test,) if isinstance(stmt, If | While) else exprs_of(stmt) if isinstance(stmt, For) else ()
            if left or any(not threads.same_everywhere(t) for t in tests):
                raise _divergent(waits[0].span, "it stands in a branch or loop that differs between threads")
        for block in blocks_of(stmt):
            _check_barriers(block, threads)
        left = left or _returns(stmt)


def _returns(stmt: Stmt) -> bool:
    from s2sad.ir.nodes import Return

    return isinstance(stmt, If) and any(isinstance(s, Return) for s in statements((stmt,)))


def _divergent(span: Span, why: str) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        "not every thread of the block reaches this barrier", span,
        f"As far as can be seen, {why}. Guard the work before and after it, not the barrier.",
    )  # fmt: skip
