"""A diagonal LSTM over a sequence, whose states are written in place.

Source: ADBench (Šrajer, Kukelova, Fitzgibbon 2018), whose model this is.
"""

from __future__ import annotations

import math

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


@compiled
def cell_step(weight, bias, hidden, cell, x):
    b = hidden.size
    for i in range(b):
        forget = sigmoid(x[i] * weight[i] + bias[i])
        ingate = sigmoid(hidden[i] * weight[b + i] + bias[b + i])
        outgate = sigmoid(x[i] * weight[2 * b + i] + bias[2 * b + i])
        change = math.tanh(hidden[i] * weight[3 * b + i] + bias[3 * b + i])
        cell[i] = cell[i] * forget + ingate * change
        hidden[i] = outgate * math.tanh(cell[i])


@compiled
def lstm(main, extra, state, sequence):
    steps, b = sequence.shape
    layers = main.shape[0] // 2
    state = state.copy()
    x = np.empty(b)
    y = np.empty(b)
    total = 0.0
    for t in range(steps - 1):
        for i in range(b):
            x[i] = sequence[t, i] * extra[0, i]
        for layer in range(layers):
            cell_step(main[2 * layer], main[2 * layer + 1], state[2 * layer], state[2 * layer + 1], x)
            for i in range(b):
                x[i] = state[2 * layer, i]
        sum_exp = 2.0
        for i in range(b):
            y[i] = x[i] * extra[1, i] + extra[2, i]
            sum_exp += math.exp(y[i])
        log_sum = math.log(sum_exp)
        for i in range(b):
            total += sequence[t + 1, i] * (y[i] - log_sum)
    return -total / ((steps - 1) * b)


@compiled
def lstm_hand(main, extra, state, sequence):
    steps, b = sequence.shape
    layers = main.shape[0] // 2
    hidden, cell = np.empty((steps, layers, b)), np.empty((steps, layers, b))
    gates = np.empty((steps, layers, 4, b))
    shares = np.empty((steps, b))
    for layer in range(layers):
        hidden[0, layer], cell[0, layer] = state[2 * layer], state[2 * layer + 1]
    x = np.empty(b)
    for t in range(steps - 1):
        for i in range(b):
            x[i] = sequence[t, i] * extra[0, i]
        for layer in range(layers):
            weight, bias = main[2 * layer], main[2 * layer + 1]
            for i in range(b):
                before = hidden[t, layer, i]
                forget = 1.0 / (1.0 + math.exp(-(x[i] * weight[i] + bias[i])))
                ingate = 1.0 / (1.0 + math.exp(-(before * weight[b + i] + bias[b + i])))
                outgate = 1.0 / (1.0 + math.exp(-(x[i] * weight[2 * b + i] + bias[2 * b + i])))
                change = math.tanh(before * weight[3 * b + i] + bias[3 * b + i])
                now = cell[t, layer, i] * forget + ingate * change
                squashed = math.tanh(now)
                cell[t + 1, layer, i] = now
                hidden[t + 1, layer, i] = outgate * squashed
                gates[t, layer, 0, i], gates[t, layer, 1, i] = forget, ingate
                gates[t, layer, 2, i], gates[t, layer, 3, i] = outgate, change
                x[i] = outgate * squashed
        sum_exp = 2.0
        for i in range(b):
            shares[t, i] = math.exp(x[i] * extra[1, i] + extra[2, i])
            sum_exp += shares[t, i]
        for i in range(b):
            shares[t, i] /= sum_exp

    main_bar, extra_bar = np.zeros(main.shape), np.zeros(extra.shape)
    state_bar = np.zeros(state.shape)
    x_bar = np.empty(b)
    scale = -1.0 / ((steps - 1) * b)
    for t in range(steps - 2, -1, -1):
        ones = 0.0
        for i in range(b):
            ones += sequence[t + 1, i]
        for i in range(b):
            y_bar = scale * (sequence[t + 1, i] - ones * shares[t, i])
            extra_bar[1, i] += y_bar * hidden[t + 1, layers - 1, i]
            extra_bar[2, i] += y_bar
            x_bar[i] = y_bar * extra[1, i]
        for layer in range(layers - 1, -1, -1):
            weight, weight_bar, bias_bar = main[2 * layer], main_bar[2 * layer], main_bar[2 * layer + 1]
            hidden_bar, cell_bar = state_bar[2 * layer], state_bar[2 * layer + 1]
            for i in range(b):
                forget, ingate = gates[t, layer, 0, i], gates[t, layer, 1, i]
                outgate, change = gates[t, layer, 2, i], gates[t, layer, 3, i]
                squashed = math.tanh(cell[t + 1, layer, i])
                after_bar = hidden_bar[i] + x_bar[i]
                now_bar = cell_bar[i] + after_bar * outgate * (1.0 - squashed * squashed)
                out_bar = after_bar * squashed * outgate * (1.0 - outgate)
                forget_bar = now_bar * cell[t, layer, i] * forget * (1.0 - forget)
                in_bar = now_bar * change * ingate * (1.0 - ingate)
                change_bar = now_bar * ingate * (1.0 - change * change)
                cell_bar[i] = now_bar * forget
                before = hidden[t, layer, i]
                below = hidden[t + 1, layer - 1, i] if layer > 0 else sequence[t, i] * extra[0, i]
                weight_bar[i] += forget_bar * below
                weight_bar[b + i] += in_bar * before
                weight_bar[2 * b + i] += out_bar * below
                weight_bar[3 * b + i] += change_bar * before
                bias_bar[i] += forget_bar
                bias_bar[b + i] += in_bar
                bias_bar[2 * b + i] += out_bar
                bias_bar[3 * b + i] += change_bar
                hidden_bar[i] = in_bar * weight[b + i] + change_bar * weight[3 * b + i]
                x_bar[i] = forget_bar * weight[i] + out_bar * weight[2 * b + i]
        for i in range(b):
            extra_bar[0, i] += x_bar[i] * sequence[t, i]
    return main_bar, extra_bar


def lstm_arguments(layers, steps, b):
    rng = np.random.default_rng(0)
    main, extra = rng.normal(size=(2 * layers, 4 * b)), rng.normal(size=(3, b))
    sequence = rng.integers(0, 2, size=(steps, b)).astype(float)
    return main, extra, rng.normal(size=(2 * layers, b)), sequence


KERNELS = (
    Kernel("LSTM", lstm, lstm_hand, lstm_arguments,
           {"tiny": (2, 4, 3), "full": (2, 1024, 14)}, wrt=(0, 1), peers="lstm"),
)
