"""From a function and its argument types to the module of a derivative: program, then text."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from s2sad.analysis.alone import arrays_alone
from s2sad.analysis.bounds import lower_bounds
from s2sad.analysis.callers import compiled_into_callers, only_called_here
from s2sad.analysis.facts import Facts
from s2sad.analysis.sums import accumulators
from s2sad.api.derivative import Derivative
from s2sad.api.fresh import given_back, unshared
from s2sad.api.known_lengths import lengths_in
from s2sad.api.nested import context, overwritten
from s2sad.api.options import Options, nans_are_checked
from s2sad.api.written import entered, is_defined
from s2sad.backends.base import Hints, Module
from s2sad.emit.abreast import abreast
from s2sad.emit.accumulated import accumulated
from s2sad.emit.at_once import Lines, has_threads, shared_out, shares_in, stands_in, stays_quiet
from s2sad.emit.begun import begun
from s2sad.emit.crossed import crossed
from s2sad.emit.ends import apart_at_ends
from s2sad.emit.factored import factored
from s2sad.emit.flips import flips_as_slices
from s2sad.emit.gathered import gathered
from s2sad.emit.idle_swaps import without_idle_swaps
from s2sad.emit.in_place import kept_in_place
from s2sad.emit.items_set import with_items_set
from s2sad.emit.leaving import left_early
from s2sad.emit.legal import legalised
from s2sad.emit.lent import lent
from s2sad.emit.loops import looped
from s2sad.emit.moved_back import moved_back
from s2sad.emit.names import Names
from s2sad.emit.one_array import in_one_array
from s2sad.emit.passed_on import passed_on
from s2sad.emit.printer import print_function
from s2sad.emit.sent_on import sent_on
from s2sad.emit.set_anew import set_anew
from s2sad.emit.side_by_side import side_by_side
from s2sad.emit.stays_laid import stays_laid
from s2sad.emit.tape_rows import with_tape_rows
from s2sad.emit.turns_apart import lines_apart
from s2sad.emit.twins import renamed, twins, unlike_variables, unnumbered
from s2sad.emit.workspaces import made_once
from s2sad.errors import Span, UnsupportedSyntaxError
from s2sad.frontend.infer import InferenceError
from s2sad.frontend.lowerer import Context
from s2sad.frontend.source import has_source, unwrap
from s2sad.ir.nodes import Function
from s2sad.ir.types import Array, Type
from s2sad.ir.walk import names_in
from s2sad.transform.called_once import Before, put_together
from s2sad.transform.counters import with_named_counters
from s2sad.transform.filled import filled
from s2sad.transform.pipeline import Derived, derive_program
from s2sad.transform.tidy import unmarked
from s2sad.transform.together import names_of


def derive(
    fun: Callable[..., Any], mode: str, types: tuple[Type, ...], wrt: tuple[int, ...], target: str, options: Any
) -> Derivative:
    """Return the derivative of `fun` in `mode` for these argument types.

    Raises:
        S2SADError: the function, or something it calls, cannot be differentiated.
    """
    ctx = context(target)
    try:
        derived = derive_program(entered(fun), mode, types, wrt, getattr(options, "aux", False), ctx, last=True)
    except InferenceError as error:
        raise UnsupportedSyntaxError(
            "the derivative of this function cannot be written", _head(fun), f"NumPy says: {error}."
        ) from error
    derived = replace(derived, functions={name: unmarked(fn) for name, fn in derived.functions.items()})
    if mode == "primal" and is_defined(fun):
        ctx.parts.setdefault(derived.entry, Function(derived.entry, (), (), ()))
    functions, before = put_together(derived, ctx.parts)
    derived = replace(derived, functions=with_named_counters(functions, derived.sources.values()))
    names = Names(_aliases(fun))
    if target == "cpu":
        derived = replace(derived, functions={name: flips_as_slices(fn) for name, fn in derived.functions.items()})
    looped, shares = _compiled_form(derived, target, options, _in_threads(ctx, options), before)
    before |= shares
    facts = Facts(looped)
    consumed = facts.writes(derived.entry)
    functions = {name: legalised(fn, target, facts) for name, fn in looped.items()}
    hints = {name: _hints(fn, before.get(name)) for name, fn in functions.items()}
    functions, hints = _each_once(functions, hints, derived.entry)
    for name in compiled_into_callers(functions, derived.entry) - shares_in(functions):
        hints[name] = replace(hints[name], into_callers=True)
    for name in only_called_here(functions, derived.entry) if not shares_in(functions) else ():
        hints[name] = replace(hints[name], internal=True)
    for name, alone in arrays_alone(functions, derived.entry).items():
        hints[name] = replace(hints[name], alone=alone)
    for better in (unnumbered, unlike_variables):
        other = better(functions, derived.entry)
        functions = {other.get(name, name): renamed(fn, other) for name, fn in functions.items()}
        hints = {other.get(name, name): one for name, one in hints.items()}
    names.reserve(functions)
    for fn in functions.values():
        names.reserve(names_in(fn.body))  # before any of them names a helper
    parts: list[str] = []
    spans: list[list[Span]] = []
    facts = Facts(functions)
    for name, fn in functions.items():
        text, lines = print_function(fn, names)
        if target == "cpu" and not has_threads(fn):
            alone = None if name == derived.entry else hints[name].alone
            hints[name] = replace(hints[name], apart=lines_apart(fn, text, facts, alone))
        parts.append(text.rstrip("\n"))
        spans.append(lines)
    imports = "\n".join(names.imports())
    text = "\n\n\n".join([imports, *parts] if imports else parts) + "\n"
    assert derived.instance.result is not None
    module = Module(
        name=derived.entry,
        text=text,
        functions=tuple(functions),
        entry=derived.entry,
        externals=dict(names.externals),
        runtime=dict(names.runtime),
        fastmath=_fastmath(fun, options),
        parallel=frozenset(name for name, fn in functions.items() if has_threads(fn)),
        nogil=bool(getattr(options, "nogil", False)),
        cache=bool(getattr(options, "cache", True)),
        debug=getattr(options, "debug", False) == "gdb",
        source_map=_source_map(text, parts, spans),
        hints=hints,
    )
    main = derived.functions[derived.entry]
    return Derivative(
        module, text, derived.instance.result, derived.residuals, tuple(derived.instance.captured),
        lambda: derived, _written(derived, ctx), unshared(main, derived.functions), given_back(main),
        consumed, tuple(param.type for param in main.params), main.results, lengths_in(derived.sources.values()),
        tuple(param.name for param in primal.params) if (primal := derived.instance.function) is not None else (),
    )  # fmt: skip


def _in_threads(ctx: Context, options: Any) -> Lines:
    """Return the lines of loops that are shared between threads: those of the user's own compiled functions are, too.

    Not so where calls run beside each other: each would start threads.
    """
    if getattr(options, "parallel", False):
        return ctx.at_once.keys()
    return [line for line, own in ctx.at_once.items() if own and not getattr(options, "nogil", False)]


def _compiled_form(
    derived: Derived, target: str, options: Any, lines: Lines, before: dict[str, Before]
) -> tuple[dict[str, Function], dict[str, Before]]:
    """Return the functions of a program as they are compiled, and what is known of those that this adds.

    Where NaNs are looked for, a line stays a line: an array not yet filled may hold anything.
    """
    if target != "cpu" or (isinstance(options, Options) and (options.debug or nans_are_checked(options))):
        return derived.functions, {}
    looped = {name: begun(fn) for name, fn in _looped(derived, lines).items()}
    if lines:
        shared, new = shared_out(looped, derived.entry, lines, before)
        made = _roomy(shared, derived) if new else shared
        if new and stays_quiet(made, new):
            return made, new
    return _roomy(looped, derived), {}


def _looped(derived: Derived, lines: Lines) -> dict[str, Function]:
    """Return the functions of a program with whole-array arithmetic written as loops."""
    made = {name: crossed(fn) for name, fn in derived.functions.items()}
    if not lines:  # beside threads, what LAPACK does not do itself is compiled as it stands
        facts = Facts(made)
        made = {name: factored(fn, facts) for name, fn in made.items()}
    facts = Facts(made)  # turns that run at once need an array each
    made = {name: fn if stands_in(fn, lines) else kept_in_place(fn, facts) for name, fn in made.items()}
    facts = Facts(made)
    made = set_anew({name: looped(fn, facts) for name, fn in made.items()}, derived.entry)
    facts = Facts(made)
    made = {name: apart_at_ends(abreast(fn, facts)) for name, fn in made.items()}
    facts = Facts(made)
    made = set_anew({name: gathered(fn, facts) for name, fn in made.items()}, derived.entry)
    facts = Facts(made)
    made = {name: with_items_set(filled(fn, facts), facts) for name, fn in made.items()}
    facts = Facts(made)
    made = {name: passed_on(fn, facts) for name, fn in made.items()}
    facts = Facts(made)
    made = {name: sent_on(fn, facts) for name, fn in made.items()}
    facts = Facts(made)
    made = {name: filled(accumulated(fn, facts), facts) for name, fn in made.items()}
    facts = Facts(made)
    return {name: side_by_side(fn, facts) for name, fn in made.items()}


def _roomy(functions: dict[str, Function], derived: Derived) -> dict[str, Function]:
    """Return functions with the arrays made once in which turns, or calls, work one after another."""
    facts = Facts(functions)
    made = {name: in_one_array(fn, facts, _own_names(derived, name)) for name, fn in functions.items()}
    facts = Facts(made)
    made = {name: made_once(fn, facts) for name, fn in made.items()}
    facts = Facts(made)
    made = {name: stays_laid(moved_back(fn, facts), facts, _own_names(derived, name)) for name, fn in made.items()}
    made = {name: without_idle_swaps(fn) for name, fn in made.items()}
    made = lent(made, derived.sources, derived.entry)
    facts = Facts(made)
    return {name: left_early(with_tape_rows(fn, facts)) for name, fn in made.items()}


def _own_names(derived: Derived, name: str) -> frozenset[str]:
    """Return the names in a function that are the user's."""
    before = derived.prepared.get(name)
    return names_of(before) if before is not None else frozenset()


