def newton_jvp(a, a_dot):
    """Value and tangent of `newton` (cases.py:39) for `a`."""
    x = a
    x_dot = a_dot
    while abs(x * x - a) > 1e-12:
        ratio = a / x
        x_dot = 0.5 * (x_dot + (a_dot / x - ratio / x * x_dot))
        x = 0.5 * (x + ratio)
    return x, x_dot
