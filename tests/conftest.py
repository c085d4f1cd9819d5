"""Settings of every test: the IR is verified after every pass."""

import os

os.environ.setdefault("S2SAD_VERIFY", "1")
