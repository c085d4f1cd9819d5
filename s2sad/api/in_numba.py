"""Derivatives as Numba sees them: called inside the user's own `@njit` code.

Numba asks an object it does not know for its `_numba_type_`. The type given here derives and compiles
for the argument types that Numba infers, and then behaves as the dispatcher of that derivative.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numba
import numpy as np
from numba.core import errors, sigutils, types
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, lower_getattr_generic, models, register_model, unbox

from s2sad.api.plan import Entry, Request, differentiated, entry, select
from s2sad.api.signature import Binder, label
from s2sad.api.structure import Tree, tree_of
from s2sad.api.transformed import Transformed, plain
from s2sad.errors import S2SADError
from s2sad.ir.types import Array, Scalar, Static, Struct, Sym, Type

_KINDS = ("primal", "grad", "value_and_grad")


class DerivativeType(types.Callable, types.Opaque):
    """The Numba type of one transformed function; two of equal functions are equal."""

    def __init__(self, owner: Transformed[Any, Any], public: Any) -> None:
        """Keep the transform, and the object whose attributes can be read in compiled code."""
        self.owner, self.public = owner, public
        self._compiled: dict[Any, Any] = {}
        super().__init__(f"s2sad({owner!r}, {id(getattr(owner, 'store', owner))})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature for these argument types, compiling the derivative for them."""
        try:
            dispatcher = self._dispatcher(tuple(types.unliteral(arg) for arg in args), dict(kws))
        except S2SADError as error:
            raise errors.TypingError(str(error)) from error
        template, _, full, named = dispatcher.get_call_template(args, kws)
        found = template(context).apply(full, named)
        self._compiled[tuple(found.args)] = dispatcher
        return found

    def get_call_signatures(self) -> Any:
        """Return what has been compiled, for Numba's messages."""
        return [sigutils.normalize_signature(key)[0] for key in self._compiled], True

    def get_impl_key(self, sig: Any) -> Any:
        """Return the compiled function of a signature."""
        return self._compiled[tuple(sig.args)].get_overload(sig)

    def _dispatcher(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        if kws:
            raise errors.TypingError("a derivative takes its arguments by position in compiled code")
        owner = self.owner
        if hasattr(owner.fun, "s2sad_mapped"):
            raise errors.TypingError("a linear map keeps values of one run: it cannot be called in compiled code")
        binder = _binder(owner)
        if len(args) != binder.arity:
            raise errors.TypingError(f"`{label(owner.fun)}` needs {binder.arity} arguments in compiled code")
        trees = tuple(tree_of(type_of(kind, name), name) for kind, name in zip(args, binder.names, strict=True))
        key = tuple(tree.type for tree in trees)
        if key not in self._compiled:
            self._compiled[key] = self._derive(trees)
        return self._compiled[key]

    def _derive(self, trees: tuple[Tree, ...]) -> Any:
        owner = self.owner
        if owner.kind not in _KINDS or owner.options.aux:  # as where it stands in a function
            whole = entry(Request(owner, "cpu", replace(owner.options, aux=False)), "primal", trees, ())
            return _shaped(whole, [_display(whole.output, iter(_names(whole)))], True)
        request = Request(plain(owner.fun, owner.options), "cpu", owner.options)
        if owner.kind == "primal":
            made = entry(request, "primal", trees, ())
            return _shaped(made, [_display(made.output, iter(_names(made)))], True)
        places = owner.store.binder.places(owner.argnums, tuple(tree.children for tree in trees))
        chosen = select(trees, places)
        made = entry(request, owner.kind, trees, differentiated(chosen, owner.options))
        parts = iter(_names(made))
        value = [_display(made.output, parts)] if owner.kind == "value_and_grad" else []
        bars = [_display(tree, parts) for tree in chosen]
        gradient = f"({', '.join(bars)},)" if isinstance(owner.argnums, tuple) else bars[0]
        return _shaped(made, [*value, gradient], not value)


def _binder(owner: Any) -> Binder:
    """Return what knows the parameters of a transformed function."""
    binder: Binder = owner.store.binder if hasattr(owner, "store") else owner._binder
    return binder


def _names(made: Entry) -> list[str]:
    return [f"r{i}" for i in range(_count(made))]


def _count(made: Entry) -> int:
    return len(made.derivative.gives)


def _display(tree: Tree, parts: Any) -> str:
    """Write a value of a structure of tuples from its leaves."""
    if isinstance(tree.type, Struct):
        if tree.type.kind != "tuple":
            raise errors.TypingError(f"`{tree.path}`: only tuples can be returned in compiled code")
        return f"({', '.join(_display(child, parts) for child in tree.children)},)"
    return "None" if isinstance(tree.type, Static) else next(parts)


def _shaped(made: Entry, results: list[str], bare: bool) -> Any:
    """Return a dispatcher that takes the arguments as the user has them and shapes the results."""
    if not hasattr(made.loaded.entry, "get_call_template"):
        raise errors.TypingError("a derivative that is not compiled (S2SAD_DISABLE_JIT) was called in compiled code")
    arguments: list[str] = []
    leaves: list[str] = []
    seen: dict[str, None] = {}
    for leaf in made.leaves:
        root = leaf.path.split("[")[0]
        if root not in seen:
            seen[root] = None
            arguments.append(root)
        leaves.append(leaf.path)
    captured = made.captured.read()
    held = {f"captured_{i}": value for i, value in enumerate(captured)}
    call = f"derivative({', '.join([*leaves, *held])})"
    names = _names(made)
    checks = _overlap_checks(made)
    whole = results[0] if bare else f"({', '.join(results)})"
    if names == [whole]:
        lines = [f"return {call}"]
    else:
        lines = [f"{', '.join(names)}{',' * (len(names) > 1)} = {call}", f"return {whole}"]
    lines = [*checks, *lines]
    text = f"def {made.derivative.module.entry}({', '.join(arguments)}):\n    " + "\n    ".join(lines) + "\n"
    space: dict[str, Any] = {"derivative": made.loaded.entry, "overlap": overlap, **held}
    exec(compile(text, f"<{made.derivative.module.entry} in compiled code>", "exec"), space)
    return numba.njit(space[made.derivative.module.entry])


def _overlap_checks(made: Entry) -> list[str]:
    """Write the checks that no array overlaps one that the function writes into."""
    if not made.derivative.written:
        return []
    main = made.derivative.derived.instance.function
    arrays = [i for i, leaf in enumerate(made.leaves) if isinstance(leaf.type, Array)]
    checks: list[str] = []
    for i in arrays:
        if main.params[i].name in made.derivative.written:
            for j in arrays:
                if i != j:
                    first, second = made.leaves[i].path, made.leaves[j].path
                    checks.append(f"if overlap({first}, {second}):")
                    checks.append(f"    raise ValueError('`{first}` is written and overlaps `{second}`: pass a copy')")
    return checks


@numba.njit
def overlap(x: Any, y: Any) -> bool:
    """Say whether the extents of two arrays in memory meet."""
    first, second = extent(x), extent(y)
    return x.size > 0 and y.size > 0 and first[0] < second[1] and second[0] < first[1]


@numba.njit
def extent(x: Any) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the one after its last."""
    low = high = x.ctypes.data
    for n, stride in zip(x.shape, x.strides):
        reach = (n - 1) * stride
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high + x.itemsize


def type_of(kind: Any, name: str) -> Type:
    """Return the type of a Numba type: lengths are not known, not even that they differ from 1."""
    match kind:
        case types.Array():
            dims = tuple(Sym(f"{name}.{axis}") for axis in range(kind.ndim))
            dtype = np.dtype(str(kind.dtype)).name
            return Array(dtype, dims, kind.layout) if dims else Scalar(dtype)
        case types.Float() | types.Complex() | types.Integer() | types.Boolean():
            return Scalar(np.dtype(str(kind)).name)
        case types.BaseTuple() if not isinstance(kind, types.BaseNamedTuple):
            items = tuple(type_of(item, f"{name}_{i}") for i, item in enumerate(tuple(kind)))  # type: ignore[arg-type]
            return Struct("tuple", tuple(range(len(items))), items)
        case types.Omitted() | types.NoneType():
            return Static(getattr(kind, "value", None))
        case _:
            raise errors.TypingError(
                f"a derivative in compiled code takes numbers, arrays and tuples of them; `{name}` is {kind}"
            )


register_model(DerivativeType)(models.OpaqueModel)


@unbox(DerivativeType)
def _argument(typ: Any, value: Any, c: Any) -> Any:
    """Let compiled code take a derivative as an argument: all that there is to know is in its type."""
    return NativeValue(c.context.get_dummy_value())


@infer_getattr
class _Attributes(AttributeTemplate):
    """`f.grad` of a decorated function, read in compiled code."""

    key = DerivativeType

    def generic_resolve(self, typ: DerivativeType, attr: str) -> Any:
        if attr not in ("grad", "value_and_grad", "jacobian", "hessian"):
            return None
        return numba_type(getattr(typ.public, attr))


@lower_getattr_generic(DerivativeType)
def _attribute(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    return context.get_dummy_value()


def numba_type(owner: Any) -> DerivativeType:
    """Return the Numba type of a transformed or a decorated function."""
    inner: Transformed[Any, Any] = owner if isinstance(owner, Transformed) else owner._primal
    return DerivativeType(inner, owner)
