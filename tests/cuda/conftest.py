"""Kernels run in Numba's simulator unless a GPU is asked for with `NUMBA_ENABLE_CUDASIM=0`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import numba

if "NUMBA_ENABLE_CUDASIM" in os.environ:
    numba.config.ENABLE_CUDASIM = int(os.environ["NUMBA_ENABLE_CUDASIM"])  # numba may have been imported before


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    where: Path = tmp_path_factory.getbasetemp() / "s2sad_cuda"
    where.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setenv("S2SAD_CACHE_DIR", str(where))
