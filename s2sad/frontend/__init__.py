"""From a Python function to IR: its source, its names resolved to objects, its types, its lowering."""
