"""Whole random programs: loops, branches, exits, in-place writes, views, aliases and mutating helpers, climbed."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.corpus.programs import Program, mat, vec
from tests.ladder import assert_close, climb, directions
from tests.oracle import oracle_jvp
from tests.trees import fresh

FOLDER = Path(tempfile.mkdtemp(prefix="s2sad_programs_"))
SETTINGS = settings(max_examples=12, deadline=None, derandomize=True, print_blob=False, database=None,
                    phases=[Phase.explicit, Phase.generate],
                    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
HELPERS = '''"""A random program: a, b scalars; u, v of shape (4,); A of shape (3, 4)."""

from collections import namedtuple

import numpy as np

Pair = namedtuple("Pair", "left right")


def power(c, n):
    if n == 0:
        return np.cos(c)
    return np.sin(c) * power(c, n - 1)


def checked(c):
    if c > 0.4:
        raise ValueError("large")
    return np.sin(c) * c


def first_above(x, c):
    for i in range(x.size):
        if x[i] > c:
            return x[i] * c
    else:
        return np.sin(c)


def damp(x, c):
    x *= np.tanh(c)


def bump(x, k, c):
    x[k] += np.sin(c)


def sweep(x):
    for i in range(1, 4):
        x[i] = np.sin(x[i] * x[i - 1] + x[i])


def mix(x, y):
    return np.sum(np.sin(x * y))


def bend(c):
    if c > 0.0:
        return np.sin(c) * c
    return 0.5 * c


def pick(A, i):
    return A[i]


def spread(x, y):
    y[1:] += 0.5 * x[:-1]
    x[0] = y[3] * y[1]


'''


class Writer:
    """Draws one program statement by statement, remembering which names may be used where.

    Attributes:
        may_alias: whether the program binds a name conditionally to shared memory.
    """

    def __init__(self, draw: Any) -> None:
        """Start an empty program."""
        self.draw, self.lines, self.may_alias, self.count = draw, [], False, 0

    def one(self, *choices: Any) -> Any:
        """Draw one of the choices."""
        return self.draw(st.sampled_from(choices))

    def index(self, size: int, loops: tuple[str, ...]) -> str:
        """Draw an index below `size`: a constant, or made of a loop variable."""
        if loops and self.one(True, False):
            return self.one(f"({self.one(*loops)} + {self.one(0, 1)}) % {size}", f"{self.one(*loops)} % {size}")
        return str(self.one(*range(-1, size)))

    def scalar(self, names: list[str], loops: tuple[str, ...], depth: int = 2) -> str:
        """Draw a bounded scalar expression."""
        if depth == 0 or self.one(True, False, False):
            return self.one("a", "b", "0.7", f"{self.one(*names)}[{self.index(4, loops)}]",
                            f"A[{self.index(3, loops)}, {self.index(4, loops)}]")
        x, y = self.scalar(names, loops, depth - 1), self.scalar(names, loops, depth - 1)
        return self.one(f"({x} + {y})", f"({x} - {y})", f"{x} * {y}", f"np.sin({x})", f"np.tanh({x})",
                        f"{x} / (1.5 + np.cos({y}))", f"bend({x})",
                        f"power({x}, 2)", f"first_above({self.one(*names)}, {y})",
                        f"mix({self.one(*names)}, {self.one(*names)})",
                        f"({x} if {x} > {y} else 0.5 * {y})", f"{x} ** 2")

    def vector(self, names: list[str], loops: tuple[str, ...]) -> str:
        """Draw a bounded vector expression of shape (4,)."""
        x, y = self.one(*names), self.one(*names)
        c = self.scalar(names, loops, 1)
        return self.one(f"np.sin({x} * {y})", f"np.tanh({x} + {c})", f"{x}[::-1] * np.sin({c})",
                        f"np.where({x} > 0.1, np.sin({x}), {y} * 0.5)", f"np.tanh(A[{self.index(3, loops)}] - {y})",
                        f"np.sin({x} @ {y}) * {x}", f"0.5 * {x}")

    def add(self, level: int, text: str) -> None:
        """Write one line."""
        self.lines.append("    " * level + text)

    def block(self, level: int, names: list[str], loops: tuple[str, ...], looping: bool) -> None:
        """Draw a block of one to four statements; names bound in it stay in it."""
        names = list(names)
        for _ in range(self.draw(st.integers(1, 4 if level < 3 else 2))):
            kinds = ["scalar", "scalar", "element", "element", "element", "slice", "slice", "view", "alias", "call",
                     "call", "rebind", "swap", "list", "comprehension", "local", "closure", "walrus", "guarded"]
            kinds += ["if", "for", "while", "items", "last"] if level < 4 else []
            kinds += ["break", "continue"] if looping else []
            kinds += ["return", "either"]
            getattr(self, "draw_" + self.one(*kinds))(level, names, loops)
            looping = looping and not self.lines[-1].endswith(("break", "continue"))

    def draw_scalar(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Assign or update a scalar."""
        e = self.scalar(names, loops)
        op, bound = self.one("=", "=", "+=", "-=", "*="), self.one("np.tanh", "np.sin")
        self.add(level, f"{self.one('a', 'b')} {op} {bound}({e})")

    def draw_element(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Write one element."""
        place = self.one(f"{self.one(*names)}[{self.index(4, loops)}]",
                         f"A[{self.index(3, loops)}, {self.index(4, loops)}]")
        self.add(level, f"{place} {self.one('=', '+=', '*=', '-=')} np.sin({self.scalar(names, loops)})")

    def draw_slice(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Write a slice, a row, a column or a masked part."""
        x, y, c = self.one(*names), self.one(*names), self.scalar(names, loops, 1)
        row, op = self.index(3, loops), self.one("=", "+=", "*=")
        self.add(level, self.one(
            f"{x}[1:3] {op} np.sin({y}[2:] * {c})", f"{x}[:] {op} {self.vector(names, loops)}",
            f"{x}[::2] {op} np.tanh({c})", f"A[{row}] {op} {self.vector(names, loops)}",
            f"A[:, {self.index(4, loops)}] {op} np.sin({x}[1:] * {c})", f"{x} {self.one('+=', '*=')} np.sin({y})",
            f"{x}[{y} > 0.3] {op} 0.6", f"{x}[1:] {op} {x}[:-1] * 0.5"))

    def draw_view(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Name a view, for use in the rest of the block."""
        self.count += 1
        name = f"w{self.count}"
        self.add(level, f"{name} = " + self.one(f"A[{self.index(3, loops)}]", f"pick(A, {self.index(3, loops)})",
                                                f"{self.one(*names)}[::-1]", "A[:, :][1]", "A.T[:, 0]"))
        names.append(name)

    def draw_alias(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Name an alias, for use in the rest of the block."""
        self.count += 1
        self.add(level, f"w{self.count} = {self.one(*names)}")
        names.append(f"w{self.count}")

    def draw_either(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Name one of two arrays by a condition on values: an alias that may be undecidable."""
        self.count += 1
        self.may_alias = True
        self.add(level, f"w{self.count} = {self.one(*names)} if {self.scalar(names, loops, 1)} > 0.1 "
                        f"else {self.one(*names)}")
        names.append(f"w{self.count}")

    def draw_rebind(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Bind an array's name to a fresh array."""
        self.may_alias = self.may_alias or level > 1
        self.add(level, f"{self.one(*names)} = {self.vector(names, loops)}")

    def draw_swap(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Exchange elements, scalars, or at the top the arrays themselves."""
        x, i, j = self.one(*names), self.index(4, loops), self.index(4, loops)
        choices = ["a, b = b, a", f"{x}[{i}], {x}[{j}] = {x}[{j}], {x}[{i}]"]
        self.add(level, self.one(*choices, *(["u, v = v, u"] if level == 1 else [])))

    def draw_call(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Call a helper that writes into its argument."""
        x, y, c = self.one(*names), self.one(*names), self.scalar(names, loops, 1)
        self.add(level, self.one(f"damp({x}, {c})", f"bump({x}, {self.index(4, loops)}, {c})", f"sweep({x})",
                                 f"damp(A[{self.index(3, loops)}], {c})", f"sweep(A[{self.index(3, loops)}])",
                                 *([f"spread({x}, {y})"] if x != y and {x, y} <= {"u", "v"} else [])))

    def draw_if(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Branch on values."""
        self.add(level, f"if {self.scalar(names, loops, 1)} {self.one('>', '<')} {self.one('0.2', '-0.1', 'b')}:")
        self.block(level + 1, names, loops, looping=False)
        if self.one(True, False):
            self.add(level, "else:")
            self.block(level + 1, names, loops, looping=False)

    def draw_for(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Loop over a range, forwards or backwards."""
        i = "ijkl"[level - 1]
        self.add(level, f"for {i} in {self.one('range(3)', 'range(1, 4)', 'range(3, 0, -1)', 'range(2)')}:")
        self.block(level + 1, names, (*loops, i), looping=True)

    def draw_while(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Loop while a value is small, three times at most."""
        n = f"n{level}"
        self.add(level, f"{n} = 0")
        self.add(level, f"while {n} < 3 and {self.scalar(names, loops, 1)} < 0.9:")
        self.add(level + 1, f"{n} += 1")
        self.block(level + 1, names, loops, looping=True)

    def draw_items(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Loop over the elements or rows of arrays, counted or side by side."""
        i, x, y = "ijkl"[level - 1], self.one(*names), self.one(*names)
        loop = self.one(f"for {i}, e{level} in enumerate({x}[1:]):", f"for {i} in range(2):",
                        f"for {i} in reversed(range(3)):")
        if self.one(True, False):
            self.add(level, f"for e{level}, g{level} in zip({x}, {y}[::-1]):")
            self.add(level + 1, f"{self.one('a', 'b')} = np.tanh(e{level} * g{level} + {self.one('a', 'b')})")
            return
        self.add(level, loop)
        if "enumerate" in loop:
            self.add(level + 1, f"a += 0.3 * np.sin(e{level}) * ({i} + 1)")
        self.block(level + 1, names, (*loops, i), looping=True)

    def draw_last(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Loop with an `else` that runs when nothing broke out."""
        i = "ijkl"[level - 1]
        self.add(level, f"for {i} in range(3):")
        self.block(level + 1, names, (*loops, i), looping=True)
        self.draw_break(level + 1, names, (*loops, i))
        self.add(level, "else:")
        self.block(level + 1, names, loops, looping=False)

    def draw_list(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Build a list of numbers or rows, and use it."""
        self.count += 1
        r, n = f"r{self.count}", f"m{self.count}"
        rows = self.one(True, False)
        self.add(level, f"{r} = []")
        self.add(level, f"for {n} in range({self.one(2, 3)}):")
        made = self.scalar(names, (*loops, n), 1)
        self.add(level + 1, f"{r}.append(np.sin({self.one(*names)} * {made}))" if rows else f"{r}.append({made})")
        joined = self.one("np.stack({})", "np.concatenate({})", "np.array({})") if rows else "np.array({})"
        self.add(level, f"a = a + np.tanh(np.sum({joined.format(r)} ** 2))")

    def draw_comprehension(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Sum a comprehension over elements, a range, or a range under a condition."""
        x, y = self.one(*names), self.one(*names)
        self.count += 1
        e = f"q{self.count}"
        self.add(level, f"{self.one('a', 'b')} = np.sin(" + self.one(
            f"sum([{e} * {self.one('a', 'b')} for {e} in {x}])", f"sum({x}[{e}] * {y}[3 - {e}] for {e} in range(4))",
            f"np.sum(np.array([np.sin({e}) for {e} in {x} if {e} > 0.0]))",
            f"np.sum(np.array([[{x}[{e}] * h for h in {y}] for {e} in range(3)]))") + ")")

    def draw_local(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Keep values in a tuple, a dict or a namedtuple for a while."""
        self.count += 1
        p, s, t = f"p{self.count}", self.scalar(names, loops, 1), self.scalar(names, loops, 1)
        kind = self.one(0, 1, 2)
        if kind == 0:
            self.add(level, f"{p} = Pair({s}, {self.one(*names)})")
            self.add(level, f"a = np.tanh({p}.left + {p}.right[{self.index(4, loops)}] * b)")
        elif kind == 1:
            self.add(level, f"{p} = {{'s': {s}, 't': {t}}}")
            self.add(level, f"{p}['s'] = {p}['t'] * np.sin({p}['s'])")
            self.add(level, f"b = np.sin({p}['s'] + a)")
        else:
            self.add(level, f"{p} = ({s}, {t})")
            self.add(level, self.one(f"(a, b) = np.sin({p}[1]), np.tanh({p}[0])", f"a, *b_ = {p}"))
            self.add(level, f"b = np.tanh({p}[1] + a)")

    def draw_closure(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Define a function on the spot, which sees what is around it, and call it."""
        self.count += 1
        g, x = f"h{self.count}", self.one(*names)
        if self.one(True, False):
            self.add(level, f"{g} = lambda c: np.sin(c) * {x}[{self.index(4, loops)}] + b")
        else:
            self.add(level, f"def {g}(c):")
            self.add(level + 1, f"{x}[{self.one(0, 1, 2)}] += np.sin(c)")
            self.add(level + 1, f"return {x}[{self.one(1, 2)}] * c")
        self.add(level, f"a = np.tanh({g}({self.scalar(names, loops, 1)}))")

    def draw_walrus(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Name a value inside a condition."""
        self.count += 1
        z = f"z{self.count}"
        self.add(level, f"if ({z} := {self.scalar(names, loops, 1)}) > 0.1 and {z} < {self.one('b', '0.9')}:")
        self.add(level + 1, f"{self.one('a', 'b')} = np.sin({z} * {self.scalar(names, loops, 1)})")

    def draw_guarded(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Try something that may raise by an explicit `raise`."""
        name = self.one("a", "b")
        self.add(level, "try:")
        self.add(level + 1, f"if {self.scalar(names, loops, 1)} > 0.3:")
        self.add(level + 2, 'raise ValueError("large")')
        self.add(level + 1, f"{name} = np.sin({self.scalar(names, loops, 1)})")
        self.add(level, "except ValueError:")
        self.add(level + 1, f"{name} = 0.5 * np.tanh({self.scalar(names, loops, 1)})")

    def draw_break(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Leave the loop on a condition."""
        self.add(level, f"if {self.scalar(names, loops, 1)} > 0.5:")
        self.add(level + 1, "break")

    def draw_continue(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Skip the rest of the iteration on a condition."""
        self.add(level, f"if {self.scalar(names, loops, 1)} < -0.2:")
        self.add(level + 1, "continue")

    def draw_return(self, level: int, names: list[str], loops: tuple[str, ...]) -> None:
        """Return early on a condition."""
        self.add(level, f"if {self.scalar(names, loops, 1)} > 0.8:")
        self.add(level + 1, f"return {self.scalar(names, loops)} + np.sum(u * v)")


@st.composite
def sources(draw: Any) -> tuple[str, bool]:
    """Draw a program's text, and whether refusing it with `AliasError` is right."""
    writer = Writer(draw)
    writer.add(0, "def f(a, b, u, v, A):")
    for _ in range(draw(st.integers(2, 4))):
        writer.block(1, ["u", "v"], (), looping=False)
    writer.add(1, "return a * b + np.sum(np.sin(u) * v) + np.sum(A * A) + a")
    return HELPERS + "\n".join(writer.lines) + "\n", writer.may_alias


def load(source: str, may_alias: bool, folder: Path = FOLDER) -> Program:
    """Import a program's text from a real file, with arguments."""
    name = "program_" + hashlib.sha256(source.encode()).hexdigest()[:12]
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    args = (0.4, -0.7, vec(4), vec(4, 1), mat(3, 4))
    return Program(name, module.f, args, (0, 1, 2, 3, 4), frozenset(["may_alias"] if may_alias else []), None, 1e-10)


def check(source: str, may_alias: bool, target: str = "python", folder: Path = FOLDER) -> None:
    """Climb the ladder with one program, accepting `AliasError` only where a name was bound conditionally."""
    import s2sad
    from s2sad.errors import AliasError

    program = load(source, may_alias, folder)
    try:
        climb(program, s2sad.differentiate(target=target, argnums=program.wrt)(program.fun))
    except AliasError:
        if not may_alias:
            raise


@SETTINGS
@given(sources())
def test_random_programs_climb_the_ladder(drawn: tuple[str, bool]) -> None:
    """Differentiate random programs and compare with the oracle."""
    check(*drawn)


@SETTINGS
@given(sources())
def test_random_programs_are_sound(drawn: tuple[str, bool]) -> None:
    """Compare the oracle with CPython's value and with central differences, where no branch flips nearby."""
    program = load(*drawn)
    tangents = directions(program)
    out, slope = oracle_jvp(program.fun, fresh(program.args), tangents)
    assert_close(out, program.fun(*fresh(program.args)), 1e-11, drawn[0])
    sides = [program.fun(*(x + k * 1e-6 * x_dot for x, x_dot in zip(fresh(program.args), tangents, strict=True)))
             for k in (-1, 0, 1)]
    if abs(sides[2] - 2 * sides[1] + sides[0]) < 1e-8:
        assert_close((sides[2] - sides[0]) / 2e-6, slope, 1e-5, drawn[0])
    assert np.isfinite(out)
