"""A private cache for every test of the backends."""

from __future__ import annotations

import pytest

from tests.backends.cases import forget


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Point the cache at an empty directory, and forget what this process has loaded."""
    path = tmp_path / "cache"
    monkeypatch.setenv("S2SAD_CACHE_DIR", str(path))
    forget()
    yield path
    forget()
