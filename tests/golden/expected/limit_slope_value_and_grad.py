import numpy as np


def limit_slope_value_and_grad(u0, k):
    """Value and gradient of `limit_slope` (cases.py:8) for `u0`, `k`."""
    # ---- primal sweep ----
    u = np.copy(u0)
    jump_tape = np.empty(u.size)
    for i in range(1, u.size):
        jump = u[i] - u[i - 1]
        if jump > k:
            u[i] = u[i - 1] + k * np.tanh(jump / k)
        else:
            u[i] -= 0.1 * jump**2
        jump_tape[i] = jump
    result = np.sum(u**2)

    # ---- adjoint sweep ----
    k_bar = 0.0
    # return np.sum(u**2)
    u_bar = 2 * u
    for i in range(u.size - 1, 0, -1):
        jump = jump_tape[i]
        if jump > k:
            # u[i] = u[i - 1] + k * np.tanh(jump / k)
            u_i_bar = u_bar[i]
            u_bar[i] = 0.0
            u_bar[i - 1] += u_i_bar
            tanh = np.tanh(jump / k)
            k_bar += tanh * u_i_bar
            jump_bar = k * u_i_bar * (1 - tanh * tanh) / k
            k_bar -= jump / k * jump_bar
        else:
            # u[i] -= 0.1 * jump**2
            jump_bar = -(0.2 * jump * u_bar[i])
        # jump = u[i] - u[i - 1]
        u_bar[i] += jump_bar
        u_bar[i - 1] -= jump_bar
    return result, u_bar, k_bar
