"""A log-density that is a plain loop, sampled by PyMC and by nutpie."""

from __future__ import annotations

import numpy as np
import pytest

pymc = pytest.importorskip("pymc", reason="PyMC is not installed")

from s2sad.interop.pytensor import function  # noqa: E402

DATA = np.random.default_rng(0).normal(2.0, 1.5, 100)


def logp(mu, log_sigma):
    total = 0.0
    for i in range(DATA.size):
        total -= 0.5 * ((DATA[i] - mu) / np.exp(log_sigma)) ** 2 + log_sigma
    return total


@pytest.fixture
def model():
    with pymc.Model() as made:
        mu, log_sigma = pymc.Normal("mu", 0, 10), pymc.Normal("log_sigma", 0, 2)
        pymc.Potential("likelihood", function(logp)(mu, log_sigma))
    return made


def the_right_posterior(trace):
    error = DATA.std() / np.sqrt(DATA.size)
    assert abs(float(trace.posterior["mu"].mean()) - DATA.mean()) < error
    assert abs(float(np.exp(trace.posterior["log_sigma"]).mean()) - DATA.std()) < error
    assert 0.5 * error < float(trace.posterior["mu"].std()) < 2 * error


def test_pymc_samples(model):
    with model:
        the_right_posterior(pymc.sample(300, tune=300, chains=1, cores=1, progressbar=False, random_seed=1))


def test_nutpie_samples(model):
    nutpie = pytest.importorskip("nutpie", reason="nutpie is not installed")
    compiled = nutpie.compile_pymc_model(model)
    the_right_posterior(nutpie.sample(compiled, draws=300, tune=300, chains=1, cores=1, progress_bar=False, seed=1))
