"""The command `s2sad`.

Exit status: 0 all is well; 1 a derivative is wrong, impossible or stale; 2 the request makes no
sense, or the user's own code fails; 3 s2sad itself is at fault.
"""

from s2sad.cli.group import main

__all__ = ["main"]
