import numpy as np


def horner_value_and_grad(c, x):
    """Value and gradient of `horner` (cases.py:19) for `c`, `x`."""
    # ---- primal sweep ----
    y = 0.0
    y_tape = np.empty(c.shape[0])
    for k in range(c.shape[0]):
        y_tape[k] = y
        y = y * x + c[k]
    result = y

    # ---- adjoint sweep ----
    c_bar = np.zeros_like(c)
    x_bar = 0.0
    # return y
    y_bar = 1.0
    for k in range(c.shape[0] - 1, -1, -1):
        # y = y * x + c[k]
        y = y_tape[k]
        y_new_bar = y_bar
        y_bar = x * y_bar
        x_bar += y * y_new_bar
        c_bar[k] += y_new_bar
    return result, c_bar, x_bar
