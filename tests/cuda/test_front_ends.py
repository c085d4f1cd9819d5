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
@s2sad.differentiate(target="cuda")
def energy(r):
    return math.exp(-r) + r ** 2

for mode in ("primal", "grad", "value_and_grad", "vjp", "jvp"):
    assert ".f64" in energy.device.ptx(mode)
print("compiled")
'''
EVERY_KERNEL = '''
import types
import numpy as np
from numba_cuda_mlir import cuda
import s2sad
from s2sad.api.launch import type_of_argument
from s2sad.api.notation import write
from tests.cuda import blocks, warp
from tests.cuda.kernels import CASES

for case in CASES.values():
    given = case.kernel.py_func
    own = types.FunctionType(given.__code__, {**given.__globals__, "cuda": cuda}, given.__name__)
    kernel = s2sad.cuda.kernel(own)
    types_ = ", ".join(write(type_of_argument(a, n)) for a, n in zip(case.args(), kernel.names))
    for mode in ("adjoint", "tangent"):
        for name in kernel.kernels(mode, types_):
            assert ".entry" in kernel.ptx(mode, types_, (8, 0), name)
print("compiled")
'''
LAUNCH = '''
import numpy as np
from {package} import cuda
import s2sad

@s2sad.cuda.kernel
def scale(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2.0 * x[i]

def square(x):
    return x * x * cuda.warpsize / 32.0

x = np.ones(4)
for launch in (lambda: scale[1, 4](x, x.copy()), lambda: scale.adjoint[1, 4](x, x.copy(), x.copy(), x.copy()),
               lambda: scale.tangent[1, 4](x, x.copy(), x.copy(), x.copy()),
               lambda: s2sad.vmap(s2sad.grad(square), target="cuda")(x)):
    try:
        launch()
    except s2sad.S2SADError as error:
        assert "NUMBA_ENABLE_CUDASIM=1" in str(error) and ".ptx()" in str(error), error
        assert ("has not" in str(error)) == ("{package}" != "numba"), error
        print(str(error).splitlines()[0])
'''


def run(text: str, package: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of a front end in a process of its own, with the simulator off."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    program = folder / "program.py"
    program.write_text(text.replace("{package}", package))
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0", "S2SAD_CACHE_DIR": str(folder / "cache"),
           "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, check=False)
    if any(word in done.stderr for word in ("libNVVM", "libnvvm", "NvvmSupportError", "libdevice", "libnvrtc")):
        pytest.skip("NVVM is not installed: pip install 's2sad[cuda12]'")
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.mark.parametrize("package", ["numba", "numba_cuda_mlir"])
def test_a_front_end_compiles_adjoints_and_tangents(package: str, tmp_path: Path) -> None:
    done = run(PROGRAM, package, tmp_path)
    assert done.stdout.strip() == "compiled"


def test_the_successor_compiles_every_kernel_of_the_tests(tmp_path: Path) -> None:
    assert run(EVERY_KERNEL, "numba_cuda_mlir", tmp_path).stdout.strip() == "compiled"


@pytest.mark.parametrize("package", ["numba", "numba_cuda_mlir"])
def test_a_launch_without_a_driver_names_the_way_out(package: str, tmp_path: Path) -> None:
    said = run(LAUNCH, package, tmp_path).stdout.splitlines()
    if not said:
        pytest.skip("there is a driver")
    assert said == [f"`{name}` cannot be launched: no CUDA driver is found here" for name in (*["scale"] * 3, "square")]


def test_what_the_successor_lacks_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def place() -> None: ...

    successor = types.ModuleType("numba_cuda_mlir.cuda")

    def compile_ptx(*args: object, **kwargs: object) -> None:
        raise RuntimeError('Failure finding "libnvrtc.so.13"')

    kinds = types.ModuleType("numba_cuda_mlir.types")
    kinds.float32 = "float32"  # type: ignore[attr-defined]
    successor.compile_ptx = compile_ptx  # type: ignore[attr-defined]
    for name, module in (("", types.ModuleType("numba_cuda_mlir")), (".cuda", successor), (".types", kinds),
                         (".tools", types.ModuleType("numba_cuda_mlir.tools"))):
        monkeypatch.setitem(sys.modules, f"numba_cuda_mlir{name}", module)
    own = types.FunctionType(place.__code__, {"cuda": successor}, "place")
    with pytest.raises(CompileError, match=r"libnvrtc(.|\n)*numba-cuda-mlir\[cu13\]"):
        backend.ptx(own, "float32")


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
