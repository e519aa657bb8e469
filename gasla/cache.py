"""The cache folder of compiled code, which later processes load instead of compiling again.

Code that was compiled when gasla was built is in a folder of the package, in the same form. A file that can't be read,
or whose digest is wrong, counts as absent; if no file can be stored, calls only take longer. Everyone who may write to
the folder can make its users run code.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from gasla.log import LOG, say
from gasla.output import placing

SHIPPED = Path(__file__).parent / "shipped"  # code that `gasla.shipping` compiled for a wheel; a checkout has none
_DIGEST = 32  # bytes
_instead: list[Path] = []


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """Store and load in another folder within the block, which one thread at a time may enter."""
    _instead.append(folder)
    try:
        yield
    finally:
        _instead.pop()


def cache_directory() -> Path:
    """Return the cache folder: `GASLA_CACHE_DIR`, else a folder in the user's cache folder."""
    if _instead:
        return _instead[-1]
    chosen = os.environ.get("GASLA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    if base.startswith("~"):  # expanduser does not know this user: use no folder called "~" in the current directory
        base = os.devnull  # nothing can be stored in it, and the log says so
    return Path(base) / "gasla"


def store(name: str, data: bytes) -> None:
    """Store data for later processes under a name, which must contain a hash of all that the data follows from.

    Examples
    --------
    >>> store("an example of gasla.cache", b"3.14")
    >>> load("an example of gasla.cache") in (b"3.14", None)
    True
    """
    try:
        path = cache_directory() / name
        cache_directory().mkdir(0o700, parents=True, exist_ok=True)  # writable by its user alone: content is run
        path.parent.mkdir(parents=True, exist_ok=True)
        with placing(path) as stream:
            stream.write(_digest(name, data) + data)
    except OSError as error:  # a full, read-only or foreign folder only costs time
        _log_unwritable(cache_directory(), error.strerror or type(error).__name__)


def load(name: str) -> bytes | None:
    """Return the data stored or shipped under a name, or None if there is none, or if it is damaged."""
    for folder in (cache_directory(), SHIPPED):
        try:
            return read(folder, name)
        except ValueError as error:
            say(LOG.warning, "%s, so it counts as absent", error)
        except OSError:  # the next folder may have it
            pass
    return None


def read(folder: Path, name: str) -> bytes:
    """Return the data that a folder has under a name. Raise ValueError if it is damaged."""
    content = (folder / name).read_bytes()
    digest, data = content[:_DIGEST], content[_DIGEST:]
    if digest != _digest(name, data):
        raise ValueError(f"{folder / name} is damaged")
    return data


@cache  # once for each folder, not for each file
def _log_unwritable(folder: Path, reason: str) -> None:
    say(
        LOG.warning,
        "compiled code can't be stored in %s (%s): each process compiles it again; set GASLA_CACHE_DIR to a folder "
        "that can be written, or call gasla.warm where it can be, as when an image is built",
        folder,
        reason,
    )


def _digest(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + data).digest()
