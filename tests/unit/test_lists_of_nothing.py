"""Lists that begin with `None` for what is set later: `s = [None] * n`, filled with arrays by a loop."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.6, 0.3, 0.7, 1.2])


def states_of_known_number(x):
    n = 3
    s = [None] * (n + 1)
    s[0] = x
    for k in range(n):
        s[k + 1] = s[k] + 0.1 * np.sin(s[k])
    return np.sum(s[n] * s[1])


def multiples(x):
    n = len(x)
    s = [None] * n
    for k in range(n):
        s[k] = x * k
    return np.sum(s[0] + s[n - 1] * s[1])


def states_of_a_loop(x):
    n = len(x)
    s = [None] * (n + 1)
    s[0] = x * 1.0
    for k in range(n):
        s[k + 1] = s[k] * s[k][k]
    t = 0.0
    for v in s:
        t += np.sum(v**2)
    return t


def layers(x):
    w = [x.reshape(2, 2), x[:2].reshape(1, 2) * 2.0]
    z = [None] * len(w)
    a = [None] * (len(w) + 1)
    a[0] = np.array([1.0, 2.0])
    for i in range(len(w)):
        z[i] = w[i] @ a[i]
        a[i + 1] = np.tanh(z[i])
    return np.sum(a[-1]) + np.sum(z[0] ** 2)


def arrays_of_growing_length(x):
    n = len(x)
    s = [None] * n
    for k in range(n):
        s[k] = np.full(k + 1, x[k])
    t = 0.0
    for k in range(n):
        t += np.sum(s[k] ** 2) * s[n - 1][0]
    return t


def set_twice(x):
    n = len(x)
    s = [None] * n
    for k in range(n):
        s[k] = x * x[k]
    for k in range(n):
        s[k] = s[k] * s[n - 1 - k]
    return np.sum(s[0]) + np.sum(s[2] * s[3])


def made_by_a_comprehension(x):
    n = len(x)
    s = [None for _ in range(n)]
    for k in range(n):
        s[k] = x * x[k]
    return np.sum(s[0] * s[3])


def there_and_back(x):
    n = len(x)
    alpha, beta = [None] * n, [None] * n
    alpha[0] = np.exp(x[:2])
    for t in range(1, n):
        alpha[t] = np.array([alpha[t - 1][0] * 0.5 + alpha[t - 1][1] * x[t], alpha[t - 1][1] * 0.3])
    beta[n - 1] = np.ones(2)
    for t in range(n - 2, -1, -1):
        beta[t] = np.array([beta[t + 1][0] * 0.5, beta[t + 1][1] * x[t]])
    s = 0.0
    for t in range(n):
        s += np.log(alpha[t] @ beta[t] + 1.0)
    return s


def set_on_two_paths(x):
    n = len(x)
    s = [None] * n
    for k in range(n):
        if k % 2 == 0:
            s[k] = x * x[k]
        else:
            s[k] = s[k - 1] + 1.0
    return np.sum(s[0] * s[3])


PROGRAMS = [value for name, value in list(vars().items())
            if callable(value) and getattr(value, "__module__", "") == __name__]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda fun: fun.__name__)
def test_derivatives_are_those_of_the_program(fun, target):
    assert_derivatives(fun, X, target)
