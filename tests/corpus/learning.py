"""Statistics and machine learning: regressions, networks, filters, sequence models, option prices."""

import math

import numpy as np

from tests.corpus.programs import mat, pos, program, vec

LABELS = np.array([1.0, 0.0, 1.0, 1.0, 0.0])


def sigmoid(z):
    return 0.5 * (np.tanh(z / 2.0) + 1.0)


@program(vec(3), 0.2, mat(5, 3), wrt=(0, 1))
@program(vec(3, dtype=np.float32), np.float32(0.2), mat(5, 3, dtype=np.float32), wrt=(0, 1))
def logistic_regression(w, b, x):
    p = sigmoid(x @ w + b)
    q = p * LABELS + (1.0 - p) * (1.0 - LABELS)
    return -np.sum(np.log(q))


@program(vec(3), mat(5, 3), wrt=(0, 1))
def logistic_loop(w, x):
    loss = 0.0
    for i in range(5):
        z = 0.0
        for j in range(3):
            z += w[j] * x[i, j]
        y = 2.0 * LABELS[i] - 1.0
        loss += math.log1p(math.exp(-y * z))
    return loss


@program(np.array([-0.65, 0.2, 0.1]), np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15],
                                               [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]]))
def cookbook_logistic(w, inputs):
    targets = np.array([True, True, False, True])
    p = sigmoid(np.dot(inputs, w))
    return -np.sum(np.log(p * targets + (1 - p) * (1 - targets)))


@program(vec(3), mat(5, 3), vec(5, 1), wrt=(0, 1, 2))
def ridge(w, x, y):
    r = x @ w - y
    return 0.5 * np.dot(r, r) + 0.1 * np.sum(w**2)


@program([(mat(4, 3), vec(4)), (mat(2, 4), vec(2, 1))], vec(3))
def mlp(layers, x):
    for w, b in layers[:-1]:
        x = np.tanh(w @ x + b)
    w, b = layers[-1]
    z = w @ x + b
    return np.log(np.sum(np.exp(z))) - z[0]


@program(mat(4, 3), mat(2, 4, seed=1), mat(5, 3, seed=2), wrt=(0, 1))
def mlp_batch_relu(w1, w2, x):
    h = np.maximum(x @ w1.T, 0.0)
    return np.mean((h @ w2.T) ** 2)


@program(mat(4, 3), vec(3), wrt=(0, 1))
def mlp_loops(w, x):
    s = 0.0
    for i in range(4):
        z = 0.0
        for j in range(3):
            z += w[i, j] * x[j]
        s += z if z > 0 else 0.1 * z
    return s * s


@program(mat(8, 4), mat(8, 2, seed=1), vec(8), mat(3, 4, seed=2), wrt=(0, 1, 2))
def lstm(wx, wh, b, inputs):
    h, c = np.zeros(2), np.zeros(2)
    for x in inputs:
        gates = wx @ x + wh @ h + b
        i, f = sigmoid(gates[:2]), sigmoid(gates[2:4])
        o, g = sigmoid(gates[4:6]), np.tanh(gates[6:])
        c = f * c + i * g
        h = o * np.tanh(c)
    return np.sum(h**2)


@program(mat(3, 3), mat(3, 2, seed=1), mat(4, 2, seed=2), wrt=(0, 1))
def rnn_with_history(wh, wx, inputs):
    h = np.zeros((5, 3))
    for t in range(4):
        h[t + 1] = np.tanh(wh @ h[t] + wx @ inputs[t])
    return np.sum(h[-1] ** 2) + np.sum(h[2])


@program(mat(4, 3), mat(4, 3, seed=1), mat(4, 3, seed=2), wrt=(0, 1, 2))
def attention(q, k, v):
    s = q @ k.T / np.sqrt(3.0)
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    return np.sum((e / e.sum(axis=1, keepdims=True) @ v) ** 2)


@program(mat(4, 5), vec(5), vec(5, 1), wrt=(0, 1, 2))
def layer_norm(x, gain, bias):
    mu = x.mean(axis=1, keepdims=True)
    sd = np.sqrt(((x - mu) ** 2).mean(axis=1, keepdims=True) + 1e-5)
    return np.sum(((x - mu) / sd * gain + bias) ** 3)


@program(vec(3), mat(3, 2), pos(3), mat(6, 2, seed=1), wrt=(0, 1, 2))
def gmm_log_likelihood(logits, means, scales, data):
    weights = logits - np.log(np.sum(np.exp(logits)))
    total = 0.0
    for i in range(data.shape[0]):
        terms = np.empty(3)
        for k in range(3):
            d = (data[i] - means[k]) / scales[k]
            terms[k] = weights[k] - 0.5 * np.sum(d**2) - 2.0 * np.log(scales[k])
        top = np.max(terms)
        total += top + np.log(np.sum(np.exp(terms - top)))
    return total


@program(100.0, 105.0, 0.7, 0.02, 0.25, wrt=(0, 1, 2, 3, 4))
def black_scholes(s, k, t, r, sigma):
    d1 = (math.log(s / k) + (r + 0.5 * sigma * sigma) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    n1 = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
    n2 = 0.5 * (1.0 + math.erf(d2 / math.sqrt(2.0)))
    return s * n1 - k * math.exp(-r * t) * n2


@program(1.0, 0.1, 0.3, wrt=(0, 1, 2))
def binomial_option(s, r, sigma):
    n, dt = 5, 0.2
    u = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(r * dt) - 1.0 / u) / (u - 1.0 / u)
    v = np.zeros(n + 1)
    for i in range(n + 1):
        v[i] = max(0.95 - s * u ** (2 * i - n), 0.0)
    for step in range(n, 0, -1):
        for i in range(step):
            v[i] = math.exp(-r * dt) * (p * v[i + 1] + (1.0 - p) * v[i])
    return v[0]


