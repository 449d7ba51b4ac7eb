"""A process of its own that prints what importing ``discbayes.predict`` takes beyond numpy."""

from __future__ import annotations

import json
import time

if __name__ == "__main__":
    import numpy  # noqa: F401

    start = time.process_time()
    import discbayes.predict  # noqa: F401

    print(json.dumps({"import": time.process_time() - start}))
