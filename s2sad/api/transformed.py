"""`Transformed`: what every transform returns, callable, comparable, picklable."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable
from typing import Any, Generic, ParamSpec, TypeVar

from s2sad.api import pickling
from s2sad.api.direct import MISSED
from s2sad.api.lengths import clearest
from s2sad.api.options import Options
from s2sad.api.plan import Plan, Request, plan_of, select
from s2sad.api.signature import Argnums
from s2sad.api.specialise import Store
from s2sad.api.structure import Tree
from s2sad.api.written import has_own_source, returning, written
from s2sad.backends.base import require_target

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F")

_STORES = 1024  # as many transformed functions keep what was derived for them


def remembered(make: Callable[..., F]) -> Callable[..., F]:
    """Cache `make` over its arguments; what cannot be hashed is not remembered."""
    cached = functools.lru_cache(maxsize=_STORES, typed=True)(make)  # `argnums=True` is not `argnums=1`

    @functools.wraps(make)
    def call(*args: Any) -> F:
        try:
            return cached(*args)
        except TypeError:
            if _is_hashable(args):
                raise
        return make(*args)

    call.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
    return call


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class Transformed(Generic[P, R]):
    """A function made from another by a transform; call it, transform it again, pickle it.

    Attributes:
        fun: the function that was transformed, as it was given.
        kind: "primal", "grad", "value_and_grad", "jacfwd", "jacrev" or "hessian".
        argnums: which arguments are differentiated, as it was given.
        options: the options of the transform.
        target: where the derivative runs.
        store: what has been derived so far.
    """

    __s2sad_transformed__ = True
    _hashed: int | None = None

    @property
    def s2sad_kind(self) -> str:
        """What the compiler knows a transformed function by."""
        return self.kind

    def s2sad_shared(self) -> tuple[Hashable, Any]:
        """Return what tells this transform from others of the function, and the function."""
        return (type(self), *self._identity()[1:]), self.fun

    def s2sad_bind(self, lw: Any, args: Any, kwargs: Any, node: Any) -> Any:
        """Give the compiler one value per parameter of the function that was transformed."""
        from s2sad.frontend.functions import bind_arguments

        return bind_arguments(lw, plain(self.fun, self.options), args, kwargs, node)

    def __init__(
        self,
        fun: Callable[..., Any],
        kind: str,
        argnums: Argnums = 0,
        options: Options | None = None,
        target: str = "cpu",
    ) -> None:
        """Check the function and `argnums`; nothing is derived before the first call."""
        self.fun, self.kind, self.target = fun, kind, target
        self.argnums: Argnums = tuple(argnums) if isinstance(argnums, list) else argnums
        self.options = options or Options()
        self.store = self._make_store()
        if kind != "primal":
            self.store.binder.check(self.argnums)
        self._arity = self.store.binder.arity
        self._find = self.store.find
        functools.update_wrapper(self, fun, updated=())
        self.__signature__ = _signature(plain(fun))

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """What Numba sees when compiled code calls this function."""
        from s2sad.api.in_numba import numba_type

        return numba_type(self)

    def _make_store(self) -> Store[Any]:
        """Return where the specialisations are kept."""
        return store_for(self.fun, self.kind, self.argnums, self.options, self.target)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the derivative at these arguments, deriving and compiling it at the first call."""
        if not kwargs:
            result = self.store.direct(args)
            if result is not MISSED:
                return result
        values = args
        if kwargs or len(args) != self._arity:
            values = self.store.binder.bind(args, kwargs)
        plan, leaves = self._find(values)
        return plan.run(leaves)

    def __repr__(self) -> str:
        """Name the kind, the function and the arguments."""
        name = getattr(self.fun, "__qualname__", None) or repr(self.fun)
        return f"<s2sad.{self.kind} of {name}, argnums={self.argnums!r}, target={self.target!r}>"

    def _identity(self) -> tuple[Any, ...]:
        return self.fun, self.kind, self.argnums, self.options, self.target

    def __eq__(self, other: object) -> bool:
        """Two transforms of one function with the same options are equal."""
        return isinstance(other, Transformed) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Hash as `__eq__` compares."""
        if self._hashed is None:
            self._hashed = hash(self._identity())
        return self._hashed

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function when a class holds the transform."""
        if instance is None:
            return self
        return type(self)(self.fun.__get__(instance, owner), self.kind, self.argnums, self.options, self.target)

    def __copy__(self) -> Transformed[P, R]:
        """Return an equal transform, which shares what was derived."""
        return type(self)(*self._identity())

    def __deepcopy__(self, memo: dict[int, Any]) -> Transformed[P, R]:
        """Return an equal transform: functions are not copied."""
        return self.__copy__()

    def __reduce__(self) -> Any:
        """Pickle by name where the name leads here, else by the function and the options."""
        name = pickling.global_name(self)
        if name is not None:
            return name
        return rebuilt, (type(self), pickling.portable(self.fun), *self._identity()[1:])


@remembered
def transformed(
    cls: type[Any],
    fun: Any,
    kind: str,
    argnums: Argnums,
    aux: bool,
    holomorphic: bool,
    allow_int: bool,
    target: str | None,
) -> Any:
    """Return the transform of a function, the same one each time: `grad(f)(x)` in a loop makes it once."""
    options = Options(aux=aux, holomorphic=holomorphic, allow_int=allow_int)
    return cls(fun, kind, argnums, options, target_of(fun, target))


def rebuilt(cls: type[Any], fun: Any, kind: str, argnums: Argnums, options: Options, target: str) -> Any:
    """Rebuild a pickled transform."""
    return cls(pickling.restored(fun), kind, argnums, options, target)


def _signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):
        return None


def plain(fun: Any, options: Options | None = None) -> Any:
    """Return what the compiler differentiates: a function with source, made where there is none.

    A procedure returns what it writes into its `outputs`, whether a transform was told so or its decorator.
    """
    outputs = options.outputs if options else ()
    if getattr(fun, "__s2sad_differentiable__", False):
        fun, outputs = fun.py_func, outputs or fun.options.outputs
    fun = fun if has_own_source(fun) else written(fun)
    return returning(fun, outputs) if outputs else fun


@remembered
def store_for(fun: Callable[..., Any], kind: str, argnums: Argnums, options: Options, target: str) -> Store[Plan]:
    """Return the specialisations of one transform, shared by equal transforms."""
    request = Request(plain(fun, options), target, options)

    def build(trees: tuple[Tree, ...], values: tuple[Any, ...]) -> Plan:
        places = store.binder.places(argnums, values) if kind != "primal" else ()
        single = not isinstance(argnums, tuple)

        def planned(known: tuple[Tree, ...]) -> Plan:
            return plan_of(request, kind, known, select(known, places), single)

        return clearest(planned, lambda plan: plan.entry.derivative.text, trees, values, len(store.known()))

    store: Store[Plan] = Store(request.fun, build)
    return store


def target_of(fun: Any, target: str | None) -> str:
    """Return the target that was asked for, else the function's own, else "cpu"; raises ArgumentError for another."""
    own = getattr(fun, "target", None) if type(fun).__module__.startswith("s2sad.") else None
    chosen = target or own or "cpu"
    require_target(chosen, "cpu", "python", "cuda")
    return chosen
