"""The grammar: every expression and statement that s2sad reads, differentiates and prints.

Expressions are trees, not flat three-address code: the user's own nesting is kept, so that the
emitted text is the user's text and Numba can fuse it. Control flow is structured. Whatever the
adjoint emits (tapes are plain arrays and lists) is in the same grammar, so that a derivative can
be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from s2sad.errors import NOWHERE, Span
from s2sad.ir.types import Type


@dataclass(frozen=True, slots=True)
class Var:
    """A local name or parameter."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Const:
    """A literal: int, float, complex, bool, str, None; or a captured scalar."""

    value: Any
    type: Type


@dataclass(frozen=True, slots=True)
class Apply:
    """A call of a pure function of NumPy, `math` or `operator`, or of `ir.ops`.

    `fn` is the callable itself: rules and printing are keyed by the object. `static` holds the
    keyword arguments known at transform time (`axis=0`), in the order of the call.
    """

    fn: Callable[..., Any]
    args: tuple[Expr, ...]
    type: Type
    static: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """`lower:upper:step` inside an index; None where nothing was written."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Index:
    """`base[index]`, read or as a place.

    An item is a scalar, an index array, a `Slice`, or a `Const` None (a new axis). `...` has been
    expanded to full slices.
    """

    base: Expr
    index: tuple[Expr | Slice, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Pack:
    """A tuple or list display used as an argument: `np.zeros((n, m))`, `np.stack([a, b])`."""

    kind: str  # "tuple" or "list"
    items: tuple[Expr, ...]
    type: Type


Expr = Var | Const | Apply | Index | Pack


@dataclass(frozen=True, slots=True)
class Assign:
    """`name = value`: binds the name. `value` that is a view or a name makes an alias."""

    target: Var
    value: Expr
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Store:
    """`place op= value`, written in place; `op` is "" or one of `+ - * / // % ** @ & | ^`.

    `place` is an `Index`, or a `Var` of array type (`x += e`), or a view chain over one.
    `accumulate` marks the `+=` of an adjoint: on CUDA it may become atomic, and with an index
    array it adds duplicates.
    """

    place: Expr
    op: str
    value: Expr
    span: Span = NOWHERE
    accumulate: bool = False


@dataclass(frozen=True, slots=True)
class CallStmt:
    """`targets = callee(args)`: a function of the program, by its unique name.

    A library function with several results, such as `np.linalg.eigh`, stands in `fn` itself, with
    its keywords in `static`; `callee` is then empty. Such a call writes nothing and shares nothing.
    """

    targets: tuple[Var, ...]
    callee: str
    args: tuple[Expr, ...]
    span: Span = NOWHERE
    fn: Callable[..., Any] | None = None
    static: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Append:
    """`list.append(value)`."""

    list: Var
    value: Expr
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Swap:
    """`first, second = second, first`: two arrays exchange their names, as in double buffering."""

    first: Var
    second: Var
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class If:
    """A branch."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class For:
    """`for var in range(start, stop, step): body`; `at_once`: its turns run on several threads."""

    var: Var
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    span: Span = NOWHERE
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class While:
    """`while test: body`."""

    test: Expr
    body: tuple[Stmt, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop."""

    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with the next iteration of the innermost loop."""

    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Return:
    """Return the flat results."""

    values: tuple[Expr, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Raise:
    """`raise error(message)`; `error` is the exception class."""

    error: type[BaseException]
    args: tuple[Expr, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert test, message`."""

    test: Expr
    message: Expr | None
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Effect:
    """A call for its effect alone, such as `print`; done in the primal sweep only."""

    value: Expr
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment line; an empty text prints an empty line."""

    text: str
    span: Span = NOWHERE


Stmt = (
    Assign
    | Store
    | CallStmt
    | Append
    | Swap
    | If
    | For
    | While
    | Break
    | Continue
    | Return
    | Raise
    | Assert
    | Effect
    | Comment
)


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter and its type, and the number that it is where none is given."""

    name: str
    type: Type
    default: Const | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function of flat parameters and flat results.

    `returns` names the result count: 0 for a procedure, 1 prints `return x`, more a tuple. `invented` are
    names that are not the user's: those in code that stands for a library function. `named` are the names
    of the results, where their values should have one.
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    results: tuple[Type, ...]
    doc: str = ""
    span: Span = NOWHERE
    invented: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """An entry function and every function that it calls, by unique name, callees first."""

    entry: str
    functions: dict[str, Function] = field(default_factory=dict[str, Function])

    def main(self) -> Function:
        """Return the entry function."""
        return self.functions[self.entry]
