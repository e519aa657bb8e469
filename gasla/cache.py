"""The folder for what gasla compiles: it serves all later processes."""

import os
from pathlib import Path


def cache_directory() -> Path:
    """Where generated modules and their compiled code are kept: `GASLA_CACHE_DIR`, else the user's cache folder."""
    chosen = os.environ.get("GASLA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    return Path(base) / "gasla"
