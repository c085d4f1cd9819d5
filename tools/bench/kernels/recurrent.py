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
def layer_forward(weight, bias, below, before, cell, saved, cell_after, after):
    """Write a layer's state after one step, and into the rows of `saved` its gates and tanh of the cell."""
    b = before.size
    for i in range(b):
        saved[0, i] = 1.0 / (1.0 + math.exp(-(below[i] * weight[i] + bias[i])))
    for i in range(b):
        saved[1, i] = 1.0 / (1.0 + math.exp(-(before[i] * weight[b + i] + bias[b + i])))
    for i in range(b):
        saved[2, i] = 1.0 / (1.0 + math.exp(-(below[i] * weight[2 * b + i] + bias[2 * b + i])))
    for i in range(b):
        saved[3, i] = math.tanh(before[i] * weight[3 * b + i] + bias[3 * b + i])
    for i in range(b):
        cell_after[i] = cell[i] * saved[0, i] + saved[1, i] * saved[3, i]
    for i in range(b):
        saved[4, i] = math.tanh(cell_after[i])
        after[i] = saved[2, i] * saved[4, i]


@compiled
def layer_backward(weight, below, before, cell, saved, x_bar, hidden_bar, cell_bar, weight_bar, bias_bar):
    """Take the cotangents of a layer's state and output, `x_bar`, one step back; `x_bar` becomes the input's."""
    b = before.size
    for i in range(b):
        forget, ingate, outgate, change, squashed = saved[0, i], saved[1, i], saved[2, i], saved[3, i], saved[4, i]
        after_bar = hidden_bar[i] + x_bar[i]
        now_bar = cell_bar[i] + after_bar * outgate * (1.0 - squashed * squashed)
        out_bar = after_bar * squashed * outgate * (1.0 - outgate)
        forget_bar = now_bar * cell[i] * forget * (1.0 - forget)
        in_bar = now_bar * change * ingate * (1.0 - ingate)
        change_bar = now_bar * ingate * (1.0 - change * change)
        cell_bar[i] = now_bar * forget
        weight_bar[i] += forget_bar * below[i]
        weight_bar[b + i] += in_bar * before[i]
        weight_bar[2 * b + i] += out_bar * below[i]
        weight_bar[3 * b + i] += change_bar * before[i]
        bias_bar[i] += forget_bar
        bias_bar[b + i] += in_bar
        bias_bar[2 * b + i] += out_bar
        bias_bar[3 * b + i] += change_bar
        hidden_bar[i] = in_bar * weight[b + i] + change_bar * weight[3 * b + i]
        x_bar[i] = forget_bar * weight[i] + out_bar * weight[2 * b + i]


@compiled
def lstm_hand(main, extra, state, sequence):
    steps, b = sequence.shape
    layers = main.shape[0] // 2
    hidden, cell = np.empty((steps, layers, b)), np.empty((steps, layers, b))
    saved = np.empty((steps, layers, 5, b))
    inputs, shares = np.empty((steps, b)), np.empty((steps, b))
    for layer in range(layers):
        hidden[0, layer], cell[0, layer] = state[2 * layer], state[2 * layer + 1]
    for t in range(steps - 1):
        for i in range(b):
            inputs[t, i] = sequence[t, i] * extra[0, i]
        for layer in range(layers):
            below = hidden[t + 1, layer - 1] if layer > 0 else inputs[t]
            layer_forward(main[2 * layer], main[2 * layer + 1], below, hidden[t, layer], cell[t, layer],
                          saved[t, layer], cell[t + 1, layer], hidden[t + 1, layer])
        for i in range(b):
            shares[t, i] = math.exp(hidden[t + 1, layers - 1, i] * extra[1, i] + extra[2, i])
        sum_exp = 2.0
        for i in range(b):
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
            below = hidden[t + 1, layer - 1] if layer > 0 else inputs[t]
            layer_backward(main[2 * layer], below, hidden[t, layer], cell[t, layer], saved[t, layer], x_bar,
                           state_bar[2 * layer], state_bar[2 * layer + 1], main_bar[2 * layer],
                           main_bar[2 * layer + 1])
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
