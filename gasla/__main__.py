"""`python -m gasla`: the command line."""

import sys

from gasla.cli import main

if __name__ == "__main__":
    sys.exit(main())
