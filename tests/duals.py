"""Dual numbers, and NumPy arrays of them: values with their tangents through operators, ufuncs and views."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.trees import blank_with_layout, tree_map


class Dual:
    """A value with its tangent; a tangent of exactly zero contributes nothing, even times infinity."""

    __slots__ = ("t", "v")
    shape, ndim, size, T = (), 0, 1, property(lambda self: self)

    def __init__(self, v: Any, t: Any = 0.0) -> None:
        """Pair the value `v` with the tangent `t`."""
        self.v, self.t = v, t

    def __repr__(self) -> str:
        """Show both parts."""
        return f"Dual({self.v!r}, {self.t!r})"

    def __float__(self) -> float:
        """Refuse to lose the tangent."""
        raise TypeError("the oracle would lose a tangent here: a float array was written with a Dual")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Dispatch a NumPy ufunc on bare duals."""
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Dispatch a NumPy function on bare duals, as zero-dimensional arrays."""
        return apply_function(func, args, kwargs)

    __hash__ = None
    real = property(lambda self: Dual(self.v.real, self.t.real))
    imag = property(lambda self: Dual(self.v.imag, self.t.imag))
    conjugate = conj = lambda self: RULES["conjugate"](self)
    item = copy = lambda self: self
    __bool__ = lambda self: bool(self.v)
    __int__ = __trunc__ = lambda self: int(self.v)
    __floor__ = lambda self: math.floor(self.v)
    __ceil__ = lambda self: math.ceil(self.v)
    __round__ = lambda self, n=None: round(self.v, n)
    __format__ = lambda self, spec: format(self.v, spec)
    __str__ = lambda self: str(self.v)
    __pos__ = lambda self: self
    __divmod__ = lambda self, other: (self // other, self % other)


def value_of(x: Any) -> Any:
    """Drop the tangents."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        flat = [value_of(e) for e in x.flat]
        return np.array(flat, dtype=np.result_type(*flat) if flat else float).reshape(x.shape)
    return x.v if isinstance(x, Dual) else x


