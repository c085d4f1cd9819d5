"""Other libraries are imported on request only."""

from __future__ import annotations

import subprocess
import sys


def test_nothing_imports_another_library_unasked():
    program = (
        "import sys, numpy as np, s2sad, s2sad.interop\n"
        "s2sad.grad(np.sum, target='python')(np.ones(2))\n"
        "print([m for m in ('torch', 'jax', 'pytensor', 'scipy', 'matplotlib', 'IPython') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
