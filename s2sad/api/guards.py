"""What a function reads besides its arguments: a change of it drops the specialisation."""

from __future__ import annotations

import dis
import functools
import inspect
import operator
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.api.custom import CustomJVP, CustomVJP, functions_of, rules_key
from s2sad.api.still import Look, look_at
from s2sad.api.structure import CONTAINERS, OBJECTS, Tree, contents_of, slots_of, static_key
from s2sad.backends.fingerprint import names_used

_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_FUNCTIONS = 1_000  # as many functions are followed; what lies beyond is taken as constant
_WRAPPINGS = 20  # of a transform in a transform
_STANDARD = sysconfig.get_paths()["stdlib"]
_WRAPPED = ("py_func", "fun", "__func__")
_LIBRARIES = frozenset({"numpy", "numba", "scipy", "math", "cmath", "s2sad", "builtins"})


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A check that what a function reads from outside is still the same.

    Attributes:
        check: says so.
        same: objects, how each is asked, and what it gave: where all give that again, `check` would find nothing.
        parts: the checks that this one is put together from.
    """

    check: Callable[[], bool]
    same: tuple[tuple[Any, str, Any], ...] = ()
    parts: tuple[Guard, ...] = ()

    def __call__(self) -> bool:
        """Say whether nothing has changed."""
        return self.check()

    def each(self) -> tuple[Guard, ...]:
        """Return the checks that can be asked one by one."""
        return self.parts or (self,)


def guard(fun: Callable[..., Any], given: Iterable[Tree] = ()) -> Guard | None:
    """Return a check that everything `fun` and its helpers read from outside is still the same.

    `given` are the structures of its arguments: what functions among them read is watched too. Names rebound in the
    module, in a closure, in modules and classes that are named, or on the instance of a method are noticed, other
    code and defaults, and items of small dictionaries and lists; numbers by value, arrays by dtype and layout, for
    their values are read at every call. None when nothing is read from outside.
    """
    cells: list[tuple[types.CellType, Any]] = []
    names: list[tuple[dict[str, Any], str, Any]] = []
    owners: list[tuple[Any, Any]] = []  # objects that may be changed in place, and their contents
    texts: list[tuple[types.FunctionType, Any, Any, Any]] = []
    holders = _Holders()
    for function in _reachable([fun, *_functions_in(given)], owners, holders):
        cells += [(cell, value) for cell, value in _cells(function) if not _is_lasting(value)]
        scope = function.__globals__
        names += [(scope, name, scope[name]) for name in _globals(function) if not _is_lasting(scope[name])]
        texts.append((function, function.__code__, function.__defaults__, function.__kwdefaults__))
    names += holders.held()
    data = [value for _, value in cells if _is_data(value)] + [value for _, _, value in names if _is_data(value)]
    owners += [(value, _state(value)) for value in data if _may_change(value)]
    watched = [(owner, key, _look(owner)) for owner, key in owners]
    fixed = _shared(data)  # one array under two names: the derivative reads it under one of them
    if not cells and not names and not owners and not texts:
        return None

    def unchanged() -> bool:
        for cell, value in cells:
            now = cell.cell_contents
            if now is not value and (isinstance(now, np.ndarray) or not _same(now, value)):
                return False  # the compiler keeps what a cell held, so a new array counts
        for scope, name, value in names:
            now = scope.get(name)
            if now is not value and (id(value) in fixed or not _same(now, value)):
                return False
        for owner, key, look in watched:
            if not look() and _state(owner) != key:
                return False
        for f, code, defaults, named in texts:  # reloading a module in place gives functions others
            if f.__code__ is not code or f.__defaults__ is not defaults or f.__kwdefaults__ is not named:
                return False
        return True

    return Guard(unchanged, () if watched else _same_tests(cells, names, texts))


def _same_tests(
    cells: list[tuple[types.CellType, Any]], names: list[tuple[dict[str, Any], str, Any]],
    texts: list[tuple[types.FunctionType, Any, Any, Any]],
) -> tuple[tuple[Any, str, Any], ...]:  # fmt: skip
    """Return what a check asks that finds nothing changed: an object, how it is asked, and what it gave.

    Asked where a call is, these take a third of the time of a function that goes through them.
    """
    found: list[tuple[Any, str, Any]] = [(cell, ".cell_contents", value) for cell, value in cells]
    found += [(scope, f".get({name!r})", value) for scope, name, value in names]
    for function, code, defaults, named in texts:
        found.append((function, ".__code__", code))
        given = ((".__defaults__", defaults), (".__kwdefaults__", named))
        found += [(function, asked, value) for asked, value in given if value is not None]  # else all arguments come
    return tuple(found)


def _functions_in(given: Iterable[Tree]) -> Iterator[Any]:
    """Yield the functions, classes, modules and objects among arguments, of which more may be read than they hold."""
    for tree in given:
        if callable(tree.value) or isinstance(tree.value, types.ModuleType) or _has_attributes(tree.value):
            yield tree.value
        yield from _functions_in(tree.children)


def outer_arrays(fun: Callable[..., Any]) -> set[int]:
    """Return the identities of the arrays that `fun` and its helpers read from their modules."""
    found: set[int] = set()
    for function in _reachable([fun], [], _Holders()):
        for name in _globals(function):
            value = function.__globals__[name]
            items = value.values() if isinstance(value, dict) else value
            items = items if isinstance(value, dict | list | tuple) else (value,)
            found |= {id(item) for item in items if isinstance(item, np.ndarray)}
    return found


def _reachable(
    funs: list[Any], owners: list[tuple[Any, Any]], holders: _Holders
) -> Iterator[types.FunctionType]:
    waiting, seen = [*funs, *(part for rule in rules_key() for part in functions_of(rule))], set[int]()
    met = dict[int, Any]()
    while waiting and len(seen) < _FUNCTIONS:
        held: Any = waiting.pop()
        if id(held) not in met and len(met) < OBJECTS:
            met[id(held)] = held
            waiting += _called_inside(held)
        value: Any = _innermost(held, waiting, owners, holders)
        if not isinstance(value, types.FunctionType) or id(value) in seen:
            continue
        seen.add(id(value))
        if (value.__module__ or "").partition(".")[0] in _LIBRARIES:
            continue
        yield value
        waiting += [part for module in _imported(value.__code__) for part in holders.met(module)]
        waiting += holders.named(names_used(value.__code__) | _words(value.__code__))
        waiting += [content for _, content in _cells(value)]
        waiting += [value.__globals__[name] for name in _globals(value)]
        given = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        waiting += given
        owners += [(item, _state(item)) for item in given if _may_change(item)]
        if value.__dict__:  # what is set on a function, `f.scale = 2.0`
            owners.append((value.__dict__, _state(value.__dict__)))


def _imported(code: types.CodeType) -> Iterator[types.ModuleType]:
    """Yield the modules that code imports when it runs, as far as they are there."""
    names = [each.argval for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME"]
    yield from (sys.modules[name] for name in names if isinstance(sys.modules.get(name), types.ModuleType))


def _words(code: types.CodeType) -> set[str]:
    """Return the texts of code that may be names, as in `getattr(o, "k")`."""
    found = {text for const in code.co_consts for text in (const if isinstance(const, tuple) else (const,))
             if isinstance(text, str) and text.isidentifier()}  # fmt: skip
    return found.union(*(_words(const) for const in code.co_consts if isinstance(const, types.CodeType)))


def _called_inside(value: Any) -> list[Any]:
    """Return what a container or an object holds that may be called, or hold what is."""
    if isinstance(value, property):
        return [value.fget]
    if isinstance(value, np.vectorize):
        return [value.pyfunc]
    if isinstance(value, functools.cached_property):
        return [value.func]
    if isinstance(value, types.MethodType):
        value = value.__self__
    if isinstance(value, tuple):
        return [item for item in value if _is_more(item)]
    if isinstance(value, types.FunctionType | types.ModuleType | np.ndarray) or not _may_change(value):
        return []
    return [item for _, item in contents_of(value) if _is_more(item)]


def _is_more(value: Any) -> bool:
    return callable(value) or isinstance(value, dict | list | tuple) or _has_attributes(value)


def _innermost(value: Any, waiting: list[Any], owners: list[tuple[Any, Any]], holders: _Holders) -> Any:
    """Return the function that transforms, methods and compilers are wrapped around; note what else they hold."""
    for _ in range(_WRAPPINGS):
        if isinstance(value, CustomJVP | CustomVJP):
            owners.append((value, _state(value)))
            waiting += [part for part in value.parts() if part is not None]
        if isinstance(value, types.MethodType):
            owners.append((value.__self__, _state(value.__self__)))
        if isinstance(value, functools.partial):
            held = [*value.args, *value.keywords.values()]
            owners += [(item, _state(item)) for item in (*held, value.keywords) if _may_change(item)]
            waiting += [value.func, *held]
        waiting += holders.met(value.__self__ if isinstance(value, types.MethodType) else value)
        called = getattr(type(value), "__call__", None)
        if isinstance(called, types.FunctionType) and _may_change(value):
            owners.append((value, _state(value)))
            waiting.append(called)
        inner = next((part for name in _WRAPPED if (part := _attribute(value, name)) is not None), None)
        if inner is None or inner is value:
            break
        value = inner
    return value


def _attribute(value: Any, name: str) -> Any:
    """Return an attribute; of what answers for any name, as `pytest.mark` does, only one that it has."""
    has = inspect.getattr_static(type(value), "__getattr__", None) is None
    return getattr(value, name, None) if has else inspect.getattr_static(value, name, None)


class _Holders:
    """The user's modules and classes that functions mention, and what is asked of them by name."""

    def __init__(self) -> None:
        """Begin with none."""
        self._scopes: dict[int, Any] = {}
        self._names: set[str] = set()

    def met(self, value: Any) -> list[Any]:
        """Take in a module, a class or the class of an object; return what functions may ask of it."""
        found: list[Any] = []
        kind = value if isinstance(value, types.ModuleType | type) else type(value) if _has_attributes(value) else None
        for holder in kind.__mro__ if isinstance(kind, type) else (kind,):
            if holder is None or id(holder) in self._scopes or _is_of_a_library(holder):
                continue
            self._scopes[id(holder)] = holder
            found += [vars(holder)[name] for name in self._names & vars(holder).keys()]
            found += [vars(holder)[name] for name in _asked_by_python(holder)]
        return found

    def named(self, names: set[str]) -> list[Any]:
        """Take in the names that a function mentions; return what they may mean in modules and classes."""
        new = names - self._names
        self._names |= new
        return [vars(holder)[name] for holder in self._scopes.values() for name in new & vars(holder).keys()]

    def held(self) -> list[tuple[Any, str, Any]]:
        """Return the names that are watched, with where they stand and what they mean."""
        scopes = [vars(holder) for holder in self._scopes.values()]
        of_classes = [vars(holder) for holder in self._scopes.values() if isinstance(holder, type)]
        inherited = {name for scope in of_classes for name in self._names & scope.keys()}
        found = [(scope, name, scope[name]) for scope in scopes for name in sorted(self._names & scope.keys())]
        for holder in self._scopes.values():
            found += [(vars(holder), name, vars(holder)[name]) for name in _asked_by_python(holder)]
        # a class may come to have what it inherited
        return found + [(scope, name, None) for scope in of_classes for name in sorted(inherited - scope.keys())]


