import numpy as np


def logistic_value_and_grad(w, x, y):
    """Value and gradient of `logistic` (cases.py:34) for `w`."""
    # ---- primal sweep ----
    exp = np.exp(-(x @ w))
    p = 1.0 / (1.0 + exp)
    result = -np.sum(y * np.log(p) + (1.0 - y) * np.log(1.0 - p))

    # ---- adjoint sweep ----
    # return -np.sum(y * np.log(p) + (1.0 - y) * np.log(1.0 - p))
    p_bar = -(y / p)
    p_bar += (1.0 - y) / (1.0 - p)
    return result, x.T @ (exp * p * p * p_bar)