def tangent_of(x: Any) -> Any:
    """Drop the values; what carries no tangent has a zero one."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        flat = [tangent_of(e) for e in x.flat]
        return np.array(flat, dtype=np.result_type(*flat) if flat else float).reshape(x.shape)
    return x.t if isinstance(x, Dual) else np.zeros_like(x)[()]


def _rule(call: Callable[..., Any], *partials: Callable[..., Any]) -> Callable[..., Any]:
    def dual_call(*args: Any) -> Any:
        if not any(isinstance(a, Dual) for a in args):
            return call(*args)
        v = [value_of(a) for a in args]
        y = call(*v)
        terms = [p(*v, y) * a.t for p, a in zip(partials, args, strict=True)
                 if isinstance(a, Dual) and np.any(a.t != 0)]
        return Dual(y, sum(terms[1:], terms[0]) if terms else np.zeros_like(y)[()])
    return dual_call


def _tie(a: Any, b: Any) -> float:
    return 0.5 if a == b else float(a > b)


def _abs(x: Any) -> Any:
    if not isinstance(x, Dual):
        return abs(x)
    unit = np.conj(np.sign(x.v)) if np.iscomplexobj(x.v) else np.sign(x.v)
    return Dual(abs(x.v), (unit * x.t).real)


_pow_log = lambda a, b, y: 0.0 if a == 0 and b > 0 else y * np.log(a)
_erf = lambda s: lambda x, y: s * 2 / math.sqrt(math.pi) * math.exp(-x * x)


def _digamma(x: float) -> float:
    from scipy.special import digamma
    return digamma(x)


SPECIAL: dict[str, Callable[..., Any]] = {}
RULES: dict[str, Callable[..., Any]] = {name: _rule(*row) for name, row in {
    "add": (lambda a, b: a + b, lambda a, b, y: 1, lambda a, b, y: 1),
    "subtract": (lambda a, b: a - b, lambda a, b, y: 1, lambda a, b, y: -1),
    "multiply": (lambda a, b: a * b, lambda a, b, y: b, lambda a, b, y: a),
    "divide": (lambda a, b: a / b, lambda a, b, y: 1 / b, lambda a, b, y: -y / b),
    "power": (lambda a, b: a**b, lambda a, b, y: 0.0 if b == 0 else b * a ** (b - 1), _pow_log),
    "remainder": (lambda a, b: a % b, lambda a, b, y: 1, lambda a, b, y: -(a // b)),
    "fmod": (np.fmod, lambda a, b, y: 1, lambda a, b, y: -np.trunc(a / b)),
    "arctan2": (np.arctan2, lambda a, b, y: b / (a * a + b * b), lambda a, b, y: -a / (a * a + b * b)),
    "hypot": (np.hypot, lambda a, b, y: a / y, lambda a, b, y: b / y),
    "logaddexp": (np.logaddexp, lambda a, b, y: np.exp(a - y), lambda a, b, y: np.exp(b - y)),
    "maximum": (np.maximum, lambda a, b, y: _tie(a, b), lambda a, b, y: _tie(b, a)),
    "minimum": (np.minimum, lambda a, b, y: _tie(b, a), lambda a, b, y: _tie(a, b)),
    "copysign": (np.copysign, lambda a, b, y: np.copysign(1.0, a) * np.copysign(1.0, b), lambda a, b, y: 0.0),
    "negative": (lambda x: -x, lambda x, y: -1), "positive": (lambda x: x, lambda x, y: 1),
    "exp": (np.exp, lambda x, y: y), "expm1": (np.expm1, lambda x, y: y + 1),
    "exp2": (np.exp2, lambda x, y: y * math.log(2)), "log": (np.log, lambda x, y: 1 / x),
    "log2": (np.log2, lambda x, y: 1 / (x * math.log(2))), "log10": (np.log10, lambda x, y: 1 / (x * math.log(10))),
    "log1p": (np.log1p, lambda x, y: 1 / (1 + x)), "sqrt": (np.sqrt, lambda x, y: 0.5 / y),
    "cbrt": (np.cbrt, lambda x, y: y / (3 * x)), "square": (np.square, lambda x, y: 2 * x),
    "reciprocal": (lambda x: 1 / x, lambda x, y: -y * y),
    "sin": (np.sin, lambda x, y: np.cos(x)), "cos": (np.cos, lambda x, y: -np.sin(x)),
    "tan": (np.tan, lambda x, y: 1 + y * y), "arcsin": (np.arcsin, lambda x, y: 1 / np.sqrt(1 - x * x)),
    "arccos": (np.arccos, lambda x, y: -1 / np.sqrt(1 - x * x)), "arctan": (np.arctan, lambda x, y: 1 / (1 + x * x)),
    "sinh": (np.sinh, lambda x, y: np.cosh(x)), "cosh": (np.cosh, lambda x, y: np.sinh(x)),
    "tanh": (np.tanh, lambda x, y: 1 - y * y), "arcsinh": (np.arcsinh, lambda x, y: 1 / np.sqrt(x * x + 1)),
    "arccosh": (np.arccosh, lambda x, y: 1 / np.sqrt(x * x - 1)), "arctanh": (np.arctanh, lambda x, y: 1 / (1 - x * x)),
    "deg2rad": (np.deg2rad, lambda x, y: math.pi / 180), "rad2deg": (np.rad2deg, lambda x, y: 180 / math.pi),
    "erf": (math.erf, _erf(1)), "erfc": (math.erfc, _erf(-1)),
    "gamma": (math.gamma, lambda x, y: y * _digamma(x)), "lgamma": (math.lgamma, lambda x, y: _digamma(x)),
}.items()}
RULES |= {"absolute": _abs, "fabs": _abs, "radians": RULES["deg2rad"], "degrees": RULES["rad2deg"],
          "float_power": RULES["power"], "mod": RULES["remainder"], "true_divide": RULES["divide"],
          "conjugate": lambda x: Dual(np.conj(x.v), np.conj(x.t)) if isinstance(x, Dual) else np.conj(x),
          "clip": lambda x, lo, hi: RULES["minimum"](RULES["maximum"](x, lo), hi)}
RULES |= {"fmax": RULES["maximum"], "fmin": RULES["minimum"]}
IDENTITY = {"add": 0.0, "multiply": 1.0}
UFUNCS = {name: np.frompyfunc(call, len(getattr(np, name).types[0].split("->")[0]), 1,
                              **({"identity": IDENTITY[name]} if name in IDENTITY else {}))
          for name, call in RULES.items() if hasattr(np, name) and isinstance(getattr(np, name), np.ufunc)}
CONSTANT = {"floor", "ceil", "trunc", "rint", "sign", "isnan", "isinf", "isfinite", "signbit", "heaviside",
            "floor_divide", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
            "logical_and", "logical_or", "logical_not", "logical_xor"}


def _plain(x: Any) -> Any:
    if isinstance(x, DualArray):
        return x.view(np.ndarray)
    if isinstance(x, Dual) or np.isscalar(x):
        cell = np.empty((), object)
        cell[()] = x
        return cell
    return x.astype(object) if isinstance(x, np.ndarray) else x


def wrap(x: Any) -> Any:
    """Turn object arrays into `DualArray`, float arrays into duals of zero tangent, 0-d results into scalars."""
    if isinstance(x, (tuple, list)):
        return tree_map(wrap, x)
    if not isinstance(x, np.ndarray) or isinstance(x, DualArray):
        return x
    return x.view(DualArray) if x.dtype == object else lift_array(x) if x.dtype.kind in "fc" else x


def apply_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a ufunc, or a method of one, on arrays of duals."""
    name = ufunc.__name__
    if name in CONSTANT and method == "__call__":
        kwargs.pop("out", None)
        return wrap(ufunc(*(value_of(x if isinstance(x, Dual) else np.asarray(x)) for x in inputs), **kwargs))
    kwargs = {k: v for k, v in kwargs.items() if k not in ("casting", "subok", "dtype", "order")}
    outs = kwargs.pop("out", None)
    outs = outs if isinstance(outs, tuple) else (outs,)
    twin = UFUNCS.get(name, ufunc)
    if method == "at":
        return getattr(twin, method)(_plain(inputs[0]), inputs[1], *map(_plain, inputs[2:]))
    if method == "reduce" and name in ("logical_and", "logical_or"):
        return ufunc.reduce(value_of(np.asarray(inputs[0])), **kwargs)
    if method == "reduce":
        return _reduce(twin, _plain(inputs[0]), outs[0], **kwargs)
    result = wrap(getattr(twin, method)(*map(_plain, inputs), **kwargs))
    if outs[0] is None:
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result
    outs[0][...] = result
    return outs[0]


