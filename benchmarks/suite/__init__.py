"""The asv suite: `asv run`. With GASLA_BENCH_QUICK=1 in the environment, small graphs only.

asv imports this folder as a package of its own, so the repository's root, with `benchmarks` in it, is made known here.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

QUICK = os.environ.get("GASLA_BENCH_QUICK") == "1"
GRAPHS = ["rmat12", "grid12"] if QUICK else ["rmat16", "rmat20", "urand20", "grid20", "rgg20", "ny"]
