"""Fit a logistic regression: the first example of JAX's autodiff cookbook, in plain NumPy.

Source: https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html
"""

import numpy as np

import s2sad

INPUTS = np.array(
    [[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]]
)
TARGETS = np.array([1.0, 1.0, 0.0, 1.0])


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2) + 1)


def predict(weights, bias, inputs):
    return sigmoid(np.dot(inputs, weights) + bias)


def loss(weights, bias, inputs, targets):
    """Return the negative log-likelihood of `targets`, of shape (n,), given `inputs`, (n, m)."""
    probability = predict(weights, bias, inputs)
    label = probability * targets + (1 - probability) * (1 - targets)
    return -np.sum(np.log(label))


def main():
    weights, bias = np.random.default_rng(0).normal(size=3), 0.0
    value_and_grad = s2sad.value_and_grad(loss, argnums=("weights", "bias"))

    s2sad.check_grads(loss, (weights, bias, INPUTS, TARGETS), order=1)
    print("gradient agrees with finite differences")

    for step in range(201):
        value, (weights_bar, bias_bar) = value_and_grad(weights, bias, INPUTS, TARGETS)
        if step % 50 == 0:
            print(f"step {step:3}  loss {value:.5f}")
        weights = weights - 0.5 * weights_bar
        bias = bias - 0.5 * bias_bar

    print("predicted", np.round(predict(weights, bias, INPUTS), 3), "  true", TARGETS)


if __name__ == "__main__":
    main()
