"""What is compared: each example's derivative, generated and by hand, with arguments for both."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import s2sad
from tools.bench.cuda import by_hand

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@dataclass(frozen=True)
class Subject:
    """One example.

    Attributes:
        name: what it is.
        file: the example's file.
        kernel: the name of the kernel in it, or of the batch.
        types: of the arguments of the adjoint; for a batch, how many arrays of floats it takes.
        hand: the derivative by hand.
        hand_types: of its arguments.
        argnums: the arguments that have shadows; every real one by default.
    """

    name: str
    file: str
    kernel: str
    types: str | int
    hand: Callable[..., None]
    hand_types: str
    argnums: tuple[str, ...] | None = None

    def generated(self, cc: tuple[int, int]) -> list[str]:
        """Return the PTX of every kernel that the derivative launches."""
        made = self.made()
        if isinstance(self.types, int):
            return [made.ptx(*(np.ones(2, np.float32) for _ in range(self.types)), cc=cc)]
        return [made.ptx("adjoint", self.types, cc, each) for each in made.kernels("adjoint", self.types)]


    def made(self) -> Any:
        """Return the kernel, or the batch, of the example."""
        found = getattr(example(self.file), self.kernel)
        return found if self.argnums is None else s2sad.cuda.kernel(argnums=self.argnums)(found.py_func)


def example(file: str) -> Any:
    """Import an example by its file."""
    spec = importlib.util.spec_from_file_location(Path(file).stem, EXAMPLES / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


V, M, C, D = "float32[::1]", "float32[:, ::1]", "float32[:, :, ::1]", "float64[::1]"
SUBJECTS = (
    Subject("2-D diffusion", "cuda_diffusion.py", "diffuse", f"{M}, {M}, {M}", by_hand.diffusion,
            f"{M}, {M}, {M}, {M}, {M}"),
    Subject("n-body energy", "cuda_nbody.py", "potential", f"{V}, {V}, {V}, {V}", by_hand.bodies,
            f"{V}, {V}, {V}, {V}, {V}, {V}", ("x", "y", "energy")),
    Subject("adaptive ODE", "cuda_ode.py", "pendulum", f"{D}, {D}, {D}", by_hand.pendulum,
            f"{D}, {D}, {D}, {D}, {D}, float64[:, :, ::1]"),
    Subject("soft-DTW", "cuda_soft_dtw.py", "soft_dtw", f"{C}, float32, {C}", by_hand.soft_dtw,
            f"{C}, float32, {C}, {C}"),
    Subject("Black-Scholes, 5 Greeks", "cuda_black_scholes.py", "greeks", 5, by_hand.black_scholes,
            ", ".join(["float32[:]"] * 11)),
)  # fmt: skip
