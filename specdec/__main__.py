"""``python -m specdec`` is the same as ``specdec``."""

import sys

from specdec.cli import main

if __name__ == "__main__":
    sys.exit(main())
