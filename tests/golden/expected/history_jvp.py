import math

import numpy as np


def history_jvp(h0, w, n, h0_dot, w_dot):
    """Value and tangent of `history` (cases.py:26) for `h0`, `w`."""
    h = np.zeros(n + 1)
    h_dot = np.zeros_like(h)
    h_dot[0] = h0_dot
    h[0] = h0
    for t in range(n):
        tanh = math.tanh(w * h[t])
        h_dot[t + 1] = (h[t] * w_dot + w * h_dot[t]) * (1 - tanh * tanh)
        h[t + 1] = tanh
    return h[n], h_dot[n]
