"""The folder for what gasla compiles: it serves all later processes, and none needs it.

What was compiled when gasla was built lies in a folder of the package, in the same form. A file that can't be read, or
isn't what was once stored under its name, counts as absent; where none can be stored, calls take longer. Whoever may
write to the folder may have code run by those who use it.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from gasla.output import placing

SHIPPED = Path(__file__).parent / "shipped"  # what `gasla.shipping` has compiled; a checkout has none
_DIGEST = 32  # bytes


def cache_directory() -> Path:
    """Where compiled code is stored: `GASLA_CACHE_DIR`, else the user's cache folder."""
    chosen = os.environ.get("GASLA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    return Path(base) / "gasla"


def store(name: str, data: bytes) -> None:
    """Store something for later processes under a name, which is to tell all that it was made of.

    Examples
    --------
    >>> store("an example of gasla.cache", b"3.14")
    >>> load("an example of gasla.cache") in (b"3.14", None)
    True
    """
    with suppress(OSError):  # full, read-only, somebody else's: it only costs time
        path = cache_directory() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with placing(path) as stream:
            stream.write(_digest(name, data) + data)


def load(name: str) -> bytes | None:
    """What was stored or shipped under a name, if it is whole; else None."""
    for folder in (cache_directory(), SHIPPED):
        with suppress(OSError):
            content = (folder / name).read_bytes()
            digest, data = content[:_DIGEST], content[_DIGEST:]
            if digest == _digest(name, data):
                return data
    return None


def _digest(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + data).digest()
