"""`pytest --update-golden` writes the expected texts anew; the diff is then read as prose."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Say whether the expected texts are to be written."""
    return bool(request.config.getoption("--update-golden", default=False))
