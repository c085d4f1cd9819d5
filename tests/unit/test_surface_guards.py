"""Decorators, nested gradients, emitted files, rules and odd arguments: the right number, or an error that says so."""

from __future__ import annotations

import dataclasses
import functools
import subprocess
import sys

import numpy as np
import pytest

import s2sad
from s2sad import S2SADError

X = np.array([0.3, 0.7, -1.2])
Y = np.array([1.0, 2.0, 3.0])

PLAIN = """
def plain(x):
    return x * x
"""

RULED = """
import s2sad


@s2sad.custom_vjp
def ruled(x):
    return x * x


ruled.defvjp(lambda x: (x * x, x), lambda r, g: (g * r,))


def uses_ruled(x):
    return ruled(x) * 2
"""

WRAPPED = """
def doubled(f):
    def wrapper(x):
        return 2 * f(x)

    return wrapper


@doubled
def wrapped(x):
    return x**2


def uses_wrapped(x):
    return wrapped(x) * 3
"""

A_LIST = """
ITEMS = [1.0, 2.0]
ITEMS.append(3.0)


def uses_a_list(x):
    return x * ITEMS[-1]
"""

A_TABLE = """
TABLE = {"a": 1.0}
TABLE["a"] = 4.0


def uses_a_table(x):
    return x * TABLE["a"]
"""

A_FACTOR = """
FACTOR = 1.0
for FACTOR in (2.0, 3.0):
    pass


def uses_a_factor(x):
    return x * FACTOR
"""

SINC = """
import numpy as np

import s2sad

s2sad.defvjp(np.sinc, lambda x: (np.sinc(x), None), lambda r, g: (g * 42.0,))


def uses_sinc(x):
    return np.sinc(x)
"""

CACHED = """
import functools


@functools.lru_cache
def cached(x):
    return x * 4.0
"""

MODELS = {
    "plain": PLAIN,
    "ruled": RULED,
    "uses_ruled": RULED,
    "wrapped": WRAPPED,
    "uses_wrapped": WRAPPED,
    "uses_a_list": A_LIST,
    "uses_a_table": A_TABLE,
    "uses_a_factor": A_FACTOR,
    "uses_sinc": SINC,
    "cached": CACHED,
}


def doubled(f):
    @functools.wraps(f)
    def wrapper(*args, **options):
        return 2 * f(*args, **options)

    return wrapper


@doubled
def twice_the_square(x):
    return x**2


def as_vector(y):
    return y * np.ones(2)


def square(y):
    return y * y


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_decorator_made_with_wraps_is_part_of_the_function(target):
    assert s2sad.grad(twice_the_square, target=target)(3.0) == 12.0
    assert s2sad.value_and_grad(twice_the_square, target=target)(3.0) == (18.0, 12.0)
    assert s2sad.grad(lambda x: twice_the_square(x), target=target)(3.0) == 12.0
    np.testing.assert_allclose(s2sad.vmap(twice_the_square, target=target)(X), 2 * X**2)


def test_the_decorated_function_itself_is_what_differentiate_calls():
    assert s2sad.differentiate(twice_the_square)(3.0) == 18.0


@pytest.mark.parametrize(
    ("fun", "x", "sentence"),
    [
        (as_vector, X, "a gradient needs a scalar"),
        (lambda y: (y, y), X, "returns a tuple; a gradient needs a scalar"),
        (lambda y: y * 1j, X, "its gradient needs holomorphic=True"),
        (square, X + 1j * Y, "its gradient needs holomorphic=True"),
        (lambda y: 3, X, "returns an int, which has no gradient"),
    ],
    ids=["a vector", "a tuple", "a complex result", "a complex argument", "a whole number"],
)
def test_a_mapped_gradient_needs_one_real_number(fun, x, sentence):
    with pytest.raises(S2SADError, match=sentence):
        s2sad.vmap(s2sad.grad(fun))(x)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda gradient: s2sad.jacfwd(gradient)(X), "a gradient needs a scalar"),
        (lambda gradient: s2sad.jacrev(gradient)(X), "a gradient needs a scalar"),
        (lambda gradient: s2sad.jvp(gradient, (X,), (X,)), "a gradient needs a scalar"),
        (lambda gradient: s2sad.vjp(gradient, X), "a gradient needs a scalar"),
        (lambda gradient: s2sad.jvp(gradient, (1j,), (1j,)), "its gradient needs holomorphic=True"),
    ],
    ids=["jacfwd", "jacrev", "jvp", "vjp", "jvp of a complex number"],
)
def test_a_gradient_under_another_transform_needs_one_real_number(call, sentence):
    with pytest.raises(S2SADError, match=sentence):
        call(s2sad.grad(square))


def test_hvp_needs_one_real_number():
    with pytest.raises(S2SADError, match="a gradient needs a scalar"):
        s2sad.hvp(square, (X,), (X,))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("S2SAD_CACHE_DIR", str(tmp_path / "cache"))

    def python(*words):
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=tmp_path)

    return python


def right_or_refused(run, tmp_path, name, gradient, *options):
    (tmp_path / "model.py").write_text(MODELS[name])
    done = run("-m", "s2sad", "emit", f"model.py:{name}", *options, "--wrt", "x", "-o", "out.py")
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert done.returncode in (1, 2)
        assert "model.py:" in done.stderr  # the refusal says where
        assert not (tmp_path / "out.py").exists()
        return
    done = run("-c", f"import out; print(float(out.{name}_grad(2.0)))")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(gradient, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "gradient"),
    [
        ("plain", 4.0),
        ("ruled", 2.0),
        ("uses_ruled", 4.0),
        ("wrapped", 8.0),
        ("uses_wrapped", 24.0),
        ("uses_a_list", 3.0),
        ("uses_a_table", 4.0),
        ("uses_a_factor", 3.0),
        ("uses_sinc", 42.0),
    ],
)
def test_emitted_without_import_is_right_or_refused(run, tmp_path, name, gradient):
    right_or_refused(run, tmp_path, name, gradient)
    assert name != "plain" or (tmp_path / "out.py").exists()


