"""The cache folder of compiled code. Later processes load code from it, and do not compile it again.

A package that was built with compiled code has a folder of files in the same form. A file that can't be read, or whose
digest is wrong, is treated as if it did not exist. If no file can be stored, calls only take longer. Everyone who may
write to the folder can make its users run code.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from gasla.log import LOG, say
from gasla.output import placing

SHIPPED = Path(__file__).parent / "shipped"  # code that `gasla.shipping` has compiled for a wheel; a checkout has none
_DIGEST = 32  # length of a digest in bytes
_replacements: list[Path] = []


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """Make the functions of this module use another folder within the block. Only one thread at a time may enter it."""
    _replacements.append(folder)
    try:
        yield
    finally:
        _replacements.pop()


def cache_directory() -> Path:
    """Return the cache folder: `GASLA_CACHE_DIR` if this is set, otherwise a folder in the user's cache folder."""
    if _replacements:
        return _replacements[-1]
    chosen = os.environ.get("GASLA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    # expanduser leaves "~" if it does not know this user, and no folder of this name in the current directory shall be
    # used
    if base.startswith("~"):
        base = os.devnull  # os.devnull is no folder, so nothing can be stored below this path, and the log reports that
    return Path(base) / "gasla"


def store(name: str, data: bytes) -> None:
    """Store data under a name, for later processes.

    The name must contain a hash of everything that determines the data.

    Examples
    --------
    >>> store("an example of gasla.cache", b"3.14")
    >>> load("an example of gasla.cache") in (b"3.14", None)
    True
    """
    try:
        path = cache_directory() / name
        # only the user may write to it, as its content is executed
        cache_directory().mkdir(0o700, parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        with placing(path) as stream:
            stream.write(_digest(name, data) + data)
    # OSError is raised if the folder is full, read-only or another user's; then code is compiled again in each process
    except OSError as error:
        _log_unwritable(cache_directory(), error.strerror or type(error).__name__)


def load(name: str) -> bytes | None:
    """Return the data that was stored or shipped under a name, or None if there is no such data or it is damaged."""
    for folder in (cache_directory(), SHIPPED):
        try:
            return read(folder, name)
        except ValueError as error:
            say(LOG.warning, "%s, so it counts as absent", error)
        except OSError:  # only this folder lacks the file, and the next folder of the loop may have it
            pass
    return None


def read(folder: Path, name: str) -> bytes:
    """Return the data that is stored in a folder under a name. Raise ValueError if it is damaged."""
    content = (folder / name).read_bytes()
    digest, data = content[:_DIGEST], content[_DIGEST:]
    if digest != _digest(name, data):
        raise ValueError(f"{folder / name} is damaged")
    return data


@cache  # a cached call is not repeated, so this logs one warning for each folder, and not one for each file
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
