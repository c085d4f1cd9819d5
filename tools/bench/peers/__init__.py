"""The other tools that the bench compares with, each behind one module that imports it."""
