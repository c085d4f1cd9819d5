"""Systems with sparse matrices that only a run knows, for which SciPy's compiled code cannot be called.

The columns are taken in an order that keeps what is stored near the diagonal; each is reduced by those before it that
it depends on, and of its rows the one with the largest number is the pivot, or the one on the diagonal if that is
not much smaller. As from SciPy's `spsolve` what comes of a singular matrix is not a number.
Sources: J. R. Gilbert, T. Peierls, Sparse partial pivoting in time proportional to arithmetic operations, SIAM J. Sci.
Stat. Comput. 9 (1988); E. Cuthill, J. McKee, Reducing the bandwidth of sparse symmetric matrices (1969), backwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.runtime.sparse import grouped

_MUCH_SMALLER = 0.1


def _breadth_first(root: int, stamp: int, seen: Any, order: Any, first: int, ends: Any, starts: Any) -> int:
    """Write the unknowns that are connected with one behind the `first` of `order`; return how many there are then.

    The neighbours of each come next, those with few of their own before those with many.
    """
    order[first] = root
    seen[root] = stamp
    at, count = first, first + 1
    while at < count:
        begun = count
        for k in range(starts[order[at]], starts[order[at] + 1]):
            other = ends[k]
            if seen[other] != stamp:
                seen[other] = stamp
                degree, place = starts[other + 1] - starts[other], count
                while place > begun and starts[order[place - 1] + 1] - starts[order[place - 1]] > degree:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = other
                count += 1
        at += 1
    return count


def _order(rows: Any, columns: Any, n: int) -> Any:
    """Return the unknowns in an order in which those that are connected are near each other."""
    both, others = np.empty(2 * rows.size, np.int64), np.empty(2 * rows.size, np.int64)
    for k in range(rows.size):
        both[2 * k], both[2 * k + 1] = rows[k], columns[k]
        others[2 * k], others[2 * k + 1] = columns[k], rows[k]
    places, starts = grouped(both, n)
    ends = others[places]
    order, seen = np.empty(n, np.int64), np.zeros(n, np.int64)
    count, stamp = 0, 0
    for root in np.argsort(starts[1:] - starts[:-1]):
        if seen[root] == 0:
            far = _breadth_first(root, stamp + 1, seen, order, count, ends, starts)
            count = _breadth_first(order[far - 1], stamp + 2, seen, order, count, ends, starts)
            stamp += 2
    return order[::-1].copy()


def _with_room(held: Any, needed: int) -> Any:
    """Return an array, or a longer one that begins like it."""
    if needed <= held.size:
        return held
    longer = np.empty(2 * needed, held.dtype)
    longer[: held.size] = held
    return longer


def _reached(row: int, stamp: int, seen: Any, place: Any, starts: Any, below: Any, stack: Any, at: Any, out: Any,
             top: int, free: Any, count: int) -> Any:  # fmt: skip
    """Find what depends on a row: columns before, those that others depend on first, and rows that have no pivot.

    The first are put before the `top` of `out`, the others behind the `count` of `free`; both are returned.
    """
    depth = 0
    stack[0] = row
    seen[row] = stamp
    at[0] = starts[place[row]] if place[row] >= 0 else 0
    while depth >= 0:
        here = stack[depth]
        column = place[here]
        if column < 0:
            free[count] = here
            count += 1
            depth -= 1
            continue
        k = at[depth]
        while k < starts[column + 1] and seen[below[k]] == stamp:
            k += 1
        at[depth] = k + 1
        if k == starts[column + 1]:
            top -= 1
            out[top] = here
            depth -= 1
            continue
        depth += 1
        stack[depth] = below[k]
        seen[below[k]] = stamp
        at[depth] = starts[place[below[k]]] if place[below[k]] >= 0 else 0
    return top, count


def solved(data: Any, rows: Any, columns: Any, b: Any) -> Any:
    """Return what `runtime.sparse_solve` does."""
    n = b.size
    for k in range(data.size):
        if rows[k] < 0 or rows[k] >= n or columns[k] < 0 or columns[k] >= n:
            raise ValueError("a number of a sparse matrix has a place outside of it")
    x = np.zeros(n, (data[:1] * b[:1]).dtype)
    order = _order(rows, columns, n)
    entries, begins = grouped(columns, n)
    place, pivots = np.full(n, -1), np.empty(n, np.int64)  # of rows among the pivots, and back
    seen, stack, at = np.full(n, -1), np.empty(n, np.int64), np.empty(n, np.int64)
    out, free = np.empty(n, np.int64), np.empty(n, np.int64)
    room = 4 * rows.size
    starts, below, lower = np.zeros(n + 1, np.int64), np.empty(room, np.int64), np.empty(room, x.dtype)
    firsts, above, upper = np.zeros(n + 1, np.int64), np.empty(room, np.int64), np.empty(room, x.dtype)
    diagonal = np.empty(n, x.dtype)
    for k in range(n):
        column = order[k]
        top, count = n, 0
        for e in entries[begins[column] : begins[column + 1]]:
            if seen[rows[e]] != k:
                top, count = _reached(rows[e], k, seen, place, starts, below, stack, at, out, top, free, count)
            x[rows[e]] += data[e]
        above, upper = _with_room(above, firsts[k] + n - top), _with_room(upper, firsts[k] + n - top)
        below, lower = _with_room(below, starts[k] + count), _with_room(lower, starts[k] + count)
        end = firsts[k]
        for row in out[top:]:
            above[end], upper[end] = place[row], x[row]
            for e in range(starts[place[row]], starts[place[row] + 1]):
                x[below[e]] -= lower[e] * x[row]
            x[row] = 0.0
            end += 1
        firsts[k + 1] = end
        pivot, largest = -1, 0.0
        for row in free[:count]:
            if abs(x[row]) > largest:
                pivot, largest = row, abs(x[row])
        if pivot < 0:
            return np.full(n, np.nan, x.dtype)
        if place[column] < 0 and seen[column] == k and abs(x[column]) >= _MUCH_SMALLER * largest:
            pivot = column
        place[pivot], pivots[k], diagonal[k] = k, pivot, x[pivot]
        end = starts[k]
        for row in free[:count]:
            if row != pivot:
                below[end], lower[end] = row, x[row] / diagonal[k]
                end += 1
            x[row] = 0.0
        starts[k + 1] = end
    right = np.empty(n, x.dtype)
    right[:] = b
    for k in range(n):
        for e in range(starts[k], starts[k + 1]):
            right[below[e]] -= lower[e] * right[pivots[k]]
    for k in range(n - 1, -1, -1):
        value = right[pivots[k]] / diagonal[k]
        x[order[k]] = value
        for e in range(firsts[k], firsts[k + 1]):
            right[pivots[above[e]]] -= upper[e] * value
    return x
