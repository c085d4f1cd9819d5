"""Simulation: ODE solvers, stencils, n-body, waves, orbits, reaction kinetics."""

import math

import numpy as np

from tests.corpus.programs import mat, pos, program, vec


def lotka_volterra_rate(y, p, rate):
    rate[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    rate[1] = p[2] * y[0] * y[1] - p[3] * y[1]


@program(np.array([1.0, 0.5]), np.array([1.1, 0.4, 0.1, 0.4]), wrt=(0, 1))
def rk4_in_place(y, p):
    k1, k2, k3, k4 = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    h = 0.1
    for _ in range(5):
        lotka_volterra_rate(y, p, k1)
        lotka_volterra_rate(y + 0.5 * h * k1, p, k2)
        lotka_volterra_rate(y + 0.5 * h * k2, p, k3)
        lotka_volterra_rate(y + h * k3, p, k4)
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y[0] * y[1]


@program(np.array([1.0, 0.5]), np.array([1.1, 0.4, 0.1, 0.4]), wrt=(0, 1))
def euler_shared_buffer(y, p):
    rate = np.empty(2)
    for _ in range(8):
        lotka_volterra_rate(y, p, rate)
        for i in range(2):
            y[i] += 0.05 * rate[i]
    return np.sum(y**2)


@program(1.0, 0.3, wrt=(0, 1))
def rk4_scalar(y, k):
    def f(t, y):
        return -k * y + math.sin(t)
    t, h = 0.0, 0.2
    for _ in range(5):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
    return y


@program(vec(7), 0.2, wrt=(0, 1))
def heat_in_place(u, r):
    for _ in range(4):
        left = u[0]
        for i in range(1, 6):
            here = u[i]
            u[i] = here + r * (left - 2.0 * here + u[i + 1])
            left = here
    return np.sum(u**2)


@program(vec(7), 0.2, wrt=(0, 1))
def heat_gauss_seidel(u, r):
    for _ in range(4):
        for i in range(1, 6):
            u[i] = u[i] + r * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    return np.sum(u**2)


@program(vec(7), 0.2, wrt=(0, 1))
def heat_double_buffered(u, r):
    v = u.copy()
    for _ in range(4):
        for i in range(1, 6):
            v[i] = u[i] + r * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, 6):
            u[i] = v[i]
    return np.sum(u**2)


@program(vec(7), 0.2, wrt=(0, 1))
def heat_slices(u, r):
    for _ in range(4):
        u[1:-1] += r * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u**2)


@program(mat(5, 5), 0.1, wrt=(0, 1))
def heat_two_dimensions(u, r):
    v = np.zeros_like(u)
    for _ in range(2):
        for i in range(1, 4):
            for j in range(1, 4):
                v[i, j] = u[i, j] + r * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u = v.copy()
    return np.sum(u**2)


@program(vec(8))
def burgers_upwind(u):
    for _ in range(3):
        old = u.copy()
        for i in range(1, 8):
            if old[i] > 0:
                u[i] = old[i] - 0.2 * old[i] * (old[i] - old[i - 1])
            elif i < 7:
                u[i] = old[i] - 0.2 * old[i] * (old[i + 1] - old[i])
    return np.sum(u**2)


@program(vec(8), 1.3, wrt=(0, 1))
def limit_slope(u0, k):
    u = u0.copy()
    for i in range(1, u.size):
        jump = u[i] - u[i - 1]
        if jump > k:
            u[i] = u[i - 1] + k * np.tanh(jump / k)
        else:
            u[i] -= 0.1 * jump**2
    return np.sum(u**2)


@program(vec(8))
def wave_leapfrog(u):
    past = u.copy()
    now = u.copy()
    for _ in range(4):
        future = np.zeros(8)
        future[1:-1] = 2.0 * now[1:-1] - past[1:-1] + 0.3 * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        past = now
        now = future
    return np.sum(now**2)


@program(mat(4, 3), pos(4), wrt=(0, 1))
def nbody_potential(x, m):
    e = 0.0
    for i in range(4):
        for j in range(i):
            d = x[i] - x[j]
            e -= m[i] * m[j] / math.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + 0.05)
    return e


@program(mat(3, 2), mat(3, 2, seed=1), wrt=(0, 1))
def nbody_leapfrog(x, v):
    a = np.zeros((3, 2))
    for _ in range(3):
        a[:] = 0.0
        for i in range(3):
            for j in range(3):
                if i == j:
                    continue
                dx = x[j, 0] - x[i, 0]
                dy = x[j, 1] - x[i, 1]
                w = 1.0 / (dx * dx + dy * dy + 0.1) ** 1.5
                a[i, 0] += dx * w
                a[i, 1] += dy * w
        v += 0.05 * a
        x += 0.05 * v
    return np.sum(x**2) + np.sum(v**2)


