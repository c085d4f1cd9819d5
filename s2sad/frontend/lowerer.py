"""The state of one lowering, and the program that it adds functions to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import gast

from s2sad.errors import NOWHERE, S2SADError, Span, UnsupportedSyntaxError
from s2sad.frontend.infer import count_of_dims, fresh_dim, lengths_made
from s2sad.frontend.source import Source
from s2sad.frontend.values import ItemCell, MethodV, RangeV, RowsV, Scope, SliceV, StaticV, StructV, V, Value, leaves_of
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, Function, Index, Stmt, Store, Var
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Sym, Type
from s2sad.ir.views import is_advanced, view_base
from s2sad.ir.walk import reads

Place = tuple[Span, str]
"""Where a node stands in the text, and what it is."""

_LOST = "this writes into a copy, which nothing else sees"


class BottomReached(Exception):
    """The result of a recursive call is needed before any other path has given its type."""


def _of_rank(value: Expr, place: Expr) -> Expr:
    """Return what is written into a place of lower rank without its leading axes of length one, as NumPy does."""
    kind, wide = value.type, place.type
    if not isinstance(kind, Array) or not isinstance(wide, Array):
        return value
    missing = len(kind.dims) - len(wide.dims)
    if missing <= 0 or any(dim != 1 for dim in kind.dims[:missing]):
        return value
    first = Const(0, Scalar("int64", weak=True, value=0))
    return Index(value, (first,) * missing, Array(kind.dtype, kind.dims[missing:], "A"))


@dataclass(frozen=True, slots=True)
class Chosen:
    """One array or the other, as a condition says."""

    flag: str
    """The name of the condition."""
    arrays: tuple[str, str]
    line: int
    """Where they are chosen."""
    end: int
    """Where the loops around end."""


@dataclass(slots=True)
class Captured:
    """An array of an enclosing or global scope, read at call time and passed as an argument."""

    name: str
    read: Callable[[], Any]
    var: Var


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a rule adds to one of its bars, in the order of its statements."""

    slot: Any
    index: tuple[Any, ...] | None
    value: Expr


@dataclass(slots=True)
class Instance:
    """A function specialised on argument types: its IR, its result's structure, its captures."""

    name: str
    fun: Any
    types: tuple[Type, ...]
    function: Function | None = None
    result: Type | None = None
    captured: list[Captured] = field(default_factory=list[Captured])
    rule: Any = None
    """A custom derivative rule of the user's, which replaces differentiating the body."""
    param_spans: Span = NOWHERE
    given: frozenset[str] = frozenset()
    """The names of its parameters in the IR."""
    optional_result: tuple[Any, ...] | None = None
    """The form of what it returns, if it returns None on some of its paths."""
    returns_given: bool = False
    """A list or dict that it returns is, or may be, one that it was called with."""
    reads_given_items: bool = False
    """It reads records of a list that it was called with."""
    returns_item: bool = False
    """What it returns is, or may be, such a record."""
    keeps_given: bool = False
    """A list that it makes has got a container of the caller's."""
    in_order: bool = False
    """It returns arrays that were put in the order of a key, as copies."""
    open: bool = False
    """It is being lowered, perhaps once more."""
    incomplete: bool = False
    """Paths are missing from its IR that call what is still being lowered."""


