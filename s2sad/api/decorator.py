"""`@differentiate`: a function with its primal compiled and its derivatives as attributes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, overload

from s2sad.api import pickling
from s2sad.api.closures import forget
from s2sad.api.guess import guessed
from s2sad.api.jacobian import Jacobian
from s2sad.api.notation import annotated, parse, write
from s2sad.api.options import Options
from s2sad.api.plan import Entry, Request, differentiated, entry, select
from s2sad.api.shown import DerivativeView, Source, highlighted
from s2sad.api.signature import Argnums, label
from s2sad.api.structure import Tree, inexact_leaves, kind_text, tree_of
from s2sad.api.transformed import Transformed, plain, store_for
from s2sad.api.transforms import forward_of, hvp, jvp, reverse_of, vjp
from s2sad.api.vmap import Batched, vmap
from s2sad.errors import ArgumentError, S2SADError
from s2sad.ir.types import Scalar

if TYPE_CHECKING:
    from s2sad.api.intermediates import Intermediates

P = ParamSpec("P")
R = TypeVar("R")

_SAY_TYPES = "Call it once, annotate it, or pass types=."
MODES = ("primal", "grad", "value_and_grad", "jvp", "vjp", "fwd", "bwd")


class Differentiable(Generic[P, R]):
    """A function under `@differentiate`: call it, or one of its derivatives.

    Attributes:
        py_func: the function as it was written.
        argnums: which arguments its gradients are taken for.
        target: where it and its derivatives run.
        options: everything else that was chosen.
    """

    __s2sad_differentiable__ = True

    def __init__(self, py_func: Callable[P, R], argnums: Argnums, target: str, options: Options) -> None:
        """Hold the function; nothing is compiled before the first call."""
        self.py_func = py_func
        self.argnums: Argnums = argnums
        self.target, self.options = target, options
        functools.update_wrapper(self, py_func, updated=())
        self.__signature__ = inspect.signature(py_func)
        self._primal: Transformed[P, R] = Transformed(py_func, "primal", argnums, options, target)
        self._primal.store.binder.check(argnums)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the function returns, compiled."""
        return self._primal(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function when a class holds it."""
        if instance is None:
            return self
        bound: Any = self.py_func.__get__(instance, owner)  # type: ignore[attr-defined]
        return Differentiable(bound, self.argnums, self.target, self.options)

    @property
    def s2sad_procedure(self) -> Callable[..., Any] | None:
        """What the compiler reads instead of a procedure that returns through its arguments."""
        return plain(self) if self.options.outputs else None

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """What Numba sees when compiled code calls this function or reads its `grad`."""
        from s2sad.api.in_numba import numba_type

        return numba_type(self)

    @functools.cached_property
    def grad(self) -> Transformed[P, Any]:
        """The gradient, a function of the same arguments; see `s2sad.grad`."""
        return Transformed(self.py_func, "grad", self.argnums, self.options, self.target)

    @functools.cached_property
    def value_and_grad(self) -> Transformed[P, tuple[Any, Any]]:
        """Value and gradient in one go; see `s2sad.value_and_grad`."""
        return Transformed(self.py_func, "value_and_grad", self.argnums, self.options, self.target)

    @functools.cached_property
    def jacobian(self) -> Jacobian[P]:
        """The Jacobian; see `s2sad.jacrev`."""
        return Jacobian(self.py_func, "jacrev", self.argnums, self.options, self.target)

    @functools.cached_property
    def hessian(self) -> Jacobian[P]:
        """The Hessian; see `s2sad.hessian`."""
        return Jacobian(self.py_func, "hessian", self.argnums, self.options, self.target)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        """Return `(out, out_dot)`; see `s2sad.jvp`."""
        return jvp(self.py_func, primals, tangents, target=self.target, options=self.options)

    def vjp(self, *primals: Any) -> tuple[Any, ...]:
        """Return `(out, pullback)`; see `s2sad.vjp`."""
        return vjp(self.py_func, *primals, target=self.target, options=self.options)

    def hvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Return the Hessian times a vector; see `s2sad.hvp`."""
        return hvp(self.py_func, primals, tangents, self.argnums, target=self.target, options=self.options)

    def vmap(self, in_axes: Any = 0, out_axes: Any = 0) -> Batched[P]:
        """Return the function mapped over batches; see `s2sad.vmap`."""
        return vmap(self, in_axes, out_axes)

    def source(self, mode: str = "grad", types: Any = None) -> Source:
        """Return the Python source of a derivative: a string, shown in colours by notebooks.

        Args:
            mode: "primal", "grad", "value_and_grad", "jvp", "vjp", "fwd" or "bwd".
            types: a signature such as "float64[:], float64", or example values in a tuple; else
                the annotations decide, else the last call, else how the parameters are used.

        Raises:
            ArgumentError: an unknown mode, or types that are neither given nor known.
        """
        return Source(self.derivative(mode, types).source)

    def derivative(self, mode: str = "grad", types: Any = None) -> DerivativeView:
        """Return a derivative over flat leaves: `.source`, `.py_func`, `.path`, `.explanation`; callable."""
        return DerivativeView(mode, self._entry(mode, types))

    @property
    def intermediates(self) -> Intermediates:
        """What the last call computed on its way, of the function or of a derivative, under `debug=True`.

        Raises:
            ArgumentError: nothing was called yet, or not under `debug=True`.
        """
        from s2sad.api.intermediates import last_of

        return last_of(plain(self.py_func, self.options) if self.options.debug is True else None, label(self.py_func))

    def as_cfunc(self, mode: str = "primal", types: Any = None, packed: bool = False) -> Any:
        """Return the function, or its gradient, as a C function for `scipy.LowLevelCallable(f.ctypes)`.

        Args:
            mode: "primal", or "grad" for the derivative by one argument.
            types: as for `source`; every argument and the result must be a number.
            packed: the C function is `double (int, double *)`, else it takes one argument each.

        Raises:
            ArgumentError: an argument or the result is no number.
            CompileError: the target is not "cpu".
        """
        from s2sad.backends.cfunc import cfunc

        made = self._entry(mode, types)
        results = made.derivative.derived.functions[made.derivative.module.entry].results
        for leaf in made.leaves:
            if not isinstance(leaf.type, Scalar) or (packed and leaf.type.dtype != "float64"):
                raise ArgumentError(f"`{leaf.path}` is {kind_text(leaf)}, which this C function cannot take")
        if len(results) != 1 or not isinstance(results[0], Scalar) or made.captured.items:
            raise ArgumentError(f"`{label(self.py_func)}` in mode {mode!r} is no C function: it must return one number")
        dtypes = tuple(leaf.type.dtype for leaf in made.leaves if isinstance(leaf.type, Scalar))
        return cfunc(made.loaded, dtypes, results[0].dtype, packed)

    def _entry(self, mode: str, types: Any) -> Entry:
        if mode not in MODES:
            raise ArgumentError(f"`{mode}` is no mode of a derivative", why=f"Use one of {', '.join(MODES)}.")
        known = self._known_trees(types)
        trees = self._guessed_trees() if known is None else known
        request = Request(plain(self.py_func, self.options), self.target, self.options)
        wrt = () if mode == "primal" else tuple(leaf for tree in trees for leaf in inexact_leaves(tree))
        if mode in ("grad", "value_and_grad"):
            wrt = self._wrt(trees)
        try:
            return entry(request, mode, trees, wrt)
        except S2SADError as error:
            if known is None:
                taken = ", ".join(f"`{tree.path}` for {write(tree.type)}" for tree in trees)
                error.add_note(f"Nothing says the types, and the use was taken to mean: {taken}. {_SAY_TYPES}")
            raise

    def _wrt(self, trees: tuple[Tree, ...]) -> tuple[Tree, ...]:
        binder = self._primal_store.binder
        stand_ins = tuple(tree.children for tree in trees)  # only the length of `*args` is asked for
        return differentiated(select(trees, binder.places(self.argnums, stand_ins)), self.options)

    @property
    def _primal_store(self) -> Any:
        return self._primal.store

    def _stores(self) -> list[Any]:
        flat = [self._primal.store, self.grad.store, self.value_and_grad.store]
        args = (self.py_func, self.options, self.target)
        return [*flat, forward_of(*args), reverse_of(*args)]

    def _outer_stores(self) -> list[Any]:
        """Return where `s2sad.grad(self)`, `s2sad.vjp(self, ...)` and their like keep what they derived."""
        gradients = [store_for(self, kind, self.argnums, Options(), self.target) for kind in ("grad", "value_and_grad")]
        return [*gradients, *(of(self, Options(), self.target) for of in (forward_of, reverse_of))]

    def _known_trees(self, types: Any) -> tuple[Tree, ...] | None:
        """Return the structures of the parameters: as given, as annotated, or as last called; None if nothing says."""
        names = self._primal_store.binder.names
        if isinstance(types, str):
            return _named(parse(types, names), names)
        if types is not None:
            values = self._primal_store.binder.bind(tuple(types), {})
            return self._primal_store.describe(values)
        found = annotated(self.py_func, names)
        if found is not None:
            return _named(found, names)
        primal, *derivatives = self._stores()
        called = [store.last for store in (*derivatives, primal, *self._outer_stores()) if store.last is not None]
        return called[0] if called else None

    def _guessed_trees(self) -> tuple[Tree, ...]:
        """Return the structures of the parameters as their use suggests."""
        names = self._primal_store.binder.names
        found = guessed(self.py_func)
        if found is not None and len(found) == len(names):
            return _named(found, names)
        raise ArgumentError(
            f"the types of the arguments of `{label(self.py_func)}` are not known",
            why=f'{_SAY_TYPES[:-1]}, such as types="float64[:], float64", for {", ".join(names)}.',
        )

    @property
    def signatures(self) -> list[tuple[str, ...]]:
        """The argument types that something has been compiled for, a tuple per signature."""
        found: dict[tuple[str, ...], None] = {}
        for store in self._stores():
            known = store.known()
            for special in known:
                found[tuple(write(tree.type) for tree in special[0])] = None
        return list(found)

    def inspect_types(self, file: Any = None) -> None:
        """Print the source of everything that has been compiled, under the types it is for."""
        for kind, store in zip(("primal", "grad", "value_and_grad"), self._stores(), strict=False):
            for trees, plan in store.known():
                types = ", ".join(write(tree.type) for tree in trees)
                print(
                    f"# {label(self.py_func)} ({types}), {kind}\n{plan.entry.derivative.text}",
                    file=file,
                )

    def recompile(self) -> None:
        """Forget what was derived; the next call derives again, from the source as it is then."""
        for store in (*self._stores(), *self._outer_stores()):
            store.clear()
        forget(self.py_func)

    def __repr__(self) -> str:
        """Name the function, its signature and its options."""
        where = f"argnums={self.argnums!r}, target={self.target!r}"
        return f"<s2sad.differentiate {self.py_func.__qualname__}{self.__signature__}, {where}>"

    def _repr_html_(self) -> str:
        """Show the function's source, highlighted, in a notebook."""
        try:
            text = inspect.getsource(self.py_func)
        except OSError:
            text = repr(self)
        return highlighted(text)

    def _identity(self) -> tuple[Any, ...]:
        return self.py_func, self.argnums, self.target, self.options

    def __eq__(self, other: object) -> bool:
        """The same function with the same options is equal."""
        return isinstance(other, Differentiable) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Hash as `__eq__` compares."""
        return hash(self._identity())

    def __copy__(self) -> Differentiable[P, R]:
        """Return an equal object, which shares what was derived."""
        return Differentiable(*self._identity())

    def __deepcopy__(self, memo: dict[int, Any]) -> Differentiable[P, R]:
        """Return an equal object: functions are not copied."""
        return self.__copy__()

    def __reduce__(self) -> Any:
        """Pickle by name where the name leads here, else by the function's source."""
        name = pickling.global_name(self)
        if name is not None and self.__module__ != "__main__":
            return name
        return restored, (pickling.portable(self.py_func), *self._identity()[1:])


def restored(carried: Any, argnums: Argnums, target: str, options: Options) -> Differentiable[..., Any]:
    """Rebuild a pickled `Differentiable`."""
    return Differentiable(pickling.restored(carried), argnums, target, options)


def _named(types: Sequence[Any], names: Sequence[str]) -> tuple[Tree, ...]:
    return tuple(tree_of(kind, name) for kind, name in zip(types, names, strict=True))


@overload
def differentiate(fun: Callable[P, R], /) -> Differentiable[P, R]: ...
@overload
def differentiate(
    *,
    argnums: Argnums = ...,
    target: str = ...,
    parallel: bool = ...,
    fastmath: bool | frozenset[str] = ...,
    cache: bool = ...,
    outputs: tuple[str, ...] = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    debug_nans: bool = ...,
    debug: bool | Literal["gdb"] = ...,
) -> Callable[[Callable[P, R]], Differentiable[P, R]]: ...
def differentiate(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    argnums: Argnums = 0,
    target: str = "cpu",
    parallel: bool = False,
    fastmath: bool | frozenset[str] = False,
    cache: bool = True,
    outputs: tuple[str, ...] = (),
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    debug_nans: bool = False,
    debug: bool | Literal["gdb"] = False,
) -> Any:
    """Compile a function, and give it its derivatives as attributes.

    Args:
        fun: the function, when the decorator is used bare.
        argnums: which arguments: a position, a name, or a tuple of them.
        target: "cpu" compiles by Numba, "python" runs in CPython; with "cuda" the function and its
            derivatives are device functions besides (`.device`), and calls from the host run as on "cpu".
        parallel: on target "cpu", share the turns of loops over a `prange` between threads, as is done in any case
            in functions under `@njit(parallel=True)`.
        fastmath: Numba's option of that name.
        cache: keep machine code on disk.
        outputs: the parameters through which a procedure returns its results.
        has_aux: the function returns `(output, aux)`.
        holomorphic: the function is complex-differentiable.
        allow_int: integer arguments get a gradient of zeros.
        debug_nans: stop at the first NaN or infinity that a derivative produces.
        debug: True runs everything in CPython, keeps every intermediate value in `.intermediates`, and
            stops at the first that is not finite; "gdb" compiles so that gdb steps line by line.

    Returns:
        A `Differentiable`: `.grad`, `.value_and_grad`, `.jvp`, `.vjp`, `.jacobian`, `.hessian`,
        `.hvp`, `.source(mode)`, `.derivative(mode)`, `.py_func`, `.signatures`, `.recompile()`.

    Raises:
        ArgumentError: `argnums` or `outputs` names no argument, or the target is not known.

    Example:
        >>> import s2sad
        >>> @s2sad.differentiate(target="python")
        ... def square(x):
        ...     return x * x
        >>> square.grad(3.0)
        6.0
    """
    options = Options(
        aux=has_aux,
        holomorphic=holomorphic,
        allow_int=allow_int,
        outputs=(outputs,) if isinstance(outputs, str) else tuple(outputs),
        fastmath=frozenset(fastmath) if isinstance(fastmath, set) else fastmath,
        parallel=parallel,
        cache=cache,
        debug_nans=debug_nans,
        debug=debug,
    )
    chosen: Argnums = tuple(argnums) if isinstance(argnums, list) else argnums

    if debug not in (True, False, "gdb"):
        raise ArgumentError(f"debug={debug!r} is not known", why='Use True, or "gdb".')

    def decorate(function: Callable[..., Any]) -> Differentiable[..., Any]:
        from s2sad.backends.base import effective

        function = function.py_func if isinstance(function, Differentiable) else function
        if isinstance(function, staticmethod | classmethod):
            above = f"@{type(function).__name__}"
            raise ArgumentError(f"`differentiate` stands above `{above}`", why=f"Put it below: `{above}` comes first.")
        if not callable(function):
            raise ArgumentError(f"a function is needed, not `{function!r}`")
        if target == "cuda":
            from s2sad.api.device import DeviceDifferentiable

            return DeviceDifferentiable(function, chosen, options)
        effective(target)
        for name in options.outputs:
            if name not in inspect.signature(function).parameters:
                raise ArgumentError(f"`{label(function)}` has no parameter {name!r} to return through")
        return Differentiable(function, chosen, target, options)

    return decorate if fun is None else decorate(fun)
