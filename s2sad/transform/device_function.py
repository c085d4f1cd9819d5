"""Derivatives of a function of one thread: to be called in a user's kernel, or run over a batch.

Numbers come back as results. An array's adjoint is an argument that is added to, since a thread
cannot make an array of a size that is not known when it is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from s2sad.analysis.on_device import checked, reachable, without_outer_arrays
from s2sad.errors import AliasError, NotDifferentiableError, Span, UnsupportedSyntaxError
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import Context
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.device import GRID, STRIDE
from s2sad.ir.nodes import Apply, Assign, CallStmt, Expr, For, Function, Index, Param, Return, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar, Sym, Type, is_inexact
from s2sad.ir.walk import names_in, root_of, statements
from s2sad.transform.adjoint import sweeps
from s2sad.transform.device_memory import with_memory
from s2sad.transform.device_tape import DeviceTape, counting, taped
from s2sad.transform.kernel import collected, without_empty_sweeps, written_arrays
from s2sad.transform.meeting import INT
from s2sad.transform.naming import Namer
from s2sad.transform.pipeline import Deriver
from s2sad.transform.shadowed import with_shadows
from s2sad.transform.structure import structured
from s2sad.transform.tangent import tangent
from s2sad.transform.tidy import tidy
from s2sad.transform.together import with_values

MODES = ("primal", "grad", "value_and_grad", "vjp", "jvp")


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """A device function, or the kernel that runs it over a batch, and what it calls."""

    entry: str
    functions: dict[str, Function]
    tape: DeviceTape | None = None
    outputs: tuple[Var, ...] = ()
    """Of a batch: the arrays that take the results, values first, then adjoints."""
    written: tuple[str, ...] = ()
    """The array arguments that the function writes into."""


def device_function(fun: Any, mode: str, types: tuple[Type, ...], wrt: tuple[int, ...], ctx: Context) -> DeviceProgram:
    """Return a derivative of `fun` as a device function of flat arguments.

    Its arguments are those of `fun`, then the cotangents of the results ("vjp") or the tangents
    ("jvp"), then the adjoints of the differentiated arrays; it returns the values, then the adjoints
    of the differentiated numbers.
    """
    deriver, made = _derived(fun, mode, types, wrt, ctx)
    if mode in ("grad", "value_and_grad", "vjp"):
        fn = _primal(fun, ctx)
        chosen = {fn.params[i].name for i in wrt}
        for name, span in _writes(fn, [n for n in written_arrays(fn, deriver.facts) if n in chosen]):
            raise AliasError(f"`{name}` is written into, and its adjoint is to be added to what its shadow holds", span,
                             "What the shadow holds would count as the adjoint of what is written here. Write into a "
                             "copy, a `cuda.local.array`.")  # fmt: skip
    made, tape = taped(made, None)
    name = made.name
    deriver.functions[name] = made
    return DeviceProgram(name, collected(deriver, (name,)), tape)


def batched(
    fun: Any, mode: str, types: tuple[Type, ...], wrt: tuple[int, ...], mapped: tuple[bool, ...], ctx: Context
) -> DeviceProgram:
    """Return the kernel that runs `mode` of `fun` over a batch, one thread per element.

    `types`: of the arguments for one element; `mapped`: which of them are batched, along their first axis.
    """
    deriver, one = _derived(fun, mode, types, wrt, ctx)
    fn = _primal(fun, ctx)
    instance = next(i for i in ctx.instances.values() if i.function is fn)
    written = written_arrays(fn, deriver.facts)
    _require_own(fn, [n for n, on in zip((p.name for p in fn.params), mapped, strict=True) if n in written and not on])
    namer = Namer(names_in(one.body) | {p.name for p in one.params})
    i = Var(namer.fresh("i"), INT)
    params: list[Param] = []
    start: list[Stmt] = []
    outputs: list[Var] = []
    length: Expr | None = None
    for param, on in zip(fn.params, mapped, strict=True):
        if not on:
            params.append(param)
            continue
        whole = Var(namer.fresh(f"{param.name}_batch"), _batch(param.type))
        params.append(Param(whole.name, whole.type))
        length = length or build(ops.dim, whole, literal(0))
        start.append(Assign(Var(param.name, param.type), Index(whole, (i,), param.type), fn.span))
    results = one.body[-1].values if one.body and isinstance(one.body[-1], Return) else ()
    body = one.body[:-1] if results else one.body
    shadows = {p.name for p in one.params} - {p.name for p in fn.params}
    end: list[Stmt] = []
    hints = _result_names(mode, fn, wrt, results)
    dtypes = {p.type.dtype for p in fn.params if isinstance(p.type, Array | Scalar) and is_inexact(p.type)}
    owners = [None] * (len(results) - len(_numbers(fn, wrt))) + _numbers(fn, wrt) if mode != "primal" else []
    for hint, value, owner in zip_longest(hints, results, owners):
        kind = _batch(value.type)
        weak = isinstance(value.type, Scalar) and value.type.weak
        kind = replace(kind, dtype="float32") if weak and kind.dtype == "float64" and dtypes == {"float32"} else kind
        kind = kind if owner is None or owner.weak else replace(kind, dtype=owner.dtype)
        out = Var(namer.fresh(f"{hint}_batch"), kind)
        outputs.append(out)
        end.append(Store(Index(out, (i,), _one(value.type)), "", value, fn.span))
    for param in one.params:
        if param.name in shadows:
            out = Var(namer.fresh(f"{param.name}_batch"), _batch(param.type))
            outputs.append(out)
            start.append(Assign(Var(param.name, param.type), Index(out, (i,), param.type), fn.span))
    assert length is not None
    element = (*start, *body, *end)
    loop = For(i, Apply(GRID[1, 0], (), INT), length, Apply(STRIDE[1, 0], (), INT), element, fn.span)
    name = ctx.unique(f"{instance.name}_{mode}_batch")
    doc = f"{one.doc.removesuffix('.')}, one thread per element of a batch."
    bars = frozenset(o.name for o in outputs)
    kernel = Function(name, (*params, *(Param(o.name, o.type) for o in outputs)), (loop,), (), doc, fn.span)
    user = frozenset(names_in(fn.body) | {p.name for p in fn.params})
    kernel = tidy(kernel, deriver.facts, user, bars, together=False)
    kernel = replace(kernel, body=without_empty_sweeps(kernel.body))
    done, tape = taped(kernel, 1)
    deriver.functions[name] = done
    names = [name]
    if tape is not None:
        counter = ctx.unique(f"{instance.name}_steps")
        counted = counting(kernel, counter, 1, bars)
        deriver.functions[counter] = tidy(
            counted, deriver.facts, user, frozenset({counted.params[-1].name}), together=False
        )
        tape = replace(tape, counter=counter)
        names.append(counter)
    return DeviceProgram(name, collected(deriver, tuple(names)), tape, tuple(outputs), written)


def _primal(fun: Any, ctx: Context) -> Function:
    return next(i.function for i in ctx.instances.values() if i.function is not None and i.fun is fun)


def _require_own(fn: Function, shared: list[str]) -> None:
    """Refuse writing into an array that all elements of the batch are given: they would do so at the same time.

    Raises:
        AliasError: at the first line that writes into one.
    """
    for name, span in _writes(fn, shared):
        raise AliasError(f"every element of the batch writes into `{name}`", span,
                         "Give each an array of its own, along an axis of in_axes.")  # fmt: skip


def _writes(fn: Function, names: list[str]) -> list[tuple[str, Span]]:
    """Return the arrays, each with the first line that writes into it or passes it on."""
    found: list[tuple[str, Span]] = []
    for name in names:
        for stmt in statements(fn.body):
            places = (stmt.place,) if isinstance(stmt, Store) else stmt.args if isinstance(stmt, CallStmt) else ()
            if any(root is not None and root.name == name for root in map(root_of, places)):
                found.append((name, stmt.span))
                break
        else:
            found.append((name, fn.span))
    return found


def _batch(kind: Type) -> Array:
    assert isinstance(kind, Array | Scalar)
    dims = kind.dims if isinstance(kind, Array) else ()
    return Array(kind.dtype, (Sym("batch", nonone=True), *dims), "A")


def _one(kind: Type) -> Type:
    return Scalar(kind.dtype) if isinstance(kind, Scalar) else kind


def _numbers(fn: Function, wrt: tuple[int, ...]) -> list[Any]:
    """Return the types of the differentiated numbers: their adjoints are of the same precision."""
    return [fn.params[i].type for i in wrt if isinstance(fn.params[i].type, Scalar)]


def _result_names(mode: str, fn: Function, wrt: tuple[int, ...], results: tuple[Expr, ...]) -> list[str]:
    bars = [f"{fn.params[i].name}_bar" for i in wrt if isinstance(fn.params[i].type, Scalar)]
    if mode == "primal":
        bars = []
    values = len(results) - len(bars)
    return [*("value" if values == 1 else f"value_{n}" for n in range(values)), *bars]


def _derived(
    fun: Any, mode: str, types: tuple[Type, ...], wrt: tuple[int, ...], ctx: Context
) -> tuple[Deriver, Function]:
    instance = instantiate(ctx, fun, types, Span("<call>", 0, 0, 0, 0, getattr(fun, "__name__", "")))
    fn = instance.function
    assert fn is not None
    without_outer_arrays(fn, (c.var.name for c in instance.captured))
    deriver = Deriver(ctx)
    checked(reachable(deriver.functions, fn.name))
    if any(isinstance(kind, Array) for kind in fn.results):
        raise UnsupportedSyntaxError("a device function cannot return an array", fn.span,
                                     "Pass an array to write into, and differentiate it as a kernel.")  # fmt: skip
    for i in wrt:
        if not is_inexact(fn.params[i].type):
            raise NotDifferentiableError(f"argument `{fn.params[i].name}` is not a real number", fn.span)
    user = frozenset(names_in(fn.body) | {p.name for p in fn.params})
    what = {"grad": "Gradient", "value_and_grad": "Value and gradient", "vjp": "Value and adjoint",
            "jvp": "Value and tangent", "primal": "Value"}[mode]  # fmt: skip
    doc = f"{what} of `{instance.name}`, for one thread."
    if mode == "primal":
        namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
        made = replace(structured(fn, namer), name=ctx.unique(f"{instance.name}_device"), doc=doc)
        return deriver, made
    name = ctx.unique(f"{instance.name}_{mode}")
    if mode == "jvp":
        made = with_shadows(tangent(fn, name, wrt, deriver.facts, deriver.callee_tangent), fn)
        return deriver, with_memory(
            tidy(replace(made, doc=doc), deriver.facts, user, _arrays(made.params), together=False)
        )
    return deriver, _reverse(deriver, fn, name, mode, wrt, doc, user)


def _reverse(
    deriver: Deriver, fn: Function, name: str, mode: str, wrt: tuple[int, ...], doc: str, user: frozenset[str]
) -> Function:
    seed = None if mode == "vjp" else 1.0
    if seed is not None and len(fn.results) != 1:
        raise NotDifferentiableError("a gradient needs one real result", fn.span, "Use `vjp`.")
    wanted = mode != "grad"
    made = sweeps(
        fn, wrt, deriver.facts, deriver.callee_adjoint, False, tuple(is_inexact(k) for k in fn.results), seed,
        wants_values=wanted, device=True,
    )  # fmt: skip
    sections, values = with_values(made, wanted)
    shadows = [b for i, b in zip(wrt, made.bars, strict=True) if isinstance(fn.params[i].type, Array)]
    numbers = [b for i, b in zip(wrt, made.bars, strict=True) if not isinstance(fn.params[i].type, Array)]
    extra = tuple(Param(v.name, v.type) for v in (*made.seeds, *shadows) if isinstance(v, Var))
    returned = (*values, *numbers)
    body = (*sections, Return(returned, fn.span))
    whole = Function(name, (*made.primal.params, *extra), body, tuple(r.type for r in returned), doc, fn.span)
    outputs = frozenset(s.name for s in shadows if isinstance(s, Var))
    kept = user | frozenset(names_in(made.primal.body))
    whole = tidy(with_shadows(whole, fn), deriver.facts, kept, outputs, silent=True, together=False)
    return with_memory(replace(whole, body=without_empty_sweeps(whole.body)))


def _arrays(params: tuple[Param, ...]) -> frozenset[str]:
    return frozenset(p.name for p in params if isinstance(p.type, Array))
