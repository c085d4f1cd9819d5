"""Facts about the IR, kept beside it: activity, aliases, what must be saved."""
