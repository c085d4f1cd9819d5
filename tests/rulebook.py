"""Calls of every registered function, and the ladder that each of them climbs.

Where a rule is sampled stands beside the rule: `domain` of a row, `samples` of a class. What has neither, because
it is read as other code, is sampled in the table below; one entry per function.
"""

from __future__ import annotations

import bisect
import cmath
import heapq
import inspect
import itertools
import linecache
import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.rules import REGISTRY, Constant, Elementwise, Structured, find
from s2sad.rules.registry import EXPANSIONS, HOMES, UNKNOWN
from s2sad.rules.sample import case, complex_values, definite, values
from tests.ladder import assert_close, assert_fits, assert_same, inner, noise
from tests.trees import fresh, is_active, leaves, tree_map

find(np.sin)  # loads the tables

V, M, S, C = values(4), values(3, 4), definite(3, 3), values(2, 3, 4)
W, N = values(4, seed=1), values(3, 4, seed=1)
Z, ZM = complex_values(4), complex_values(3, 4)
SIX, SQUARES = definite(6, 6).reshape(2, 3, 6), values(2, 3, 3)
TABLE = np.array([-2.0, -0.5, 1.0, 2.5])
ROWS = np.array([0, 2, 2])
GRID = np.array([[0, 1], [2, 2]])
Z = complex_values(4)
HOLED = np.where(np.arange(12).reshape(3, 4) % 5 == 1, np.nan, values(3, 4, seed=2))

