"""Atomic writing of files: a file appears complete or not at all. All files of the library are written here."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, which replaces the file at `path` at the end of the block.

    An error leaves `path` unchanged and removes the temporary file; an OSError names `path`. The new file has the mode
    of the file that it replaces, and its owner if the system permits. If `path` is a symbolic link, its target is
    replaced. Pipes and devices are written to directly.

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
        state = os.stat(path)
    except FileNotFoundError:
        state = None
    if state is None or stat.S_ISREG(state.st_mode):
        with placing(Path(os.path.realpath(path)), state, str(path)) as stream:
            yield stream
    else:
        with _name_in_errors(str(path)), open(path, "wb") as stream:
            yield stream


@contextmanager
def placing(path: Path, model: os.stat_result | None = None, name: str = "") -> Iterator[IO[bytes]]:
    """Write a file in one step as `replacing` does. A symbolic link at the path is replaced itself, and not its target.

    The file gets the mode and owner of `model`, by default those of new files. Error messages call it `name`, by
    default its path.
    """
    # nobody can guess this name, and mode "x" does not open an existing file, so no other file is written to
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    # the system subtracts the umask from this mode; the mode of `model` is set later, together with its owner
    mode = 0o666 if model is None else 0o600

    try:
        with _name_in_errors(name or str(path), temporary):
            with open(temporary, "xb", opener=lambda file, flags: os.open(file, flags, mode)) as stream:
                if model is not None:
                    _copy_mode_and_owner(stream.fileno(), model)
                yield stream
                stream.flush()
                # some file systems report only now that they are full, so that this raises an error before the old file
                # is replaced
                os.fsync(stream.fileno())
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def placing_folder(path: Path, mark: str) -> Iterator[Path]:
    """Make a temporary folder that the block fills with files, and that replaces `path` at the end of the block.

    A folder that exists at `path` is replaced only if it is empty, or has a file named `mark`, which says that it was
    written in this way.

    Raises
    ------
    FileExistsError
        If there is something else at `path`.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not (path / mark).is_file() and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(f"{path} exists and has no file {mark}; expected a new name, or a folder to replace")
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    old = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with _name_in_errors(str(path), temporary):
            temporary.mkdir()
            yield temporary
            for each in temporary.iterdir():
                # Windows flushes no file that is open for reading only, so this opens the file for writing, too
                with open(each, "r+b") as file:
                    os.fsync(file.fileno())
            if path.exists():
                os.replace(path, old)
            os.replace(temporary, path)
    except BaseException:
        if old.exists() and not path.exists():
            os.replace(old, path)
        raise
    finally:
        for leftover in (temporary, old):
            shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def _name_in_errors(name: str, temporary: Path | None = None) -> Iterator[None]:
    """Make errors in the block name the file that the user asked for, `name`, in place of the temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # NumPy's writer raises errors without a number
            raise OSError(f"{name}: {error}") from error
        if error.filename is None or error.filename == str(temporary):
            error.filename, error.filename2 = name, None
        raise


def _copy_mode_and_owner(file: int, model: os.stat_result) -> None:
    """Give an open file the mode of another file and, if the system permits this, its owner."""
    if hasattr(os, "fchown"):
        for owner in ((-1, model.st_gid), (model.st_uid, -1)):
            with suppress(OSError):
                os.fchown(file, *owner)
        os.fchmod(file, stat.S_IMODE(model.st_mode))
