import numpy as np


def push(v, f, dt):
    for i in range(v.shape[0]):
        v[i] += dt * f[i]


def push_bwd(v, f, dt, v_bar, f_bar):
    """Add the adjoint of `push` to the adjoints of its arguments."""
    for i in range(v.shape[0]):
        # v[i] += dt * f[i]
        f_bar[i] += dt * v_bar[i]


def kicked_value_and_grad(x, k):
    """Value and gradient of `kicked` (cases.py:81) for `x`, `k`."""
    # ---- primal sweep ----
    pos = np.copy(x)
    v = np.zeros(x.shape[0])
    f = np.empty(x.shape[0])
    pos_tape = np.empty((4, pos.shape[0]))
    for step in range(4):
        for i in range(x.shape[0]):
            f[i] = -k * pos[i] ** 3
        push(v, f, 0.1)
        pos_tape[step] = pos
        push(pos, v, 0.1)
    result = np.sum(pos**2)

    # ---- adjoint sweep ----
    k_bar = 0.0
    v_bar = np.zeros_like(v)
    f_bar = np.zeros_like(f)
    # return np.sum(pos**2)
    pos_bar = 2 * pos
    for step in range(3, -1, -1):
        # push(pos, v, 0.1)
        pos[:] = pos_tape[step]
        push_bwd(pos, v, 0.1, pos_bar, v_bar)
        # push(v, f, 0.1)
        push_bwd(v, f, 0.1, v_bar, f_bar)
        for i in range(x.shape[0]):
            # f[i] = -k * pos[i] ** 3
            f_i_bar = f_bar[i]
            k_bar -= pos[i] ** 3 * f_i_bar
            pos_bar[i] -= 3 * pos[i] ** 2 * k * f_i_bar
            f_bar[i] = 0.0
    return result, pos_bar, k_bar
