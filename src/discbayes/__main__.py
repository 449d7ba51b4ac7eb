"""``python -m discbayes``: the same as the script ``discbayes``."""

import sys

from discbayes.cli import main

if __name__ == "__main__":
    sys.exit(main())
