"""What a kernel costs before it runs: instructions and atomics of its PTX, registers and spills by ptxas."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from s2sad.backends.cuda import ptx
from s2sad.errors import CompileError
from tools.bench.cuda.subjects import SUBJECTS


@dataclass(frozen=True)
class Cost:
    """Of one derivative: sums over its kernels, and the most of registers, stack and spills; None without ptxas."""

    kernels: int
    instructions: int
    atomics: int
    double: int
    registers: int | None
    stack: int | None
    spills: int | None


def instructions(ptx: str) -> list[str]:
    """Return the instructions of a PTX module."""
    lines = [line.strip() for line in ptx.splitlines()]
    return [line for line in lines if line.endswith(";") and not line.startswith((".", "//"))]


def resources(ptx: str, cc: tuple[int, int]) -> dict[str, int] | None:
    """Return registers, stack and spills by `ptxas -v`, or None where there is none, or one older than NVVM."""
    ptxas = shutil.which("ptxas") or next(
        (str(p) for base in sys.path for p in Path(base).glob("nvidia/*/bin/ptxas")), None)
    if ptxas is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.ptx"
        file.write_text(ptx)
        done = subprocess.run([ptxas, "-v", f"-arch=sm_{cc[0]}{cc[1]}", str(file), "-o", f"{folder}/kernel.cubin"],
                              capture_output=True, text=True, check=False)
    said = done.stderr
    if done.returncode:
        if "unsupported .version" in said.lower():
            return None
        raise subprocess.CalledProcessError(done.returncode, ptxas, said, said)
    return {
        "registers": max(map(int, re.findall(r"Used (\d+) registers", said)), default=0),
        "stack": max(map(int, re.findall(r"(\d+) bytes stack frame", said)), default=0),
        "spills": sum(map(int, re.findall(r"(\d+) bytes spill", said))),
    }


def cost(texts: list[str], cc: tuple[int, int]) -> Cost:
    """Return what kernels cost together."""
    lines = [line for text in texts for line in instructions(text)]
    used = [resources(text, cc) for text in texts]
    most = {key: max(u[key] for u in used if u) if all(used) else None for key in ("registers", "stack", "spills")}
    atomics = sum(line.startswith(("atom.", "red.")) or " atom." in line for line in lines)
    return Cost(len(texts), len(lines), atomics, sum(".f64" in line for line in lines), **most)


def compared(cc: tuple[int, int]) -> dict[str, tuple[Cost, Cost] | str]:
    """Return for each subject what its derivative costs as generated and by hand, or why it does not compile."""
    found: dict[str, tuple[Cost, Cost] | str] = {}
    for subject in SUBJECTS:
        try:
            texts, hand = subject.generated(cc), ptx(subject.hand, subject.hand_types, cc)
        except CompileError as error:
            found[subject.name] = " ".join(str(error).split())
            continue
        found[subject.name] = cost(texts, cc), cost([hand], cc)
    return found
