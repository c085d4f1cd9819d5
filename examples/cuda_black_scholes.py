"""Black-Scholes on a GPU: value and five Greeks of each option, one thread per option, no kernel written.

Runs in Numba's simulator; on a GPU set NUMBA_ENABLE_CUDASIM=0.
"""

import math
import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import numpy as np

import s2sad


def call(spot, strike, rate, volatility, years):
    """Value a European call."""
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    first = 0.5 * math.erfc(-d1 / math.sqrt(2.0))
    second = 0.5 * math.erfc(-d2 / math.sqrt(2.0))
    return spot * first - strike * math.exp(-rate * years) * second


GREEKS = ("spot", "strike", "rate", "volatility", "years")
greeks = s2sad.vmap(s2sad.value_and_grad(call, argnums=GREEKS), target="cuda")


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    spot, strike = rng.uniform(80, 120, 8), rng.uniform(80, 120, 8)
    rate, volatility, years = rng.uniform(0.0, 0.05, 8), rng.uniform(0.1, 0.4, 8), rng.uniform(0.2, 2.0, 8)
    values, (delta, by_strike, rho, vega, by_years) = greeks(spot, strike, rate, volatility, years)
    print(greeks.source(spot, strike, rate, volatility, years))

    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    normal = np.array([0.5 * math.erfc(-d / math.sqrt(2.0)) for d in d1])
    density = np.exp(-0.5 * d1**2) / math.sqrt(2.0 * math.pi)
    print("largest error of delta:", float(np.max(np.abs(delta - normal))))
    print("largest error of vega: ", float(np.max(np.abs(vega - spot * density * np.sqrt(years)))))
    homogeneous = spot * delta + strike * by_strike
    print("Euler's identity:      ", float(np.max(np.abs(homogeneous - values))))
    assert np.allclose(delta, normal)
    assert np.allclose(vega, spot * density * np.sqrt(years))
    assert np.allclose(homogeneous, values)
    assert (rho > 0).all()
    assert (by_years > 0).all()
