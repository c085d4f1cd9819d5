"""The adjoint of a kernel: the adjoint of one thread's program, and what threads add to together.

A kernel is a program that every thread runs. Its adjoint is the adjoint of that program, with the
shadows of the arrays as further arguments, plus a decision for each place that several threads may
add to: `transform/meeting.py` takes it. A grid-stride loop stays outside: one element's forward and
reverse sweeps follow each other, so that what is saved stays in registers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from s2sad.analysis.facts import Facts
from s2sad.analysis.on_device import checked, reachable, without_outer_arrays
from s2sad.analysis.races import check_kernel
from s2sad.analysis.telling import Alike, written_alike
from s2sad.analysis.threads import Threads
from s2sad.errors import NotDifferentiableError, Span, UnsupportedSyntaxError
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import Context, Instance
from s2sad.frontend.operators import build
from s2sad.ir.device import is_barrier
from s2sad.ir.nodes import (
    Append,
    Assign,
    CallStmt,
    Comment,
    Effect,
    Expr,
    For,
    Function,
    Param,
    Return,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.types import Array, Scalar, Type
from s2sad.ir.walk import bound, map_blocks, map_exprs, names_in, root_of, statements, substitute
from s2sad.transform.adjoint import Sweeps, sweeps
from s2sad.transform.algebra import zero
from s2sad.transform.device_recompute import recomputed
from s2sad.transform.device_tape import DeviceTape, counting, taped
from s2sad.transform.meeting import Meeting, PlanLine, met
from s2sad.transform.naming import Namer
from s2sad.transform.peeling import loop_axes, named_apart, peel, stride_names
from s2sad.transform.pipeline import Deriver
from s2sad.transform.pulling import pulled
from s2sad.transform.shadowed import with_shadows
from s2sad.transform.tangent import tangent
from s2sad.transform.tidy import tidy
from s2sad.transform.unrolled import unrolled


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """The kernels of a derivative, in the order of their launches, and what they call."""

    kernels: tuple[str, ...]
    functions: dict[str, Function]
    instance: Instance
    plan: tuple[PlanLine, ...] = ()
    axes: int = 1
    """How many axes of the launch tell threads apart; along the others there is one thread."""
    tape: DeviceTape | None = None
    """What a loop of unknown length saves, or None."""
    written: tuple[str, ...] = ()
    """The arrays that the kernel writes into: no other argument may overlap them."""
    sources: dict[str, Function] = field(default_factory=dict[str, Function])
    asked: frozenset[str] = frozenset()
    """The parts of a thread's place that the kernel asks for: `threadIdx.x` … `blockIdx.z`."""
    recomputes: bool = False
    """Whether it computes again what its loops overwrote; one more argument, `needed`, says if that came out alike."""
    alike: tuple[Alike, ...] = ()
    """Writes that allow for one thread, or one block, along an axis."""

    @property
    def atomics(self) -> int:
        """How many additions are atomic each time."""
        return sum(line.how.startswith("atomic") for line in self.plan)


def adjoint_kernel(
    fun: Any, types: tuple[Type, ...], wrt: tuple[int, ...], context: Callable[[], Context], window: int | None = None
) -> KernelProgram:
    """Return the adjoint kernel of `fun` for these types and differentiated parameters.

    `window`: what loops of unknown length overwrote is computed again, so many items at a time, and no tape is kept.
    Short loops of constant length are written out where that saves a tape, or atomics.
    """
    ctx = context()
    made = _adjoint_kernel(_kernel(fun, types, ctx), wrt, ctx, window)
    if made.tape is None and not made.atomics:
        return made
    ctx = context()
    deriver, instance, fn, whole = _kernel(fun, types, ctx)
    plain = unrolled(fn)
    if plain == fn:
        return made
    whole = Threads(plain, whole.coordinates)
    other = _adjoint_kernel((deriver, instance, plain, whole), wrt, ctx, window)
    return other if (other.tape is not None, other.atomics) < (made.tape is not None, made.atomics) else made


