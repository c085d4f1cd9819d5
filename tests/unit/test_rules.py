"""Every rule, run alone on NumPy arrays: its tangent and its adjoint against differences."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
import scipy.special  # noqa: F401  (its rules are loaded once the program has imported it)

import s2sad
from s2sad.rules import REGISTRY, Constant, Elementwise, Structured, find, resolve

find(np.sin)  # loads the tables
RNG = np.random.default_rng(7)


def label(fn: Any) -> str:
    return f"{getattr(fn, '__module__', 'numpy') or 'numpy'}.{getattr(fn, '__name__', fn)}"


ELEMENTWISE = [(fn, rule) for fn, rule in REGISTRY.items() if isinstance(rule, Elementwise)]
STRUCTURED = [(fn, rule) for fn, rule in REGISTRY.items() if isinstance(rule, Structured)]
CASES = [(fn, rule, k) for fn, rule in STRUCTURED for k in range(len(rule.samples))]


def direction(value: Any) -> Any:
    if isinstance(value, list):
        return [direction(item) for item in value]
    made = RNG.normal(size=np.shape(value))
    if np.iscomplexobj(value):
        made = made + 1j * RNG.normal(size=np.shape(value))
    return made if isinstance(value, np.ndarray) else made[()]


def moved(value: Any, dot: Any, step: float) -> Any:
    if isinstance(value, list):
        return [moved(item, item_dot, step) for item, item_dot in zip(value, dot, strict=True)]
    return value + step * dot


def bars_like(value: Any) -> Any:
    if isinstance(value, list):
        return [bars_like(item) for item in value]
    return np.full(np.shape(value), 0.25, np.result_type(np.asarray(value), np.float32))


def inner(a: Any, b: Any) -> Any:
    """The bilinear pairing: no conjugation, as the rules have it."""
    if isinstance(a, list | tuple):
        return sum(inner(x, z) for x, z in zip(a, b, strict=True))
    return np.sum(np.asarray(a) * np.asarray(b))


@pytest.mark.parametrize(("fn", "rule"), STRUCTURED, ids=lambda v: label(v) if callable(v) else "")
def test_structured_rule_has_samples_and_matching_signatures(fn: Any, rule: Structured) -> None:
    assert rule.samples, "a rule without samples is a rule without a test"
    assert rule.source, "a rule says where it comes from"
    tangent = list(inspect.signature(rule.tangent).parameters)
    adjoint = list(inspect.signature(rule.adjoint).parameters)
    static = {
        name
        for name, p in inspect.signature(rule.tangent).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    }
    names = tangent[: tangent.index("y", 1 if tangent[0] == "y" else 0)]
    dots = [n.removesuffix("_dot") for n in tangent if n.endswith("_dot")]
    bars = [n.removesuffix("_bar") for n in adjoint if n.endswith("_bar") and n != "y_bar"]
    assert dots == bars
    assert set(dots) <= set(names)
    assert adjoint[: len(names)] == names
    assert adjoint[len(names)] == "y"
    assert static == set(adjoint) - set(names) - {"y", "y_bar", *(f"{n}_bar" for n in dots)}
    assert {name for name, _ in rule.only} <= static


@pytest.mark.parametrize(
    ("fn", "rule", "k"), CASES, ids=lambda v: label(v) if callable(v) else str(v)[:3]
)
def test_structured_rule(fn: Any, rule: Structured, k: int) -> None:
    args, static = rule.samples[k]
    names = [n for n in inspect.signature(rule.tangent).parameters]
    names = names[: names.index("y")]
    given = [*args, *[None] * (len(names) - len(args))]
    dots = {
        n: direction(value)
        for n, value in zip(names, given, strict=True)
        if f"{n}_dot" in inspect.signature(rule.tangent).parameters and value is not None
    }
    y = fn(*args, **static)
    accepted = {n: v for n, v in static.items() if n in inspect.signature(rule.tangent).parameters}
    assert accepted == static

    def shifted(step: float) -> Any:
        return fn(
            *[
                moved(v, dots[n], step) if n in dots else v
                for n, v in zip(names, args, strict=False)
            ],
            **static,
        )

    all_dots = [
        dots.get(n) for n in names if f"{n}_dot" in inspect.signature(rule.tangent).parameters
    ]
    with np.errstate(all="raise"):
        y_dot = rule.tangent(*given, y, *all_dots, **static)
    step = 1e-5
    low, high = shifted(-step), shifted(step)
    if isinstance(y, tuple):
        pairs = zip(high, low, strict=True)
        expected = tuple((h - lo) / (2 * step) for h, lo in pairs if np.asarray(h).dtype.kind in "fc")
        for got, want in zip(y_dot, expected, strict=True):
            assert np.shape(got) == np.shape(want)
            largest = np.max(np.abs(want), initial=1.0)  # differences are as inexact as their largest element
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7 * largest)
    else:
        assert np.shape(y_dot) == np.shape(y)
        np.testing.assert_allclose(y_dot, (high - low) / (2 * step), rtol=1e-6, atol=1e-7)

    y_bar = tuple(direction(item) for item in y) if isinstance(y, tuple) else direction(y)
    all_bars = {n: bars_like(v) for n, v in zip(names, given, strict=True) if n in dots}
    before = {n: bars_like(v) for n, v in zip(names, given, strict=True) if n in dots}
    bars = [
        all_bars.get(n) for n in names if f"{n}_bar" in inspect.signature(rule.adjoint).parameters
    ]
    rule.adjoint(*given, y, y_bar, *bars, **static)
    contribution = inner([all_bars[n] for n in dots], [dots[n] for n in dots]) - inner(
        [before[n] for n in dots], [dots[n] for n in dots]
    )
    if fn in (np.conj, np.conjugate):  # not complex-linear: the pairing is that of the reals
        assert np.allclose(
            np.conj(contribution), inner(np.conj(y_bar), np.conj(y_dot))
        ) or np.allclose(contribution, inner(np.conj(y_bar), next(iter(dots.values()))))
    else:
        if isinstance(y, tuple):
            y_bar = tuple(b for b, item in zip(y_bar, y, strict=True) if np.asarray(item).dtype.kind in "fc")
        # an adjoint that conjugates is one of the real part of the pairing
        paired = np.real(inner(y_bar, y_dot))
        np.testing.assert_allclose(paired, np.real(contribution), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("fn", "rule", "k"), CASES, ids=lambda v: label(v) if callable(v) else str(v)[:3]
)
def test_structured_rule_keeps_single_precision(fn: Any, rule: Structured, k: int) -> None:
    args, static = rule.samples[k]
    if fn in (np.interp,) or getattr(fn, "__module__", "") in ("math", "builtins"):
        return

    def single(value: Any) -> Any:
        if isinstance(value, list):
            return [single(item) for item in value]
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            return value.astype(np.float32)
        if isinstance(value, np.ndarray) and value.dtype == np.complex128:
            return value.astype(np.complex64)
        return np.float32(value) if isinstance(value, float) else value

    args = tuple(single(v) for v in args)
    names = list(inspect.signature(rule.tangent).parameters)
    names = names[: names.index("y")]
    given = [*args, *[None] * (len(names) - len(args))]
    y = fn(*args, **static)
    tangents = inspect.signature(rule.tangent).parameters
    dots = [v for n, v in zip(names, given, strict=True) if f"{n}_dot" in tangents]
    y_dot = rule.tangent(*given, y, *dots, **static)
    if not isinstance(y, tuple):
        y, y_dot = (y,), (y_dot,)
    kept = [item for item in y if np.asarray(item).dtype.kind in "fc"]
    assert [np.result_type(d) for d in y_dot] == [np.result_type(item) for item in kept]


def partials_of(fn: Any, rule: Elementwise, args: list[Any], y: Any, complexes: bool) -> list[Any]:
    class Names(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            return resolve(name, fn)

    scope = Names(zip(rule.args, args, strict=True), y=y, unknown=None)
    for name, expression in rule.where:
        scope[name] = eval(expression, {}, scope)
    partials = rule.complex_partials if complexes else rule.partials
    assert partials is not None
    return [eval(p, {}, scope) for p in partials]


def call(fn: Any, args: list[Any]) -> Any:
    if np.ndim(args[0]) == 0 or isinstance(fn, np.ufunc) or label(fn).startswith("numpy"):
        return fn(*args)
    return np.array([fn(*each) for each in zip(*args, strict=True)])


def sample(fn: Any, rule: Elementwise, complexes: bool) -> list[Any]:
    args: list[Any] = []
    for position, (low, high) in enumerate(rule.domain):
        value: Any = RNG.uniform(low, high)
        if complexes:
            value = complex(value, RNG.uniform(0.1, 0.8))
        if (position == 1 and rule.args[1] == "n") or (position == 0 and rule.args[0] == "n"):
            value = round(value)
        args.append(value)
    return args


@pytest.mark.parametrize(("fn", "rule"), ELEMENTWISE, ids=lambda v: label(v) if callable(v) else "")
def test_elementwise_rule(fn: Any, rule: Elementwise) -> None:
    assert len(rule.domain) == len(rule.args) == len(rule.partials)
    for _ in range(20):
        args = sample(fn, rule, False)
        y = fn(*args)
        partials = partials_of(fn, rule, args, y, False)
        for k, partial in enumerate(partials):
            if rule.args[k] == "n" or partial is None:
                continue
            step = 1e-6
            high = fn(*[v + step if j == k else v for j, v in enumerate(args)])
            low = fn(*[v - step if j == k else v for j, v in enumerate(args)])
            scale = max(1.0, abs(y))
            if fn in (np.float32, np.float16, np.complex64):
                continue
            if fn is np.copysign or fn is math.copysign:
                step_free = args[1] if k == 1 else args[0]
                assert abs(step_free) > 1e-5
            np.testing.assert_allclose(
                partial, (high - low) / (2 * step), rtol=1e-6, atol=1e-7 * scale
            )


OF_ONE = [(fn, rule) for fn, rule in ELEMENTWISE if rule.of_one is not None]


@pytest.mark.parametrize(("fn", "rule"), OF_ONE, ids=lambda v: label(v) if callable(v) else "")
@pytest.mark.parametrize("complexes", [False, True])
def test_partials_where_the_first_argument_is_one(fn: Any, rule: Elementwise, complexes: bool) -> None:
    assert rule.of_one is not None
    for _ in range(20):
        args = [1.0, *sample(fn, rule, complexes)[1:]]
        simpler = Elementwise(rule.args, rule.of_one, rule.where, complex_partials=rule.of_one)
        y = fn(*args)
        found = partials_of(fn, simpler, args, y, complexes)
        np.testing.assert_allclose(found, partials_of(fn, rule, args, y, complexes), rtol=1e-14)


def test_a_reciprocal_is_read_from_its_result() -> None:
    def slopes(x: Any) -> Any:
        return 1 / x + np.divide(1.0, x) + 2.0 / x

    x = np.array([0.5, -2.0, 1e-200, np.inf])
    with np.errstate(over="ignore"):
        found = s2sad.vjp(slopes, x, target="python")[1](np.ones(4))[0]
        np.testing.assert_allclose(found, -4.0 / x / x, rtol=1e-14)
    text = s2sad.differentiate(slopes).source("jvp", (x,))
    assert text.count("ratio * ratio") == 1
    assert "2.0 / x" in text


HOLOMORPHIC = [
    (fn, rule) for fn, rule in ELEMENTWISE
    if rule.complex_partials is not None and label(fn).startswith(("numpy", "cmath"))
]  # fmt: skip


@pytest.mark.parametrize(("fn", "rule"), HOLOMORPHIC, ids=lambda v: label(v) if callable(v) else "")
def test_elementwise_rule_of_complex_arguments(fn: Any, rule: Elementwise) -> None:
    if fn in (np.float64, np.float32, np.float16, np.complex64):
        pytest.skip("a conversion to a real number takes no complex one")
    for _ in range(20):
        args = sample(fn, rule, True)
        y = fn(*args)
        for k, partial in enumerate(partials_of(fn, rule, args, y, True)):
            dot = complex(*RNG.normal(size=2))
            step = 1e-6
            high = fn(*[v + step * dot * (j == k) for j, v in enumerate(args)])
            low = fn(*[v - step * dot * (j == k) for j, v in enumerate(args)])
            y_dot = partial * dot
            if not np.iscomplexobj(y):
                y_dot = y_dot.real
            np.testing.assert_allclose(y_dot, (high - low) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("fn", "args", "partials"),
    [
        (np.maximum, (1.0, 1.0), (0.5, 0.5)),
        (np.minimum, (1.0, 1.0), (0.5, 0.5)),
        (max, (2.0, 2.0), (0.5, 0.5)),
        (np.fmax, (1.0, np.nan), (1.0, 0.0)),
        (np.fmin, (np.nan, 1.0), (0.0, 1.0)),
        (np.clip, (2.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
        (np.clip, (-2.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
        (np.clip, (1.0, 0.0, 1.0), (0.5, 0.0, 0.5)),
        (np.power, (0.0, 2.0), (0.0, 0.0)),
        (np.power, (0.0, 0.0), (0.0, 0.0)),
        (np.power, (0.0, 1.0), (1.0, 0.0)),
        (np.power, (-2.0, 3.0), (12.0, 0.0)),
        (np.sinc, (0.0,), (0.0,)),
        (np.nan_to_num, (np.nan,), (0.0,)),
        (np.absolute, (0.0,), (0.0,)),
    ],
)
def test_conventions(fn: Any, args: tuple[float, ...], partials: tuple[float, ...]) -> None:
    rule = REGISTRY[fn]
    assert isinstance(rule, Elementwise)
    given = [np.float64(a) for a in args]
    with np.errstate(all="raise"):
        got = partials_of(fn, rule, given, fn(*given), False)
    assert [float(p) for p in got] == list(partials)


def test_extrema_share_ties() -> None:
    rule = REGISTRY[np.max]
    assert isinstance(rule, Structured)
    a, a_bar = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]), np.zeros((2, 3))
    rule.adjoint(a, np.max(a, axis=1), np.array([1.0, 3.0]), a_bar, axis=1)
    np.testing.assert_array_equal(a_bar, [[0.0, 0.5, 0.5], [1.0, 1.0, 1.0]])


def test_where_does_not_leak_nan() -> None:
    rule = REGISTRY[np.where]
    assert isinstance(rule, Structured)
    a_bar, b_bar = np.zeros(2), np.zeros(2)
    chosen = np.array([True, False])
    rule.adjoint(
        chosen, np.ones(2), np.array([np.nan, 1.0]), np.ones(2), np.array([2.0, 3.0]), a_bar, b_bar
    )
    np.testing.assert_array_equal(a_bar, [2.0, 0.0])
    np.testing.assert_array_equal(b_bar, [0.0, 3.0])


def test_every_entry_is_a_rule() -> None:
    assert all(isinstance(r, Elementwise | Structured | Constant) for r in REGISTRY.values())
    assert find(np.argmax) == Constant()
    assert find(len) == Constant()
    assert find(object()) is None
    assert find([]) is None


def _with_rule(fwd, bwd):
    @s2sad.custom_vjp
    def squares(x):
        return np.sum(x * x)

    squares.defvjp(fwd, bwd)
    return squares


def _fwd_that_writes(x):
    value = np.sum(x * x)
    y = x
    y[0] = 100.0
    return value, x[1:].sum()


def _bwd_in_place(residual, out_bar):
    residual *= 2.0
    return (residual * out_bar,)


@s2sad.custom_jvp
def _squares(x):
    return np.sum(x * x)


@_squares.defjvp
def _squares_rule(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    value = np.sum(x * x)
    x *= 2.0
    return value, np.sum(x * x_dot)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_rule_writes_into_copies_of_what_it_is_given(target):
    in_place = _with_rule(lambda x: (np.sum(x * x), x), _bwd_in_place)
    writing = _with_rule(_fwd_that_writes, lambda rest, out_bar: (np.full(3, rest * out_bar),))

    def of_an_intermediate(x):
        return in_place(np.exp(x)) + 0.0

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(s2sad.grad(in_place, target=target)(x), [2, 4, 6])
    np.testing.assert_allclose(s2sad.grad(of_an_intermediate, target=target)(x), 2 * np.exp(2 * x))
    np.testing.assert_allclose(s2sad.grad(lambda x: writing(x) + np.sum(x), target=target)(x), [6, 6, 6])
    np.testing.assert_allclose(s2sad.grad(lambda x: _squares(x) + np.sum(x), target=target)(x), [3, 5, 7])
    assert s2sad.jvp(_squares, (x,), (x,), target=target)[1] == 28.0
    np.testing.assert_array_equal(x, [1, 2, 3])
