import numpy as np


def slope_of_jvp(y, out, a, y_dot, out_dot, a_dot):
    """Value and tangent of `slope_of`."""
    for i in range(y.shape[0]):
        product = a * y[i]
        difference = 1.0 - y[i]
        out_dot[i] = difference * (y[i] * a_dot + a * y_dot[i]) - product * y_dot[i]
        out[i] = product * difference


def euler_jvp(y0, a, y0_dot, a_dot):
    """Value and tangent of `euler` (cases.py:51) for `y0`, `a`."""
    y = np.copy(y0)
    y_dot = np.copy(y0_dot)
    slope = np.empty(y.shape[0])
    slope_dot = np.zeros_like(slope)
    for _ in range(10):
        slope_of_jvp(y, slope, a, y_dot, slope_dot, a_dot)
        for i in range(y.shape[0]):
            y_dot[i] += 0.1 * slope_dot[i]
            y[i] += 0.1 * slope[i]
    return np.sum(y), np.sum(y_dot)