@dataclass(slots=True)
class Context:
    """The program under construction, shared by all the functions of one derivation."""

    instances: dict[Any, Instance] = field(default_factory=dict[Any, Instance])
    names: set[str] = field(default_factory=set[str])
    derive: Callable[..., Any] | None = None
    """Gives the IR of a transformed function (`grad(f)`) met inside user code."""
    derivative: Callable[..., Function] | None = None
    """Gives a derivative of a function of the program, as one more function of it."""
    writes: Callable[[Context, Instance], frozenset[int]] | None = None
    """Says into which parameters a function of the program writes."""
    rule_of: Callable[[Any], Any] | None = None
    """Gives the user's own rule of a callable, or None."""
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    """How the user's module calls `numpy`, `math`, …"""
    as_is: bool = False
    """The target can call Python functions that were not lowered."""
    in_rule: int = 0
    """How many rules of the user's are being lowered, one inside the other."""
    discovering: list[Any] = field(default_factory=list[Any])
    """The functions with a rule whose rules are being looked through for outer arrays, one inside the other."""
    optional_kinds: dict[Any, tuple[Any, ...]] = field(default_factory=dict[Any, tuple[Any, ...]])
    """The form of what a name that starts as None gets later, by function and name."""
    optional_names: set[Any] = field(default_factory=set[Any])
    """Names that get the result of a call which may be None, by function and name."""
    row_kinds: dict[Any, Type] = field(default_factory=dict[Any, Type])
    optional_fields: dict[Any, tuple[Any, ...]] = field(default_factory=dict[Any, tuple[Any, ...]])
    """The form of what an attribute, or an item of a dict, that may be None holds, by the container's kind and key."""
    coded_fields: set[Any] = field(default_factory=set[Any])
    """Those that hold one of several texts, by the same."""
    listed: list[Any] = field(default_factory=list[Any])
    """The texts of generators whose values have been listed, in the order of the calls."""
    listed_at: dict[int, Any] = field(default_factory=dict[int, Any])
    """The same, by the node of the call."""
    asking_iter: int = 0
    """How many `__iter__` are being lowered, one inside the other."""
    told_apart: dict[Any, None] = field(default_factory=dict[Any, None])
    """Texts in the records of lists that differ from record to record, for which numbers stand there."""
    list_names: dict[tuple[int, str], tuple[int, str]] = field(default_factory=dict[tuple[int, str], tuple[int, str]])
    """The records that a list holds which starts empty, by function and name."""
    list_items: dict[tuple[int, str], Type] = field(default_factory=dict[tuple[int, str], Type])
    """What the items of a list are, where that is known only behind its making, by function and name."""
    guessed: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Those of the lists of which it is a first guess."""
    growing_names: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Names of lists that are not of one known length, by function."""
    widened: dict[tuple[int, str], str | None] = field(default_factory=dict[tuple[int, str], str | None])
    """The dtype of arrays that go on in a wider one than they begin in, by function and name; None if they may not."""
    loops_met: list[Counter[str]] = field(default_factory=lambda: [Counter[str]()])
    """How often each loop of the text was met, in the function and in each loop around."""
    being_lowered: list[Source] = field(default_factory=list[Source])
    """The functions that are being lowered, one for the other."""
    keyed: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """The dicts that are written as two lists, each with the `id` of the text of its function."""
    not_keyed: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Those for which that was tried, and did not do."""
    bound_arguments: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Arguments that their function binds again: no table of them can be made at its begin."""
    tallied: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Attributes of objects outside that are counted, each with the `id` of its object."""
    read_outside: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Those that are read."""
    rows_exchanged: dict[int, tuple[int, frozenset[tuple[int, str]]]] = field(
        default_factory=dict[int, tuple[int, frozenset[tuple[int, str]]]]
    )
    """The texts of functions whose lists of rows are written as matrices, each with that of the function that was
    lowered then, 0 where that was tried in vain, and the lists of callers of which the structure is known for that."""
    rows_known: dict[int, tuple[int, frozenset[tuple[int, str]]]] = field(
        default_factory=dict[int, tuple[int, frozenset[tuple[int, str]]]]
    )
    """The texts of functions that return lists of rows of known structure, likewise."""
    rows_are_lists: set[int] = field(default_factory=set[int])
    """The texts of functions whose lists of rows hold more than numbers: the rows stay lists."""
    by_reference: dict[tuple[int, str], bool] = field(default_factory=dict[tuple[int, str], bool])
    """Lists of records, by function and first variable, whose items are written; False if that cannot be followed."""
    item_cells: dict[Any, ItemCell] = field(default_factory=dict[Any, Any])
    """The identities of the items of such lists, by the list's variables and the place."""
    refused_items: dict[int, S2SADError] = field(default_factory=dict[int, S2SADError])
    """What could not be followed of such lists, by function."""
    known_lists: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Names of lists that grow by items of several kinds, by function: the structure of such a list is known, or it is
    refused."""
    growing_displays: set[int] = field(default_factory=set[int])
    """Displays of lists that grow, inside other containers."""
    known_displays: set[int] = field(default_factory=set[int])
    """Displays of such lists whose structure is known, or they are refused."""
    list_displays: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    """The display that begins a list inside another container, by the name that the list got."""
    by_cases: dict[tuple[int, int, str, str], tuple[str, tuple[Any, ...]]] = field(
        default_factory=dict[tuple[int, int, str, str], tuple[str, tuple[Any, ...]]]
    )
    """Items of containers whose statements are a branch for each: the kind of container, and its keys."""
    tables: set[Place] = field(default_factory=set[Place])
    """Places where an item is taken of a container of constants by an index that is not known."""
    table_rows: set[Dim] = field(default_factory=set[Dim])
    """The lengths of such items that are lists."""
    parts: dict[str, Function] = field(default_factory=dict[str, Function])
    """Functions that derivatives are put together from, and what each is the derivative of."""
    run_again: set[str] = field(default_factory=set[str])
    """Functions of which a call keeps its arguments only, by the user's wish."""
    reversed_names: set[str] = field(default_factory=set[str])
    """Functions of the program that are derivatives in reverse mode."""
    none_raises: bool = False
    """The function that is differentiated returns None on some of its paths only."""
    holds_none: bool = False
    """A list begins with `None` where numbers or arrays go later."""
    lists_begun: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    """How many lengths there were when a list was made, by function and name."""
    loops_begun: list[int] = field(default_factory=list[int])
    """How many lengths there were when each of the loops began that are being lowered, outermost first."""
    list_origins: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    """Under which name a list was made that has another name too."""
    lists_returned: set[int] = field(default_factory=set[int])
    """The functions that return a list which they build, on one of their paths at least."""
    computed: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """The results of library calls that were done while lowering."""
    remade: dict[int, Any] = field(default_factory=dict[int, Any])
    """How the sparse matrices that are made of others are made anew, by identity."""
    copied: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    """Which parameters derivatives, and loops over batches, copy since what they are made of writes into them."""
    keep: list[Any] = field(default_factory=list[Any])
    """Objects whose identity is part of a key, kept alive."""
    called_from: dict[tuple[str, str], Span] = field(default_factory=dict[tuple[str, str], Span])
    """Where code of ours that stands for a library's is called, by its file and name."""
    at_once: dict[tuple[str, int], bool] = field(default_factory=dict[tuple[str, int], bool])
    """The files and lines of loops over a `prange`, and whether Numba itself runs them on several threads."""
    device: bool = False
    """Lowering for a GPU: `cuda.threadIdx` and its kind have a meaning."""

    @contextmanager
    def loop(self) -> Generator[None]:
        """Note that what is lowered within is done again and again."""
        self.loops_begun.append(count_of_dims())
        self.loops_met.append(Counter())
        try:
            yield
        finally:
            self.loops_begun.pop()
            self.loops_met.pop()

    def told_apart_from_others(self, key: str) -> str:
        """Return the key of a loop of the text, which a helper that is written in twice has twice.

        It is the same whenever the loop around is lowered again.
        """
        count = self.loops_met[-1][key]
        self.loops_met[-1][key] += 1
        return f"{key}~{count}" if count else key

    @contextmanager
    def blamed(self) -> Generator[None]:
        """Let what is raised within, in code of ours, name the user's call of what the code stands for."""
        try:
            yield
        except S2SADError as error:
            span = error.span
            while span is not None and (caller := self.called_from.get((span.file, span.function))) is not None:
                span = caller
            if span is error.span:
                raise
            raise type(error)(error.what, span, error.why) from error

    def unique(self, name: str) -> str:
        """Return a function name not yet used in the program."""
        candidate, count = name, 1
        while candidate in self.names:
            count += 1
            candidate = f"{name}_{count}"
        self.names.add(candidate)
        return candidate

    def functions(self) -> dict[str, Function]:
        """Return the finished functions, callees before callers."""
        done = [i for i in self.instances.values() if i.function is not None]
        return {i.name: i.function for i in done if i.function is not None}


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a lowering stood."""

    env: dict[str, Value]
    block: list[Stmt]
    names: set[str]
    sizes: tuple[int, int, int]
    depth: int
    turns: tuple[int, ...]
    known: frozenset[Any]
    """The helpers that had been begun."""
    met: Counter[str]
    """The loops that had been met."""


@dataclass(slots=True)
class Lowerer:
    """The state of lowering one function body."""

    ctx: Context
    source: Source
    env: dict[str, Value]
    block: list[Stmt]
    names: set[str]
    instance: Instance | None = None
    captured: dict[int, Captured] = field(default_factory=dict[int, Captured])
    tables: dict[tuple[str, ...], Assign] = field(default_factory=dict[tuple[str, ...], Assign])
    """Arrays of constants that the function begins with."""
    loops: list[Scope] = field(default_factory=list[Scope])
    results: list[Value] = field(default_factory=list[Value])
    rename: dict[str, str] | None = None
    apart: dict[str, str] = field(default_factory=dict[str, str])
    """What the variables of a comprehension are called whose names mean something else outside of it."""
    dynamic_lists: frozenset[str] = frozenset()
    made: list[str] = field(default_factory=list[str])
    """The locals that stand for a part of a statement, in the order of their making."""
    contributing: bool = False
    """Lowering a rule: `x_bar += e` is kept in the block as a `Contribution`."""
    in_rule: bool = False
    """Lowering a rule of ours: what it names is never written, so that a name for a name needs no copy."""
    optional: frozenset[str] = frozenset()
    """Names that may be None."""
    texts: frozenset[str] = frozenset()
    """Names that hold different texts."""
    proven: frozenset[str] = frozenset()
    """Those of them that have a value on the path being lowered."""
    wanted: str | None = None
    """The name that the next list to be made will have."""
    wanted_each: tuple[str | None, ...] = ()
    """Those that lists made by the items of a tuple will have."""
    comprehending: int = 0
    """How many comprehensions, whose variables are no names of the function, are being lowered."""
    may_be_loop: bool = False
    """Whether a comprehension is lowered that could be written as loops, where its turns have to be told apart."""
    depth: int = 0
    """How many functions that are written in place this one stands in."""
    turns: tuple[int, ...] = ()
    """Which turn of each loop that is written out is being lowered."""
    outer: Lowerer | None = None
    """The lowering that this one is written into."""
    definer: Lowerer | None = None
    """The lowering that the function being written in was defined in."""
    invented: set[str] = field(default_factory=set[str])
    """Names in code of ours that stands for a call of the user's."""
    counters: dict[str, tuple[Expr, Expr, Expr]] = field(default_factory=dict[str, Any])
    """The ranges of the counters of loops."""
    numbers: dict[str, Expr] = field(default_factory=dict[str, Any])
    """What whole numbers were given last, by the name of the variable."""
    lengths: dict[str, tuple[Expr, tuple[int, ...]]] = field(default_factory=dict[str, Any])
    """The sizes that arrays were made by, `n + 1` of `np.empty(n + 1)`, and in which turns, by the length's name."""
    masks: dict[tuple[int, Expr], Sym] = field(default_factory=dict[Any, Sym])
    """How many elements masks select, by the statement: nothing has been written since they were met."""
    parts: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Names of variables that hold the items of a container, by the container's name and the key."""
    chosen: dict[str, Chosen] = field(default_factory=dict[str, Any])
    """Names that mean one array or the other and are read behind the loops in which they do."""
    statement: Any = None
    """The statement being lowered."""
    bottomed: bool = False
    """A recursive call's result was needed before it was known: this lowering is incomplete."""

    def fail(self, node: Any, what: str, why: str = "", error: type[Any] = UnsupportedSyntaxError) -> Any:
        """Raise a located error at `node`."""
        raise error(what, self.source.span(node), why)

    def span(self, node: Any) -> Span:
        """Return where `node` stands."""
        return self.source.span(node)

    def place(self, node: Any) -> Place:
        """Return what tells a node from others of the text, also one that each lowering makes anew."""
        return self.source.span(node), gast.dump(node)

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the current block."""
        if isinstance(stmt, Store) and not self.in_rule:
            stmt = replace(stmt, place=self._named_views(stmt.place, stmt.span), value=_of_rank(stmt.value, stmt.place))
        self.block.append(stmt)
        if not isinstance(stmt, Assign) or any(stmt.target.name in reads(mask) for _, mask in self.masks):
            self.masks.clear()

    def _named_views(self, place: Expr, span: Span) -> Expr:
        """Return a place that is reached through no calls but `.T`: `a.reshape(2, 3).T[1]` is an item of `view.T`."""
        match place:
            case Index(Index(_, index) as base) if is_advanced(index) and isinstance(base.type, Array):
                raise UnsupportedSyntaxError(
                    _LOST, span,
                    "Items that index arrays or masks select are a new array: write `a[index, …] = …` in one step.",
                )  # fmt: skip
            case Index(base):
                return replace(place, base=self._named_views(base, span))
            case Apply(fn, (base,)) if fn is ops.transpose:
                return replace(place, args=(self._named_views(base, span),))
            case Apply() if view_base(place) is not None:
                return self.atom(place, "view", span)
            case Apply():
                raise UnsupportedSyntaxError(
                    _LOST, span, "What the call gives is a new array: give it a name first, if it is to be used.",
                )  # fmt: skip
            case _:
                return place

    def mask_length(self, mask: Expr) -> Sym:
        """Return what stands for the number of elements that a mask selects: the same all over a statement."""
        return self.masks.setdefault((id(self.statement), mask), fresh_dim("mask"))

    def mark(self) -> Mark:
        """Return the state of the lowering, to come back to if what follows is lowered in another way."""
        from s2sad.frontend.environments import seen

        sizes = len(self.block), len(self.results), len(self.loops)
        known = frozenset(self.ctx.instances)
        met = Counter(self.ctx.loops_met[-1])
        return Mark(seen(self), self.block, set(self.names), sizes, self.depth, self.turns, known, met)

    def back_to(self, mark: Mark) -> None:
        """Forget what was lowered since `mark`."""
        from s2sad.frontend.environments import see

        see(self, mark.env)
        self.block, self.names = mark.block, set(mark.names)
        self.depth, self.turns = mark.depth, mark.turns
        self.ctx.loops_met[-1] = Counter(mark.met)
        for items, size in zip((self.block, self.results, self.loops), mark.sizes, strict=True):
            del items[size:]
        half = [key for key, one in self.ctx.instances.items() if one.function is None and key not in mark.known]
        for key in half:  # a helper that was refused on the way is not one that calls itself
            del self.ctx.instances[key]

    def fresh(self, hint: str) -> str:
        """Return a new IR name built on a noun; clashes take `_2`."""
        base = hint if hint.isidentifier() else "value"
        candidate, count = base, 1
        taken = self.parts.values()
        while candidate in self.names or candidate in taken:
            count += 1
            candidate = f"{base}_{count}"
        self.names.add(candidate)
        return candidate

    def local(self, hint: str) -> str:
        """Return a name for a new Python local, which the function neither binds nor reads."""
        taken = {part.id for part in gast.walk(self.source.node) if isinstance(part, gast.Name)}
        taken |= {*self.env, *self.made}
        name = hint
        count = 1
        while name in taken or name in self.names:
            count += 1
            name = f"{hint}_{count}"
        self.made.append(name)
        return name

    def forget(self, count: int) -> None:
        """Forget the locals made here but for the first ones: a loop that is lowered again makes them again."""
        for name in self.made[count:]:
            self.env.pop(name, None)
        del self.made[count:]

    def list_name(self) -> str:
        """Return the name for a list that is about to be made: the one it is assigned to, if that is known."""
        name, self.wanted = self.wanted, None
        if name is None:
            return self.fresh("items")
        self.names.add(name)
        return name

    def part_name(self, name: str, key: Any) -> str:
        """Return the name of the variable for one item of a container, which no name of the user's clashes with."""
        place = (name, str(key))
        if place not in self.parts:
            self.parts[place] = self.fresh(f"{name}_{_word(key)}")
        return self.parts[place]

    def ir_name(self, name: str) -> str:
        """Return the IR name of a Python local: itself, or its renaming in an inlined body."""
        if name in self.apart:
            return self.apart[name]
        if self.rename is None:
            return name
        if name not in self.rename:
            self.rename[name] = self.fresh(name)
        return self.rename[name]

    def bind(self, name: str, value: Value, span: Span) -> None:
        """Make the Python local `name` mean `value`, storing run-time parts in IR variables."""
        from s2sad.frontend.containers import identified

        self.proven = frozenset(fact for fact in self.proven if not fact.startswith(f"{name}."))
        self.give_way(self.env.get(name))
        self.env[name] = self.store_value(self.ir_name(name), identified(value), span)

    def store_value(self, ir_name: str, value: Value, span: Span) -> Value:
        """Assign the run-time parts of `value` to variables named after `ir_name`."""
        match value:
            case V(expr):
                target = Var(ir_name, expr.type)
                if isinstance(expr, Var) and expr.name == ir_name:
                    return value
                self.names.add(ir_name)
                if isinstance(expr, Var) and isinstance(expr.type, ListOf) and self.instance is not None:
                    self.ctx.list_origins[id(self.instance.fun), ir_name] = expr.name
                if isinstance(expr.type, Scalar) and "int" in expr.type.dtype:
                    self.numbers[ir_name] = expr
                self.lengths.update({name: (size, tuple(self.turns)) for name, size in lengths_made(expr).items()})
                self.emit(Assign(target, expr, span))
                return V(target)
            case StructV(cell=ItemCell(rows=RowsV() as rows, at=at)) if at is not None:
                from s2sad.frontend.references import item

                return item(self, rows, self._place(ir_name, at, span))
            case StructV(_, keys, items) | RowsV(_, keys, items):
                if isinstance(value, RowsV):
                    self.forget_items(self.variables(ir_name, value) - {leaf.name for leaf in _variables_in(value)})
                names = [self.part_name(ir_name, key) for key in keys]
                items = self._read_before(names, items, span)
                parts = tuple(self.store_value(n, item, span) for n, item in zip(names, items, strict=True))
                return replace(value, items=parts)
            case SliceV(lower, upper, step):
                bounds = _named(lower, upper, step)
                return SliceV(*(None if part is None else self._bound(ir_name, w, part, span) for w, part in bounds))
            case MethodV(StructV() | V() as owner):
                from s2sad.frontend.inline import is_bound_again

                if not is_bound_again(self, owner):
                    return value
                kept = self.store_value(self.part_name(ir_name, "self"), owner, span)
                if isinstance(kept, StructV):
                    self.env[f"{ir_name} self"] = kept  # where writes into the object reach it
                return replace(value, owner=kept)
            case RangeV(start, stop, step):
                held = [self._bound(ir_name, word, V(expr), span) for word, expr in _named(start, stop, step)]
                return RangeV(*(part.expr for part in held if isinstance(part, V)))
            case _:
                return value

    def give_way(self, before: Value | None) -> None:
        """No name means an item any more of a list whose own name gets another value."""
        if isinstance(before, RowsV) and before.by_reference:
            self.forget_items({leaf.name for leaf in _variables_in(before)})

    def forget_items(self, names: set[str]) -> None:
        """No name means an item any more of a list that gives way to another of the same variables."""
        from s2sad.frontend.containers import scopes
        from s2sad.frontend.references import forgotten

        for scope in scopes(self) if self.ctx.item_cells else ():
            scope.env.update({name: forgotten(held, names) for name, held in scope.env.items()})

    def _place(self, ir_name: str, at: Expr, span: Span) -> Expr:
        """Keep the place of an item of a list under a name of its own."""
        kept = self.store_value(self.part_name(ir_name, "at"), V(at), span)
        assert isinstance(kept, V)
        return kept.expr

    def _bound(self, ir_name: str, word: str, value: Value, span: Span) -> Value:
        """Keep a bound of a slice or a range as it is now: the names in it may get other values before it is used."""
        if not isinstance(value, V) or isinstance(value.expr, Const):
            return value
        return self.store_value(self.part_name(ir_name, word), value, span)

    def _read_before(self, names: list[str], items: tuple[Value, ...], span: Span) -> tuple[Value, ...]:
        """Read what an earlier item is about to overwrite: `h = [h[1], h[0] * h[1]]`."""
        from s2sad.frontend.values import leaves_of
        from s2sad.ir.walk import reads

        ready: list[Value] = []
        overwritten: set[str] = set()
        for name, item in zip(names, items, strict=True):
            used = {n for leaf in leaves_of(item) for n in reads(leaf)}
            if used & overwritten:
                item = self.store_value(self.fresh(f"{name}_new"), item, span)
            ready.append(item)
            overwritten |= self.variables(name, item)
        return tuple(ready)

    def variables(self, name: str, value: Value) -> set[str]:
        """Return the variables that a value is stored in, under a name."""
        if not isinstance(value, StructV | RowsV):
            return {name}
        if isinstance(value, StructV) and isinstance(value.cell, ItemCell):
            return {self.part_name(name, "at")}
        parts = [self.variables(self.part_name(name, k), v) for k, v in zip(value.keys, value.items, strict=True)]
        return set[str]().union(*parts)

    def atom(self, expr: Expr, hint: str, span: Span) -> Expr:
        """Return a name or literal for `expr`, binding a temporary if it is anything else."""
        if isinstance(expr, Var | Const):
            return expr
        target = Var(self.fresh(hint), expr.type)
        self.emit(Assign(target, expr, span))
        return target


def _variables_in(value: Value) -> list[Var]:
    return [leaf for leaf in leaves_of(value) if isinstance(leaf, Var)]


def _named(lower: Any, upper: Any, step: Any) -> list[tuple[str, Any]]:
    return [("start", lower), ("stop", upper), ("step", step)]


def _word(key: Any) -> str:
    text = str(key)
    return text if text.replace("_", "a").isalnum() else "item"


def static(value: Any) -> StaticV:
    """Return a value known at transform time."""
    return StaticV(value)