@program(0.3, 0.2, vec(6), wrt=(0, 1))
def monte_carlo_path(mu, sigma, noise):
    s, highest = 1.0, 1.0
    for z in noise:
        s *= math.exp((mu - 0.5 * sigma**2) * 0.1 + sigma * math.sqrt(0.1) * z)
        if s > highest:
            highest = s
    return highest - 0.9


@program(0.8, 0.3, 0.5, vec(6), wrt=(0, 1, 2))
def kalman_scalar(a, q, r, observed):
    m, p, ll = 0.0, 1.0, 0.0
    for y in observed:
        m, p = a * m, a * a * p + q
        s = p + r
        ll -= 0.5 * (math.log(s) + (y - m) ** 2 / s)
        gain = p / s
        m, p = m + gain * (y - m), (1.0 - gain) * p
    return ll


@program(mat(2, 2) * 0.6, np.eye(2) * 0.3, mat(4, 2, seed=1), wrt=(0, 1, 2))
def kalman_matrix(a, q, observed):
    m, p, ll = np.zeros(2), np.eye(2), 0.0
    for y in observed:
        m, p = a @ m, a @ p @ a.T + q @ q.T
        s = p + 0.5 * np.eye(2)
        r = y - m
        ll -= 0.5 * (np.log(np.linalg.det(s)) + r @ np.linalg.solve(s, r))
        gain = p @ np.linalg.inv(s)
        m, p = m + gain @ r, p - gain @ p
    return ll


@program(pos(3, 3), pos(3, 2), wrt=(0, 1))
def hmm_forward(transition, emission):
    alpha = np.ones(3) / 3.0
    ll = 0.0
    for o in (0, 1, 1, 0):
        new = np.zeros(3)
        for j in range(3):
            for i in range(3):
                new[j] += alpha[i] * transition[i, j] * emission[j, o]
        c = np.sum(new)
        alpha = new / c
        ll += math.log(c)
    return ll


@program(vec(5), vec(4, 1), wrt=(0, 1))
def dtw(x, y):
    d = np.full((6, 5), 1e9)
    d[0, 0] = 0.0
    for i in range(1, 6):
        for j in range(1, 5):
            cost = (x[i - 1] - y[j - 1]) ** 2
            d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[5, 4]


@program(vec(5), vec(4, 1), 0.5, wrt=(0, 1, 2))
def soft_dtw(x, y, g):
    d = np.full((6, 5), 1e3)
    d[0, 0] = 0.0
    for i in range(1, 6):
        for j in range(1, 5):
            a, b, c = -d[i - 1, j] / g, -d[i, j - 1] / g, -d[i - 1, j - 1] / g
            top = max(a, b, c)
            s = math.exp(a - top) + math.exp(b - top) + math.exp(c - top)
            d[i, j] = (x[i - 1] - y[j - 1]) ** 2 - g * (math.log(s) + top)
    return d[5, 4]


@program(vec(6), vec(3, 1), wrt=(0, 1))
def convolution_loops(x, k):
    out = np.zeros(4)
    for i in range(4):
        for j in range(3):
            out[i] += x[i + j] * k[j]
    return np.sum(out**2)


@program(mat(5, 5), mat(3, 3, seed=1), wrt=(0, 1))
def convolution_two_dimensions(image, kernel):
    out = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            out[i, j] = np.sum(image[i:i + 3, j:j + 3] * kernel)
    return np.sum(np.tanh(out))


@program(mat(4, 4))
def max_pool(a):
    s = 0.0
    for i in range(0, 4, 2):
        for j in range(0, 4, 2):
            s += np.max(a[i:i + 2, j:j + 2]) ** 2
    return s


@program(vec(3), mat(5, 3), vec(5, 1))
def gradient_descent_unrolled(w, x, y):
    for _ in range(4):
        w = w - 0.05 * x.T @ (x @ w - y)
    return np.sum((x @ w - y) ** 2)


@program(0.01, vec(3), mat(5, 3), vec(5, 1))
def momentum_learning_rate(rate, w, x, y):
    v = np.zeros(3)
    for _ in range(4):
        v = 0.9 * v - rate * x.T @ (x @ w - y)
        w = w + v
    return np.sum((x @ w - y) ** 2)


@program(mat(4, 2), mat(3, 2, seed=1), wrt=(0, 1))
def matrix_factorisation(u, v):
    ratings = ((0, 1, 3.0), (2, 2, 1.0), (3, 0, 4.0), (0, 0, 2.0))
    loss = 0.0
    for i, j, r in ratings:
        loss += (np.dot(u[i], v[j]) - r) ** 2
    return loss


@program(vec(4), pos(1)[0], wrt=(0, 1))
def gaussian_process(x, length):
    k = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            k[i, j] = np.exp(-0.5 * (x[i] - x[j]) ** 2 / length**2)
        k[i, i] += 0.1
    y = np.array([0.1, -0.3, 0.8, 0.2])
    return 0.5 * y @ np.linalg.solve(k, y) + 0.5 * np.log(np.linalg.det(k))


@program(vec(5))
def hinge(scores):
    s = 0.0
    for i, label in enumerate((1, -1, 1, 1, -1)):
        s += max(0.0, 1.0 - label * scores[i]) ** 2
    return s


@program(vec(4))
def elu_gelu(x):
    elu = np.where(x > 0, x, np.exp(np.minimum(x, 0.0)) - 1.0)
    gelu = 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
    return np.sum(elu * gelu)
