"""Full disks, short writes, damaged and foreign caches, and kill -9: what is there is whole, or as it was before."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla import Graph, cache, io, output
from gasla.bench import graphs
from gasla.bench.reports.report import Report
from gasla.cli import data
from gasla.compiler import function
from gasla.cpu.runtime import modules
from tests.helpers.faults import GRID, all_are_whole, call, disks, entries, process, stored

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
NAMED = data.Named("grid", Graph(GRID))


# --- output ----------------------------------------------------------------------------------------------------------


def graph(path: Path) -> None:
    io.write(path, GRID)


def table(path: Path) -> None:
    data.write_table(path, {"a": np.arange(NAMED.graph.n) / 7}, NAMED)


def report(path: Path) -> None:
    Report({"cpu": "x" * 9000}, {}, [], None).write(path)


def picture(path: Path) -> None:
    from matplotlib.figure import Figure

    with output.replacing(path) as stream:
        Figure().savefig(stream, format=path.suffix[1:])


OUTPUTS = [
    *((graph, f"a{suffix}") for suffix in (".mtx", ".txt", ".gr", ".graph", ".npz", ".mtx.gz", ".txt.bz2", ".gr.xz")),
    *((table, f"a{ending}") for ending in data.TABLES),
    (report, "a.json"),
]


@pytest.mark.parametrize("before", [None, b"as it was"])
@pytest.mark.parametrize(("write", "name"), OUTPUTS)
def test_a_full_disk_leaves_outputs_as_they_were(tmp_path: Path, write: Any, name: str, before: bytes | None) -> None:
    path = tmp_path / name
    for disk in disks():
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        try:
            write(path)
        except OSError as error:
            caught = error
            assert (caught.errno, caught.filename) == (errno.ENOSPC, str(path))
            assert os.listdir(tmp_path) == ([] if before is None else [name])
            assert before is None or path.read_bytes() == before
        else:
            assert not disk.has_failed
    whole = path.read_bytes()
    write(path)
    assert len(path.read_bytes()) == len(whole) > 100 and os.listdir(tmp_path) == [name]


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file may grow beyond a size, whoever writes it: C code too."""
    resource = pytest.importorskip("resource")  # Windows lacks it
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(("write", "name"), [*OUTPUTS, (picture, "a.png"), (picture, "a.svg")])
def test_a_limit_of_the_system_is_an_error_that_names_the_file(tmp_path: Path, write: Any, name: str) -> None:
    if write is picture:
        pytest.importorskip("matplotlib")
    path = tmp_path / name
    write(path)
    whole = path.read_bytes()
    for size in (0, 1, len(whole) // 2):
        with pytest.raises(OSError, match=str(path)) as error, room(size):
            write(path)
        assert error.value.errno == errno.EFBIG
        assert path.read_bytes() == whole and os.listdir(tmp_path) == [name]


def test_errors_of_other_files_keep_their_names(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"), output.replacing(tmp_path / "a"):
        (tmp_path / "absent").read_bytes()
    with pytest.raises(OSError, match=f"{tmp_path / 'a'}: 3 requested and 0 written"), output.replacing(tmp_path / "a"):
        raise OSError("3 requested and 0 written")
    assert os.listdir(tmp_path) == []


def test_compressed_files_do_not_tell_temporary_names(tmp_path: Path) -> None:
    io.write(tmp_path / "a.mtx.gz", GRID)
    assert b".tmp" not in (tmp_path / "a.mtx.gz").read_bytes()


# --- the cache -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GASLA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_next_process_finds_all_compiled(folder: Path) -> None:
    assert call(1) == (0, 2)
    found = {path: path.read_bytes() for path in entries(folder)}
    assert len(found) == 2 and all_are_whole(folder)
    assert call(1) == (2, 0)
    assert process("print_calls", folder.parent, 1) == (0, "2 0\n", "")
    assert {path: path.read_bytes() for path in entries(folder)} == found


def test_a_full_disk_keeps_all_or_nothing(folder: Path) -> None:
    for k, disk in enumerate(disks()):
        cache.store(f"{k}/entry", bytes(9000))
        assert cache.load(f"{k}/entry") == (None if disk.has_failed else bytes(9000))
        assert os.listdir(folder / f"{k}") == ([] if disk.has_failed else ["entry"])


@pytest.mark.thorough
def test_a_full_disk_only_costs_time(folder: Path) -> None:
    for nonce, disk in enumerate(disks(step=9)):
        before = len(entries(folder))
        assert call(nonce) == (0, 2)
        assert all_are_whole(folder) and disk.has_failed == (len(entries(folder)) < before + 2)
        assert not list(folder.rglob("*.tmp"))
    for earlier in range(nonce):
        call(earlier)  # what was not kept is now
        assert call(earlier) == (2, 0)


def emptied(content: bytes, other: bytes) -> bytes:
    return b""


def halved(content: bytes, other: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes, other: bytes) -> bytes:
    changed = bytearray(content)
    for place in random.Random(7).sample(range(len(content)), 9):
        changed[place] ^= 4
    return bytes(changed)


def another(content: bytes, other: bytes) -> bytes:
    return other


DAMAGES = [emptied, halved, flipped, another]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entries_are_compiled_again_and_mended(folder: Path, damage: Callable[[bytes, bytes], bytes]) -> None:
    call(2)
    contents = [path.read_bytes() for path in entries(folder)]
    for k, path in enumerate(entries(folder)):
        path.write_bytes(damage(contents[k], contents[k - 1]))
        assert stored(path, folder) is None
    assert call(2) == (0, 2)
    assert all_are_whole(folder) and call(2) == (2, 0)


def test_whole_entries_of_no_use_are_compiled_again(folder: Path) -> None:
    call(3)
    for path in (folder / "kernels").iterdir():
        cache.store(str(path.relative_to(folder)), b"no code")
    assert call(3) == (0, 2) and call(3) == (2, 0)


def test_folders_and_links_in_the_place_of_entries(folder: Path, tmp_path: Path) -> None:
    call(4)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    first, second, *_ = entries(folder)
    first.unlink()
    first.mkdir()
    second.unlink()
    second.symlink_to(victim)
    call(4)
    assert victim.read_text() == "precious" and first.is_dir() and not second.is_symlink()


def test_entries_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call(5)

    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        assert call(5) == (0, 2)
    assert all_are_whole(folder)


def test_others_may_read_what_is_kept(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        call(6)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in entries(folder)} == {0o644}


@pytest.fixture
def edited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Have a module's text seem another, as in a process that begins after an edit."""
    texts, text = dict[str, str](), function._text

    def edit(name: str) -> None:
        texts[name] = text(name) + "# changed"
        function.made_of.cache_clear()

    monkeypatch.setattr(function, "_text", lambda name: texts.get(name) or text(name))
    yield edit
    function.made_of.cache_clear()


KERNELS, THREADS, FOREST = "gasla.cpu.kernels.queues", "gasla.cpu.runtime.threads", "gasla.cpu.primitive.forest"


@pytest.mark.parametrize(
    ("module", "file", "shows"),
    [
        (KERNELS, KERNELS, True),
        (KERNELS, "gasla.cpu.runtime.blocks", True),
        (KERNELS, "gasla.cpu.runtime.cores", True),  # by way of threads.py
        (KERNELS, "gasla.cpu.program.decisions", False),
        (KERNELS, "gasla.cpu.kernels.pull", False),
        (KERNELS, FOREST, False),
        (FOREST, "gasla.cpu.runtime.intrinsics", True),
        (FOREST, KERNELS, False),
        (THREADS, FOREST, False),
    ],
)
def test_code_is_made_anew_where_what_it_is_made_of_has_changed(
    edited: Callable[[str], None], module: str, file: str, shows: bool
) -> None:
    import_module(module)
    before = function.made_of(function._text(module))
    edited(file)
    assert (function.made_of(function._text(module)) != before) == shows


def test_keys_of_code_do_not_depend_on_what_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that functions import when called count, too."""
    text = function._text("gasla.cpu.primitive.cliques")
    import_module("gasla.graph.symmetry")
    loaded = {*function.modules_of(text)}
    monkeypatch.delitem(sys.modules, "gasla.graph.symmetry")
    function._is_module.cache_clear()
    assert loaded == {*function.modules_of(text)} and "gasla.graph.symmetry" in loaded


def test_a_change_of_what_generated_code_imports_is_seen(folder: Path, edited: Callable[[str], None]) -> None:
    call(7)
    edited("gasla.cpu.program.generate")
    assert call(7) == (2, 0)
    edited("gasla.compiler.emit")
    assert call(7) == (0, 2)


def test_a_name_of_any_kind_is_kept_in_the_folder(folder: Path) -> None:
    for tag in ("../../up", "a/b", "\0", "é" * 300, "new\nline", ""):
        call(8, tag)
        assert call(8, tag) == (2, 0)
    assert {path.parent.name for path in entries(folder)} == {"kernels"} and all_are_whole(folder)


def test_a_traceback_shows_generated_source(folder: Path) -> None:
    module = modules.load("def fails():\n    raise ValueError('here')  # this very line\n", "shown")
    with pytest.raises(ValueError, match="here") as error:
        module.fails()
    assert "# this very line" in "".join(traceback.format_exception(error.value))


@pytest.mark.thorough
def test_nothing_is_left_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    (tmp_path / "tmp").mkdir()
    elsewhere = {"TMPDIR": str(tmp_path / "tmp"), "HOME": "/nonexistent"}
    assert process("print_calls", tmp_path, 9, **elsewhere) == (0, "0 2\n", "")
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.thorough
@pytest.mark.skipif(not IS_ROOT or not shutil.which("setpriv"), reason="needs root, to become another user")
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_cache_of_another_user(folder: Path, mode: int) -> None:
    call(10)
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, 65534, 65534)
        path.chmod(0o755 if path.is_dir() else mode)
    limits = "-dac_override,-dac_read_search"
    head = ("setpriv", f"--bounding-set={limits}", f"--inh-caps={limits}")
    found = "0 2\n" if mode == 0o600 else "2 0\n"
    assert process("print_calls", folder.parent, 10, head) == (0, found, "")


def test_graphs_of_the_benchmark_are_made_again(folder: Path) -> None:
    file, expected = folder / "benchmarks" / "grid4.npz", graphs.load("grid4").matrix
    for disk in disks():
        shutil.rmtree(folder, ignore_errors=True)
        for _ in range(2):
            assert (graphs.load("grid4").matrix != expected).nnz == 0
            assert entries(folder) in ([], [file])
        assert disk.has_failed or file.exists()
    whole = file.read_bytes()
    for damage in DAMAGES:
        file.write_bytes(damage(whole, b"something else"))
        assert (graphs.load("grid4").matrix != expected).nnz == 0
        assert len(file.read_bytes()) == len(whole)
        assert (graphs.load("grid4").matrix != expected).nnz == 0


# --- a file system that is really full; kill -9 ----------------------------------------------------------------------


@pytest.mark.thorough
def test_a_file_system_that_is_really_full(tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=128k tmpfs {tmp_path}"
    trial = ["unshare", "-m", "sh", "-c", mount]
    if not shutil.which("unshare") or subprocess.run(trial, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    head = ("unshare", "-m", "sh", "-c", f'{mount} && exec "$0" "$@"')
    assert process("fill_disk", tmp_path, 0, head) == (0, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="forks a process that has compiled")
@pytest.mark.parametrize("rounds", [5, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_kill_at_any_moment(tmp_path: Path, rounds: int) -> None:
    assert process("kill_often", tmp_path, rounds) == (0, "", "")
