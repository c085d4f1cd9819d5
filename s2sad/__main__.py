"""`python -m s2sad`: the command line."""

from s2sad.cli import main

if __name__ == "__main__":
    main()
