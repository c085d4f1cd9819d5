"""Settings of every test: the IR is verified after every pass, and memory is looked over seldom."""

import gc
import os

os.environ.setdefault("S2SAD_VERIFY", "1")
# What Numba has compiled stays: to look through it again and again takes a tenth of the time.
gc.set_threshold(50_000, 20, 100)
