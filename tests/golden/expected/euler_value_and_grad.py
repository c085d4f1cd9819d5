import numpy as np


def slope_of(y, out, a):
    for i in range(y.shape[0]):
        out[i] = a * y[i] * (1.0 - y[i])


def slope_of_bwd(y, out, a, y_bar, out_bar):
    """Add the adjoint of `slope_of` to the adjoints of its arguments."""
    a_bar = 0.0
    for i in range(y.shape[0]):
        # out[i] = a * y[i] * (1.0 - y[i])
        out_i_bar = out_bar[i]
        product_bar = out_i_bar * (1.0 - y[i])
        a_bar += y[i] * product_bar
        y_bar[i] += a * product_bar
        y_bar[i] -= a * y[i] * out_i_bar
        out_bar[i] = 0.0
    return a_bar


def euler_value_and_grad(y0, a):
    """Value and gradient of `euler` (cases.py:51) for `y0`, `a`."""
    # ---- primal sweep ----
    y = np.copy(y0)
    slope = np.empty(y.shape[0])
    y_i_tape = np.empty((10, y.shape[0]))
    for step in range(10):
        slope_of(y, slope, a)
        for i in range(y.shape[0]):
            y_i_tape[step, i] = y[i]
            y[i] += 0.1 * slope[i]
    result = np.sum(y)

    # ---- adjoint sweep ----
    a_bar = 0.0
    slope_bar = np.zeros_like(slope)
    # return np.sum(y)
    y_bar = np.full_like(y, 1.0)
    for step in range(9, -1, -1):
        for i in range(y.shape[0]):
            # y[i] += 0.1 * slope[i]
            y[i] = y_i_tape[step, i]
            slope_bar[i] += 0.1 * y_bar[i]
        # slope_of(y, slope, a)
        a_bar_2 = slope_of_bwd(y, slope, a, y_bar, slope_bar)
        a_bar += a_bar_2
    return result, y_bar, a_bar
