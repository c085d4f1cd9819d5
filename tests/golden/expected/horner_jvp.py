def horner_jvp(c, x, c_dot, x_dot):
    """Value and tangent of `horner` (cases.py:19) for `c`, `x`."""
    y = 0.0
    y_dot = 0.0
    for k in range(c.shape[0]):
        y_dot = x * y_dot + y * x_dot + c_dot[k]
        y = y * x + c[k]
    return y, y_dot
