"""Whichever front end a kernel imports compiles its derivatives, to PTX, with no GPU and no driver."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from s2sad.backends import cuda as backend
from s2sad.errors import CompileError

ROOT = Path(__file__).parents[2]
PROGRAM = '''
import math
import numpy as np
from {package} import cuda
import s2sad
from s2sad.backends import cuda as backend

assert backend.front_end().__name__
def diffuse(u, out):
    i = cuda.grid(1)
    if 0 < i < u.size - 1:
        out[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])

def newton(a, out):
    i = cuda.grid(1)
    if i < a.size:
        x = 1.0
        while abs(x * x - a[i]) > 1e-6:
            x = 0.5 * (x + a[i] / x)
        out[i] = x

def leader(x, out):
    s = cuda.shared.array(1, np.float32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        s[0] = x[i] ** 2
    cuda.syncthreads()
    out[i] = s[0] * math.exp(x[i])

for function in (diffuse, newton, leader):
    assert backend.module_name(function) == "{package}.cuda"
    kernel, types = s2sad.cuda.kernel(function), "float32[::1], float32[::1]"
    for mode in ("adjoint", "tangent"):
        for name in kernel.kernels(mode, types):
            text = kernel.ptx(mode, types, (8, 0), name)
            assert ".entry" in text and ".f64" not in text, text
print("compiled")
'''


@pytest.mark.parametrize("package", ["numba", "numba_cuda_mlir"])
def test_a_front_end_compiles_adjoints_and_tangents(package: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("{package}", package))
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0", "S2SAD_CACHE_DIR": str(tmp_path / "cache"),
           "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, check=False)
    if any(word in done.stderr for word in ("libNVVM", "libnvvm", "NvvmSupportError", "libdevice")):
        pytest.skip("NVVM is not installed: pip install 's2sad[cuda12]'")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "compiled"


def test_the_front_end_is_the_one_that_the_kernels_module_imports() -> None:
    def place() -> None: ...

    successor = types.ModuleType("numba_cuda_mlir.cuda")
    own = types.FunctionType(place.__code__, {"cuda": successor})
    assert backend.module_name(own) == "numba_cuda_mlir.cuda"
    assert backend.module_name() == "numba.cuda"


def test_a_front_end_that_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    backend._installed.cache_clear()
    monkeypatch.setattr(backend, "MODULES", ("no_such_front_end",))
    try:
        with pytest.raises(CompileError, match=r"no CUDA front end.*\n.*s2sad\[cuda12\]"):
            backend.front_end()
    finally:
        monkeypatch.undo()
        backend._installed.cache_clear()
