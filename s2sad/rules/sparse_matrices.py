"""Sparse matrices that a function makes: what they store, where, and what SciPy's makers and operators mean of them.

A matrix is the sum of its numbers at their places, of which several may be the same, as in SciPy's `coo_array`.
Everything here is Python that is read, and differentiated, as the user's is.
"""

# ruff: noqa: D102, D105

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.rules.sparse import sparse_columns, sparse_sum

_WAY_OUT = "Products with arrays, sums and multiples are followed. Of anything else, use `S.toarray()`."


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix.

    Attributes:
        numbers: what is stored.
        rows: their rows.
        columns: their columns.
        shape: the number of rows and that of columns.
        is_matrix: whether `*` is the product of matrices, as of SciPy's older classes.
    """

    numbers: Any
    rows: Any
    columns: Any
    shape: Any
    is_matrix: Any

    @property
    def T(self) -> Any:
        return transposed(self)

    def transpose(self) -> Any:
        return transposed(self)

    def tocsr(self, copy: Any = False) -> Any:
        return self

    def tocsc(self, copy: Any = False) -> Any:
        return self

    def tocoo(self, copy: Any = False) -> Any:
        return self

    def todia(self, copy: Any = False) -> Any:
        return self

    def asformat(self, format: Any, copy: Any = False) -> Any:
        return self

    def copy(self) -> Any:
        return self

    def dot(self, other: Any) -> Any:
        return product(self, other)

    def toarray(self) -> Any:
        dense = np.zeros(self.shape, dtype=self.numbers.dtype)
        np.add.at(dense, (self.rows, self.columns), self.numbers)
        return dense

    def diagonal(self) -> Any:
        found = np.zeros(builtins.min(self.shape), dtype=self.numbers.dtype)
        for k in range(self.numbers.size):
            if self.rows[k] == self.columns[k]:
                found[self.rows[k]] += self.numbers[k]
        return found

    def __getitem__(self, key: Any) -> Any:
        return part_of(self, key)

    def __matmul__(self, other: Any) -> Any:
        return product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return product(transposed(self), other.T).T

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Sparse) or np.ndim(other) > 0:
            if not self.is_matrix:
                ops.refuse("the elements of a sparse matrix are multiplied by others", _WAY_OUT)
            return product(self, other)
        return of_data(self, self.numbers * other)

    def __rmul__(self, other: Any) -> Any:
        if np.ndim(other) > 0:
            if not self.is_matrix:
                ops.refuse("the elements of a sparse matrix are multiplied by others", _WAY_OUT)
            return product(transposed(self), other.T).T
        return of_data(self, other * self.numbers)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Sparse) or np.ndim(other) > 0:
            ops.refuse("a sparse matrix is divided by more than a number", _WAY_OUT)
        return of_data(self, self.numbers / other)

    def __neg__(self) -> Any:
        return of_data(self, -self.numbers)

    def __pos__(self) -> Any:
        return self

    def __add__(self, other: Any) -> Any:
        return total(self, other)

    def __radd__(self, other: Any) -> Any:
        return total(self, other)

    def __sub__(self, other: Any) -> Any:
        return total(self, -other)

    def __rsub__(self, other: Any) -> Any:
        return total(-self, other)


def of_data(like: Any, data: Any) -> Any:
    """Return a matrix with other numbers at the places of one."""
    return Sparse(data, like.rows, like.columns, like.shape, like.is_matrix)


def transposed(a: Any) -> Any:
    """Return the transposed matrix."""
    return Sparse(a.numbers, a.columns, a.rows, (a.shape[1], a.shape[0]), a.is_matrix)


def total(a: Any, b: Any) -> Any:
    """Return the sum of two matrices."""
    if not isinstance(b, Sparse):
        ops.refuse("a sparse matrix is added to what is none", _WAY_OUT)
    if a.shape[0] != b.shape[0] or a.shape[1] != b.shape[1]:
        raise ValueError("sparse matrices of unequal shapes are added")
    rows, columns = np.concatenate((a.rows, b.rows)), np.concatenate((a.columns, b.columns))
    return Sparse(np.concatenate((a.numbers, b.numbers)), rows, columns, a.shape, a.is_matrix)


def part_of(a: Any, key: Any) -> Any:
    """Return `a[key]`: rows, or rows and columns, or one number."""
    if not isinstance(key, tuple):
        return some_rows(a, places(key, a.shape[0]))
    if len(key) != 2:
        ops.refuse("a sparse matrix has two axes", _WAY_OUT)
    row, column = key
    if isinstance(row, slice) or isinstance(column, slice):
        return some_columns(some_rows(a, places(row, a.shape[0])), places(column, a.shape[1]))
    if np.ndim(row) == 0 and np.ndim(column) == 0:
        if row < -a.shape[0] or row >= a.shape[0] or column < -a.shape[1] or column >= a.shape[1]:
            raise IndexError("an element outside of a sparse matrix is taken")
        i, j = row % a.shape[0], column % a.shape[1]
        return np.sum(np.where((a.rows == i) & (a.columns == j), a.numbers, 0.0))
    if np.ndim(row) != 2 or np.ndim(column) != 2:
        ops.refuse("single elements of a sparse matrix are picked", "Rows and columns are `S[rows][:, columns]`.")
    return some_columns(some_rows(a, places(row, a.shape[0])), places(column, a.shape[1]))


def places(index: Any, length: Any) -> Any:
    """Return which rows or columns an index picks."""
    if isinstance(index, slice):
        return np.arange(length)[index]
    if np.ndim(index) == 0:
        ops.refuse("one row or column of a sparse matrix is taken", "Use `S.toarray()[i]`, or `S[[i]]`.")
    picked = np.ravel(np.asarray(index))
    if picked.dtype == np.bool_:
        if picked.size != length:
            raise IndexError("a mask is not as long as the axis of a sparse matrix")
        return np.flatnonzero(picked)
    for place in picked:
        if place < -length or place >= length:
            raise IndexError("rows or columns outside of a sparse matrix are taken")
    return np.where(picked < 0, picked + length, picked)


def some_rows(a: Any, picked: Any) -> Any:
    """Return the rows at these places."""
    pairs = runtime.sparse_pairs(a.rows, picked)
    kept = pairs[0]
    return Sparse(a.numbers[kept], pairs[1], a.columns[kept], (picked.size, a.shape[1]), a.is_matrix)


def some_columns(a: Any, picked: Any) -> Any:
    """Return the columns at these places."""
    return transposed(some_rows(transposed(a), picked))


def product(a: Any, b: Any) -> Any:
    """Return the product of a matrix with a vector, a dense matrix, or another sparse one."""
    if isinstance(b, Sparse):
        return product_of_two(a, b)
    if np.ndim(b) == 0 or np.ndim(b) > 2:
        ops.refuse("a sparse matrix is multiplied by an array of one or two axes here", _WAY_OUT)
    if b.shape[0] != a.shape[1]:
        raise ValueError("a sparse matrix is multiplied by an array of another length")
    if np.ndim(b) == 1:
        return sparse_sum(a.numbers, a.rows, a.columns, a.shape[0], b)
    return sparse_columns(a.numbers, a.rows, a.columns, a.shape[0], b)


def product_of_two(a: Any, b: Any) -> Any:
    """Return the product of two sparse matrices: every pair of numbers that meet."""
    if a.shape[1] != b.shape[0]:
        raise ValueError("sparse matrices that do not fit are multiplied")
    pairs = runtime.sparse_pairs(a.columns, b.rows)
    left, right = pairs[0], pairs[1]
    shape = (a.shape[0], b.shape[1])
    return Sparse(a.numbers[left] * b.numbers[right], a.rows[left], b.columns[right], shape, a.is_matrix)


def of_triples(data: Any, rows: Any, columns: Any, shape: Any, is_matrix: Any) -> Any:
    """Return `coo_array((data, (rows, columns)), shape)`, or what its kin make of the same."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    if shape is None:
        shape = (np.max(rows) + 1, np.max(columns) + 1)
    return Sparse(np.asarray(data), rows, columns, shape, is_matrix)


