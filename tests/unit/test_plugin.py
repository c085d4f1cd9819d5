"""The pytest plugin, in pytest runs of their own."""

from __future__ import annotations

import pytest

pytest_plugins = "pytester"

TESTS = """
    import numpy as np
    import pytest
    import s2sad

    @s2sad.custom_vjp
    def double(x):
        return 2.0 * x

    double.defvjp(lambda x: (2.0 * x, None), lambda residuals, bar: (2.001 * bar,))

    def test_sound(check_grads):
        check_grads(lambda x: np.sum(np.tanh(x)), (np.linspace(0.0, 1.0, 3),))

    def test_wrong(check_grads):
        check_grads(double, (3.0,))

    @pytest.mark.check_grads(rtol=0.01)
    def test_loose_marker(check_grads):
        check_grads(double, (3.0,))

    @pytest.mark.check_grads(rtol=1e-6)
    def test_tight_marker(check_grads):
        check_grads(double, (3.0,))

    @pytest.mark.check_grads(rtol=1e-6)
    def test_loose_call(check_grads):
        check_grads(double, (3.0,), rtol=0.01)

    @pytest.mark.check_grads(tolerance=1)
    def test_bad_marker(check_grads):
        check_grads(double, (3.0,))
"""


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("S2SAD_DISABLE_JIT", "1")

    def run(ini):
        pytester.makepyfile(TESTS)
        pytester.makeini(f"[pytest]\n{ini}")
        return pytester.runpytest_subprocess("-p", "s2sad.testing.plugin", "-rA", "--strict-markers")

    return run


def test_the_call_goes_before_the_marker_and_the_marker_before_the_ini_file(run):
    result = run("s2sad_modes = rev\n")
    result.assert_outcomes(passed=3, failed=2, errors=1)
    result.stdout.fnmatch_lines(["*the marker check_grads takes rtol*", "*AssertionError: vjp*"])
    result.stdout.fnmatch_lines(["*AssertionError: vjp, * is wrong for argument `x` along x: *"])
    result.stdout.no_fnmatch_line("*def _compare*")  # the test's own line is shown, and nothing of ours
    for name in ("sound", "loose_marker", "loose_call"):
        result.stdout.fnmatch_lines([f"PASSED *::test_{name}"])
    result = run("s2sad_modes = rev\ns2sad_rtol = 0.01")
    result.assert_outcomes(passed=4, failed=1, errors=1)
    result.stdout.fnmatch_lines(["FAILED *::test_tight_marker*"])


def test_an_ini_file_with_no_number_is_refused(run):
    result = run("s2sad_order = two")
    result.assert_outcomes(errors=6)
    result.stdout.fnmatch_lines(["*s2sad_order = 'two' is no number*"])


def test_the_plugin_loads_nothing_of_the_compiler():
    import subprocess
    import sys

    heavy = "('numpy', 'numba', 's2sad.api')"
    program = f"import sys, s2sad.testing.plugin; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
