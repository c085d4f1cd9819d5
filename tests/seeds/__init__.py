"""Promises of the texts that s2sad grew from: every one a test, every printed number computed again."""
