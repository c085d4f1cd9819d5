"""The source of a function: text, syntax tree, the names around it."""

from __future__ import annotations

import ast
import builtins
import copy
import dis
import functools
import importlib
import inspect
import linecache
import operator
import os
import sys
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import gast

from s2sad.errors import SourceNotFoundError, Span


@dataclass(frozen=True)
class Source:
    """A function's syntax tree and everything needed to resolve its names and locate its lines."""

    name: str
    node: Any  # gast.FunctionDef or gast.Lambda
    file: str
    first_line: int
    indent: int
    globals: dict[str, Any]
    closure: dict[str, Any]
    defaults: tuple[Any, ...] = ()
    kw_defaults: dict[str, Any] = field(default_factory=dict[str, Any])
    local_names: frozenset[str] = frozenset()
    """What the function itself binds: these names never mean a global, wherever they are bound."""
    lines: dict[int, tuple[Source, int]] = field(default_factory=dict[int, Any])
    """Whose line each line is, if the function is put together from several texts."""
    compiled: bool = False
    """Whether it is the text of a function that Numba compiles."""
    parallel: bool = False
    """Whether Numba runs its loops over a `prange` on several threads."""

    def span(self, node: Any) -> Span:
        """Return where `node` stands in the user's file."""
        home, first = self._place(getattr(node, "lineno", 1))
        other, last = self._place(getattr(node, "end_lineno", None) or getattr(node, "lineno", 1))
        column = getattr(node, "col_offset", 0) + home.indent
        end_column = (getattr(node, "end_col_offset", None) or 0) + home.indent
        line = first + home.first_line - 1
        end = last + home.first_line - 1 if other is home else line
        return Span(home.file, line, column, end, end_column, home.name)

    def __deepcopy__(self, memo: Any) -> Source:
        """A source is one object: copies of its nodes stand in the same text."""
        return self

    def _place(self, line: int) -> tuple[Source, int]:
        """Return whose line a line is, and which."""
        if line not in self.lines:
            return self, line
        home, own = self.lines[line]
        return home._place(own)

    def rewritten(self, node: Any, lines: dict[int, tuple[Source, int]], outer: dict[str, Any]) -> Source:
        """Return a function with another text, the lines of which are those of others."""
        closure = {**self.closure, **outer}
        return replace(self, node=node, lines=lines, closure=closure, local_names=_bound_in(node))

    def resolve(self, name: str) -> Any:
        """Return the object that a free name means; raises KeyError."""
        if name in self.closure:
            return self.closure[name]
        if name in self.globals:
            return self.globals[name]
        return getattr(builtins, name) if hasattr(builtins, name) else self._missing(name)

    def knows(self, name: str) -> bool:
        """Say whether a free name means anything."""
        return name in self.closure or name in self.globals or hasattr(builtins, name)

    def _missing(self, name: str) -> Any:
        raise KeyError(name)


_Cached = type(functools.lru_cache(len))


def unwrap(fun: Any) -> Any:
    """Return the plain Python function behind njit dispatchers and caches.

    What `functools.wraps` made is a function of its own, which does what its own text says.
    """
    while True:
        if getattr(fun, "s2sad_procedure", None) is not None:  # it returns what it wrote into its arguments
            fun = fun.s2sad_procedure
        elif hasattr(fun, "py_func"):
            fun = fun.py_func
        elif type(fun).__name__ == "FakeCUDAKernel":  # Numba's simulator keeps it elsewhere
            fun = fun.fn
        elif isinstance(fun, _Cached):
            fun = vars(fun)["__wrapped__"]
        elif isinstance(fun, types.MethodType):
            plain = unwrap(fun.__func__)
            return fun if plain is fun.__func__ else types.MethodType(plain, fun.__self__)
        else:
            return fun


def has_source(fun: Any) -> bool:
    """Say whether `fun` is a function written in Python."""
    plain = unwrap(fun)
    return isinstance(plain, types.FunctionType | types.MethodType)


def place_of(fun: Any) -> Span | None:
    """Return where a function is defined; None if the user has not written it."""
    try:
        source = source_of(fun) if has_source(fun) else None
    except SourceNotFoundError:
        return None
    return None if source is None or source.file.startswith("<s2sad") else source.span(source.node)


