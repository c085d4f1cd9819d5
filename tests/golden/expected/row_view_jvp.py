import numpy as np


def row_view_jvp(A, A_dot):
    """Value and tangent of `row_view` (cases.py:61) for `A`."""
    A = np.copy(A)
    A_dot = np.copy(A_dot)
    row = A[1]
    A_dot[1][0] = A[0, 1] * A_dot[0, 0] + A[0, 0] * A_dot[0, 1]
    row[0] = A[0, 0] * A[0, 1]
    return np.sum(A**2), np.sum(2 * A * A_dot)