def by_rows(data: Any, indices: Any, indptr: Any, shape: Any, is_matrix: Any) -> Any:
    """Return `csr_array((data, indices, indptr), shape)`."""
    columns, starts = np.asarray(indices), np.asarray(indptr)
    if shape is None:
        shape = (starts.size - 1, np.max(columns) + 1)
    return Sparse(np.asarray(data), np.repeat(np.arange(starts.size - 1), np.diff(starts)), columns, shape, is_matrix)


def by_columns(data: Any, indices: Any, indptr: Any, shape: Any, is_matrix: Any) -> Any:
    """Return `csc_array((data, indices, indptr), shape)`."""
    turned = None if shape is None else (shape[1], shape[0])
    return transposed(by_rows(data, indices, indptr, turned, is_matrix))


def from_dense(dense: Any, is_matrix: Any) -> Any:
    """Return `csr_array(dense)`, which keeps all numbers."""
    m, n = dense.shape
    return Sparse(np.ravel(dense), np.repeat(np.arange(m), n), np.arange(m * n) % n, (m, n), is_matrix)


def of_diagonals(diagonals: Any, rows: Any, columns: Any, shape: Any, is_matrix: Any) -> Any:
    """Return `diags_array(diagonals, offsets=offsets, shape=shape)`: diagonals begin in these rows and columns."""
    if shape is None:
        n = len(diagonals[0]) + rows[0] + columns[0]
        shape = (n, n)
        parts = [spread(diagonals[k], n - (rows[k] + columns[k])) for k in range(len(rows))]
    else:
        parts = [
            spread(diagonals[k], builtins.min(shape[0] - rows[k], shape[1] - columns[k])) for k in range(len(rows))
        ]
    return at_diagonals(parts, rows, columns, shape, is_matrix)


