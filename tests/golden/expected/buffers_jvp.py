import numpy as np


def buffers_jvp(u, k, u_dot, k_dot):
    """Value and tangent of `buffers` (cases.py:67) for `u`, `k`."""
    now = np.copy(u)
    now_dot = np.copy(u_dot)
    new = np.zeros(u.shape[0])
    new_dot = np.zeros_like(new)
    for _ in range(3):
        for i in range(1, u.shape[0] - 1):
            total = now[i - 1] - 2.0 * now[i] + now[i + 1]
            new_dot[i] = now_dot[i] + (
                total * k_dot + k * (now_dot[i - 1] - 2.0 * now_dot[i] + now_dot[i + 1])
            )
            new[i] = now[i] + k * total
        now, new = new, now
        now_dot, new_dot = new_dot, now_dot
    return np.sum(now**2), np.sum(2 * now * now_dot)
