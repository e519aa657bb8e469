"""What is written takes the place of what is there, and nothing else changes: modes, links, pipes, devices."""

import os
import re
import stat
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from gasla import Graph, datasets, io
from gasla.cli import main
from gasla.output import placing, replacing

A = sp.csr_array(np.array([[0, 1.5], [2, 0]]))


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("suffix", [".mtx", ".txt.gz", ".npz", ".gr.xz", ".wel.bz2"])
def test_a_pipe_is_written_to(tmp_path, suffix):
    pipe, whole = tmp_path / f"pipe{suffix}", tmp_path / f"whole{suffix}"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: whole.write_bytes(pipe.read_bytes()))
    reader.start()
    io.write(pipe, A)
    reader.join()
    assert stat.S_ISFIFO(os.stat(pipe).st_mode) and (io.read(whole).to_scipy() != A).nnz == 0


@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "txt"])
def test_answers_are_written_to_a_pipe(tmp_path, ending, capsys):
    io.write(tmp_path / "a.mtx", A)
    pipe, found = tmp_path / f"pipe.{ending}", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    assert main(["bfs", str(tmp_path / "a.mtx"), "--source", "0", "-o", str(pipe)]) == 0
    reader.join()
    assert main(["bfs", str(tmp_path / "a.mtx"), "--source", "0", "-o", str(tmp_path / f"file.{ending}")]) == 0
    assert found[0] == (tmp_path / f"file.{ending}").read_bytes()
    capsys.readouterr()


def test_a_pipe_whose_reader_leaves_is_an_error_that_names_it(tmp_path, capsys):
    pipe = tmp_path / "pipe.mtx"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: open(pipe, "rb").close())
    reader.start()
    assert main(["generate", "rmat", "12", "-o", str(pipe)]) == 2
    reader.join()
    assert capsys.readouterr().err == f"gasla: {pipe}: Broken pipe\n"


def test_a_device_is_written_to(tmp_path):
    (tmp_path / "null").symlink_to(os.devnull)
    io.write(tmp_path / "null", A, format="mtx")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) and stat.S_ISCHR(os.stat(tmp_path / "null").st_mode)
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
            io.write("/dev/full", A, format="mtx")
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        io.write(tmp_path, A, format="mtx")


@pytest.mark.parametrize("before", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_mode(tmp_path, before):
    path = tmp_path / "a.mtx"
    path.touch()
    path.chmod(before)
    io.write(path, A)
    assert mode(path) == before and (io.read(path).to_scipy() != A).nnz == 0


def test_a_private_file_is_private_all_the_time(tmp_path, monkeypatch):
    path, modes, change = tmp_path / "a.txt", [], os.fchmod
    path.touch()
    path.chmod(0o640)
    monkeypatch.setattr(os, "fchmod", lambda file, to: (modes.append(mode(file)), change(file, to)))
    with replacing(path):
        assert modes == [0o600] and [mode(file) for file in tmp_path.iterdir()] == [0o640, 0o640]


def test_all_is_on_the_disk_before_it_is_in_its_place(tmp_path, monkeypatch):
    path, found = tmp_path / "a.txt", []
    monkeypatch.setattr(os, "fsync", lambda file: found.append((os.fstat(file).st_size, path.exists())))
    with replacing(path) as stream:
        stream.write(b"12345")
    assert found == [(5, False)] and path.read_text() == "12345"


def test_what_is_flushed_may_be_written_to(tmp_path, monkeypatch):
    """Windows flushes no other file, and raises an error."""
    fcntl, found = pytest.importorskip("fcntl"), []
    monkeypatch.setattr(os, "fsync", lambda file: found.append(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE))
    io.write(tmp_path / "a.txt", A)
    io.convert(tmp_path / "a.txt", tmp_path / "a.gasla")
    assert len(found) >= 3 and os.O_RDONLY not in found


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "a.mtx"
    path.touch()
    os.chown(path, 1234, 5678)
    path.chmod(0o640)
    io.write(path, A)
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode(path)) == (1234, 5678, 0o640)


def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        io.write(tmp_path / "a.mtx", A)
        assert mode(tmp_path / "a.mtx") == 0o640
    finally:
        os.umask(before)


def test_temporary_names_are_new_each_time_and_open_nothing(tmp_path, monkeypatch):
    names = set()
    for _ in range(10):
        with replacing(tmp_path / "a.txt"):
            names.update(set(os.listdir(tmp_path)) - {"a.txt"})
    assert len(names) == 10 and not any("a.txt" in name or str(os.getpid()) in name for name in names)

    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(os, "urandom", bytes)  # even who knows the name gains nothing
    (tmp_path / f".{'0' * 16}.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError), replacing(tmp_path / "a.txt"):
        pass
    assert victim.read_text() == "precious"


def test_where_a_link_is_placed_the_link_goes(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "entry").symlink_to(tmp_path / "victim")
    with placing(tmp_path / "entry") as stream:
        stream.write(b"new")
    assert (tmp_path / "victim").read_text() == "precious" and not (tmp_path / "entry").is_symlink()


def test_the_longest_names(tmp_path):
    name = "a" * 251 + ".mtx"
    io.write(tmp_path / name, A)
    assert os.listdir(tmp_path) == [name]


def test_threads_write_one_file_in_turn(tmp_path):
    graphs = [Graph(sp.csr_array(sp.random_array((60, 60), density=0.3, rng=i))) for i in range(4)]
    path, errors = tmp_path / "a.mtx", []

    def write(graph):
        try:
            for _ in range(10):
                io.write(path, graph)
                read = io.read(path).to_scipy()
                assert any(read.nnz == g.m and np.array_equal(read.data, g.out_values) for g in graphs)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(graph,)) for graph in graphs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and os.listdir(tmp_path) == ["a.mtx"]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "folder" / "a.txt")
    for _ in range(2):  # where it leads nowhere yet, and to a file
        io.write(tmp_path / "link.txt", datasets.grid(4))
        assert (tmp_path / "link.txt").is_symlink() and os.listdir(tmp_path / "folder") == ["a.txt"]


def test_what_cannot_be_written_is_called_by_its_name(tmp_path):
    with pytest.raises(OSError, match=re.escape(f"No such file or directory: '{tmp_path}/nowhere/a.txt'")):
        io.write(tmp_path / "nowhere" / "a.txt", datasets.grid(4))
