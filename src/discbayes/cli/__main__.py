"""Run ``python -m discbayes.cli`` as the script ``discbayes``."""

import sys

from discbayes.cli import main

if __name__ == "__main__":
    sys.exit(main())
