"""What makes compiling shorter gives what Numba's own gives: lifetimes of variables, their memory, garbage put off."""

from __future__ import annotations

import gc
import importlib
import threading
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.backends import collection
from s2sad.backends.lifetimes import _compute_live_map

analysis: Any = importlib.import_module("numba.core.analysis")
compiler: Any = importlib.import_module("numba.core.compiler")


def straight(x, n):
    y = x * n
    return y + x


def nested(x, n):
    total = 0.0
    for i in range(n):
        kept = x[i]
        for j in range(i):
            if x[j] > kept:
                continue
            total += kept * x[j]
            if total > 3.0:
                break
        while kept > 1.0:
            kept = kept * 0.5
        total += kept
    return total


def branches(x, n):
    if n > 3:
        a = x[0]
        b = a * 2.0
    elif n > 1:
        a = x[1]
        b = a
    else:
        return x[2]
    try:
        c = a + b
    except ValueError:
        c = b
    return c * a


@pytest.mark.parametrize("fun", [straight, nested, branches])
def test_lifetimes_are_numbas_own(fun):
    ir = compiler.run_frontend(fun)
    cfg = analysis.compute_cfg_from_blocks(ir.blocks)
    met = analysis.compute_use_defs(ir.blocks)
    mine = _compute_live_map(cfg, ir.blocks, met.usemap, met.defmap)
    assert mine == analysis.compute_live_map(cfg, ir.blocks, met.usemap, met.defmap)
    assert any(mine.values()) or len(ir.blocks) == 1


def rows_in_turn(x):
    """Arrays are bound anew in loops, and on some ways only."""
    total, kept = 0.0, x[0] * 1.0
    for i in range(x.shape[0]):
        row = x[i] * 2.0
        if row[0] > 0.5:
            kept = row + kept
            part = kept[1:] * x[i, 0]
            total += np.sum(part * part)
        elif row[1] > 0.5:
            kept = np.sin(row)
        total += kept[0]
    return total * np.sum(kept)


def test_what_arrays_hold_is_counted_as_before():
    """Nothing is let go of twice, and nothing is kept: as much memory is left as there was."""
    counters: Any = importlib.import_module("numba.core.runtime")
    allocated = counters.rtsys
    counters._nrt_python.memsys_enable_stats()
    x = np.random.default_rng(0).random((40, 5))
    grad = s2sad.grad(rows_in_turn)
    np.testing.assert_allclose(grad(x), s2sad.grad(rows_in_turn, target="python")(x), rtol=1e-12)
    before = allocated.get_allocation_stats()
    try:
        for _ in range(50):
            grad(x)
        after = allocated.get_allocation_stats()
    finally:
        counters._nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free


def test_garbage_waits_for_the_last_thread():
    assert gc.isenabled()
    first, second = threading.Event(), threading.Event()

    def other():
        with collection.put_off():
            first.set()
            second.wait(10)

    with collection.put_off():
        assert not gc.isenabled()
        with collection.put_off():
            pass
        assert not gc.isenabled()
        thread = threading.Thread(target=other)
        thread.start()
        first.wait(10)
    assert not gc.isenabled()
    second.set()
    thread.join(10)
    assert gc.isenabled()


def test_garbage_stays_as_the_user_had_it():
    gc.disable()
    try:
        with collection.put_off():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
