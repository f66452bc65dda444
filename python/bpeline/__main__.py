"""`python -m bpeline` is the command line."""

from bpeline.cli import main

if __name__ == "__main__":
    main()
