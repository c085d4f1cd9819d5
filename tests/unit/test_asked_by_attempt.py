"""`try` around an attribute, a length or an item: the kind of a value tells whether there is one."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad


def named(x):
    product = x**2
    try:
        product.name = "product"
    except AttributeError:
        pass
    return np.sum(product)


def of_so_many(x):
    try:
        count = x.shape[0]
    except AttributeError:
        count = 1
    return np.sum(x * x) * count


def filled_where_nothing_is(x):
    y = x * x
    try:
        y = y.fillna(0)
    except AttributeError:
        y = np.where(np.isnan(y), 0.0, y)
    return np.sum(y)


def of_any_length(x):
    try:
        count = len(x)
    except TypeError:
        count = 1
    return np.sum(x * x) * count


def made_a_row(x):
    try:
        iter(x)
    except TypeError:
        x = np.array([x])
    return np.sum(x * x)


def by_two_names(x):
    size = np.sum(x * x)
    try:
        small = np.finfo(size.type).eps
    except (AttributeError, ValueError):
        small = 0.25
    return size * small


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("x", [0.7, np.array([0.3, -0.8])], ids=["number", "array"])
@pytest.mark.parametrize(
    ("fun", "factor"), [(named, 1.0), (filled_where_nothing_is, 1.0), (made_a_row, 1.0), (by_two_names, 0.25)]
)
def test_what_a_value_has_is_told_by_its_kind(fun, factor, x, target):
    value, gradient = s2sad.value_and_grad(fun, target=target)(x)
    assert value == fun(x)
    np.testing.assert_allclose(gradient, factor * 2 * x, rtol=1e-14)


@pytest.mark.parametrize("fun", [of_so_many, of_any_length])
def test_a_length_is_that_of_an_array_or_one(fun):
    assert s2sad.grad(fun)(0.7) == 1.4
    np.testing.assert_allclose(s2sad.grad(fun)(np.array([0.3, -0.8])), [1.2, -3.2], rtol=1e-14)


def raised_again(x, anyway=False):
    try:
        y = 1.0 / x
    except ZeroDivisionError as error:
        if anyway:
            y = 5.0 * x
        else:
            raise error
    return y


def raised_again_behind(x):
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return 2.0 * x
    except Exception:
        raise


def test_a_handler_that_raises_again_what_it_caught():
    assert s2sad.grad(raised_again)(0.5) == -4.0
    assert s2sad.grad(raised_again_behind)(0.5) == -4.0
    assert s2sad.grad(raised_again_behind)(0.0) == 2.0
    assert s2sad.grad(lambda x: raised_again(x, True))(0.0) == 5.0


def of_two(x):
    if x[0] < 0:
        raise ValueError("below zero")
    return [x[0] * x[1], x[1]], [[x[1], x[0]], [0.0, 1.0]]


def the_first_that_works(x):
    total = 0.0
    for factor in (1.0, 0.5, -1.0):
        try:
            values, slopes = of_two([x * factor, 2.0])
        except ValueError:
            continue
        total += values[0] * slopes[0][1] + slopes[1][1]
    return total


def nothing_or_a_list(x, least):
    return None if x < least else [x, x * least]


def asked(x):
    found = nothing_or_a_list(x, 0.5)
    if found is None:
        return x
    found[0] = found[0] * 2
    return found[0] * found[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_lists_or_nothing(target):
    np.testing.assert_allclose(s2sad.grad(the_first_that_works, target=target)(0.7), 3.5, rtol=1e-14)
    assert s2sad.grad(asked, target=target)(0.7) == 1.4
    assert s2sad.grad(asked, target=target)(0.3) == 1.0


def objective(n, *args):
    scale, wanted, fun = args[0], args[1], args[2]
    return fun(scale, n, *args[3:]) - wanted


def parabola(scale, n, offset):
    return n * n * scale + offset


def in_any_case(wanted):
    try:
        return objective(1.5, 1.3, wanted, parabola, 0.1) * wanted
    except Exception:
        pass
    return objective(2.0, 1.3, wanted, parabola, 0.1)


def test_functions_among_the_arguments_of_a_call_that_may_raise():
    wanted = 0.7
    value, gradient = s2sad.value_and_grad(in_any_case)(wanted)
    assert value == in_any_case(wanted)
    assert gradient == pytest.approx(1.3 * 2.25 + 0.1 - 2 * wanted, rel=1e-14)


def of_names_that_are_there(x, y):
    try:
        x, y = np.asarray(x), np.asarray(y)
    except NameError:
        pass
    return np.sum(x * x * y)


def cleaned(e, n):
    try:
        e[abs(e) < 1e-3] = 0.0
        n[abs(n) < 1e-3] = 0.0
    except TypeError:
        if abs(e) < 1e-3:
            e = 0.0
        if abs(n) < 1e-3:
            n = 0.0
    return np.sum(np.hypot(e, n))


def test_numbers_take_no_items():
    assert s2sad.grad(of_names_that_are_there)(0.3, 0.5) == pytest.approx(0.3, rel=1e-14)
    assert s2sad.grad(cleaned)(3.0, 4.0) == 0.6
    assert s2sad.grad(cleaned)(1e-4, 4.0) == 0.0
    np.testing.assert_array_equal(s2sad.grad(cleaned)(np.array([3.0, 1e-4]), np.array([4.0, 1.0])), [0.6, 0.0])


def in_a_comprehension(x):
    try:
        doubled = [x[i] * 2 for i in range(len(x))]
    except (ValueError, TypeError):
        return x[0]
    return doubled[0] * doubled[1]


def while_there_is_more(x):
    total, k = 0.0, 0
    try:
        while k < len(x):
            total += x[k] ** 2
            k += 1
    except TypeError:
        total = 3.0
    return total


def asked_first(x):
    try:
        count = x.shape[0] if hasattr(x, "shape") else 3
    except AttributeError:
        count = 100
    return np.sum(x) * count


def test_where_no_test_can_stand_before_it_the_kind_is_known_too():
    x = np.array([0.3, 0.7])
    np.testing.assert_allclose(s2sad.grad(in_a_comprehension)(x), [2.8, 1.2], rtol=1e-14)
    np.testing.assert_allclose(s2sad.grad(while_there_is_more)(x), [0.6, 1.4], rtol=1e-14)
    np.testing.assert_array_equal(s2sad.grad(asked_first)(x), [2.0, 2.0])
    assert s2sad.grad(asked_first)(0.5) == 3.0
