"""Functions whose emitted derivatives are kept as text: one idiom each."""

import math

import numpy as np


def limit_slope(u0, k):
    u = u0.copy()
    for i in range(1, u.size):
        jump = u[i] - u[i - 1]
        if jump > k:
            u[i] = u[i - 1] + k * np.tanh(jump / k)
        else:
            u[i] -= 0.1 * jump**2
    return np.sum(u**2)


def horner(c, x):
    y = 0.0
    for k in range(len(c)):
        y = y * x + c[k]
    return y


def history(h0, w, n):
    h = np.zeros(n + 1)
    h[0] = h0
    for t in range(n):
        h[t + 1] = math.tanh(w * h[t])
    return h[n]


def logistic(w, x, y):
    p = 1.0 / (1.0 + np.exp(-(x @ w)))
    return -np.sum(y * np.log(p) + (1.0 - y) * np.log(1.0 - p))


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def slope_of(y, out, a):
    for i in range(len(y)):
        out[i] = a * y[i] * (1.0 - y[i])


def euler(y0, a):
    y = y0.copy()
    slope = np.empty(len(y))
    for _ in range(10):
        slope_of(y, slope, a)
        for i in range(len(y)):
            y[i] += 0.1 * slope[i]
    return np.sum(y)


def row_view(A):
    row = A[1]
    row[0] = A[0, 0] * A[0, 1]
    return np.sum(A**2)


def buffers(u, k):
    now, new = u.copy(), np.zeros(len(u))
    for _ in range(3):
        for i in range(1, len(u) - 1):
            new[i] = now[i] + k * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, new = new, now
    return np.sum(now**2)


def push(v, f, dt):
    for i in range(len(v)):
        v[i] += dt * f[i]


def kicked(x, k):
    pos, v, f = x.copy(), np.zeros(len(x)), np.empty(len(x))
    for _ in range(4):
        for i in range(len(x)):
            f[i] = -k * pos[i] ** 3
        push(v, f, 0.1)
        push(pos, v, 0.1)
    return np.sum(pos**2)


CASES = {
    "limit_slope": (limit_slope, (np.array([0.3, -0.2, 0.9, 1.7, 0.4]), 0.5), (0, 1)),
    "horner": (horner, (np.array([1.0, -2.0, 0.5]), 1.3), (0, 1)),
    "history": (history, (0.3, 1.2, 4), (0, 1)),
    "logistic": (
        logistic,
        (np.array([0.1, -0.4]), np.array([[1.0, 2.0], [0.5, -1.0], [0.2, 0.3]]), np.array([1.0, 0.0, 1.0])),
        (0,),
    ),
    "newton": (newton, (2.0,), (0,)),
    "euler": (euler, (np.array([0.1, 0.4, 0.6]), 0.8), (0, 1)),
    "kicked": (kicked, (np.array([0.9, -0.4, 1.2]), 0.7), (0, 1)),
    "row_view": (row_view, (np.array([[1.0, 2.0], [3.0, 4.0]]),), (0,)),
    "buffers": (buffers, (np.array([0.1, 0.9, -0.3, 0.4]), 0.2), (0, 1)),
}  # fmt: skip
