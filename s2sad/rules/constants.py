"""Functions without a derivative: integers, truth values, shapes, fresh constants, and steps.

A step function (`floor`, `sign`, …) is constant almost everywhere; its jumps are not
differentiated.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import constant
from s2sad.runtime import integers

constant(  # steps
    np.floor, np.ceil, np.trunc, np.rint, np.round, np.around, np.fix, np.signbit,
    np.floor_divide, np.spacing, math.ulp, np.digitize, operator.floordiv,
    math.floor, math.ceil, math.trunc, builtins.round,
)  # fmt: skip
constant(  # truth values
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    operator.not_, operator.is_, operator.is_not, operator.contains, operator.truth,
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_not, np.logical_xor,
    np.isnan, np.isinf, np.isfinite, np.isneginf, np.isposinf, np.isreal, np.iscomplex,
    np.isnat, np.isclose, np.allclose, np.array_equal, np.any, np.all, np.iscomplexobj, np.isin,
    cmath.isnan, cmath.isinf, cmath.isfinite, cmath.isclose,
    math.isnan, math.isinf, math.isfinite, math.isclose,
    builtins.bool, builtins.any, builtins.all, ops.both, ops.either,
)  # fmt: skip
constant(  # integers
    operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.bitwise_count,
    np.argmax, np.argmin, np.argsort, np.searchsorted, np.flatnonzero, np.argwhere,
    np.count_nonzero, np.argpartition, np.lexsort,
    np.gcd, np.lcm, math.gcd, math.lcm, math.factorial, math.comb, math.perm, math.isqrt, integers.bit_length,
    builtins.int, builtins.len, builtins.range, builtins.ord, builtins.hash,
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_,
)  # fmt: skip
constant(  # shapes
    np.shape, np.size, np.ndim, np.broadcast_shapes, np.result_type, np.finfo, np.iinfo,
    ops.dim, ops.size, ops.length, ops.shape,
)  # fmt: skip
constant(  # fresh values
    np.zeros, np.ones, np.empty, np.eye, np.identity,
    np.zeros_like, np.ones_like, np.empty_like, np.tri, np.indices, 
    ops.new_list, ops.zeros_like_list, builtins.print,
)  # fmt: skip
