"""Loading and caching, for every target."""
