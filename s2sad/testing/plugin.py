"""A pytest plugin: the fixture and marker `check_grads`, with tolerances in the ini file.

Nothing of the compiler is imported before a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

_HELP = "check_grads(rtol, atol, eps, order, modes, target): what the fixture `check_grads` takes in this test"
_OPTIONS = ("rtol", "atol", "eps", "order", "modes", "target")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the settings that a project may keep in its ini file."""
    parser.addini("s2sad_rtol", "relative tolerance of check_grads; by default it follows the precision")
    parser.addini("s2sad_atol", "absolute tolerance of check_grads; by default it follows the precision")
    parser.addini("s2sad_eps", "step of the finite differences of check_grads")
    parser.addini("s2sad_order", "up to which order check_grads goes", default="1")
    parser.addini("s2sad_modes", "modes that check_grads compares", type="args", default=["fwd", "rev"])
    parser.addini("s2sad_target", 'where check_grads runs derivatives: "cpu" or "python"')


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _HELP)


@pytest.fixture
def check_grads(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare derivatives with finite differences: `check_grads(fun, args)`; see `s2sad.check_grads`.

    What the call itself does not say is taken from the closest marker, then from the ini file.
    """
    settings = _settings(request)

    def check(fun: Callable[..., Any], args: Sequence[Any], **options: Any) -> None:
        import s2sad

        __tracebackhide__ = True  # the report shows the test's own line
        try:
            s2sad.check_grads(fun, args, **{**settings, **options})
        except AssertionError as error:
            raise AssertionError(str(error)) from None

    return check


def _settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    config = request.config
    found: dict[str, Any] = {}
    for name in _OPTIONS:
        value: Any = config.getini(f"s2sad_{name}")
        if value:
            found[name] = _parsed(name, value)
    for marker in reversed(list(request.node.iter_markers("check_grads"))):
        unknown = set(marker.kwargs) - set(_OPTIONS)
        if unknown or marker.args:
            raise pytest.UsageError(f"the marker check_grads takes {', '.join(_OPTIONS)} by keyword, not {marker}")
        found |= marker.kwargs
    return found


def _parsed(name: str, value: Any) -> Any:
    if name in ("modes", "target"):
        return value
    try:
        return int(value) if name == "order" else float(value)
    except ValueError:
        raise pytest.UsageError(f"s2sad_{name} = {value!r} is no number") from None
