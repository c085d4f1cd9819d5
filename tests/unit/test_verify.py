"""The verifier sees each kind of broken IR; a check that cannot fail is no check."""

from dataclasses import replace

import numpy as np
import pytest

from s2sad.errors import NOWHERE, VerifyError
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import Context
from s2sad.ir.nodes import Break, Const, If, Return, Var
from s2sad.ir.typeof import typeof
from s2sad.ir.types import Scalar
from s2sad.ir.verify import verify
from s2sad.ir.walk import each_once


def scaled(x, a):
    y = x * a
    return np.sum(y)


def lowered():
    instance = instantiate(Context(), scaled, (typeof(np.ones(3), "x"), typeof(2.0, "a")), NOWHERE)
    return instance.function


def test_valid():
    """What the frontend makes passes."""
    assert verify(lowered()) is not None


def test_unbound_name():
    """A name that nothing binds."""
    fn = lowered()
    broken = replace(fn, body=(*fn.body[:-1], Return((Var("nowhere", Scalar("float64")),))))
    with pytest.raises(VerifyError, match="nothing binds"):
        verify(broken)


def test_stray_jump():
    """A jump outside a loop."""
    fn = lowered()
    with pytest.raises(VerifyError, match="outside a loop"):
        verify(replace(fn, body=(Break(), *fn.body)))


def test_wrong_results():
    """Another number of results than promised."""
    fn = lowered()
    with pytest.raises(VerifyError, match="promised"):
        verify(replace(fn, results=()))


def test_a_statement_in_two_places():
    """Analyses tell statements apart by their identity: one that stands twice is broken, and mended by a copy."""
    fn = lowered()
    first, *rest = fn.body
    branch = If(Const(True, Scalar("bool")), (first,), ())
    twice = replace(fn, body=(first, branch, *rest))
    with pytest.raises(VerifyError, match="two places"):
        verify(twice)
    mended = replace(twice, body=each_once(twice.body))
    assert mended == twice
    assert verify(mended) is not None
    assert mended.body[0] is first, "what stands once stays what it is"
    assert all(one is other for one, other in zip(mended.body[2:], rest, strict=True))
