"""`try` around what raises by itself: divisions, logarithms, powers, indices, calls of functions that do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

X = np.array([1.5, -0.6, 0.0, 2.7])


def divided(x):
    try:
        ratio = x[0] / float(x[2])
        return ratio
    except ZeroDivisionError:
        return x[1] * x[3]


def of_python_numbers(a, b):
    try:
        ratio = a / b
    except ZeroDivisionError:
        ratio = 3.0 * a
    return ratio * ratio


def of_logarithms(a, b):
    try:
        return math.log(a) + math.sqrt(b - 1)
    except ValueError:
        return a * a * b


def of_anything(a, b):
    try:
        return math.exp(a) / (b - 1.0) + abs(a) ** b
    except Exception:
        return 2.0 * a + b


def in_a_loop(a, b):
    total = 0.0
    for k in range(4):
        try:
            total += math.log(a - k) / b
        except (ValueError, ZeroDivisionError):
            total -= a * k
    return total


def out_of_a_loop(a, b):
    try:
        t = 1.0
        for k in range(3):
            t = t + b / (a - k)
    except ZeroDivisionError:
        t = t * a * b
    return t


def behind_a_guard(a, b):
    try:
        if b != 0.0 and a / b > 1.0:
            return a * b
        return (1.0 / b if a > 1.0 else math.log(b)) * a
    except ZeroDivisionError:
        return a
    except ValueError:
        return a * b


def positive(x):
    if x < 0:
        raise ValueError("negative")
    return math.log(x) * x


def of_a_helper(a, b):
    try:
        v = positive(a - 1.0) + b
    except ValueError:
        v = a**3 * b
    return v


def deeper(x, n):
    return 1.0 / (x - 1.0) if n == 0 else deeper(x, n - 1) * x


def of_a_recursive_helper(a, b):
    try:
        return deeper(a, 3) * b
    except ZeroDivisionError:
        return a + b


def by_a_parameter(f, x, *others):
    return f(x, *others)


def of_a_function_that_is_given(a, b):
    try:
        return by_a_parameter(lambda u, v: v / u, a, b)
    except ZeroDivisionError:
        return b * b


def perhaps(x):
    if x < 0:
        return None
    return 1.0 / x


def with_else_and_finally(a, b):
    try:
        y = 1.0 / a
    except ZeroDivisionError:
        y = b
    else:
        y = y * 2.0
    finally:
        z = a * b
    return y + z


def raised_again(a, b):
    try:
        try:
            return a / b
        except ZeroDivisionError as error:
            raise error
    except ArithmeticError:
        return a * a


def inner_and_outer(a, b):
    try:
        try:
            y = math.log(a)
        except ValueError:
            y = a * b
        return y / b
    except ZeroDivisionError:
        return a * 3.0


def divided_in_place(a, b):
    total = a
    try:
        total /= b
        total **= 0.5
    except ZeroDivisionError:
        total = a * a
    return total


POINTS = [(1.5, 0.5), (2.0, 0.0), (-1.5, 2.0), (1.0, 1.5), (800.0, 3.0), (3.5, -1.0), (0.5, 0.0)]
ALL = [of_python_numbers, of_logarithms, of_anything, in_a_loop, out_of_a_loop, behind_a_guard, of_a_helper,
       of_a_recursive_helper, of_a_function_that_is_given, with_else_and_finally, raised_again, inner_and_outer,
       divided_in_place]  # fmt: skip


def _slopes(fun, at):
    """Return the differences to both sides, by both arguments; NaN where they are not one slope."""
    slopes = []
    for k in range(2):
        h = 1e-6 * max(1.0, abs(at[k]))
        down, here, up = (fun(*(v + s * h * (i == k) for i, v in enumerate(at))) for s in (-1, 0, 1))
        near = [abs(up + down - 2 * here) / h, abs(up - down)]
        smooth = not isinstance(down * here * up, complex) and max(near) < 1e-3 * max(1.0, abs(here))
        slopes.append((up - down) / (2 * h) if smooth else np.nan)
    return slopes


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", ALL, ids=lambda f: f.__name__)
def test_the_handler_runs_where_python_runs_it(fun, target):
    """Values are Python's, and slopes those of the path, at points where a step to either side stays on it."""
    derivative = s2sad.value_and_grad(fun, argnums=(0, 1), target=target)
    for at in POINTS:
        if isinstance(fun(*at), complex):
            continue  # the root of a negative number
        value, slopes = derivative(*at)
        assert value == fun(*at), at
        found = np.array(_slopes(fun, at))
        np.testing.assert_allclose(np.array(slopes)[~np.isnan(found)], found[~np.isnan(found)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_where_the_handler_is_taken_its_slope_counts(target):
    """At the very point that raises, no step to the side tells anything: the slope is that of the handler."""
    grad = s2sad.grad(of_python_numbers, argnums=(0, 1), target=target)
    assert grad(2.0, 0.0) == (36.0, 0.0)
    assert s2sad.grad(of_a_helper, argnums=(0, 1), target=target)(1.0, 2.0) == (6.0, 1.0)
    assert s2sad.grad(raised_again, argnums=(0, 1), target=target)(3.0, 0.0) == (6.0, 0.0)
    assert s2sad.grad(with_else_and_finally, argnums=(0, 1), target=target)(0.0, 2.0) == (2.0, 1.0)
    assert s2sad.grad(of_a_function_that_is_given, argnums=(0, 1), target=target)(0.0, 2.0) == (0.0, 4.0)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_numpy_numbers_do_not_raise(target):
    """`np.float64(1) / 0` is infinite: the handler is for Python's numbers, which `float` makes."""
    assert_derivatives(divided, np.array([1.5, -0.6, 0.7, 2.7]), target=target)

    def plain(x):
        try:
            return x[0] / x[2]
        except ZeroDivisionError:
            return x[1]

    with np.errstate(divide="ignore", invalid="ignore"):
        value, _ = s2sad.value_and_grad(plain, target=target)(X)
        assert value == plain(X) == np.inf


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_index_behind_the_end(target):
    """An `IndexError` that is caught by its name is tested for."""

    def item(x, i):
        try:
            return x[i] * 2.0
        except IndexError:
            return x[0]

    for i in (0, 3, -4, 4, -5):
        value, slope = s2sad.value_and_grad(item, target=target)(X, i)
        assert value == item(X, i)
        expected = np.zeros(4)
        expected[i if -4 <= i < 4 else 0] = 2.0 if -4 <= i < 4 else 1.0
        np.testing.assert_array_equal(slope, expected)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_index_where_anything_is_caught(target):
    """A bare `except` catches an index too, also one in a function that is called."""

    def taken(x, i):
        return x[i] * 3.0

    def item(x, i):
        try:
            return taken(x, i) + x[i + 1]
        except Exception:
            return x[0]

    for i, expected in ((0, [3.0, 1.0, 0.0, 0.0]), (3, [1.0, 0.0, 0.0, 0.0]), (7, [1.0, 0.0, 0.0, 0.0])):
        value, slope = s2sad.value_and_grad(item, target=target)(X, i)
        assert value == item(X, i)
        np.testing.assert_array_equal(slope, expected)


INPUTS = np.linspace(0.0, 1.0, 4)


def log_posterior(t):
    distance = (INPUTS[:, None] - INPUTS[None, :]) ** 2
    covariance = np.exp(-0.5 * distance / t[0] ** 2) + t[1] * np.eye(4)
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return -1e3 * t[1] ** 2
    weights = np.linalg.solve(factor, np.sin(INPUTS))
    return -0.5 * weights @ weights - np.sum(np.log(np.diag(factor)))


def solved(a, b):
    try:
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        x = b * b
    return x @ x


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_matrices_that_cannot_be_factored(target):
    """A `LinAlgError` of `cholesky`, `solve` and `inv` is tried for."""
    for noise in (0.1, -0.5):
        assert_derivatives(log_posterior, np.array([0.5, noise]), target=target)
    slopes = s2sad.grad(solved, argnums=(0, 1), target=target)(np.ones((2, 2)), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(slopes[0], 0.0)
    np.testing.assert_array_equal(slopes[1], [4.0, 32.0])
    assert_derivatives(lambda a: solved(a, np.array([1.0, 2.0])), np.array([[2.0, 1.0], [0.5, 3.0]]), target=target)


def test_the_text_is_a_branch():
    """What is emitted is what a person would write instead of the `try`."""
    text = s2sad.differentiate(of_python_numbers).source("grad", types=(2.0, 3.0))
    assert "if b == 0:" in text
    assert "try" not in text.split('"""')[-1]
    text = s2sad.differentiate(of_logarithms).source("grad", types=(2.0, 3.0))
    assert "if a <= 0 or argument < 0:" in text


def many_branches(a, b):
    try:
        t = a
        if a > 1.0:
            t = t / b
        if a > 2.0:
            t = t / (b - 1.0)
        if a > 3.0:
            t = t / (b - 2.0)
        if a > 4.0:
            t = t / (b - 3.0)
        if a > 5.0:
            t = t / (b - 4.0)
        if a > 6.0:
            t = t / (b - 5.0)
    except ZeroDivisionError:
        t = a * b
        if t > 1.0:
            t = t * t
        for _ in range(2):
            t = t + a
    return t * a


def test_what_follows_is_written_once():
    """Each branch that may raise would double the text otherwise."""
    text = str(s2sad.differentiate(many_branches).source("grad", types=(2.0, 3.0)))
    assert len(text.splitlines()) < 150
    for at in ((7.5, 3.5), (3.5, 2.0), (6.5, 5.0), (0.5, 0.0)):
        value, slopes = s2sad.value_and_grad(many_branches, argnums=(0, 1), target="python")(*at)
        assert value == many_branches(*at)
        if at[1] == 3.5:
            np.testing.assert_allclose(slopes, _slopes(many_branches, at), rtol=1e-6)


def from_settings(x, settings):
    try:
        rate = settings["rate"]
    except KeyError:
        rate = 0.1 * x[2]
    return np.sum(rate * x**2)


def counted(x, settings):
    total = {}
    for name, v in zip(["a", "b", "a"], x, strict=True):
        try:
            total[name] += v * v
        except KeyError:
            total[name] = v
    return total["a"] * total["b"] * settings.get("rate", 1.0)


def found(d, key, default):
    try:
        return d[key]
    except LookupError:
        return default


def by_whole_numbers(x, settings):
    of = {3: x[0], 7: x[1]}
    try:
        return of[7] / x[2] * found(settings, "rate", 2.0) + found(of, 5, x[0] * x[1])
    except Exception:
        return 0.0 * x[0]


def nothing_is_read(x, settings):
    of = {"a": x[0]}
    try:
        of["b"] = x[1] ** 2
        of["a"] *= 3.0
    except KeyError:
        of["b"] = x[2]
    return of["a"] * of["b"]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("settings", [{}, {"rate": 0.5}])
@pytest.mark.parametrize("f", [from_settings, counted, by_whole_numbers, nothing_is_read])
def test_keys_that_are_not_there(f, settings, target):
    x = np.array([0.3, 1.2, 2.0])
    value, gradient = s2sad.value_and_grad(f, target=target)(x, settings)
    np.testing.assert_allclose(value, f(x, settings), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(lambda x: f(x, settings), x), rtol=1e-6, atol=1e-7)


def test_what_cannot_be_told_is_refused():
    """A library's function that may raise, and two handlers for one call."""

    def solved(x):
        try:
            return np.sum(np.linalg.matrix_power(np.outer(x, x), -1))
        except np.linalg.LinAlgError:
            return x[0]

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="cannot be told from the text"):
        s2sad.grad(solved)(X)

    def scaled(x):
        try:
            return math.ldexp(x, 5000)
        except OverflowError:
            return x

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="cannot be told from the text"):
        s2sad.grad(scaled)(2.0)

    def popped(x):
        items = []
        for k in range(3):
            if x > k + 5.0:
                items.append(x)
        try:
            return items.pop()
        except IndexError:
            return x * x

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="what `pop` raises is not tested for"):
        s2sad.grad(popped)(2.0)

    def two(x):
        try:
            return positive(x)
        except ValueError:
            return x
        except ZeroDivisionError:
            return -x

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="which of the handlers"):
        s2sad.grad(two)(1.0)

    def of_two_meanings(x):
        try:
            t = perhaps(x)
        except ZeroDivisionError:
            t = x * x
        return 0.0 if t is None else t

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="`perhaps` returns None on some paths"):
        s2sad.grad(of_two_meanings)(2.0)

    def listed(x):
        try:
            return sum([1.0 / v for v in (x, x - 1.0)])
        except ZeroDivisionError:
            return x

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="in a comprehension"):
        s2sad.grad(listed)(2.0)
