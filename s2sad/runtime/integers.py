"""Integer functions of `math` that Numba does not compile."""

from __future__ import annotations

_LARGEST = 9223372036854775807


def factorial(n: int) -> int:
    """Return n!, as 64-bit integers hold it: n at most 20."""
    if n < 0 or n > 20:
        raise ValueError("factorial: n must lie between 0 and 20 in compiled code")
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result


def power(base: int, exponent: int) -> int:
    """Return `base**exponent`; a negative exponent would give a fraction, which Python returns as a float."""
    if exponent < 0:
        raise ValueError("a whole number to a negative power is a fraction: write the base as a float")
    return base**exponent


def power_modulo(base: int, exponent: int, modulus: int) -> int:
    """Return `pow(base, exponent, modulus)` of an exponent that is not negative, and a modulus of 31 bits."""
    if exponent < 0 or modulus == 0 or abs(modulus) > 2147483647:
        raise ValueError("pow: in compiled code, the exponent must not be negative, and the modulus of 31 bits at most")
    result, factor, left = 1 % modulus, base % modulus, exponent
    while left > 0:
        if left % 2 == 1:
            result = result * factor % modulus
        factor = factor * factor % modulus
        left //= 2
    return result


def comb(n: int, k: int) -> int:
    """Return the number of ways to choose `k` of `n`."""
    if n < 0 or k < 0:
        raise ValueError("comb: n and k must not be negative")
    result = 1
    for i in range(min(k, n - k) if k <= n else 0):
        if result > _LARGEST // (n - i):
            raise ValueError("comb: the number is too large for 64 bits, in compiled code")
        result = result * (n - i) // (i + 1)
    return result if k <= n else 0


def perm(n: int, k: int) -> int:
    """Return the number of ordered choices of `k` of `n`."""
    if n < 0 or k < 0:
        raise ValueError("perm: n and k must not be negative")
    result = 1
    for i in range(k):
        if n > i and result > _LARGEST // (n - i):
            raise ValueError("perm: the number is too large for 64 bits, in compiled code")
        result *= n - i
    return result


def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


def bit_length(a: int) -> int:
    """Return how many binary digits a number has, as `a.bit_length()`."""
    rest, digits = abs(a), 0
    while rest:
        rest, digits = rest // 2, digits + 1
    return digits


def isqrt(n: int) -> int:
    """Return the largest integer whose square is at most `n`."""
    if n < 0:
        raise ValueError("isqrt: n must not be negative")
    root = int(n**0.5)
    while root * root > n:
        root -= 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root