def _adjoint_kernel(
    lowered: tuple[Deriver, Instance, Function, Threads], wrt: tuple[int, ...], ctx: Context, window: int | None
) -> KernelProgram:
    deriver, instance, fn, whole = lowered
    peeled = peel(fn, whole)
    made = sweeps(
        peeled.inner, wrt, deriver.facts, _on_device(deriver), False, (), wants_values=False, device=True
    )
    made = _own_sums(made, fn, wrt)
    shadows = {fn.params[i].name: bar for i, bar in zip(wrt, made.bars, strict=True)}
    forward = tuple(s for s in made.forward if not _speaks(s))
    taken = Namer({p.name for p in fn.params} | names_in((*forward, *made.reverse)) | names_in(fn.body))
    params, totals = _parameters(fn, shadows, taken)
    body: tuple[Stmt, ...] = (
        Comment("---- primal sweep ----"), *forward, Comment(""), Comment("---- adjoint sweep ----"), *made.reverse,
    )  # fmt: skip
    sums = [t for t in totals if t.local is not None]
    if peeled.loops:
        body = (*body, *(Assign(t.name, build(operator.add, t.name, t.local), fn.span) for t in sums if t.local))
        body = (*(Assign(t.name, zero(t.name.type), fn.span) for t in sums), *peeled.around(body))
        returned: tuple[Expr, ...] = tuple(t.name for t in sums)
    else:
        returned = tuple(t.local for t in sums if t.local is not None)
        body = (*(Assign(t.local, zero(t.local.type), fn.span) for t in sums if isinstance(t.local, Var)), *body)
    name = ctx.unique(f"{instance.name}_adjoint")
    bars = frozenset(p.name for p in params) - {p.name for p in fn.params}
    result = Function(
        name, params, (*body, Return(returned, fn.span)), tuple(r.type for r in returned),
        _doc("Adjoint", instance, fn), fn.span,
    )  # fmt: skip
    user = frozenset(names_in(made.primal.body) | names_in(fn.body) | {p.name for p in fn.params})
    result = tidy(with_shadows(result, fn), deriver.facts, user, bars, together=False)
    coordinates = {n: a for n, a in whole.coordinates.items() if _only_loops(result, n)}
    limits = {axis: loop.stop for axis, loop in loop_axes(peeled, whole)}
    plain = _plain_reads(fn, shadows, deriver.facts)
    gathered = pulled(result, _threads(result, coordinates, whole), limits, plain, deriver.facts, user)
    assert gathered.rest is not None
    result = gathered.rest
    names: list[str] = []
    for kernel in gathered.kernels:
        names.append(ctx.unique(kernel.name))
        deriver.functions[names[-1]] = replace(kernel, name=names[-1])
    meeting = Meeting(result, coordinates, bars, tuple(t.out for t in sums), Namer(taken.taken | names_in(result.body)))
    done, plan = met(meeting, fn)
    done = replace(done, body=without_empty_sweeps(done.body))
    tape, replay = None, None
    if window is not None:
        done, replay = recomputed(done, ctx.unique(f"{instance.name}_again"), window, deriver.facts.writes)
    if replay is not None:
        deriver.functions[replay.name] = replay
    if not names or _does_something(done):
        deriver.functions[name], tape = taped(done, len(whole.axes))
        names.append(name)
    if tape is not None:
        counter = ctx.unique(f"{instance.name}_steps")
        swept = replace(result, body=tuple(s for s in result.body if not isinstance(s, Return)), results=())
        counted = counting(swept, counter, len(whole.axes), bars)
        deriver.functions[counter] = tidy(counted, deriver.facts, user, frozenset({counted.params[-1].name}))
        tape = replace(tape, counter=counter)
    functions = collected(deriver, (*names, *((tape.counter,) if tape else ())))
    return KernelProgram(
        tuple(names), functions, instance, (*gathered.plan, *plan), len(whole.axes), tape,
        written_arrays(fn, deriver.facts), dict(ctx.functions()), asked=frozenset(part.path for part in whole.asked),
        alike=written_alike(fn, whole), recomputes=replay is not None,
    )  # fmt: skip