@program(np.array([1.0, 0.0]), np.array([0.0, 1.1]), wrt=(0, 1))
def kepler_verlet(q, p):
    for _ in range(5):
        p = p - 0.05 * q / np.sum(q**2) ** 1.5
        q = q + 0.1 * p
        p = p - 0.05 * q / np.sum(q**2) ** 1.5
    return 0.5 * np.sum(p**2) - 1.0 / np.sqrt(np.sum(q**2))


@program(0.4, 0.9, wrt=(0, 1))
def kepler_equation(m, e):
    x = m
    for _ in range(40):
        step = (x - e * math.sin(x) - m) / (1.0 - e * math.cos(x))
        x = x - step
        if abs(step) < 1e-14:
            break
    return x


@program(mat(4, 2) * 2)
def lennard_jones(x):
    e = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            r2 = np.sum((x[i] - x[j]) ** 2) + 0.5
            s6 = (1.0 / r2) ** 3
            e += 4.0 * (s6 * s6 - s6)
    return e


@program(0.6, 0.2, wrt=(0, 1))
def pendulum(theta, omega):
    t = 0.0
    while t < 0.95:
        omega -= 0.1 * math.sin(theta)
        theta += 0.1 * omega
        t += 0.1
    return 0.5 * omega**2 - math.cos(theta)


@program(2.0, 3.0, wrt=(0, 1))
def bouncing_ball(height, speed):
    y, v = height, speed
    for _ in range(40):
        v -= 0.05 * 9.81
        y += 0.05 * v
        if y < 0.0:
            y = -y
            v = -0.8 * v
    return y


@program(np.array([1.0, 1.0, 1.0]), np.array([10.0, 28.0, 2.667]), wrt=(0, 1))
def lorenz(s, p):
    for _ in range(6):
        x, y, z = s
        ds = np.array([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])
        s = s + 0.01 * ds
    return np.sum(s)


@program(pos(4))
def spring_chain_energy(k):
    x = np.array([0.0, 0.9, 2.1, 3.2, 3.9])
    e = 0.0
    for i, stiffness in enumerate(k):
        e += 0.5 * stiffness * (x[i + 1] - x[i] - 1.0) ** 2
    return e


@program(mat(5, 5) * 0.3)
def ising_mean_field(j):
    m = np.zeros(5)
    m[0] = 1.0
    for _ in range(6):
        m = np.tanh(j @ m + 0.1)
    return np.sum(m)


@program(vec(5), 1e-9)
def jacobi_until_converged(b, tolerance):
    x = np.zeros(5)
    change = 1.0
    while change > tolerance:
        new = b.copy()
        for i in range(5):
            if i > 0:
                new[i] += 0.3 * x[i - 1]
            if i < 4:
                new[i] += 0.2 * x[i + 1]
        change = np.max(np.abs(new - x))
        x = new
    return np.sum(x**2)


@program(0.8, 1.4, wrt=(0, 1))
def gravity_drag_fall(drag, mass):
    v, y, steps = 0.0, 0.0, 0
    while y < 3.0 and steps < 100:
        v += 0.05 * (9.81 - drag * v * v / mass)
        y += 0.05 * v
        steps += 1
    return v


@program(np.array([0.3, 0.2, 0.5]))
def rotation_matrices(angle):
    r = np.eye(3)
    for k in range(3):
        c, s = np.cos(angle[k]), np.sin(angle[k])
        m = np.eye(3)
        i, j = (k + 1) % 3, (k + 2) % 3
        m[i, i] = c
        m[j, j] = c
        m[i, j] = -s
        m[j, i] = s
        r = r @ m
    return np.sum(r * np.arange(9.0).reshape(3, 3))


@program(np.array([0.5, 0.1, -0.3, 0.8]), vec(3), wrt=(0, 1))
def quaternion_rotation(q, v):
    w, x, y, z = q / np.sqrt(np.sum(q * q))
    t = 2.0 * np.cross(np.array([x, y, z]), v)
    return np.sum((v + w * t + np.cross(np.array([x, y, z]), t)) * np.array([1.0, 2.0, 3.0]))


def rodrigues(r, x):
    theta = math.sqrt(r[0] ** 2 + r[1] ** 2 + r[2] ** 2)
    c, s = math.cos(theta), math.sin(theta)
    w = r / theta
    cross = np.array([w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2], w[0] * x[1] - w[1] * x[0]])
    return x * c + cross * s + w * (np.dot(w, x) * (1.0 - c))


@program(np.array([0.1, 0.2, -0.1, 0.0, 0.1, 4.0, 1.1, 0.01, 0.001]), vec(3), np.array([0.1, 0.2]), wrt=(0, 1))
def bundle_adjustment(camera, point, seen):
    p = rodrigues(camera[:3], point) + camera[3:6]
    u, v = p[0] / p[2], p[1] / p[2]
    r2 = u * u + v * v
    distortion = camera[6] * (1.0 + camera[7] * r2 + camera[8] * r2 * r2)
    return (distortion * u - seen[0]) ** 2 + (distortion * v - seen[1]) ** 2
