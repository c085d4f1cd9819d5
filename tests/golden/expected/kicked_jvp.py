import numpy as np


def push_jvp(v, f, dt, v_dot, f_dot):
    """Value and tangent of `push`."""
    for i in range(v.shape[0]):
        v_dot[i] += dt * f_dot[i]
        v[i] += dt * f[i]


def kicked_jvp(x, k, x_dot, k_dot):
    """Value and tangent of `kicked` (cases.py:81) for `x`, `k`."""
    pos = np.copy(x)
    pos_dot = np.copy(x_dot)
    v = np.zeros(x.shape[0])
    v_dot = np.zeros_like(v)
    f = np.empty(x.shape[0])
    f_dot = np.zeros_like(f)
    for _ in range(4):
        for i in range(x.shape[0]):
            negated = -k
            power = pos[i] ** 3
            f_dot[i] = negated * (3 * pos[i] ** 2) * pos_dot[i] - power * k_dot
            f[i] = negated * power
        push_jvp(v, f, 0.1, v_dot, f_dot)
        push_jvp(pos, v, 0.1, pos_dot, v_dot)
    return np.sum(pos**2), np.sum(2 * pos * pos_dot)