def _own_sums(made: Sweeps, fn: Function, wrt: tuple[int, ...]) -> Sweeps:
    """A thread's part of a number's adjoint is called `k_part`; `k_bar` is the array that takes the sum."""
    names = Namer(names_in((*made.forward, *made.reverse)) | {p.name for p in fn.params})
    renamed: dict[str, Var] = {}
    for i, bar in zip(wrt, made.bars, strict=True):
        if isinstance(fn.params[i].type, Scalar) and isinstance(bar, Var):
            renamed[bar.name] = Var(names.fresh(f"{fn.params[i].name}_part"), bar.type)
    if not renamed:
        return made

    def each(stmt: Stmt) -> Stmt:
        stmt = map_exprs(stmt, lambda e: substitute(e, dict(renamed)))
        if isinstance(stmt, Assign) and stmt.target.name in renamed:
            stmt = replace(stmt, target=renamed[stmt.target.name])
        if isinstance(stmt, CallStmt):
            stmt = replace(stmt, targets=tuple(renamed.get(t.name, t) for t in stmt.targets))
        return map_blocks(stmt, lambda b: tuple(each(s) for s in b))

    bars = tuple(renamed.get(b.name, b) if isinstance(b, Var) else b for b in made.bars)
    return replace(made, reverse=tuple(each(s) for s in made.reverse), bars=bars)