EXPANDED: dict[Any, tuple[Any, ...]] = {
    np.average: (case(M), case(M, weights=abs(N)), case(M, axis=1, weights=abs(N))),
    statistics.mean: (case(V),),
    statistics.fmean: (case(V), case(V, abs(W))),
    statistics.median: (case(V),),
    **dict.fromkeys((statistics.pvariance, statistics.pstdev, statistics.variance, statistics.stdev), (case(V),)),
    **dict.fromkeys((statistics.geometric_mean, statistics.harmonic_mean), (case(abs(V)),)),
    math.log: (case(1.7), case(1.7, 3.0)),
    np.clip: (case(V, -0.5, None), case(V, -0.5, 0.7)),
    math.hypot: (case(0.3, 0.4), case(0.3, 0.4, -0.5)),
    np.linalg.multi_dot: (case([values(2, 3), M, W]),),
    np.linalg.slogdet: (case(S),),
    np.linalg.norm: (case(S, ord="nuc"), case(S, ord=-2), case(C, ord=1, axis=(0, 2)), case(M, ord=-np.inf)),
    np.linalg.vector_norm: (
        case(M), case(M, axis=1, keepdims=True), case(M, ord=3, axis=0), case(V, ord=np.inf),
        case(M, keepdims=True), case(C, axis=(0, 2), keepdims=True),
    ),
    np.linalg.matrix_norm: (case(M), case(C, ord=1), case(C, ord=2), case(S, ord="nuc", keepdims=True)),
    np.linalg.cond: (case(S), case(S, p=-2), case(S, 1), case(S, "fro")),
    np.linalg.cholesky: (case(S @ S.T, upper=True),),
    np.linalg.qr: (case(M.T, mode="r"),),
    np.linalg.svd: (
        case(M, compute_uv=False), case(C, compute_uv=False), case(S + S.T, compute_uv=False, hermitian=True),
        case(S + S.T, hermitian=True),
    ),
    np.linalg.eig: (case(S + np.diag([0.0, 2.0, 5.0])),),
    np.linalg.eigvals: (case(S + np.diag([0.0, 2.0, 5.0])),),
    np.linalg.matrix_power: (case(S / 4.0, 11), case(S, -3), case(S, 0)),
    np.linalg.tensorinv: (case(SIX), case(definite(6, 6).reshape(6, 3, 2), ind=1)),
    np.linalg.tensorsolve: (case(SIX, values(2, 3)), case(SIX, values(2, 3, seed=3))),
    np.linalg.cross: (case(values(3), values(3, seed=1)), case(values(3, 2), values(3, 2, seed=1), axis=0)),
    np.linalg.trace: (case(S), case(SQUARES, offset=1)),
    np.linalg.diagonal: (case(S), case(SQUARES), case(SQUARES, offset=-1)),
    np.linalg.matmul: (case(M, N.T), case(C, C.swapaxes(1, 2)), case(ZM, ZM.T)),
    np.linalg.outer: (case(V, W), case(V, values(3)), case(V, Z)),
    np.linalg.tensordot: (case(M, N), case(M, C, axes=([0, 1], [1, 2])), case(M.T, N, axes=1)),
    np.linalg.vecdot: (case(V, W), case(M, N, axis=0), case(M, W), case(Z, ZM)),
    np.vecdot: (case(V, W), case(M, N, axis=0), case(M, W), case(Z, ZM)),
    np.kron: (case(V, M), case(M, 0.7), case(C, V)),
    np.cross: (case(values(3, 2), values(3, 2, seed=1), axis=0), case(values(3, 2), values(2, 3), axisa=0)),
    np.trace: (case(C, axis1=0, axis2=2), case(C, 1, 0, 2)),
    np.reshape: (case(M, (2, 6), order="F"), case(M, -1, order="F")),
    np.ravel: (case(M, order="F"),),
    np.array_split: (case(M, 3, axis=1), case(V, 3), case(M, [1, 3], axis=1)),
    np.split: (case(M, 2, axis=1), case(V, [1, 2])),
    np.hsplit: (case(M, 2), case(V, 2)),
    np.vsplit: (case(M, 3),),
    np.dsplit: (case(C, 2),),
    np.atleast_3d: (case(V), case(M), case(C), case(0.5)),
    np.dstack: (case([M, N]), case([V, W])),
    np.block: (case([[M, N], [N, M]]), case([V, W])),
    np.insert: (case(M, 1, 5.0, axis=0), case(M, 1, W, axis=0), case(V, ROWS, values(3)), case(M, 2, 7.0)),
    np.delete: (case(M, 1, axis=0), case(V, ROWS), case(M, -2)),
    np.resize: (case(M, (5, 4)), case(V, 7)),
    np.ediff1d: (case(V), case(V, 0.5, W)),
    np.diagflat: (case(V), case(V, 1)),
    np.compress: (case(np.array([True, False, True]), M, axis=0), case(V > 0.0, V)),
    np.extract: (case(M > 0.0, M),),
    np.select: (case([M > 0.5, M > 0.0], [M, N]), case([V > 0.0], [V], -1.0)),
    np.choose: (case(np.array([0, 1, 1, 0]), [V, W]),),
    np.matrix_transpose: (case(M), case(C)),
    np.linalg.matrix_transpose: (case(M), case(C)),
    np.apply_over_axes: (case(np.sum, C, [0, 2]), case(np.mean, C, 1)),
    np.unstack: (case(M), case(C, axis=1)),
    np.histogram: (case(V, 3), case(V, TABLE, weights=W), case(M, 4, density=True)),
    np.unique: (case(V), case(M)),
    np.linspace: (case(V, W, 4, axis=-1), case(0.3, 0.9, 5, retstep=True), case(0.3, V, 3, dtype=float)),
    np.full_like: (case(M, 0.7, shape=(2,)),),
    np.take: (case(V, np.array([7, -1]), mode="clip"), case(M, ROWS + 2, axis=0, mode="wrap")),
    np.atleast_1d: (case(0.7, V),),
    np.atleast_2d: (case(0.7, V),),
    np.linalg.pinv: (case(S, hermitian=True), case(M, rtol=1e-10)),
    np.rollaxis: (case(C, 2), case(C, 0, 2)),
    np.broadcast_arrays: (case(M, V),),
    np.pad: (
        *(case(M, ((1, 2), (0, 1)), mode) for mode in ("edge", "reflect", "symmetric", "wrap", "mean", "maximum")),
        case(V, 2, "linear_ramp", end_values=0.5), case(V, 2, "symmetric", reflect_type="odd"),
    ),
    np.diagonal: (case(values(2, 3, 3), axis1=1, axis2=2), case(C, 1), case(C, -1), case(S, 0, 1, 0)),
    np.interp: (case(V, TABLE, W, left=0.5, right=-0.5),),
    np.polyder: (case(V), case(V, 2)),
    np.polyint: (case(V), case(V, k=0.5), case(V, 2)),
    np.polyfit: (
        case(values(7), values(7, seed=1), 2), case(values(7), values(7, 2, seed=1), 2),
        case(values(7), values(7, seed=1), 1, w=values(7, seed=2)),
    ),
    np.polymul: (case(V, values(2)), case(values(2), W)),
    np.poly: (case(V), case(values(3))),
    np.polynomial.polynomial.polyval: (case(0.3, V), case(V, W)),
    np.polynomial.chebyshev.chebval: (case(0.3, V), case(V, W)),
    np.polynomial.legendre.legval: (case(0.3, V), case(V, W)),
    np.polynomial.hermite_e.hermeval: (case(0.3, V), case(V, W)),
    np.polynomial.hermite.hermval: (case(0.3, V), case(V, W)),
    np.polynomial.laguerre.lagval: (case(0.3, V), case(V, W)),
    np.polynomial.polynomial.polyvander: (case(V, 3), case(M, 2)),
    np.polynomial.polynomial.polyval2d: (case(V, W, M),),
    np.polynomial.polynomial.polyadd: (case(V, values(2)),),
    np.polynomial.polynomial.polysub: (case(V, values(6)),),
    np.polynomial.polynomial.polymul: (case(V, values(2)),),
    np.polynomial.polynomial.polyder: (case(V), case(V, 2)),
    # A divisor that begins with a power of two leaves no rounded rest, so that NumPy drops it in every precision.
    np.polydiv: (case(V, np.array([0.5, -0.3])), case(W, np.array([2.0, 0.7, -0.4]))),
    np.roots: (case(np.array([1.0, -3.2, 1.1, 0.4])),),
    np.real_if_close: (case(V),),
    np.i0: (case(V), case(M), case(0.7)),
    np.polyadd: (case(V, values(2)),),
    np.polysub: (case(V, values(6)),),
    np.meshgrid: (case(V, values(3)), case(V, values(3), indexing="ij"), case(V, values(3), sparse=True)),
    np.logspace: (case(0.3, 0.9, 4), case(0.3, 0.9, 4, base=2.0)),
    np.geomspace: (case(0.3, 0.9, 4),),
    np.piecewise: (case(V, [V < 0.0, V >= 0.0], [lambda v: -v, lambda v: v * 2.0]),),
    np.apply_along_axis: (case(lambda v: v * v, 0, M), case(lambda v: v[0] * v[-1], 1, M)),
    np.fromfunction: (case(lambda i, j: i - 0.5 * j, (3, 4)),),
    np.unravel_index: (case(np.array([5, 11]), (3, 4)),),
    np.ravel_multi_index: (case((1, 2), (3, 4)),),
    np.nonzero: (case(M > 0.0),),
    np.where: (case(M > 0.0),),
    np.triu_indices: (case(4, 1), case(3, -1, 5)),
    np.tril_indices: (case(4), case(3, 1, 5)),
    np.triu_indices_from: (case(S),),
    np.tril_indices_from: (case(M),),
    np.diag_indices: (case(4),),
    np.identity: (case(4),),
    np.diag_indices_from: (case(S),),
    np.ix_: (case(ROWS, np.array([1, 3])),),
    np.modf: (case(M),),
    math.modf: (case(1.7),),
    np.divmod: (case(M, 0.7),),
    cmath.polar: (case(0.4 + 0.3j),),
    cmath.rect: (case(0.7, 0.3),),
    math.prod: (case(V), case([0.3, 0.4], start=2.0)),
    math.fsum: (case(V),),
    math.dist: (case(V, W),),
    np.sum: (case(M, axis=1, where=N > 0.0, initial=0.5),),
    np.prod: (case(C, (0, 2)), case(M, axis=0, where=N > 0.0)),
    np.max: (case(M, axis=1, initial=-9.0, where=N > 0.0),),
    np.min: (case(M, axis=1, initial=9.0, where=N > 0.0),),
    np.mean: (case(M, axis=1, where=M < 9.0),),
    np.var: (case(M, axis=1, correction=1), case(M, where=N > 0.0)),
    np.std: (case(M, axis=1, correction=1),),
    np.nansum: (case(HOLED, axis=1, initial=0.5),),
    np.nanmean: (case(HOLED, axis=1, where=HOLED != 0.0),),
    np.nanprod: (case(HOLED), case(HOLED, axis=1), case(HOLED, axis=0, where=N > 0.0, initial=2.0)),
    np.nancumsum: (case(HOLED, axis=1),),
    np.nancumprod: (case(HOLED, axis=1),),
    np.nanvar: (case(HOLED, axis=1), case(HOLED, ddof=1)),
    np.nanstd: (case(HOLED, axis=1, keepdims=True),),
    np.nanmax: (case(HOLED), case(HOLED, axis=1)),
    np.nanmin: (case(HOLED), case(HOLED, axis=0)),
    np.diff: (case(M, 2), case(M, axis=0, prepend=0.5, append=N)),
    np.gradient: (case(M), case(M, 0.5, 2.0), case(V, TABLE), case(M, axis=1, edge_order=2)),
    np.cov: (case(M), case(M, rowvar=False, ddof=0), case(V, W)),
    np.corrcoef: (case(M),),
    np.cumulative_sum: (case(M, axis=1, include_initial=True), case(V)),
    np.cumulative_prod: (case(M, axis=0, include_initial=True), case(V)),
    np.trapezoid: (case(M, axis=0), case(M, dx=0.5), case(V, TABLE)),
    np.quantile: (case(M, 0.3), case(M, 0.3, axis=1, keepdims=True), case(M, [0.2, 0.7], axis=0, method="lower")),
    np.percentile: (
        case(M, 30.0), case(M, [20.0, 70.0], axis=1), case(C, [20.0, 70.0], axis=(0, 2), keepdims=True),
    ),
    np.median: (case(M), case(M, axis=1), case(C, axis=(0, 2), keepdims=True)),
    np.nanquantile: (case(HOLED, 0.3), case(HOLED, 0.3, axis=1)),
    np.nanpercentile: (case(HOLED, 30.0), case(HOLED, 30.0, axis=1)),
    np.nanmedian: (case(HOLED), case(HOLED, axis=1)),
    np.fft.fftfreq: (case(5, 0.7), case(8, 0.4)),
    np.fft.rfftfreq: (case(5, 0.7), case(8, 0.4)),
    np.fft.hfft: (case(V), case(Z)),
    np.fft.ihfft: (case(V), case(V, norm="ortho")),
    np.fft.fft2: (case(M), case(C, axes=(0, 1))),
    np.fft.ifft2: (case(M), case(M, (2, 5))),
    np.fft.rfft2: (case(M), case(M, norm="forward")),
    np.fft.irfft2: (case(M), case(M, (4, 5))),
    np.fft.fftn: (case(M), case(C, axes=(0, 2))),
    np.fft.ifftn: (case(M), case(C, norm="ortho")),
    np.fft.rfftn: (case(M), case(C)),
    np.fft.irfftn: (case(M), case(C, axes=(1, 2))),
    np.fft.fftshift: (case(M), case(M, axes=1)),
    np.fft.ifftshift: (case(M), case(V)),
    **({np.matvec: (case(M, V), case(C, M[:2]), case(M, Z), case(ZM, V)),
        np.vecmat: (case(values(3), M), case(M[:2, :3], C), case(Z[:3], M), case(Z[:3], ZM))}
       if hasattr(np, "matvec") else {}),  # since NumPy 2.2
}  # fmt: skip
"""Functions that are read as other code (`EXPANSIONS`): where they are sampled."""