def returned_at(fun: Any) -> Span | None:
    """Return where a function says its result: its `return`, if there is one only, else where it is defined."""
    place = place_of(fun)
    if place is None:
        return None
    source = source_of(fun)
    body = getattr(source.node, "body", ())
    found = [n for s in body for n in gast.walk(s) if isinstance(n, gast.Return)] if isinstance(body, list) else []
    return source.span(found[0]) if len(found) == 1 else place


class _Read:
    """What was read while a derivation lasts, which asks for the text of a helper at every call of it."""

    def __init__(self) -> None:
        self._lasts = False
        self._found: dict[int, tuple[Any, list[Any], Source]] = {}

    def begin(self) -> None:
        """From here on, a function is read once."""
        self._lasts = True

    def end(self) -> None:
        """From here on, a function is read whenever it is asked for: its file may change."""
        self._lasts = False
        self._found.clear()

    def known(self, plain: Any) -> Source | None:
        """Return what was read of a function, if it still closes over the same."""
        found = self._found.get(id(plain))
        return found[2] if found is not None and _same(found[1], _closed_over(plain)) else None

    def keep(self, plain: Any, read: Source) -> None:
        """Remember what was read of a function."""
        if self._lasts:
            self._found[id(plain)] = plain, _closed_over(plain), read


READ = _Read()
"""For the one derivation at a time that there is."""


def _closed_over(plain: Any) -> list[Any]:
    held: list[Any] = []
    for cell in plain.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not yet bound
            held.append(cell)
    return held


def _same(some: list[Any], others: list[Any]) -> bool:
    return all(map(operator.is_, some, others))


def source_of(fun: Callable[..., Any]) -> Source:
    """Read and parse the source of a Python function, lambda or njit dispatcher."""
    plain = unwrap(fun)
    if isinstance(plain, types.MethodType):
        plain = plain.__func__
    code = plain.__code__
    from s2sad.frontend.generators import READING

    read = None if READING else READ.known(plain)  # inside of another, who reads whom matters
    if read is None:
        READING.append(code)
        try:
            read = _read(plain, code)
        finally:
            READING.pop()
        if not READING:
            READ.keep(plain, read)
    parallel = bool(getattr(fun, "targetoptions", {}).get("parallel"))
    return replace(read, compiled=True, parallel=parallel) if hasattr(fun, "py_func") else read


def _read(plain: Any, code: types.CodeType) -> Source:
    from s2sad.frontend.collected import written_as_plain
    from s2sad.frontend.generators import written_out
    from s2sad.frontend.in_turn import written_in_turn
    from s2sad.frontend.taken import written_by_place
    from s2sad.frontend.unread import without_unread

    read = without_unread(_source_of_code(plain, code))
    return written_out(written_by_place(written_as_plain(written_in_turn(read))))


@functools.lru_cache(maxsize=512)
def _parse(file: str, first_line: int, text: str) -> Any:
    return gast.ast_to_gast(ast.parse(text))


def _source_of_code(plain: Any, code: types.CodeType) -> Source:
    name = plain.__name__
    linecache.checkcache(code.co_filename)
    try:
        lines, first_line = _lines_of(plain, code)
    except (OSError, TypeError, IndentationError) as error:
        raise SourceNotFoundError(
            f"the source of `{name}` could not be found",
            Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0, name),
            "s2sad rewrites source text. Define the function in a file, a notebook cell or an "
            "interactive session that keeps its lines.",
        ) from error
    first_line = max(first_line, 1)
    text = "".join(lines)
    plain_text = dedented(text)
    indent = len(lines[0]) - len(lines[0].lstrip()) if plain_text != text else 0
    if name == "<lambda>":
        node, first_line, indent = _find_lambda(plain_text, code, first_line, indent, plain)
    else:
        tree = _parse(code.co_filename, first_line, plain_text)
        node = tree.body[0]
        if not isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            raise SourceNotFoundError(
                f"the source of `{name}` could not be read",
                Span(code.co_filename, first_line, 0, first_line, 0, name),
                "The lines found there are not a function definition.",
            )
        owner = _class_of(plain)
        if node.name != code.co_name or not _is_text_of(code, plain_text, owner):
            raise SourceNotFoundError(
                f"the file of `{name}` has changed since the function was read",
                Span(code.co_filename, first_line, 0, first_line, 0, name),
                "Its lines are not those of the function any more: reload the module, or begin a new process.",
            )
        node = _with_private_names(node, owner) if "__" in plain_text else node
    closure: dict[str, Any] = {}
    for free, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
        try:
            closure[free] = cell.cell_contents
        except ValueError:  # not yet bound: a recursive local function
            continue
    imported = _imported_first(node, plain.__globals__.get("__package__") or None)
    return Source(
        name=name if name != "<lambda>" else "lambda_",
        node=node,
        file=code.co_filename,
        first_line=first_line,
        indent=indent,
        globals=plain.__globals__,
        closure=closure | imported,
        defaults=plain.__defaults__ or (),
        kw_defaults=dict(plain.__kwdefaults__ or {}),
        local_names=_bound_in(node) - imported.keys(),
    )


