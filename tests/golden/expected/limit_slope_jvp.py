import numpy as np


def limit_slope_jvp(u0, k, u0_dot, k_dot):
    """Value and tangent of `limit_slope` (cases.py:8) for `u0`, `k`."""
    u = np.copy(u0)
    u_dot = np.copy(u0_dot)
    for i in range(1, u.size):
        jump = u[i] - u[i - 1]
        jump_dot = u_dot[i] - u_dot[i - 1]
        if jump > k:
            ratio = jump / k
            tanh = np.tanh(ratio)
            u_dot[i] = u_dot[i - 1] + (
                tanh * k_dot
                + k * (jump_dot / k + -ratio / k * k_dot) * (1 - tanh * tanh)
            )
            u[i] = u[i - 1] + k * tanh
        else:
            u_dot[i] -= 0.2 * jump * jump_dot
            u[i] -= 0.1 * jump**2
    return np.sum(u**2), np.sum(2 * u * u_dot)