def spread(diagonal: Any, length: Any) -> Any:
    """Return the numbers of a diagonal, of which one may be given for all."""
    numbers = np.asarray(diagonal)
    if np.ndim(numbers) == 0:
        return np.full(length, numbers)
    if numbers.size != length:
        raise ValueError("a diagonal is not as long as its place in the sparse matrix")
    return numbers


def at_diagonals(parts: Any, rows: Any, columns: Any, shape: Any, is_matrix: Any) -> Any:
    """Return the matrix of diagonals that begin in these rows and columns."""
    if len(rows) == 1:
        count = parts[0].size
        return Sparse(
            parts[0], np.arange(rows[0], rows[0] + count), np.arange(columns[0], columns[0] + count), shape, is_matrix
        )
    places = [np.arange(rows[k], rows[k] + parts[k].size) for k in range(len(rows))]
    others = [np.arange(columns[k], columns[k] + parts[k].size) for k in range(len(rows))]
    return Sparse(np.concatenate(parts), np.concatenate(places), np.concatenate(others), shape, is_matrix)


def of_aligned_diagonals(data: Any, rows: Any, columns: Any, shape: Any, is_matrix: Any) -> Any:
    """Return `dia_array((data, offsets), shape)`: each number stands in the column that it has in `data`."""
    parts = [
        np.asarray(data[k])[columns[k] : builtins.min(len(data[k]), builtins.min(
            shape[0] + columns[k] - rows[k], shape[1]))]
        for k in range(len(rows))
    ]  # fmt: skip
    return at_diagonals(parts, rows, columns, shape, is_matrix)


def unit(m: Any, n: Any, row: Any, column: Any, is_matrix: Any) -> Any:
    """Return `eye_array(m, n, k=k)`, whose ones begin in this row and column."""
    shape = (m, m if n is None else n)
    ones = np.ones(builtins.min(shape[0] - row, shape[1] - column))
    return at_diagonals((ones,), (row,), (column,), shape, is_matrix)


def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product of two sparse matrices."""
    rows = np.repeat(a.rows * b.shape[0], b.numbers.size) + np.tile(b.rows, a.numbers.size)
    columns = np.repeat(a.columns * b.shape[1], b.numbers.size) + np.tile(b.columns, a.numbers.size)
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    return Sparse(np.ravel(np.outer(a.numbers, b.numbers)), rows, columns, shape, a.is_matrix and b.is_matrix)


def solve(a: Any, b: Any) -> Any:
    """Return `scipy.sparse.linalg.spsolve(a, b)`."""
    if isinstance(b, Sparse):
        ops.refuse("the right side of a system is a sparse matrix", "Use `b.toarray()`.")
    if b.shape[0] != a.shape[0]:
        raise ValueError("the matrix and the right side of a system are not equally long")
    if np.ndim(b) == 1:
        return runtime.sparse_solve(a.numbers, a.rows, a.columns, b)
    if b.shape[1] == 1:
        ops.refuse("`spsolve` makes a vector of a right side of one column", "Give it the vector, `b[:, 0]`.")
    return np.stack([runtime.sparse_solve(a.numbers, a.rows, a.columns, column) for column in b.T], axis=1)


@dataclass(frozen=True)
class Factored:
    """What `splu` makes of a sparse matrix that is differentiated."""

    matrix: Any

    @property
    def shape(self) -> Any:
        return self.matrix.shape

    def solve(self, rhs: Any, trans: Any = "N") -> Any:
        return solve(self.matrix if trans == "N" else transposed(self.matrix), rhs)

    def __call__(self, rhs: Any) -> Any:
        return solve(self.matrix, rhs)


def solve_by_factors(data: Any, indices: Any, indptr: Any, rows: Any, columns: Any, b: Any, trans: Any) -> Any:
    """Return `lu.solve(b, trans)` of a matrix that is constant, for several right sides."""
    return np.stack([
        runtime.sparse_lu_solve(data, indices, indptr, rows, columns, column, trans=trans) for column in b.T
    ], axis=1)  # fmt: skip
