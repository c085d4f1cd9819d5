"""The specialisations of one transformed function, found again by the structure of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from s2sad.api.custom import rules_key
from s2sad.api.deriving import DERIVING
from s2sad.api.direct import Direct, missed
from s2sad.api.flatten import Match
from s2sad.api.guards import Guard
from s2sad.api.known import constant, may_be_known, with_constants
from s2sad.api.signature import Binder
from s2sad.api.structure import Tree, describe
from s2sad.ir.types import Scalar, Static, Struct

_RECENT = 4  # specialisations tried by generated code before a call is described anew


class Specialisation(Protocol):
    """What the store needs to know of a specialisation."""

    match: Match
    guard: Guard | None
    direct: Direct


S = TypeVar("S", bound=Specialisation)


def _made_constant(tree: Tree, other: Tree) -> bool:
    """Say whether numbers among the arguments had to be known; lengths that had to be are asked for anew."""
    return any(isinstance(a.type, Scalar | Struct) and isinstance(b.type, Static)
               for a, b in zip(_all(tree), _all(other), strict=False))  # fmt: skip


def _all(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree.children:
        yield from _all(child)


class Store(Generic[S]):
    """Finds or builds the specialisation for a call; threads may share it.

    Attributes:
        binder: the signature of the function.
        fun: the function itself.
        direct: takes calls like the last that was described, in one step; MISSED for any other.
        last: the structures of the last call that was described.
    """

    __slots__ = ("_build", "_constants", "_known", "_latest", "_recent", "binder", "direct", "fun", "last")

    def __init__(self, fun: Callable[..., Any], build: Callable[[tuple[Tree, ...], tuple[Any, ...]], S]) -> None:
        """Keep specialisations of `fun` that `build(trees, values)` makes."""
        self.binder = Binder(fun)
        self.fun = fun
        self._build = build
        self._constants: frozenset[int] = frozenset()  # the arguments that had to be known
        self._recent: dict[tuple[Any, ...], tuple[S, ...]] = {}
        self._latest: tuple[Any, S] | None = None  # tried before anything is looked up
        self._known: dict[Any, tuple[tuple[tuple[Tree, ...], S], ...]] = {}
        self.direct: Direct = missed
        self.last: tuple[Tree, ...] | None = None

    def find(self, values: tuple[Any, ...]) -> tuple[S, tuple[Any, ...]]:
        """Return the specialisation for bound values, and their leaves."""
        rules = rules_key()
        latest = self._latest
        if latest is not None and latest[0] == rules:
            plan = latest[1]
            leaves = plan.match(values)
            if leaves is not None and (plan.guard is None or plan.guard()):
                return plan, leaves
        for plan in self._recent.get((rules, *map(type, values)), ()):
            leaves = plan.match(values)
            if leaves is not None and (plan.guard is None or plan.guard()):
                return plan, leaves
        return self._find_described(values)

    def _find_described(self, values: tuple[Any, ...]) -> tuple[S, tuple[Any, ...]]:
        trees = self.describe(values)
        rules = rules_key()
        key = (rules, *(tree.key for tree in trees))
        with DERIVING:
            found = self._fitting(key, values)
            if found is None:
                found = with_constants(self._build, trees, values, self.fun)
                pairs = enumerate(zip(trees, found[0], strict=True))
                self._constants = self._constants.union(i for i, (tree, other) in pairs if _made_constant(tree, other))
                kept = (rules, *(tree.key for tree in found[0]))
                others = [one for one in self._known.get(kept, ()) if one[1].guard is None or one[1].guard()]
                self._known[kept] = (found, *others)
            trees, plan = found
            classes = (rules, *map(type, values))
            latest = [p for p in self._recent.get(classes, ()) if p is not plan]
            self._recent[classes] = (plan, *latest[: _RECENT - 1])
            self._latest = rules, plan
            whole = len(values) == self.binder.arity  # nothing to be bound: arguments are values
            self.direct = plan.direct if whole else missed
            self.last = getattr(plan, "trees", None) or trees
        leaves = plan.match(values)
        if leaves is None:
            raise AssertionError(f"a specialisation does not match the call it was made for: {key}")
        return plan, leaves

    def _fitting(self, key: Any, values: tuple[Any, ...]) -> tuple[tuple[Tree, ...], S] | None:
        """Return what was built for such structures, if it holds still and for these lengths too."""
        for trees, plan in self._known.get(key, ()):
            if (plan.guard is None or plan.guard()) and plan.match(values) is not None:
                return trees, plan
        return None

    def describe(self, values: tuple[Any, ...]) -> tuple[Tree, ...]:
        """Return the structures of bound values."""
        names = self.binder.names_for(values)
        trees = [describe(value, name) for value, name in zip(values, names, strict=True)]
        for i in self._constants:
            if may_be_known(trees[i]):
                trees[i] = constant(trees[i], values[i])
        return tuple(trees)

    def known(self) -> list[tuple[tuple[Tree, ...], S]]:
        """List what has been specialised so far, oldest first."""
        with DERIVING:
            return [one for kept in self._known.values() for one in kept]

    def clear(self) -> None:
        """Forget every specialisation."""
        with DERIVING:
            self._known.clear()
            self._recent.clear()
            self._latest = None
            self.direct = missed