PROCEDURES: dict[Any, tuple[Any, ...]] = {
    np.copyto: (case(M, N), case(M, W), case(M, N, where=M > 0.0)),
    np.put: (case(M, ROWS, values(3)), case(M, 3, 0.5), case(M, ROWS + 20, values(3), mode="clip")),
    np.putmask: (case(M, M > 0.0, N), case(M, M > 0.0, 0.5)),
    np.place: (case(M, M > 0.0, values(2)),),
    np.fill_diagonal: (case(S, 0.5), case(M, values(3)), case(M.T.copy(), values(2), wrap=True)),
    np.put_along_axis: (case(M, GRID[:, :1].repeat(2, 0)[:3], values(3, 1), 1), case(V, ROWS, values(3), 0)),
    np.add.at: (case(M, ROWS, N), case(V, ROWS, values(3)), case(M, ROWS, W)),
    np.subtract.at: (case(M, ROWS, N),),
    np.multiply.at: (case(M, ROWS, N), case(V, ROWS, 0.5), case(M, ROWS, W), case(V, GRID, values(2, 2))),
    np.divide.at: (case(V, ROWS, 1.0 + abs(values(3))),),
    np.negative.at: (case(M, ROWS),),
    np.power.at: (case(V + 3.0, ROWS, 2.0),),
    np.maximum.at: (case(V, ROWS, values(3, seed=2)),),
    np.minimum.at: (case(V, ROWS, values(3, seed=2)),),
}  # fmt: skip
"""Procedures: the first argument is written into, and is what they give."""


