"""Derivatives shown to people: in the terminal, as a page, in a notebook."""