def without_empty_sweeps(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Where nothing of the primal is needed, the headings of the two sweeps say nothing."""
    texts = [s.text if isinstance(s, Comment) else None for s in body]
    for at in range(len(texts) - 2):
        if texts[at : at + 3] == ["---- primal sweep ----", "", "---- adjoint sweep ----"]:
            body = (*body[:at], *body[at + 3 :])
            break
    return tuple(map_blocks(s, without_empty_sweeps) for s in body)


def _only_loops(fn: Function, name: str) -> bool:
    """Say whether a name is bound by loops alone: the kernel's grid-stride loop, and its reverse."""
    return all(isinstance(s, For) for s in statements(fn.body) if name in bound(s))


def _threads(fn: Function, coordinates: dict[str, int], whole: Threads) -> Threads:
    return Threads(fn, coordinates).launched_as(whole)


def _plain_reads(fn: Function, shadows: dict[str, Expr], facts: Facts) -> dict[str, str]:
    """Return the shadows of the arrays that the kernel only reads, with these arrays."""
    from s2sad.analysis.facts import written_names

    written = written_names(fn, facts)
    return {bar.name: name for name, bar in shadows.items()
            if isinstance(bar, Var) and isinstance(bar.type, Array) and name not in written}  # fmt: skip


def _does_something(fn: Function) -> bool:
    return any(isinstance(s, Store | Effect | CallStmt) for s in statements(fn.body))


def tangent_kernel(fun: Any, types: tuple[Type, ...], wrt: tuple[int, ...], ctx: Context) -> KernelProgram:
    """Return the tangent kernel of `fun`: it does what the kernel does, and the same to the tangents."""
    deriver, instance, fn, whole = _kernel(fun, types, ctx)
    name = ctx.unique(f"{instance.name}_tangent")
    made = tangent(fn, name, wrt, deriver.facts, deriver.callee_tangent)
    dots = {fn.params[i].name: made.params[len(fn.params) + k] for k, i in enumerate(wrt)}
    params = tuple(q for p in fn.params for q in ((p, dots[p.name]) if p.name in dots else (p,)))
    outputs = frozenset(p.name for p in params if isinstance(p.type, Array))
    user = frozenset(names_in(fn.body) | {p.name for p in fn.params})
    made = with_shadows(replace(made, params=params, doc=_doc("Tangent", instance, fn)), fn)
    made = tidy(made, deriver.facts, user, outputs)
    meeting = Meeting(made, {}, frozenset(), (), Namer(names_in(made.body) | {p.name for p in params}))
    done, _ = met(meeting, fn)
    deriver.functions[name] = done
    functions = collected(deriver, (name,))
    return KernelProgram(
        (name,), functions, instance, (), len(whole.axes), None, written_arrays(fn, deriver.facts),
        dict(ctx.functions()), asked=frozenset(part.path for part in whole.asked), alike=written_alike(fn, whole),
    )  # fmt: skip


def _kernel(fun: Any, types: tuple[Type, ...], ctx: Context) -> tuple[Deriver, Instance, Function, Threads]:
    """Lower a kernel and check that it is one."""
    instance = instantiate(ctx, fun, types, Span("<call>", 0, 0, 0, 0, getattr(fun, "__name__", "")))
    fn = instance.function
    assert fn is not None
    if fn.results:
        raise NotDifferentiableError(f"the kernel `{instance.name}` returns a value", fn.span,
                                     "A kernel gives its results through arrays.")  # fmt: skip
    without_outer_arrays(fn, (c.var.name for c in instance.captured))
    deriver = Deriver(ctx)
    checked(reachable(deriver.functions, fn.name))
    fn = named_apart(fn, Threads(fn, {}))
    threads = Threads(fn, stride_names(fn, Threads(fn, {})))
    calls = [s for s in statements(fn.body) if isinstance(s, CallStmt)]
    written = {root.name for s in calls for i in deriver.facts.writes(s.callee) if (root := root_of(s.args[i]))}
    check_kernel(fn, threads, written)
    return deriver, instance, fn, threads


def _on_device(deriver: Deriver) -> Callable[[str, tuple[bool, ...], tuple[bool, ...]], str]:
    return deriver.callee_adjoint


def _speaks(stmt: Stmt) -> bool:
    return isinstance(stmt, Effect) and not is_barrier(stmt.value)


# ---- parameters ----


@dataclass(frozen=True, slots=True)
class Total:
    """The adjoint of a number: summed by each thread in `name`, by all in the array `out`."""

    out: Var
    name: Var
    local: Expr | None


def _parameters(fn: Function, shadows: dict[str, Expr], taken: Namer) -> tuple[tuple[Param, ...], list[Total]]:
    """Every differentiated argument is followed by its shadow; that of a number is an array of one."""
    params: list[Param] = []
    totals: list[Total] = []
    for param in fn.params:
        params.append(param)
        bar = shadows.get(param.name)
        if bar is None:
            continue
        if isinstance(param.type, Array):
            assert isinstance(bar, Var)
            params.append(Param(bar.name, bar.type))
            continue
        assert isinstance(param.type, Scalar)
        out = Var(taken.fresh(f"{param.name}_bar"), Array(param.type.dtype, (1,), "C"))
        name = Var(taken.fresh(f"{param.name}_sum"), param.type)
        params.append(Param(out.name, out.type))
        totals.append(Total(out, name, bar))
    return tuple(params), totals


def written_arrays(fn: Function, facts: Facts) -> tuple[str, ...]:
    """Return the parameters that a function writes into."""
    from s2sad.analysis.facts import written_names

    written = written_names(fn, facts)
    return tuple(p.name for p in fn.params if p.name in written)


def collected(deriver: Deriver, names: tuple[str, ...]) -> dict[str, Function]:
    """Return the functions of these names and all that they call, callees first."""
    functions: dict[str, Function] = {}
    for name in names:
        _collect(deriver, name, functions)
    for name, fn in functions.items():
        if name not in names and any(isinstance(s, Append) for s in statements(fn.body)):
            raise UnsupportedSyntaxError(
                "a loop of unknown length stands in a helper that is called", fn.span,
                "Give the helper one `return`, at its end, and write it where it is called, or give the loop a "
                "constant number of steps.",
            )  # fmt: skip
    return functions


def _collect(deriver: Deriver, name: str, order: dict[str, Function]) -> None:
    """Gather what a kernel calls, callees first."""
    if name in order:
        return
    for stmt in statements(deriver.functions[name].body):
        if isinstance(stmt, CallStmt):
            _collect(deriver, stmt.callee, order)
    order[name] = deriver.functions[name]


def _doc(what: str, instance: Instance, fn: Function) -> str:
    import os

    span = fn.span
    place = f" ({os.path.basename(span.file)}:{span.line})" if span.line else ""
    return f"{what} of the kernel `{instance.name}`{place}."


__all__ = ["KernelProgram", "adjoint_kernel", "collected", "tangent_kernel", "without_empty_sweeps",
           "written_arrays"]
