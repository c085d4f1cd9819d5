"""A user's function from its file without running the file: what is parsed, and what is executed.

Executed are imports of NumPy, SciPy, Numba and the mathematics and tools of the standard library, assignments of
literals, of lambdas, and of what arithmetic and NumPy's makers give of them (`2 * np.pi`, `np.array([1.0, 2.0])`),
`def` statements without their decorators, and named tuples and dataclasses of plain fields. Everything else at
module level, which may do anything, is left out, and so is what is made of names that it changes.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import linecache
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from s2sad.errors import SourceNotFoundError, Span, UnsupportedSyntaxError

_IMPORTED = frozenset({
    "numpy", "scipy", "math", "cmath", "numba", "typing", "dataclasses", "__future__", "itertools", "functools",
    "operator", "collections", "enum", "abc", "bisect", "heapq", "statistics",
})  # fmt: skip
_MAKERS = frozenset({
    "array", "asarray", "arange", "linspace", "logspace", "zeros", "ones", "full", "empty", "eye", "identity", "diag",
    "float64", "float32", "int64", "complex128", "sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "arctan", "deg2rad",
    "radians", "log10", "log2", "abs", "reshape", "outer", "dot", "sum", "concatenate",
})  # fmt: skip
"""Functions of NumPy that do nothing but calculate."""
_OF_MODULES = frozenset({"np", "numpy", "math", "cmath"})
_JIT = frozenset({"njit", "jit", "vectorize", "guvectorize"})
_KEEPING = _JIT | {"differentiate", "lru_cache", "cache", "kernel"}
"""Decorators under which a function computes what its text says."""
_RULES = frozenset({"defvjp", "defjvp", "rule"})
_READ = "__s2sad_read__"  # the module's name while it is read
_FLAGS = __future__.annotations.compiler_flag  # annotations stay text


@dataclass(frozen=True, slots=True)
class Read:
    """A function as it was read.

    Attributes:
        fun: the function, which nothing has called.
        node: its syntax.
        functions: the syntax of every function of the file, by name.
        compiled: the file has it under a decorator of Numba.
        fastmath: the decorator says `fastmath=True`.
        unread: names that the file binds at module level by code that was not run.
    """

    fun: types.FunctionType
    node: ast.FunctionDef
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict[str, ast.FunctionDef])
    compiled: bool = False
    fastmath: bool = False
    unread: frozenset[str] = frozenset()


def read_function(file: str, name: str, run: bool = False) -> Read:
    """Return the function `name` of `file`; with `run`, the file is imported as usual.

    Raises:
        SourceNotFoundError: the file cannot be read, or has no such function.
        UnsupportedSyntaxError: a default of the function could do anything when it is evaluated.
    """
    tree = _parsed(file)
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in found:
        raise SourceNotFoundError(
            f"{file} has no function `{name}`",
            why=f"It has: {', '.join(found) or 'none at its top level'}.",
        )
    node = found[name]
    if run:
        fun = _plain(_imported(file, name))
        if not isinstance(fun, types.FunctionType):
            raise UnsupportedSyntaxError(
                f"`{name}` is a {type(fun).__name__}, which has no text of its own to write out",
                _span(file, node, name),
                "Name a function that calls it: what it does there is written out.",
            )
    else:
        for default in _defaults(node):
            if not _is_harmless(default):
                raise UnsupportedSyntaxError(
                    f"a default of `{name}` would have to be run",
                    _span(file, default, name),
                    "Only literals are read; pass --import to import the file.",
                )
        scope = _executed(file, tree)
        if name not in scope:
            raise UnsupportedSyntaxError(
                f"what `{name}` is depends on code that would have to be run", _span(file, node, name),
                "It has a decorator, or its name is bound again; pass --import to import the file.",
            )  # fmt: skip
        fun = scope[name]
    jit = [decorator for decorator in node.decorator_list if _decorator_name(decorator) in _JIT]
    fast = any(_says_fastmath(decorator) for decorator in jit)
    bound = {name for stmt in tree.body for name in _bound(stmt)}
    return Read(fun, node, found, bool(jit), fast, frozenset(bound - fun.__globals__.keys()))


def _bound(stmt: ast.stmt) -> Iterable[str]:
    """Yield the names that a statement at module level binds."""
    if isinstance(stmt, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield stmt.name
        return
    for node in ast.walk(stmt):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _parsed(file: str) -> ast.Module:
    linecache.checkcache(file)
    try:
        return ast.parse(Path(file).read_bytes(), file)
    except OSError as error:
        raise SourceNotFoundError(f"{file} cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 0
        column = max((getattr(error, "offset", None) or 1) - 1, 0)
        message = getattr(error, "msg", str(error))
        raise SourceNotFoundError(
            f"{file} is not valid Python: {message}", Span(file, line, column, line, column + 1)
        ) from error


def _executed(file: str, tree: ast.Module) -> dict[str, Any]:
    """Run the harmless statements of the file, at their own lines, in a namespace of their own."""
    body = [stmt for stmt in tree.body if not _runs_as_script(stmt)]
    for stmt in body:
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and _decorator_name(stmt.value) in _RULES:
            raise UnsupportedSyntaxError(
                "the file gives a rule, which is only known once it has run", _span(file, stmt, "<module>"),
                "Pass --import to import the file.",
            )  # fmt: skip
    unsure = {name for stmt in body if not any(True for _ in _harmless(stmt)) for name in _touched(stmt)}
    kept = [stmt for original in body for stmt in _harmless(original) if not _is_made_of(stmt, unsure)]
    scope: dict[str, Any] = {"__name__": _READ, "__builtins__": builtins}
    sys.modules[_READ] = types.ModuleType(_READ)  # dataclasses look their module up
    try:
        for stmt in kept:
            code = compile(ast.Module([stmt], []), file, "exec", _FLAGS, dont_inherit=True)
            with contextlib.suppress(ImportError, NameError, AttributeError, ValueError, TypeError, ArithmeticError):
                exec(code, scope)  # else a name is missed when it is needed
    finally:
        del sys.modules[_READ]
    for stmt in body:
        if not any(True for _ in _harmless(stmt)):
            for name in _changed(stmt, scope):
                scope.pop(name, None)
    return scope


def _runs_as_script(stmt: ast.stmt) -> bool:
    """Say whether a statement is `if __name__ == "__main__":`, which a file that is imported leaves out."""
    match stmt:
        case ast.If(ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]), _, []):
            return True
        case _:
            return False


def _touched(stmt: ast.stmt) -> set[str]:
    """Return the names that a statement binds, writes into, or hands to a call, which may write into them."""
    found = {node.id for node in ast.walk(stmt) if isinstance(node, ast.Name)}
    return set(_bound(stmt)) | (found if not isinstance(stmt, ast.FunctionDef | ast.ClassDef) else set())


def _is_made_of(stmt: ast.stmt, unsure: set[str]) -> bool:
    """Say whether a statement computes something of names that code which is not run may have changed."""
    if not isinstance(stmt, ast.Assign | ast.AnnAssign) or stmt.value is None or isinstance(stmt.value, ast.Lambda):
        return False
    return any(isinstance(node, ast.Name) and node.id in unsure - _OF_MODULES for node in ast.walk(stmt.value))


def _changed(stmt: ast.stmt, scope: dict[str, Any]) -> set[str]:
    """Return the names whose meaning a statement changes, or may change: bound again, written into, passed on."""
    if isinstance(stmt, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {stmt.name}
    found: set[str] = set()
    for node in ast.walk(stmt):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()):
                found.add(name)
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del()):
                found |= _root(node)
            case ast.Call(func, args):
                inside = {a.id for a in args if isinstance(a, ast.Name)} | (
                    _root(func) if isinstance(func, ast.Attribute) else set()
                )
                found |= {name for name in inside if isinstance(scope.get(name), set) or _takes_items(scope.get(name))}
            case _:
                pass
    return found


def _takes_items(value: Any) -> bool:
    """Say whether a list, a dict or an array is meant, into which a call may write."""
    return hasattr(type(value), "__setitem__")


def _root(node: ast.expr) -> set[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _harmless(stmt: ast.stmt) -> Iterable[ast.stmt]:
    match stmt:
        case ast.Import(names):
            kept = [alias for alias in names if alias.name.partition(".")[0] in _IMPORTED]
            if kept:
                yield ast.copy_location(ast.Import(kept), stmt)
        case ast.ImportFrom(module, _, 0) if (module or "").partition(".")[0] in _IMPORTED:
            yield stmt
        case ast.Assign(targets, value) if all(isinstance(t, ast.Name) for t in targets):
            if _is_calculated(value) or _is_plain_lambda(value):
                yield stmt
        case ast.AnnAssign(ast.Name(), _, value) if value is not None and _is_calculated(value):
            yield stmt
        case ast.FunctionDef() if all(_is_harmless(d) for d in _defaults(stmt)) and _is_read_through(stmt):
            plain = ast.FunctionDef(**{name: getattr(stmt, name) for name in stmt._fields})
            plain.decorator_list = []
            yield ast.copy_location(plain, stmt)
        case ast.ClassDef() if _is_record(stmt):
            yield stmt
        case _:
            return


def _is_record(node: ast.ClassDef) -> bool:
    """Say whether a class is a named tuple or a dataclass that only lists fields: making it runs no code of the file's.

    Annotations stay text, so they are not run either.
    """
    bases = [_decorator_name(base) for base in node.bases]
    marks = [_decorator_name(mark) for mark in node.decorator_list]
    if node.keywords or (bases, marks) not in ((["NamedTuple"], []), ([], ["dataclass"])):
        return False
    flags = [word.value for mark in node.decorator_list if isinstance(mark, ast.Call) for word in mark.keywords]
    return all(_is_literal(flag) for flag in flags) and all(map(_is_field, node.body))


def _is_field(stmt: ast.stmt) -> bool:
    match stmt:
        case ast.AnnAssign(ast.Name(), _, value):
            return value is None or _is_literal(value)
        case ast.Expr(ast.Constant()) | ast.Pass():
            return True
        case _:
            return False


def _is_read_through(node: ast.FunctionDef) -> bool:
    """Say whether a function does what its text says: no decorator, or one that is known to change nothing."""
    return all(_decorator_name(decorator) in _KEEPING for decorator in node.decorator_list)


def _defaults(node: ast.FunctionDef | ast.Lambda) -> list[ast.expr]:
    return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]


def _is_plain_lambda(node: ast.expr) -> bool:
    return isinstance(node, ast.Lambda) and all(_is_harmless(d) for d in _defaults(node))


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_calculated(node: ast.expr) -> bool:
    """Say whether an expression is arithmetic of literals, names and NumPy's makers, which runs no code of the file."""
    match node:
        case ast.BinOp(left, _, right):
            return _is_calculated(left) and _is_calculated(right)
        case ast.UnaryOp(_, operand):
            return _is_calculated(operand)
        case ast.Tuple(elts) | ast.List(elts):
            return all(map(_is_calculated, elts))
        case ast.Attribute(ast.Name(), _) | ast.Name():
            return True
        case ast.Call(ast.Attribute(ast.Name(module), name), args, words) if module in _OF_MODULES:
            known = name in _MAKERS or module in ("math", "cmath")
            return known and all(map(_is_calculated, [*args, *(word.value for word in words)]))
        case ast.Call(ast.Name("float" | "int" | "complex" | "tuple" | "list"), args, []):
            return all(map(_is_calculated, args))
        case _:
            return _is_literal(node)


def _is_harmless(node: ast.expr) -> bool:
    """Say whether evaluating the expression runs no code of the file's: literals, `np.pi`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) or _is_literal(node)


def _decorator_name(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _says_fastmath(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and any(
        keyword.arg == "fastmath" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in node.keywords
    )


def _imported(file: str, name: str) -> Any:
    import importlib.util

    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SourceNotFoundError(f"{file} cannot be imported: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def _plain(fun: Any) -> Any:
    from s2sad.frontend.source import unwrap

    return unwrap(fun)


def _span(file: str, node: ast.expr | ast.stmt, function: str) -> Span:
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return Span(file, node.lineno, node.col_offset, end_line, end_column, function)