HERMITIAN = (np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh)
"""Functions of a Hermitian matrix: of complex matrices, they are called with the Hermitian part of the argument.

Its tangents and the steps of the differences are then Hermitian too.
"""

BESIDE_PHASES: dict[Any, tuple[str, ...]] = {
    np.linalg.eigh: (
        "    w, v = {call}",
        "    weights = np.arange(w.shape[-1]) + 1.0",
        "    return w, (v * weights) @ np.conj(np.matrix_transpose(v))",
    ),
    np.linalg.svd: (
        "    u, s, vh = {call}",
        "    weights = np.arange(s.shape[-1]) + 1.0",
        "    return s, (u * weights) @ vh, np.abs(u), np.abs(vh)",
    ),
}
"""What a call gives with complex vectors, whose phases are arbitrary: what is made of them that has no phase.

Sums with a weight for each vector tell the vectors apart, as a product that gives back the matrix does not.
"""


WITHIN: dict[Any, str] = {np.unstack: "sum([part * part for part in {call}])"}
"""What is made of a call's parts, where they may be read in one array of them."""


@dataclass(frozen=True)
class Call:
    """One call of a registered function.

    Attributes:
        fn: the function.
        args: its positional arguments; arrays, numbers and lists of arrays are arguments of the program, others not.
        static: its keywords.
        wrt: the arguments that are differentiated.
        variant: what is special about the arguments.
        procedure: whether the first argument is what it gives.
    """

    fn: Any
    args: tuple[Any, ...]
    static: dict[str, Any]
    wrt: tuple[int, ...]
    variant: str = "plain"
    procedure: bool = False

    @property
    def label(self) -> str:
        """Name the call for a test's identity."""
        owner = getattr(self.fn, "__self__", None)
        home = HOMES[self.fn].__name__ if self.fn in HOMES else getattr(self.fn, "__module__", None)
        module = home or "numpy"
        if module.startswith("scipy."):
            module = ".".join(part for part in module.split(".") if not part.startswith("_"))
        name = getattr(self.fn, "__name__", str(self.fn))
        return f"{module}.{owner.__name__}.{name}" if isinstance(owner, np.ufunc) else f"{module}.{name}"


