"""How fast s2sad's derivatives are, beside their primals, adjoints by hand, and other tools."""
