import math

import numpy as np


def history_value_and_grad(h0, w, n):
    """Value and gradient of `history` (cases.py:26) for `h0`, `w`."""
    # ---- primal sweep ----
    h = np.zeros(n + 1)
    h[0] = h0
    for t in range(n):
        h[t + 1] = math.tanh(w * h[t])
    result = h[n]

    # ---- adjoint sweep ----
    w_bar = 0.0
    h_bar = np.zeros_like(h)
    # return h[n]
    h_bar[n] += 1.0
    for t in range(n - 1, -1, -1):
        # h[t + 1] = math.tanh(w * h[t])
        h_at_new = h[t + 1]
        h_at_bar = h_bar[t + 1]
        h_bar[t + 1] = 0.0
        product_bar = h_at_bar * (1 - h_at_new * h_at_new)
        w_bar += h[t] * product_bar
        h_bar[t] += w * product_bar
    return result, h_bar[0], w_bar
