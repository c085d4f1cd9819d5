"""Gast makes its classes when it is imported, so that no checker can see them: all are `Any`."""

from typing import Any

def __getattr__(name: str) -> Any: ...