@pytest.mark.parametrize(("name", "gradient"), [("ruled", 2.0), ("cached", 4.0)])
def test_an_imported_function_may_be_an_object(run, tmp_path, name, gradient):
    right_or_refused(run, tmp_path, name, gradient, "--import")


def test_the_file_that_is_read_is_not_written(run, tmp_path):
    (tmp_path / "model.py").write_text(PLAIN)
    done = run("-m", "s2sad", "emit", "model.py:plain", "--wrt", "x", "-o", "model.py")
    assert done.returncode == 2
    assert "model.py was not written by s2sad, and is left alone" in done.stderr
    assert (tmp_path / "model.py").read_text() == PLAIN


def two_of(x):
    a, b = x
    return a * b


def strictly_zipped(x, y):
    s = 0.0
    for a, b in zip(x, y, strict=True):
        s += a * b
    return s


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_too_many_items_to_unpack(target):
    np.testing.assert_allclose(s2sad.grad(two_of, target=target)(Y[:2]), [2.0, 1.0])
    with pytest.raises(ValueError, match="2 values are needed here"):
        s2sad.grad(two_of, target=target)(X)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_unequal_lengths_of_a_strict_zip(target):
    np.testing.assert_allclose(s2sad.grad(strictly_zipped, target=target)(X, Y), Y)
    with pytest.raises(ValueError, match="the lengths differ"):
        s2sad.grad(strictly_zipped, target=target)(X, Y[:2])


def test_a_whole_number_to_a_negative_power_on_cpu():
    scaled = s2sad.value_and_grad(lambda x, n: x * 2**n, target="cpu")
    assert scaled(2.0, 2) == (8.0, 4.0)
    with pytest.raises(ValueError, match="a whole number to a negative power is a fraction"):
        scaled(2.0, -2)


@pytest.mark.parametrize("fun", [lambda x: np.sum(np.array(x, dtype=object)), lambda x: np.sum(x.astype(object))])
def test_an_array_of_objects_is_not_followed(fun):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="an array of objects holds no numbers"):
        s2sad.grad(fun, target="python")(X)


def test_a_tangent_rule_that_is_not_linear_has_no_gradient():
    squares = s2sad.custom_jvp(lambda x: np.sum(x * x))
    squares.defjvp(lambda primals, tangents: (np.sum(primals[0] * primals[0]), np.sum(tangents[0] ** 2)))
    with pytest.raises(S2SADError, match="is not linear in the tangents"):
        s2sad.grad(squares)(X)


def length(x, y):
    return np.hypot(x, y)


def test_a_rule_for_one_of_two_arguments_gives_no_zero_for_the_other():
    with s2sad.rules():
        s2sad.defvjp(np.hypot, lambda ans, x, y: lambda g: g * x / ans)
        assert s2sad.grad(length, target="python")(3.0, 4.0) == pytest.approx(0.6)
        with pytest.raises(S2SADError, match="has no part for argument 1, which varies"):
            s2sad.grad(length, argnums=1, target="python")(3.0, 4.0)


@pytest.mark.parametrize("thing", ["np.sinc", 3, [1]])
def test_a_rule_is_for_a_function(thing):
    with s2sad.rules():
        with pytest.raises(S2SADError, match="a rule belongs to a function"):
            s2sad.defvjp(thing, lambda x: (x, x), lambda r, g: (g,))
        assert s2sad.grad(square)(3.0) == 6.0


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_number_made_an_array(target):
    assert s2sad.grad(lambda x: np.sum(np.asarray(x) ** 2), target=target)(1.0) == 2.0
    assert s2sad.grad(lambda x: np.sum(np.array(x) ** 2), target=target)(1.0) == 2.0


@dataclasses.dataclass
class Line:
    slope: object
    offset: float = 1.0

    def __call__(self, x):
        return np.sum(self.slope * x) + self.offset

    def __add__(self, other):
        return Line(self.slope + other.slope, self.offset + other.offset)


def test_a_record_that_is_called():
    np.testing.assert_allclose(s2sad.grad(lambda line, x: line(x))(Line(Y), X).slope, X)


def test_a_captured_record_replaced():
    line = Line(Y)
    gradient = s2sad.grad(lambda slope: np.sum(dataclasses.replace(line, slope=slope).slope))(Y)
    np.testing.assert_allclose(gradient, np.ones(3))


def test_records_added():
    gradient = s2sad.grad(lambda line: np.sum((line + line).slope))(Line(Y))
    np.testing.assert_allclose(gradient.slope, 2 * np.ones(3))


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, y):
        return y * self.factor

    def __eq__(self, other):
        return isinstance(other, Scale)

    def __hash__(self):
        return 1


def test_objects_that_compare_equal_are_not_taken_for_each_other():
    def applied(x, function):
        return function(x)

    assert s2sad.grad(applied)(1.0, Scale(1.0)) == 1.0
    assert s2sad.grad(applied)(1.0, Scale(2.0)) == 2.0


@pytest.mark.parametrize(("wrong", "argnums", "gradient"), [(0.0, 0, 2.0), (True, 1, 1.0)])
def test_a_wrong_argnums_does_not_disturb_later_calls(wrong, argnums, gradient):
    def product(a, b):
        return a * b

    with pytest.raises(S2SADError, match="argnums takes positions and names of arguments"):
        s2sad.grad(product, argnums=wrong)(1.0, 2.0)
    assert s2sad.grad(product, argnums=argnums)(1.0, 2.0) == gradient
