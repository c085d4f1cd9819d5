"""Numerical algorithms: factorisations, polynomials, quadrature, fixed points, splines, recursions."""

import math

import numpy as np

from tests.corpus.programs import mat, pos, program, spd, vec


@program(spd(4))
@program(spd(3).astype(np.float32))
def cholesky_loops(a):
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            if i == j:
                low[i, i] = np.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    t = 0.0
    for i in range(n):
        t += np.log(low[i, i])
    return t


@program(spd(4))
def cholesky_in_place(a):
    for j in range(4):
        for k in range(j):
            for i in range(j, 4):
                a[i, j] -= a[i, k] * a[j, k]
        a[j, j] = math.sqrt(a[j, j])
        for i in range(j + 1, 4):
            a[i, j] /= a[j, j]
    return a[0, 0] + a[3, 2] * a[3, 3]


@program(spd(4), vec(4), wrt=(0, 1))
def triangular_solve(a, b):
    x = b.copy()
    for i in range(4):
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]
    return np.sum(x**2)


@program(spd(4), vec(4), wrt=(0, 1))
def back_substitution(a, b):
    x = np.zeros(4)
    for i in range(3, -1, -1):
        x[i] = (b[i] - np.dot(a[i, i + 1:], x[i + 1:])) / a[i, i]
    return np.sum(x**3)


@program(spd(4)[::-1].copy(), vec(4), wrt=(0, 1))
def solve_with_pivoting(a, b):
    for k in range(4):
        p = k
        for i in range(k + 1, 4):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            for j in range(4):
                a[k, j], a[p, j] = a[p, j], a[k, j]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, 4):
            m = a[i, k] / a[k, k]
            for j in range(k, 4):
                a[i, j] -= m * a[k, j]
            b[i] -= m * b[k]
    for i in range(3, -1, -1):
        for j in range(i + 1, 4):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return np.sum(b * b)


