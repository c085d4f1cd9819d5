def newton_value_and_grad(a):
    """Value and gradient of `newton` (cases.py:39) for `a`."""
    # ---- primal sweep ----
    x = a
    steps = 0
    x_tape = []
    while abs(x * x - a) > 1e-12:
        steps += 1
        x_tape.append(x)
        x = 0.5 * (x + a / x)
    result = x

    # ---- adjoint sweep ----
    a_bar = 0.0
    # return x
    x_bar = 1.0
    for _ in range(steps):
        # x = 0.5 * (x + a / x)
        x = x_tape.pop()
        total_bar = 0.5 * x_bar
        share = total_bar / x
        a_bar += share
        x_bar = total_bar - a / x * share
    # x = a
    a_bar += x_bar
    return result, a_bar
