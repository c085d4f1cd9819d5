"""What rules compute at transform time and never emit: letters and axes of products, counts, widths.

A call of such a function with something that is not known then gives None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.runtime import inverse_axes


def split(subscripts: str) -> tuple[tuple[str, ...], str]:
    """Return the letters of each operand and of the result, which may be implicit."""
    text = subscripts.replace(" ", "")
    if "." in text:
        raise ValueError("an ellipsis in the subscripts of einsum has no derivative rule")
    given, arrow, result = text.partition("->")
    if not arrow:
        result = "".join(c for c in sorted(set(given)) if c != "," and given.count(c) == 1)
    return tuple(given.split(",")), result


def transposed(subscripts: str, k: int) -> str:
    """Return what gives operand `k` its cotangent: from the result's and the other operands.

    Letters that only operand `k` has, and repetitions, are left out (see `gaps` and `twins`).
    """
    operands, result = split(subscripts)
    others = (*operands[:k], *operands[k + 1 :])
    given = ",".join((result, *others))
    kept = "".join(c for c in dict.fromkeys(operands[k]) if c in given)
    return f"{given}->{kept}"


def nothing_to_do(subscripts: str, k: int) -> bool:
    """Say whether `transposed` is the identity."""
    given, _, kept = transposed(subscripts, k).partition("->")
    return given == kept


def gaps(subscripts: str, k: int) -> tuple[int, ...]:
    """Return the axes of operand `k` that `transposed` leaves out."""
    operands, _ = split(subscripts)
    kept = transposed(subscripts, k).partition("->")[2]
    first = operands[k].index
    return tuple(i for i, c in enumerate(operands[k]) if c not in kept or first(c) != i)


def twins(subscripts: str, k: int) -> tuple[int, ...]:
    """Return the two axes of operand `k` that share a letter, or no axes."""
    operands, _ = split(subscripts)
    first = operands[k].index
    pairs = [(first(c), i) for i, c in enumerate(operands[k]) if first(c) != i]
    if len(pairs) > 1:
        raise ValueError("einsum has no derivative rule for more than one repeated letter")
    return pairs[0] if pairs else ()


def besides(subscripts: str, k: int) -> tuple[int, ...]:
    """Return the axes of operand `k` other than its `twins`."""
    operands, _ = split(subscripts)
    return tuple(i for i in range(len(operands[k])) if i not in twins(subscripts, k))


def letters(axes: Any, m: int, n: int) -> str:
    """Return `tensordot` of operands of `m` and `n` axes as the subscripts of `einsum`."""
    left, right = summed(axes, m, n)
    a = [chr(97 + i) for i in range(m)]
    b = [chr(97 + m + i) for i in range(n)]
    for i, j in zip(left, right, strict=True):
        b[j] = a[i]
    result = [c for c in a + b if (a + b).count(c) == 1]
    return f"{''.join(a)},{''.join(b)}->{''.join(result)}"


def summed(axes: Any, m: int, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of both operands that `tensordot` sums over."""
    if isinstance(axes, int):
        return tuple(range(m - axes, m)), tuple(range(axes))
    left, right = ((k,) if isinstance(k, int) else tuple(k) for k in axes)
    return tuple(k % m for k in left), tuple(k % n for k in right)


def left_axes(axes: Any, m: int, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes over which `tensordot(y_bar, b)` gives the first operand's cotangent."""
    left, right = summed(axes, m, n)
    free = tuple(k for k in range(n) if k not in right)
    return tuple(m - len(left) + i for i in range(len(free))), free


def right_axes(axes: Any, m: int, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes over which `tensordot(a, y_bar)` gives the second operand's cotangent."""
    left, _ = summed(axes, m, n)
    free = tuple(k for k in range(m) if k not in left)
    return free, tuple(range(len(free)))


def left_order(axes: Any, m: int, n: int) -> tuple[int, ...]:
    """Return the permutation that puts the first operand's cotangent in order."""
    left, right = summed(axes, m, n)
    free = [k for k in range(m) if k not in left]
    by_right = [left[right.index(k)] for k in sorted(right)]
    return inverse_axes((*free, *by_right))


def right_order(axes: Any, m: int, n: int) -> tuple[int, ...]:
    """Return the permutation that puts the second operand's cotangent in order."""
    left, right = summed(axes, m, n)
    free = [k for k in range(n) if k not in right]
    by_left = [right[left.index(k)] for k in sorted(left)]
    return inverse_axes((*by_left, *free))


def in_order(order: tuple[int, ...]) -> bool:
    """Say whether a permutation changes nothing."""
    return tuple(order) == tuple(range(len(order)))


def smaller_powers(n: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of positive powers that add up to `n - 1`."""
    return tuple((k, n - 1 - k) for k in range(1, n - 1))


def counting(n: int) -> Any:
    """Return the numbers below `n`."""
    return tuple(range(n))


def pad_widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...] | None:
    """Return how many elements `np.pad(x, pad_width)` puts before and after each axis."""
    pairs = np.broadcast_to(np.asarray(pad_width), (ndim, 2))
    return tuple((int(before), int(after)) for before, after in pairs)
