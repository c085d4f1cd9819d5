import numpy as np


def buffers_value_and_grad(u, k):
    """Value and gradient of `buffers` (cases.py:67) for `u`, `k`."""
    # ---- primal sweep ----
    now = np.copy(u)
    new = np.zeros(u.shape[0])
    new_i_tape = np.empty((3, u.shape[0]))
    for step in range(3):
        for i in range(1, u.shape[0] - 1):
            new_i_tape[step, i] = new[i]
            new[i] = now[i] + k * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, new = new, now
    result = np.sum(now**2)

    # ---- adjoint sweep ----
    k_bar = 0.0
    new_bar = np.zeros_like(new)
    # return np.sum(now**2)
    now_bar = 2 * now
    for step in range(2, -1, -1):
        # now, new = new, now
        now, new = new, now
        now_bar, new_bar = new_bar, now_bar
        for i in range(1, u.shape[0] - 1):
            # new[i] = now[i] + k * (now[i - 1] - 2.0 * now[i] + now[i + 1])
            new[i] = new_i_tape[step, i]
            new_i_bar = new_bar[i]
            now_bar[i] += new_i_bar
            k_bar += new_i_bar * (now[i - 1] - 2.0 * now[i] + now[i + 1])
            total_bar = k * new_i_bar
            now_bar[i - 1] += total_bar
            now_bar[i] -= 2.0 * total_bar
            now_bar[i + 1] += total_bar
            new_bar[i] = 0.0
    return result, now_bar, k_bar