def is_ours(fn: Any) -> bool:
    """Say whether a function is one of s2sad's own helpers, which user code does not call."""
    return (getattr(fn, "__module__", None) or "").startswith("s2sad")


def is_scipys(fn: Any) -> bool:
    """Say whether a function is SciPy's, whose rules are loaded where a program uses it and have tests of their own."""
    return fn in HOMES or (getattr(fn, "__module__", None) or "").startswith("scipy")


# ---- sampling ----


def elementwise_calls(fn: Any, rule: Elementwise) -> Iterator[Call]:
    """Sample a row: shapes that broadcast each way, sizes, layouts and dtypes."""
    rng = np.random.default_rng(5)
    n = len(rule.args)
    counted = {k for k, name in enumerate(rule.args) if name == "n"}
    unknown = {k for k, partial in enumerate(rule.partials) if partial == UNKNOWN}  # by an order, say
    wrt = tuple(k for k in range(n) if k not in counted | unknown)

    def draw(k: int, shape: tuple[int, ...]) -> Any:
        low, high = rule.domain[k]
        if k in counted:
            return round(low)
        if k in unknown:
            return float((low + high) / 2.0)
        drawn = rng.uniform(low, high, shape)
        return drawn if shape else float(drawn)

    def call(variant: str, *shapes: tuple[int, ...]) -> Call:
        return Call(fn, tuple(draw(k, shape) for k, shape in enumerate(shapes)), {}, wrt, variant)

    scalar = call("number", *[()] * n)
    yield scalar
    if getattr(fn, "__module__", None) in ("math", "cmath", "builtins") and fn is not abs:
        if getattr(fn, "__module__", None) == "cmath":
            yield varied(scalar, "complex")
        return
    whole = call("array", *[(3, 4)] * n)
    yield whole
    for k in range(n) if n > 1 else ():
        for name, shape in (("number", ()), ("row", (4,)), ("column", (3, 1))):
            yield call(f"{name} {rule.args[k]}", *[shape if j == k else (3, 4) for j in range(n)])
    yield call("size one", *[(1,)] * n)
    yield call("empty", *[(0,)] * n)
    yield varied(whole, "Fortran")
    yield varied(whole, "strided")
    yield varied(whole, "float32")
    if rule.complex_partials is not None and fn not in (np.float64, np.float32, np.float16):
        yield varied(whole, "complex")


