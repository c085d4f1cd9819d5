"""`checkpoint`: compute again in the reverse sweep what would otherwise be kept from the forward one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, ParamSpec, TypeVar, overload

from s2sad.api.pieces import part
from s2sad.api.transformed import plain
from s2sad.errors import ArgumentError, Span
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import BottomReached, Context, Instance
from s2sad.ir.types import Type

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(fun: None = None) -> AbstractContextManager[None]: ...
@overload
def checkpoint(fun: Callable[P, R]) -> Checkpointed[P, R]: ...
def checkpoint(fun: Callable[..., Any] | None = None) -> Any:
    """Keep the arguments of a function, or the state before each segment of a loop, and compute the rest again.

    As a function: a reverse sweep that goes through a call of `checkpoint(f)` keeps the arguments of the
    call and runs `f` again. As `with s2sad.checkpoint():` around one `for` loop over a `range`: the loop of
    n turns runs in about √n segments of about √n turns; kept are the variables before each segment, and
    the tapes of one segment at a time. Either way the derivative is the same, but for the order in which
    contributions are added, at the cost of one more run of the primal. Outside a differentiated function
    both do nothing.

    Args:
        fun: the function; left out, a context manager is returned.

    Returns:
        A function with the signature of `fun`, or the context manager.

    Raises:
        ArgumentError: `fun` is no function.

    Example:
        >>> import s2sad
        >>> def power(x, n):
        ...     y = 1.0
        ...     with s2sad.checkpoint():
        ...         for i in range(n):
        ...             y = y * x
        ...     return y
        >>> s2sad.grad(power)(2.0, 10)
        5120.0
    """
    return nullcontext() if fun is None else Checkpointed(fun)


checkpoint.s2sad_checkpoint = True  # type: ignore[attr-defined]


class Checkpointed(Generic[P, R]):
    """A function whose adjoint keeps its arguments and runs it again.

    Attributes:
        fun: the function.
    """

    __s2sad_transformed__ = True
    s2sad_kind = "checkpoint"

    def __init__(self, fun: Callable[P, R]) -> None:
        """Hold the function."""
        if not callable(fun):
            raise ArgumentError(f"a function is needed, not `{fun!r}`")
        self.fun = fun
        functools.update_wrapper(self, fun, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the function returns."""
        return self.fun(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function when a class holds it."""
        bound: Any = self.fun
        return self if instance is None else Checkpointed(bound.__get__(instance, owner))

    def __eq__(self, other: object) -> bool:
        """Two checkpoints of one function are equal."""
        return isinstance(other, Checkpointed) and self.fun == other.fun

    def __hash__(self) -> int:
        """Hash as `__eq__` compares."""
        return hash((Checkpointed, self.fun))

    def __repr__(self) -> str:
        """Name the function."""
        return f"<s2sad.checkpoint of {getattr(self.fun, '__qualname__', None) or repr(self.fun)}>"

    def s2sad_bind(self, lw: Any, args: Any, kwargs: Any, node: Any) -> Any:
        """Give the compiler one value per parameter of the function."""
        from s2sad.frontend.functions import bind_arguments

        return bind_arguments(lw, plain(self.fun), args, kwargs, node)

    def s2sad_instance(self, ctx: Context, types: tuple[Type, ...], span: Span) -> Instance:
        """Return the function as one of the program: its adjoint runs its own forward sweep."""
        inner = instantiate(ctx, plain(self.fun), types, span)
        if inner.result is None or inner.function is None:
            raise BottomReached
        ctx.keep.append(self)
        ctx.run_again.add(inner.name)
        return part(ctx, ("checkpoint", inner.name), inner, types, inner.result)