def _asked_by_python(holder: Any) -> list[str]:
    """Return the methods of a class that no text need name: operators, `__init__`, and their kin."""
    if not isinstance(holder, type):
        return []
    return [n for n, f in vars(holder).items() if n.startswith("__") and isinstance(f, types.FunctionType)]


def _is_of_a_library(holder: Any) -> bool:
    name = holder.__name__ if isinstance(holder, types.ModuleType) else holder.__module__ or ""
    root = name.partition(".")[0]
    if root in _LIBRARIES:
        return True
    if root not in sys.stdlib_module_names:
        return False
    module = sys.modules.get(name)  # a file of the user's may have such a name, and `make_dataclass` says `types`
    if isinstance(holder, type) and getattr(module, holder.__qualname__.partition(".")[0], None) is None:
        return False
    place = getattr(module, "__file__", None)
    return place is None or str(place).startswith(_STANDARD)


def _cells(function: types.FunctionType) -> Iterator[tuple[types.CellType, Any]]:
    for cell in function.__closure__ or ():
        try:
            yield cell, cell.cell_contents
        except ValueError:  # a name that is not bound yet
            continue


def _globals(function: types.FunctionType) -> set[str]:
    return {name for name in _code_names(function.__code__) if name in function.__globals__}


def _code_names(code: types.CodeType) -> set[str]:
    """Return the global names that code reads: not those of attributes, which `co_names` lists too."""
    found = {instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in _READS}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _code_names(constant)
    return found