def _each_once(
    functions: dict[str, Function], hints: dict[str, Hints], entry: str
) -> tuple[dict[str, Function], dict[str, Hints]]:
    """Keep of functions with one text the first, under the shortest of their names."""
    called: dict[str, str] = {}
    for first, *others in twins(functions, entry):
        name = min((first, *others), key=len)
        called |= dict.fromkeys((first, *others), name)
        for other in others:
            hints[first] = hints[first].of_both(hints[other])
            functions = {kept: fn for kept, fn in functions.items() if kept != other}
    return (
        {called.get(name, name): renamed(fn, called) for name, fn in functions.items()},
        {called.get(name, name): hints[name] for name in functions},
    )


def _hints(fn: Function, before: Before | None) -> Hints:
    """Say what holds of a function's names, given those of the one that it is the derivative of."""
    return Hints() if before is None else Hints(lower_bounds(fn, before.least), accumulators(fn, before.names))


def _head(fun: Any) -> Span | None:
    """Return where a function is defined, if it is known."""
    code = getattr(unwrap(fun), "__code__", None) if has_source(fun) else None
    if code is None:
        return None
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0, code.co_name)


def _written(derived: Derived, ctx: Context) -> tuple[str, ...]:
    """Return the parameters that the primal writes into."""
    main = derived.instance.function
    if main is None:
        return ()
    positions = overwritten(ctx, derived.sources, main.name)
    return tuple(p.name for i, p in enumerate(main.params) if i in positions and isinstance(p.type, Array))


def _fastmath(fun: Any, options: Any) -> Any:
    """`fastmath` is off, unless asked for or set on the user's own njit function."""
    asked = getattr(options, "fastmath", False)
    if asked:
        return asked
    own = getattr(fun, "targetoptions", None)
    return own.get("fastmath", False) if isinstance(own, dict) else False


def _aliases(fun: Any) -> dict[str, str]:
    """How the user's module names NumPy and math: the derivative names them alike."""
    found = {"numpy": "np", "math": "math"}
    plain = unwrap(fun) if has_source(fun) else None
    for name, value in getattr(plain, "__globals__", {}).items():
        if inspect.ismodule(value) and value.__name__ in ("numpy", "math", "cmath", "scipy.special"):
            found[value.__name__] = name
    return found


def _source_map(text: str, parts: list[str], spans: list[list[Span]]) -> dict[int, Span]:
    """Map each line of the module's text to the user's span that it came from."""
    result: dict[int, Span] = {}
    position = 0
    for part, lines in zip(parts, spans, strict=True):
        start = text.index(part, position)
        first = text.count(os.linesep if os.linesep in text else "\n", 0, start) + 1
        for offset, span in enumerate(lines):
            if span.line:
                result[first + offset] = span
        position = start + len(part)
    return result
