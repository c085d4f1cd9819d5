import numpy as np


def row_view_value_and_grad(A):
    """Value and gradient of `row_view` (cases.py:61) for `A`."""
    A = np.copy(A)
    # ---- primal sweep ----
    row = A[1]
    row_0_saved = row[0]
    row[0] = A[0, 0] * A[0, 1]
    result = np.sum(A**2)

    # ---- adjoint sweep ----
    A_bar = np.zeros_like(A)
    row_bar = A_bar[1]
    # return np.sum(A**2)
    A_bar += 2 * A
    # row[0] = A[0, 0] * A[0, 1]
    row[0] = row_0_saved
    row_0_bar = row_bar[0]
    row_bar[0] = 0.0
    A_bar[0, 0] += A[0, 1] * row_0_bar
    A_bar[0, 1] += A[0, 0] * row_0_bar
    return result, A_bar
