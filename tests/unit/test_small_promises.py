"""What users meet first: checks of arguments, names in messages, what the pieces look like."""

import dataclasses
import functools
import math
import pickle

import numpy as np
import pytest

import s2sad
from s2sad import check_grads, custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, linearize, vjp
from s2sad.errors import ArgumentError, NotDifferentiableError


def square(x):
    return x * x


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": 0}, "an order of 1 or more, not 0"),
        ({"order": 1.5}, "not 1.5"),
        ({"order": True}, "not True"),
        ({"order": "2"}, "not '2'"),
        ({"modes": ()}, "the modes fwd and rev"),
        ({"modes": None}, "the modes fwd and rev"),
        ({"modes": ("fwd", "both")}, "'both'"),
        ({"atol": -1.0}, "atol=-1.0 is no tolerance"),
        ({"rtol": float("nan")}, "rtol=nan is no tolerance"),
        ({"eps": 0.0}, "eps=0.0 is no step"),
        ({"eps": -1e-6}, "is no step"),
        ({"args": 2.0}, r"in a tuple, not a float(.|\n)*\(x,\)"),
        ({"args": (2,)}, "no argument that can be differentiated"),
        ({"fun": 3}, "checks a function, not `3`"),
    ],
)
def test_check_grads_looks_at_what_it_is_given(arguments, message):
    """No check that checks nothing."""
    given = {"fun": square, "args": (2.0,), **arguments}
    with pytest.raises(ArgumentError, match=message):
        check_grads(**given, target="python")


@pytest.mark.parametrize("modes", ["fwd", "rev", ("fwd", "rev")])
def test_check_grads_of_the_second_order_finds_a_wrong_second_derivative(modes):
    """The first derivative is right, the second is not: order=2 tells, in each mode."""

    @custom_jvp
    def cube(x):
        return x**3

    slope = custom_jvp(lambda x: 3.0 * x**2)
    slope.defjvp(lambda primals, tangents: (slope(primals[0]), 7.0 * primals[0] * tangents[0]))
    cube.defjvp(lambda primals, tangents: (cube(primals[0]), slope(primals[0]) * tangents[0]))
    check_grads(cube, (2.0,), order=1, modes=modes, target="python")
    with pytest.raises(AssertionError, match=f"{'fwd' if modes != 'rev' else 'rev'} of"):
        check_grads(cube, (2.0,), order=2, modes=modes, target="python")


@dataclasses.dataclass
class Layer:
    weight: np.ndarray
    depth: int


@pytest.mark.parametrize("transform", [jacfwd, jacrev, hessian, grad])
def test_an_integer_field_is_refused_with_a_way_that_there_is(transform):
    """`allow_int` is advised where the transform has it."""
    with pytest.raises(NotDifferentiableError, match=r"`layer.depth` is an int") as caught:
        transform(lambda layer: np.sum(layer.weight) * layer.depth, target="python")(Layer(np.ones(2), 3))
    assert ("allow_int" in str(caught.value)) is (transform is grad)


def test_functions_of_numpy_by_their_later_arguments():
    """What a signature calls optional is an argument all the same."""
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert grad(np.where, (1, 2), target="python")(True, 2.0, 3.0) == (1.0, 0.0)
    assert grad(np.clip, (0, 2), target="python")(5.0, 0.0, 2.0) == (0.0, 1.0)
    np.testing.assert_array_equal(grad(np.einsum, 1, target="python")("i,i", x, y), y)
    assert grad(np.where, "y")(False, 2.0, 3.0) == 1.0


def test_arguments_that_a_rule_leaves_alone_by_name():
    """`nondiff_argnums` takes names, and says which there are."""
    scaled = custom_vjp(lambda factor, x: factor * x, nondiff_argnums="factor")
    scaled.defvjp(lambda factor, x: (factor * x, None), lambda factor, _, g: (10.0 * factor * g,))
    assert grad(scaled, 1, target="python")(3.0, 2.0) == 30.0
    assert custom_jvp(scaled.fun, nondiff_argnums=("factor", -1)).nondiff_argnums == (0, 1)
    with pytest.raises(ArgumentError, match=r"not 'scale'(.|\n)*factor, x"):
        custom_vjp(scaled.fun, nondiff_argnums=("scale",))
    with pytest.raises(ArgumentError, match="out of range"):
        custom_vjp(scaled.fun, nondiff_argnums=5)


def test_linear_maps_say_what_they_are():
    """A short text, not the whole program."""

    def product(x, y=2.0):
        return x * y

    x = np.ones(3)
    assert repr(vjp(square, x, target="python")[1]).startswith("<pullback of square: a float64 array of rank 1 to (")
    assert repr(vjp(product, 1.0, target="python")[1]).startswith("<pullback of product: ")
    assert repr(linearize(square, x, target="python")[1]).startswith("<linear map of square: (")
    assert repr(s2sad.linear_transpose(lambda x: 2 * x, x, target="python")).startswith("<pullback of <lambda>")
    for made in (vjp(square, 1.0, target="python")[1], linearize(square, 1.0, target="python")[1]):
        with pytest.raises(pickle.PicklingError, match="pickle the function and its arguments"):
            pickle.dumps(made)


def rooted(x):
    y = x * 2.0
    z = np.sqrt(y)
    return z * 3.0


def test_debug_nans_names_the_statement_behind_a_return(monkeypatch):
    """Where one line of the derivative stands for several statements, the last that it reads from is named."""
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=r"z = np\.sqrt") as caught:
        s2sad.differentiate(debug_nans=True, target="python")(rooted).grad(0.0)
    assert f"{__file__}:{rooted.__code__.co_firstlineno + 2}" in str(caught.value)
    monkeypatch.setenv("S2SAD_DEBUG_NANS", "1")
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError) as caught:
        s2sad.vmap(grad(rooted), target="python")(np.array([1.0, 0.0]))
    assert "np.empty" not in str(caught.value)  # an array that is not filled yet may hold anything


V = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("fun", "at", "expected"),
    [
        (functools.partial(np.power, 2.0), 3.0, 8.0 * np.log(2.0)),
        (functools.partial(math.pow, 2.0), 3.0, 8.0 * np.log(2.0)),
        (functools.partial(np.dot, V), V, V),
        (functools.partial(np.sum, axis=0), V, np.ones(3)),
        (functools.partial(np.linalg.norm, ord=1), V, np.ones(3)),
        (functools.partial(np.clip, a_min=0.0, a_max=2.0), 1.0, 1.0),
    ],
    ids=lambda value: getattr(getattr(value, "func", None), "__name__", None),
)
def test_partial_functions_of_numpy(fun, at, expected, target):
    """What is given stays as it is; settings that are not given are not passed on."""
    np.testing.assert_allclose(grad(fun, target=target)(at), expected, rtol=1e-14)


@pytest.mark.parametrize("power", [lambda y: 2.0**y, lambda y: math.pow(2.0, y), lambda y: np.power(2.0, y)])
def test_powers_of_a_known_base(power):
    """`2**y` is differentiated by the logarithm of 2, as one writes it."""
    derivative = s2sad.differentiate(power)
    assert derivative.grad(3.0) == pytest.approx(8.0 * math.log(2.0), rel=1e-15)
    assert ".log(2.0)" in derivative.source("grad")
    assert s2sad.jacfwd(power)(3.0) == pytest.approx(8.0 * math.log(2.0), rel=1e-15)