@program(pos(5), pos(5) + 3.0, vec(5), wrt=(0, 1, 2))
def thomas_tridiagonal(off, diag, b):
    c = np.zeros(5)
    x = np.zeros(5)
    c[0] = off[0] / diag[0]
    x[0] = b[0] / diag[0]
    for i in range(1, 5):
        m = diag[i] - off[i] * c[i - 1]
        c[i] = off[i] / m
        x[i] = (b[i] - off[i] * x[i - 1]) / m
    for i in range(3, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return np.sum(x**2)


def recursive_determinant(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    d = 0.0
    for j in range(n):
        minor = np.empty((n - 1, n - 1))
        for i in range(1, n):
            k = 0
            for c in range(n):
                if c == j:
                    continue
                minor[i - 1, k] = a[i, c]
                k += 1
        d += (-1.0) ** j * a[0, j] * recursive_determinant(minor)
    return d


@program(mat(3, 3))
@program(mat(4, 4))
def determinant_by_recursion(a):
    return recursive_determinant(a)


@program(mat(4, 3))
def gram_schmidt(a):
    q = a.copy()
    for j in range(3):
        for k in range(j):
            q[:, j] -= np.dot(q[:, k], a[:, j]) * q[:, k]
        q[:, j] /= np.sqrt(np.sum(q[:, j] ** 2))
    return np.sum(q * np.arange(12.0).reshape(4, 3))


@program(spd(3), vec(3), wrt=(0, 1))
def power_iteration(a, v):
    for _ in range(6):
        v = a @ v
        v = v / np.sqrt(np.sum(v * v))
    return v @ a @ v


@program(spd(4), vec(4), wrt=(0, 1))
def conjugate_gradient(a, b):
    x = np.zeros(4)
    r = b.copy()
    p = r.copy()
    rr = r @ r
    for _ in range(3):
        ap = a @ p
        step = rr / (p @ ap)
        x += step * p
        r -= step * ap
        new = r @ r
        p = r + new / rr * p
        rr = new
    return np.sum(x)


@program(vec(5), 0.7, wrt=(0, 1))
def horner(c, x):
    y = 0.0
    for i in range(c.size - 1, -1, -1):
        y = y * x + c[i]
    return y


@program(vec(5), 0.7, wrt=(0, 1))
def power_sum_polynomial(c, x):
    y, p = 0.0, 1.0
    for k in c:
        y += k * p
        p *= x
    return y


@program(vec(5), 0.7, wrt=(0, 1))
def clenshaw(c, x):
    b1, b2 = 0.0, 0.0
    for k in range(4, 0, -1):
        b1, b2 = 2.0 * x * b1 - b2 + c[k], b1
    return x * b1 - b2 + c[0]


@program(vec(4), 0.7, wrt=(0, 1))
def legendre_series(c, x):
    p0, p1 = 1.0, x
    s = c[0] * p0 + c[1] * p1
    for n in range(2, 4):
        p0, p1 = p1, ((2 * n - 1) * x * p1 - (n - 1) * p0) / n
        s += c[n] * p1
    return s


@program(0.3, 1.9, wrt=(0, 1))
def simpson(a, b):
    n = 8
    h = (b - a) / n
    s = math.exp(-a * a) + math.exp(-b * b)
    for i in range(1, n):
        w = 4.0 if i % 2 else 2.0
        x = a + i * h
        s += w * math.exp(-x * x)
    return s * h / 3.0


@program(0.4)
def trapezoid_function(k):
    f = lambda x: math.sin(k * x) * x
    s = 0.5 * (f(0.0) + f(2.0))
    for i in range(1, 10):
        s += f(0.2 * i)
    return 0.2 * s


@program(0.4)
def gauss_quadrature(k):
    s = 0.0
    for x, w in ((-0.7745966692, 0.5555555556), (0.0, 0.8888888889), (0.7745966692, 0.5555555556)):
        s += w * math.exp(k * x)
    return s


@program(0.4)
def fixed_point_tolerance(a):
    x = 1.0
    while True:
        new = math.cos(a * x)
        if abs(new - x) < 1e-13:
            return new
        x = new


@program(2.0)
def cube_root_newton(a):
    x = a
    for _ in range(30):
        x = x - (x**3 - a) / (3.0 * x * x)
    return x


@program(np.array([0.4, 1.2]))
def newton_system(p):
    x, y = 1.1, 0.6
    for _ in range(8):
        f, g = x * x + y - 4.0 * p[0], x + y * y - p[1] - 0.3
        d = 4.0 * x * y - 1.0
        x, y = x - (2.0 * y * f - g) / d, y - (2.0 * x * g - f) / d
    return x * y


@program(1.0, 2.3, wrt=(0, 1))
def arithmetic_geometric_mean(a, b):
    while abs(a - b) > 1e-13:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    return a


@program(0.6)
def taylor_until_small(x):
    term, s, n = 1.0, 1.0, 1
    while abs(term) > 1e-16:
        term *= x / n
        s += term
        n += 1
    return s


@program(0.6)
def continued_fraction(x):
    y = 1.0
    for k in range(8, 0, -1):
        y = 1.0 + k * x / y
    return y


@program(vec(6))
def running_maximum(x):
    m = x[0]
    s = 0.0
    for e in x:
        m = max(m, e)
        s += m * m
    return s


@program(pos(6))
def prefix_products(x):
    p = np.ones(7)
    for i in range(6):
        p[i + 1] = p[i] * x[i]
    return np.sum(p)


@program(vec(5), 2.4, wrt=(0, 1))
def linear_spline(y, t):
    k = 0
    while k < 3 and t > k + 1:
        k += 1
    w = t - k
    return ((1.0 - w) * y[k] + w * y[k + 1]) ** 2


@program(vec(6), 2.4, wrt=(0, 1))
def catmull_rom(y, t):
    k = int(math.floor(t))
    w = t - k
    a = -0.5 * y[k - 1] + 1.5 * y[k] - 1.5 * y[k + 1] + 0.5 * y[k + 2]
    b = y[k - 1] - 2.5 * y[k] + 2.0 * y[k + 1] - 0.5 * y[k + 2]
    c = 0.5 * (y[k + 1] - y[k - 1])
    return ((a * w + b) * w + c) * w + y[k]


@program(vec(5), 0.37, wrt=(0, 1))
def de_casteljau(p, t):
    q = p.copy()
    for level in range(4, 0, -1):
        for i in range(level):
            q[i] = (1.0 - t) * q[i] + t * q[i + 1]
    return q[0]


@program(vec(4), 0.4, wrt=(0, 1))
def lagrange_interpolation(y, t):
    s = 0.0
    for i in range(4):
        basis = 1.0
        for j in range(4):
            if j != i:
                basis *= (t - j) / (i - j)
        s += y[i] * basis
    return s


@program(vec(4), 0.4, wrt=(0, 1))
def divided_differences(y, t):
    c = y.copy()
    for k in range(1, 4):
        for i in range(3, k - 1, -1):
            c[i] = (c[i] - c[i - 1]) / k
    s = c[3]
    for i in range(2, -1, -1):
        s = s * (t - i) + c[i]
    return s


@program(0.6, 10)
def repeated_squaring(x, n):
    result, base = 1.0, x
    while n > 0:
        if n % 2 == 1:
            result *= base
        base *= base
        n //= 2
    return result


@program(vec(8))
def discrete_fourier_power(x):
    s = 0.0
    for k in range(4):
        re, im = 0.0, 0.0
        for n in range(8):
            re += x[n] * math.cos(2 * math.pi * k * n / 8)
            im -= x[n] * math.sin(2 * math.pi * k * n / 8)
        s += (re * re + im * im) * (k + 1)
    return s


@program(vec(8))
def haar_wavelet(x):
    y = x.copy()
    n = 8
    while n > 1:
        half = n // 2
        t = y[:n].copy()
        for i in range(half):
            y[i] = (t[2 * i] + t[2 * i + 1]) / 2.0
            y[half + i] = (t[2 * i] - t[2 * i + 1]) / 2.0
        n = half
    return np.sum(y**2 * np.arange(8.0))


@program(mat(3, 3) * 0.4)
def matrix_exponential(a):
    e, term = np.eye(3), np.eye(3)
    for k in range(1, 9):
        term = term @ a / k
        e += term
    return np.sum(e**2)


@program(np.array([0.2, 1.1, 1.7, 0.4]))
def polygon_area(r):
    s = 0.0
    for i in range(4):
        a, b = i * math.pi / 2, ((i + 1) % 4) * math.pi / 2
        s += r[i] * math.cos(a) * r[(i + 1) % 4] * math.sin(b) - r[i] * math.sin(a) * r[(i + 1) % 4] * math.cos(b)
    return 0.5 * abs(s)


@program(vec(5))
def kahan_sum(x):
    s, c = 0.0, 0.0
    for e in x:
        y = e * e - c
        t = s + y
        c = (t - s) - y
        s = t
    return s


@program(vec(6))
def longest_weight_path(x):
    best = np.zeros(7)
    for i in range(1, 7):
        best[i] = max(best[i - 1], best[max(i - 2, 0)] + x[i - 1])
    return best[6] ** 2


@program(pos(3, 3))
def floyd_warshall(d):
    for k in range(3):
        for i in range(3):
            for j in range(3):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return np.sum(d**2)


def simulate(x, depth):
    if depth == 0:
        return math.sin(x)
    left = simulate(0.5 * x, depth - 1)
    right = simulate(x + left, depth - 1)
    return left * right


@program(0.8)
def binary_recursion(x):
    return simulate(x, 4)