def dedented(text: str) -> str:
    """Return the lines of a function as far to the left as its first one can go.

    Lines that begin further left already stay where they are: of a docstring, of a comment, or inside brackets.
    """
    moved = textwrap.dedent(text)
    indent = len(moved) - len(moved.lstrip(" \t"))
    if not indent:
        return moved
    lines = moved.splitlines(keepends=True)
    return "".join(line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines)


def _imported_first(node: Any, package: str | None) -> dict[str, Any]:
    """Return what a function imports before it does anything else, by names that it binds only so."""
    body = node.body if isinstance(node.body, list) else []
    found: dict[str, Any] = {}
    for stmt in body:
        if isinstance(stmt, gast.Expr) and isinstance(stmt.value, gast.Constant):
            continue  # its docstring
        if not isinstance(stmt, gast.Import | gast.ImportFrom):
            break
        for item in stmt.names:
            try:
                if isinstance(stmt, gast.ImportFrom):
                    home = importlib.import_module("." * (stmt.level or 0) + (stmt.module or ""), package)
                    found[item.asname or item.name] = getattr(home, item.name)
                else:
                    home = importlib.import_module(item.name)
                    root = item.name.split(".")[0]
                    found[item.asname or root] = home if item.asname else importlib.import_module(root)
            except (ImportError, AttributeError):
                continue  # the statement is refused where it stands
    stores = {n.id for n in gast.walk(node) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    return {name: held for name, held in found.items() if name not in stores}


def _lines_of(plain: Any, code: types.CodeType) -> tuple[list[str], int]:
    """Return the lines of a function and the number of the first, as `inspect` does, which asks every module first."""
    lines = linecache.getlines(code.co_filename, plain.__globals__)
    at = code.co_firstlineno - 1
    if 0 <= at < len(lines) and lines[at].lstrip().startswith(("def ", "async def ", "@")):
        return inspect.getblock(lines[at:]), at + 1
    return inspect.getsourcelines(code)  # of a function it would be that of what it wraps


def _class_of(plain: Any) -> str:
    """Return the name of the class that a method, or the method around a function, is written in; "" of others."""
    parts = getattr(plain, "__qualname__", "").split(".")[:-1]
    while parts and parts[-1] == "<locals>":
        parts = parts[:-2]
    return parts[-1] if parts else ""


def _with_private_names(node: Any, owner: str) -> Any:
    """Return a method with its private names as Python makes them in a class: `self.__b` is `self._Owner__b`."""
    places = [(part, key) for part in gast.walk(node) for key in ("id", "attr", "arg", "name")
              if part is not node and _is_private(getattr(part, key, None))]  # fmt: skip
    if not owner.strip("_") or not places:
        return node
    node = copy.deepcopy(node)
    for part in gast.walk(node):
        for key in ("id", "attr", "arg", "name"):
            if part is not node and _is_private(known := getattr(part, key, None)):
                setattr(part, key, f"_{owner.lstrip('_')}{known}")
    return node


def _is_private(name: Any) -> bool:
    return isinstance(name, str) and name.startswith("__") and not name.endswith("__") and "." not in name


def _is_text_of(code: types.CodeType, text: str, owner: str) -> bool:
    """Say whether a function does what its lines say, as far as they may have changed since s2sad was imported."""
    try:
        if os.stat(code.co_filename).st_mtime < vars(sys.modules["s2sad"])["_IMPORTED"]:
            return True
        tree = ast.parse(text)
    except (OSError, SyntaxError):
        return True  # no file, or a part of a text
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    tree.body[0] = _with_private_names(tree.body[0], owner)
    made = compile(tree, code.co_filename, "exec")
    own = next((c for c in made.co_consts if isinstance(c, types.CodeType) and c.co_name == code.co_name), None)
    return own is None or _done_by(own) == _done_by(code)


def _done_by(code: types.CodeType) -> list[tuple[str, str]]:
    """Return what code does with what it has loaded, and its constants: not how names are found, which may differ."""
    found = [
        (step.opname, "" if step.opname == "FOR_ITER" else step.argrepr) for step in dis.get_instructions(code)
        if step.opname.startswith(_OPERATIONS) or (step.opname == "LOAD_CONST" and not hasattr(step.argval, "co_code"))
    ]  # fmt: skip
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return found + [step for one in inner for step in _done_by(one)]


_OPERATIONS = ("BINARY_", "COMPARE_", "CONTAINS_", "IS_", "UNARY_", "STORE_SUBSCR", "FOR_ITER", "CALL")


def _bound_in(node: Any) -> frozenset[str]:
    """Return the names that the body of a function binds, without those of the functions inside it."""
    found: set[str] = set()
    waiting = [] if isinstance(node, gast.Lambda) else list(node.body)
    while waiting:
        part = waiting.pop()
        if isinstance(part, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
            found.add(part.name)
        elif isinstance(part, gast.Name):
            found.update([part.id] if isinstance(part.ctx, gast.Store) else [])
        elif not isinstance(part, gast.Lambda | gast.ListComp | gast.SetComp | gast.DictComp | gast.GeneratorExp):
            waiting.extend(gast.iter_child_nodes(part))
    return frozenset(found)


def _find_lambda(
    text: str, code: types.CodeType, first_line: int, indent: int, plain: Any
) -> tuple[Any, int, int]:
    """Find the lambda with this code among those of its statement."""
    tree, first_line, indent = _parse_fragment(text, code, first_line, indent)
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and tuple(a.arg for a in node.args.args) == code.co_varnames[: code.co_argcount]
    ]
    if len(found) > 1:
        positions = getattr(code, "co_positions", None)
        starts = {
            (line, column)
            for line, _, column, _ in (positions() if positions else ())
            if line is not None and column is not None
        }
        found = [
            node
            for node in found
            if any(
                (line - first_line + 1, column - indent) == (inner.lineno, inner.col_offset)
                for inner in ast.walk(node.body)
                if isinstance(inner, ast.expr)
                for line, column in starts
            )
        ] or found
        exact = [node for node in found if _same_code(node, code)]
        found = exact or found
    if len({ast.dump(node) for node in found}) != 1:
        raise SourceNotFoundError(
            "the source of a lambda could not be told from its neighbours",
            Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0, "<lambda>"),
            "Put each lambda on a line of its own, or write a `def`.",
        )
    return gast.ast_to_gast(found[0]), first_line, indent


def _parse_fragment(
    text: str, code: types.CodeType, first_line: int, indent: int
) -> tuple[ast.AST, int, int]:
    """Parse the statement around a lambda: what inspect found, else the whole file."""
    try:
        return ast.parse(text), first_line, indent
    except SyntaxError:
        whole = "".join(linecache.getlines(code.co_filename))
        try:
            tree = ast.parse(whole)
        except SyntaxError as error:
            raise SourceNotFoundError(
                "the source of a lambda could not be parsed",
                Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0, "<lambda>"),
                "Put the lambda on a line of its own, or write a `def`.",
            ) from error
        line = code.co_firstlineno
        statements = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Lambda) and node.lineno <= line <= (node.end_lineno or line)
        ]
        return ast.Module(body=[ast.Expr(value=s) for s in statements], type_ignores=[]), 1, 0


def _same_code(node: ast.Lambda, code: types.CodeType) -> bool:
    """Compare bytecode: the last resort to tell lambdas of one line apart."""
    compiled = compile(ast.Expression(body=node), "<lambda>", "eval")
    inner = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    return inner.co_code == code.co_code and inner.co_consts == code.co_consts