def structured_calls(fn: Any, rule: Structured) -> Iterator[Call]:
    """Sample a class: its samples as they are, and one of them each in every layout and dtype."""
    tangent = inspect.signature(rule.tangent).parameters
    names = list(tangent)
    names = names[: names.index("y")]
    plain = []
    for args, static in rule.samples:
        wrt = tuple(
            k for k, value in enumerate(args)
            if f"{names[k]}_dot" in tangent and any(is_active(leaf) for leaf in leaves(value))
        )  # fmt: skip
        if wrt:
            plain.append(Call(fn, args, static, wrt, "complex" if _is_complex(args) else "plain"))
    yield from plain
    real = [call for call in plain if call.variant == "plain"]
    for k, variant in enumerate(("Fortran", "strided", "float32", *(("complex",) if rule.complex else ()))):
        if real and getattr(fn, "__module__", None) not in ("math", "builtins"):
            yield varied(real[k % len(real)], variant)


def expanded_calls(fn: Any, samples: tuple[Any, ...], procedure: bool = False) -> Iterator[Call]:
    """Sample a function that is read as other code."""
    plain = []
    for args, static in samples:
        wrt = tuple(k for k, value in enumerate(args) if any(is_active(leaf) for leaf in leaves(value)))
        plain.append(Call(fn, args, static, wrt, "plain", procedure))
    yield from plain
    if getattr(fn, "__module__", None) in ("math", "cmath"):
        return
    for k, variant in enumerate(("Fortran", "strided", "float32")):
        if plain[k % len(plain)].wrt:
            yield varied(plain[k % len(plain)], variant)


def _is_complex(tree: Any) -> bool:
    return any(np.iscomplexobj(leaf) for leaf in leaves(tree))