def _reduce(twin: Any, x: np.ndarray, out: Any, axis: Any = 0, keepdims: bool = False,
            **kwargs: Any) -> Any:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(sorted(a % max(x.ndim, 1) for a in axes))
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    for a in reversed(axes):
        x = twin.reduce(x, axis=a, **kwargs)
    if keepdims:
        x = np.asarray(x, object).reshape(shape) if isinstance(x, np.ndarray) else _plain(x).reshape(shape)
    x = wrap(x)
    if out is None:
        return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
    out[...] = x
    return out


def apply_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a NumPy function on duals: a special case, or NumPy's own implementation on object arrays."""
    special = SPECIAL.get(func.__name__)
    if special is not None:
        return special(*args, **kwargs)
    cell = lambda x: _plain(x).view(DualArray) if isinstance(x, Dual) else x
    args, kwargs = tree_map(cell, args), tree_map(cell, kwargs)
    out = wrap(getattr(func, "_implementation", func)(*args, **kwargs))
    return out[()] if isinstance(out, DualArray) and out.ndim == 0 else out


class DualArray(np.ndarray):
    """An object array of duals, with NumPy's own views, indexing and methods."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Dispatch a ufunc."""
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Dispatch a NumPy function."""
        return apply_function(func, args, kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Store, every element as a dual."""
        value = as_dual(value)
        value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
        key = tree_map(lambda k: value_of(k) if isinstance(k, np.ndarray) else k, key)
        super().__setitem__(key, value)

    def astype(self, dtype: Any, **kwargs: Any) -> Any:
        """Cast: both parts, or for integers and booleans the value alone."""
        kind = real_dtype(dtype)
        return cast(kind)(self) if kind.kind in "fcO" else value_of(self).astype(kind)

    def fill(self, value: Any) -> None:
        """Store `value` everywhere."""
        self[...] = value

    real = property(lambda self: wrap(np.frompyfunc(lambda e: e.real, 1, 1)(self.view(np.ndarray))))
    imag = property(lambda self: wrap(np.frompyfunc(lambda e: e.imag, 1, 1)(self.view(np.ndarray))))
    argmax = lambda self, *a, **k: value_of(self).argmax(*a, **k)
    argmin = lambda self, *a, **k: value_of(self).argmin(*a, **k)
    any = lambda self, *a, **k: value_of(self).any(*a, **k)
    all = lambda self, *a, **k: value_of(self).all(*a, **k)


