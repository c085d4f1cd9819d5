"""Backends: the derivative's text becomes a file, and the file becomes a callable."""

from s2sad.backends.base import Loaded, Module, load

__all__ = ["Loaded", "Module", "load"]
