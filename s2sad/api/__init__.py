"""The public surface; `s2sad/__init__.py` loads each name at its first use."""