def both(first: Guard | None, second: Guard | None) -> Guard | None:
    """Return the check that both checks pass."""
    if first is None or second is None:
        return first or second

    parts = (*first.each(), *second.each())
    return Guard(lambda: all(part.check() for part in parts), parts=parts)


def _may_change(value: Any) -> bool:
    """Say whether the value may change in place in a way that the derivative does not read."""
    if isinstance(value, np.ndarray):
        return not value.ndim
    if isinstance(value, CONTAINERS):
        return True
    if isinstance(value, tuple):
        return any(map(_may_change, value))
    own = (type(value).__module__ or "").partition(".")[0] not in _LIBRARIES
    return own and _has_attributes(value)


def _has_attributes(value: Any) -> bool:
    if isinstance(value, types.FunctionType | type | np.generic | np.ndarray):
        return False
    return hasattr(value, "__dict__") or bool(slots_of(type(value)))


def _state(owner: Any) -> Any:
    """Return a key that changes when the contents or the attributes of an object do."""
    if isinstance(owner, CustomJVP | CustomVJP):
        return owner.parts()
    if isinstance(owner, CONTAINERS) or not _has_attributes(owner):
        return static_key(owner)
    return tuple((name, static_key(value)) for name, value in contents_of(owner))


def _look(owner: Any) -> Look:
    """Return a quick look at what `_state` tells of an object."""
    if isinstance(owner, CustomJVP | CustomVJP):
        parts = owner.parts()
        return lambda: all(map(operator.is_, owner.parts(), parts))
    has_slots = bool(slots_of(type(owner)))
    whole = isinstance(owner, CONTAINERS) or has_slots or not _has_attributes(owner)
    return look_at(owner if whole else vars(owner)) or (lambda: False)


def _shared(data: list[Any]) -> set[int]:
    ids = [id(value) for value in data if isinstance(value, np.ndarray)]
    return {key for key in ids if ids.count(key) > 1}


def _is_lasting(value: Any) -> bool:
    """Say whether a module or class is a library's, whose name nobody binds anew."""
    return isinstance(value, types.ModuleType | type) and _is_of_a_library(value)


def _is_data(value: Any) -> bool:
    return not isinstance(value, types.ModuleType | type)


def _same(a: Any, b: Any) -> bool:
    return static_key(a) == static_key(b)