def lift_array(x: np.ndarray, x_dot: np.ndarray | None = None) -> DualArray:
    """Pair every element of `x` with its tangent, in an object array of the same layout."""
    out = blank_with_layout(x, object)
    for index in np.ndindex(x.shape):
        out[index] = Dual(x[index], x.dtype.type(0) if x_dot is None else x_dot[index])
    return out.view(DualArray)


def as_dual(x: Any) -> Any:
    """Bring numbers, arrays and nested lists to duals; a whole number becomes a float."""
    if isinstance(x, (list, tuple)):
        x = np.array(x, dtype=object)
    if isinstance(x, np.ndarray) and x.dtype == object:
        out = np.frompyfunc(as_dual, 1, 1)(x.view(np.ndarray)) if x.size else x
        return out.view(DualArray) if isinstance(out, np.ndarray) else out
    if isinstance(x, np.ndarray):
        return lift_array(x if x.dtype.kind in "fc" else x.astype(float))
    if isinstance(x, Dual):
        return x
    return Dual(np.float64(x) if isinstance(x, (int, float, np.integer, np.bool_)) and not isinstance(x, np.float32)
                else np.complex128(x) if isinstance(x, complex) else x, 0.0)


def _operator(name: str, swap: bool) -> Callable[..., Any]:
    rule, ufunc = RULES.get(name), getattr(np, name)

    def method(self: Dual, *other: Any) -> Any:
        args = (*other, self) if swap else (self, *other)
        if any(isinstance(o, (np.ndarray, list)) for o in other):
            return ufunc(*args)
        return rule(*args) if rule else ufunc(*map(value_of, args))
    return method


for _name, _symbol in {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "power": "pow",
                       "remainder": "mod", "floor_divide": "floordiv"}.items():
    setattr(Dual, f"__{_symbol}__", _operator(_name, swap=False))
    setattr(Dual, f"__r{_symbol}__", _operator(_name, swap=True))
for _name, _symbol in {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
                       "not_equal": "ne", "negative": "neg", "absolute": "abs"}.items():
    setattr(Dual, f"__{_symbol}__", _operator(_name, swap=False))
for _name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "square"):
    setattr(Dual, _name, RULES[_name])


def real_dtype(dtype: Any) -> np.dtype:
    """Resolve a stand-in, an object dtype or None to a NumPy dtype."""
    return np.dtype(dtype.type if isinstance(dtype, cast) else float if dtype in (None, object) else dtype)


class cast:
    """Stand-in for `float`, `np.float32` and their like: casts duals, and serves as dtype and class."""

    def __init__(self, kind: Any) -> None:
        """Cast to `kind`."""
        self.type = kind.type if isinstance(kind, np.dtype) else kind

    def __call__(self, x: Any = 0.0) -> Any:
        """Cast both parts."""
        if isinstance(x, Dual):
            return Dual(self.type(x.v), np.asarray(x.t).astype(self.type)[()])
        if isinstance(x, np.ndarray) and x.dtype == object:
            out = np.frompyfunc(self, 1, 1)(x.view(np.ndarray))
            return out.view(DualArray) if isinstance(out, np.ndarray) and out.ndim else out
        return self.type(x)

    def __instancecheck__(self, x: Any) -> bool:
        """Answer `isinstance` for the value."""
        return isinstance(value_of(x), self.type)
