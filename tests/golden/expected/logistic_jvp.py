import numpy as np


def logistic_jvp(w, x, y, w_dot, x_dot, y_dot):
    """Value and tangent of `logistic` (cases.py:34) for `w`, `x`, `y`."""
    exp = np.exp(-(x @ w))
    p = 1.0 / (1.0 + exp)
    p_dot = p * p * exp * (x_dot @ w + x @ w_dot)
    difference = 1.0 - p
    difference_2 = 1.0 - y
    log = np.log(difference)
    log_p = np.log(p)
    tangent = (
        log_p * y_dot
        + y * (p_dot / p)
        + (-(log * y_dot) - difference_2 * (p_dot / difference))
    )
    return -np.sum(y * log_p + (1.0 - y) * np.log(1.0 - p)), -np.sum(tangent)