def varied(call: Call, variant: str) -> Call:
    """Return the call with its floating-point arguments in another layout or dtype."""

    def change(leaf: Any) -> Any:
        if not is_active(leaf):
            return leaf
        if variant == "float32":
            single = np.complex64 if np.iscomplexobj(leaf) else np.float32
            return leaf.astype(single) if isinstance(leaf, np.ndarray) else single(leaf)
        if variant == "complex":
            shape = np.shape(leaf)
            return leaf + 0.3j * complex_values(*shape, seed=3).real if shape else complex(leaf, 0.4)
        if not isinstance(leaf, np.ndarray) or leaf.ndim == 0:
            return leaf
        if variant == "Fortran":
            return np.asfortranarray(leaf)
        wide = np.full((*leaf.shape[:-1], 2 * leaf.shape[-1]), 0.123, leaf.dtype)
        wide[..., ::2] = leaf
        return wide[..., ::2]

    args = tuple(tree_map(change, arg) if k in call.wrt else arg for k, arg in enumerate(call.args))
    return Call(call.fn, args, call.static, call.wrt, variant, call.procedure)


def calls_of(fn: Any) -> list[Call]:
    """Return all calls of a registered function; none where it has no domain."""
    rule = REGISTRY.get(fn)
    found: list[Call] = []
    if isinstance(rule, Elementwise):
        found += elementwise_calls(fn, rule)
    elif isinstance(rule, Structured):
        found += structured_calls(fn, rule)
    found += expanded_calls(fn, EXPANDED[fn]) if fn in EXPANDED else ()
    found += expanded_calls(fn, PROCEDURES[fn], procedure=True) if fn in PROCEDURES else ()
    return found + [lone for call in found if call.variant == "plain" and len(call.wrt) > 1 for lone in alone(call)]


def alone(call: Call) -> list[Call]:
    """Return the call with each of its arguments as the only one that varies."""
    return [Call(call.fn, call.args, call.static, (k,), f"only {k}", call.procedure) for k in call.wrt]


def registered() -> list[Any]:
    """List every function of NumPy, `math` and the builtins that has a derivative rule."""
    known = [fn for fn, rule in REGISTRY.items() if not isinstance(rule, Constant)]
    found = dict.fromkeys([*known, *EXPANSIONS, *PROCEDURES])
    return [fn for fn in found if not is_ours(fn) and not is_scipys(fn) and fn not in WHOLE]


WHOLE = (
    bisect.bisect_right, bisect.bisect_left, np.lexsort, bisect.insort_right, bisect.insort_left, heapq.heappush,
    heapq.heappop, heapq.heapreplace, heapq.heappushpop, heapq.heapify, heapq.nsmallest, heapq.nlargest,
)  # fmt: skip
"""Functions that give places, which have no derivative, and those of lists that grow: tests/unit/test_ordinary_calls.py
and tests/unit/test_ordered_lists.py have programs of them."""


# ---- the ladder of one call ----

NARROWING = (np.float16, np.float32, np.complex64)
"""Conversions that round: linear, so that differences may be coarse."""
_counter = itertools.count()


def program(call: Call) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]:
    """Write the call as a function in a file of its own; return it, its arguments, and which are differentiated."""
    scope: dict[str, Any] = {"function": call.fn, "np": np}
    given: list[Any] = []
    words: list[str] = []
    wrt: list[int] = []
    for k, arg in enumerate(call.args):
        if isinstance(arg, np.ndarray) or k in call.wrt:
            words.append(f"x{k}")
            if k in call.wrt:
                wrt.append(len(given))
            given.append(arg)
        else:
            scope[f"fixed{k}"] = arg
            words.append(f"fixed{k}")
    names = [word for word in words if word.startswith("x")]
    for name, value in call.static.items():
        scope[f"set_{name}"] = value
        words.append(f"{name}=set_{name}")
    if call.variant == "complex" and call.fn in HERMITIAN:
        words[0] = "0.5 * (x0 + np.conj(np.matrix_transpose(x0)))"
    body = f"function({', '.join(words)})"
    lines = [f"    return {WITHIN.get(call.fn, '{call}').format(call=body)}"]
    if call.variant == "complex" and call.fn in BESIDE_PHASES:
        lines = [line.format(call=body) for line in BESIDE_PHASES[call.fn]]
    if call.procedure:
        lines = ["    x0 = x0.copy()", f"    {body}", "    return x0"]
    text = f"def call({', '.join(names)}):\n" + "\n".join(lines) + "\n"
    file = f"<rulebook {next(_counter)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    return scope["call"], tuple(given), tuple(wrt)


