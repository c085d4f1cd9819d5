"""The intermediate representation: a closed grammar of frozen dataclasses, and its types."""
