"""The folder for what gasla compiles: it serves all later processes, and none needs it.

What can't be read, and what isn't what was once kept under its name, counts as absent; where nothing can be kept, calls
take longer. Whoever may write to the folder may have code run by those who use it.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from gasla.output import placing

_DIGEST = 32  # bytes


def cache_directory() -> Path:
    """Where compiled code is kept: `GASLA_CACHE_DIR`, else the user's cache folder."""
    chosen = os.environ.get("GASLA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    return Path(base) / "gasla"


def keep(name: str, data: bytes) -> None:
    """Keep something for later processes under a name, which is to tell all that it was made of.

    Examples
    --------
    >>> keep("an example of gasla.cache", b"3.14")
    >>> kept("an example of gasla.cache") in (b"3.14", None)
    True
    """
    with suppress(OSError):  # full, read-only, somebody else's: it only costs time
        path = cache_directory() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with placing(path) as stream:
            stream.write(_digest(name, data) + data)


def kept(name: str) -> bytes | None:
    """What is kept under a name, whole; or None."""
    try:
        content = (cache_directory() / name).read_bytes()
    except OSError:
        return None
    digest, data = content[:_DIGEST], content[_DIGEST:]
    return data if digest == _digest(name, data) else None


def _digest(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + data).digest()