def slope(fun: Callable[..., Any], args: tuple[Any, ...], dots: tuple[Any, ...], step: float = 1e-4) -> Any:
    """Return the directional derivative by differences of fourth order, in double precision: a check only."""
    def double(leaf: Any) -> Any:
        return np.asarray(leaf, np.result_type(leaf, np.float64)) if is_active(leaf) else leaf

    wide = tree_map(double, args)

    def at(k: int) -> list[Any]:
        moved = tuple(x if dot is None else tree_map(lambda a, d: a + k * step * d, x, dot)
                      for x, dot in zip(wide, dots, strict=True))  # fmt: skip
        return [np.asarray(leaf) for leaf in leaves(fun(*_unwrapped(moved, args)))]

    return [(8 * (b - c) - (a - d)) / (12 * step) for a, b, c, d in zip(at(2), at(1), at(-1), at(-2), strict=True)]


def _unwrapped(moved: Any, args: Any) -> Any:
    return tree_map(lambda new, old: new[()] if is_active(old) and not isinstance(old, np.ndarray) else new,
                    moved, args)  # fmt: skip


def climb_call(call: Call, target: str = "python") -> None:
    """Check value, tangent, cotangents, shapes, dtypes, purity and repeatability of one call."""
    fun, args, wrt = program(call)
    climb_function(fun, args, wrt, call.label, target, call.variant == "float32", call.fn in NARROWING)


def climb_function(
    fun: Callable[..., Any], args: tuple[Any, ...], wrt: tuple[int, ...], label: str,
    target: str = "python", single: bool = False, rough: bool = False,
) -> None:  # fmt: skip
    """Climb with any function; `rough`: it rounds, but is linear."""
    import s2sad

    exact, close, paired = (2e-5, 5e-3, 2e-3) if rough or single else (1e-13, 1e-7, 1e-10)
    with np.errstate(all="ignore"):
        want = fun(*fresh(args))
        if not wrt or not any(is_active(leaf) for leaf in leaves(want)):
            return
        derivative = s2sad.differentiate(target=target, argnums=wrt)(fun)
        dots = tuple(noise(arg, f"{label}{k}") if k in wrt else None for k, arg in enumerate(args))
        given = fresh(args)
        out, out_dot = derivative.jvp(given, dots)
        assert_close(out, want, exact, "value under jvp")
        assert [np.asarray(x).dtype for x in leaves(out)] == [np.asarray(x).dtype for x in leaves(want)]
        moving = [leaf for leaf, value in zip(leaves(out_dot), leaves(want), strict=True) if is_active(value)]
        slopes = slope(fun, args, dots, 0.25 if rough else 1e-4)
        expected = [s for s, value in zip(slopes, leaves(want), strict=True) if is_active(value)]
        assert_close(moving, [np.asarray(x) for x in expected], close, "jvp against differences")
        assert_same(derivative.jvp(given, dots)[1], out_dot, "jvp called twice")
        out, pullback = derivative.vjp(*given)
        assert_close(out, want, exact, "value under vjp")
        y_bar = noise(out, label)
        bars = pullback(y_bar)
        chosen = bars if len(bars) == len(wrt) else tuple(bars[k] for k in wrt)
        left, right = inner(y_bar, out_dot), inner(chosen, tuple(dots[k] for k in wrt))
        assert_close(right.real, left.real, paired, "dot-product test")
        for k, bar in zip(wrt, chosen, strict=True):
            assert_fits(bar, args[k], f"cotangent of argument {k}")
        assert_same(pullback(y_bar), bars, "the pullback called twice")
        assert_same(given, args, "the derivative changed the caller's arguments")
