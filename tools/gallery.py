"""Run the examples that draw, and keep their figures and what they print for docs/gallery.md.

`python tools/gallery.py` needs Matplotlib and SciPy, and a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "gallery"
STYLE = """
backend: svg
figure.figsize: 7, 4
savefig.transparent: False
svg.fonttype: none
svg.hashsalt: s2sad
font.size: 11
"""
DRAWN = (
    "lynx_hare", "heat_conductivity", "heston_greeks", "bundle_adjustment", "hmc", "double_pendulum", "soft_dtw",
)  # fmt: skip


def main() -> None:
    """Draw every figure, or those named on the command line."""
    FIGURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "matplotlibrc").write_text(STYLE)
        env = {**os.environ, "MATPLOTLIBRC": folder, "SOURCE_DATE_EPOCH": "0"}
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        for name in sys.argv[1:] or DRAWN:
            print(f"== {name}", flush=True)
            words = [sys.executable, str(ROOT / "examples" / f"{name}.py"), str(FIGURES / f"{name}.svg")]
            subprocess.run(words, cwd=folder, env=env, check=True)


if __name__ == "__main__":
    main()
