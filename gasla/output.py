"""Files that are whole or not there: the one place where the library writes one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of `path` once it is whole, and not before.

    Whatever goes wrong on the way leaves `path` as it was, and nothing beside it; an OSError names it. The file that
    is replaced passes on its mode, and its owner as far as the system lets. Where `path` is a link, that is the file
    that it leads to. What is no regular file (a pipe, a device) is written to as it is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replacing(path) as stream:
    ...     _ = stream.write(b"all of it")
    ...     path.exists()
    False
    >>> path.read_text()
    'all of it'
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        found = None
    if found is None or stat.S_ISREG(found.st_mode):
        with placing(Path(os.path.realpath(path)), found, str(path)) as stream:
            yield stream
    else:
        with _name_in_errors(str(path)), open(path, "wb") as stream:
            yield stream


@contextmanager
def placing(path: Path, model: os.stat_result | None = None, name: str = "") -> Iterator[IO[bytes]]:
    """`replacing` for a name in a folder, whatever is there, a link too; the mode is that of `model` or of new files.

    An error calls the file by `name`, by default its path.
    """
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")  # nobody can guess it, and "x" opens no file that exists
    mode = 0o666 if model is None else 0o600  # less the umask's; a model's mode comes with its owner

    try:
        with _name_in_errors(name or str(path), temporary):
            with open(temporary, "xb", opener=lambda file, flags: os.open(file, flags, mode)) as stream:
                if model is not None:
                    _take_after(stream.fileno(), model)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())  # some file systems find out only now that they are full
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def _name_in_errors(name: str, temporary: Path | None = None) -> Iterator[None]:
    """Have errors call a file by the name that it was given."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # as NumPy raises where it writes by itself
            raise OSError(f"{name}: {error}") from error
        if error.filename is None or error.filename == str(temporary):
            error.filename, error.filename2 = name, None
        raise


def _take_after(file: int, model: os.stat_result) -> None:
    """Give a file the owner of another, as far as the system lets, and its mode."""
    if hasattr(os, "fchown"):
        for owner in ((-1, model.st_gid), (model.st_uid, -1)):
            with suppress(OSError):
                os.fchown(file, *owner)
        os.fchmod(file, stat.S_IMODE(model.st_mode))
