"""`scipy.stats` of samples, loaded when a program that uses it is differentiated: scores and entropies."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as special
import scipy.stats

from s2sad.ir import ops
from s2sad.rules.registry import expands


@expands(scipy.stats.zscore)
def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return by how many standard deviations each number differs from the mean."""
    if nan_policy != "propagate":
        ops.refuse("`zscore` that leaves out numbers has no derivative rule", "Leave them out before.")
    return (a - np.mean(a, axis=axis, keepdims=True)) / np.std(a, axis=axis, ddof=ddof, keepdims=True)


@expands(scipy.stats.entropy)
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """Return the entropy of what is scaled to the sum 1, or that relative to another."""
    if nan_policy != "propagate":
        ops.refuse("`entropy` that leaves out numbers has no derivative rule", "Leave them out before.")
    if qk is None:
        terms = special.entr(pk / np.sum(pk, axis=axis, keepdims=True))
    else:
        p, q = np.broadcast_arrays(pk, qk)
        terms = special.rel_entr(p / np.sum(p, axis=axis, keepdims=True), q / np.sum(q, axis=axis, keepdims=True))
    total = np.sum(terms, axis=axis, keepdims=keepdims)
    return total if base is None else total / np.log(base)
