"""Runs over ranks go on from what they have written, with the bits that they would have had."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import distributed
from tests.helpers.programs import Cheapest, Hops


class Stopped(Exception):
    """What ends a run in the midst of it."""


class Settling(gasla.VertexProgram):
    """Everyone gathers; an aggregate, a parameter and float values go along."""

    rank = gasla.vertex(float, init=1.0)
    pull = gasla.parameter(float, 0.85)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.rank / src.out_degree

    def apply(self, vertex, gathered):
        return {"rank": 1 - self.pull + self.pull * gathered + 0.01 * self.iteration}

    @gasla.aggregate(semirings.max)
    def moved(self, before, after):
        return after.rank - before.rank

    def stop(self):
        return self.iteration >= 20


@pytest.fixture(scope="module")
def graph() -> Any:
    drawn = np.random.default_rng(3)
    path = np.arange(39)
    src = np.concatenate([path, drawn.integers(0, 40, 30)])
    dst = np.concatenate([path + 1, drawn.integers(0, 40, 30)])
    return gasla.Graph.from_edges(src, dst, drawn.integers(1, 9, len(src)).astype(float), n=40)


CASES = {
    "hops": (Hops, {"active": [0], "hops": {0: 0}}),
    "cheapest": (Cheapest, {"active": [0], "cost": {0: 0.0}}),
    "settling": (Settling, {}),
}


def interrupted(program: Any, graph: Any, options: dict[str, Any], folder: Path, at: int, size: int) -> None:
    """Run until an iteration, and stop by an error."""

    def look(result: Any) -> None:
        if result.iterations == at:
            raise Stopped

    with distributed.Cluster(threads=size), distributed.Checkpoint(folder, every=3), pytest.raises(Stopped):
        gasla.run(program, distributed.Graph(graph), callback=look, compile=False, **options)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1, 3])
def test_a_run_goes_on_from_a_checkpoint(case: str, size: int, graph: Any, tmp_path: Path) -> None:
    program, options = CASES[case]
    with distributed.Cluster(threads=size):
        wanted = gasla.run(program, distributed.Graph(graph), compile=False, max_iterations=60, **options)
        wanted = wanted, {name: x.compute() for name, x in wanted.state.items()}
    interrupted(program, graph, options, tmp_path, 4, size)
    written = json.loads((tmp_path / "current.json").read_text())
    assert written == {"version": 1, "folder": "1-3", "run": 1, "ranks": size}
    looked: list[int] = []
    with distributed.Cluster(threads=size), distributed.Checkpoint(tmp_path, every=3, resume=True):
        again = gasla.run(
            program,
            distributed.Graph(graph),
            compile=False,
            max_iterations=60,
            callback=lambda result: looked.append(result.iterations),
            **options,
        )
        for name, array in wanted[1].items():
            assert again.state[name].compute().tobytes() == array.tobytes()
    assert looked[0] == 3  # which were not done again
    assert (again.iterations, again.converged, again.aggregates) == (
        wanted[0].iterations,
        wanted[0].converged,
        wanted[0].aggregates,
    )
    assert len(list(tmp_path.glob("*-*"))) == 1


def test_what_is_another_s_is_refused(graph: Any, tmp_path: Path) -> None:
    interrupted(Settling, graph, {}, tmp_path, 4, 2)
    other = gasla.Graph.from_edges(*graph.edges(), n=41)

    def again(program: Any, graph: Any, size: int = 2, **options: Any) -> None:
        with distributed.Cluster(threads=size), distributed.Checkpoint(tmp_path, resume=True):
            gasla.run(program, distributed.Graph(graph), compile=False, **options)

    with pytest.raises(ValueError, match="written by 2 ranks, and now there are 3"):
        again(Settling, graph, 3)
    with pytest.raises(ValueError, match=r"state of Settling\(pull=0.85\) .* expected that of Settling\(pull=0.5\)"):
        again(Settling, graph, pull=0.5)
    with pytest.raises(ValueError, match=r"expected that of Hops"):
        again(Hops, graph)
    with pytest.raises(ValueError, match=r"graph of 40 vertices .* graph of 41"):
        again(Settling, other)
    with pytest.raises(ValueError, match="can't be saved"):
        again(Settling, graph, out={"rank": np.ones(40)})
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="1 or more"):
            distributed.Checkpoint(tmp_path, every=wrong)  # type: ignore[arg-type]


DAMAGES: dict[str, Any] = {
    "cut off": lambda folder: cut(folder / "current.json"),
    "empty": lambda folder: (folder / "current.json").write_text(""),
    "no text": lambda folder: (folder / "current.json").write_bytes(b"\xff\xfe\x00"),
    "a list": lambda folder: (folder / "current.json").write_text("[1]"),
    "without the run": lambda folder: (folder / "current.json").write_text('{"version": 1, "ranks": 3}'),
    "of another place": lambda folder: (folder / "current.json").write_text(
        '{"version": 1, "ranks": 3, "run": 1, "folder": "1-9"}'
    ),
    "arrays cut off": lambda folder: cut(folder / "1-3" / "1-of-3.npz"),
    "arrays missing": lambda folder: (folder / "1-3" / "2-of-3.npz").unlink(),
    "no arrays": lambda folder: (folder / "1-3" / "0-of-3.npz").write_text("state"),
    "a bit": lambda folder: flip(folder / "1-3" / "1-of-3.npz"),
    "other arrays": lambda folder: np.savez(folder / "1-3" / "1-of-3.npz", a=1),
    "arrays of another length": lambda folder: lengthened(folder / "1-3" / "1-of-3.npz"),
    "an array less": lambda folder: lengthened(folder / "1-3" / "1-of-3.npz", "active"),
}


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 64
    file.write_bytes(data)


def lengthened(file: Path, less: str = "") -> None:
    with np.load(file) as found:
        arrays = {name: np.append(x, [0]) if name == "field.rank" else x for name, x in found.items() if name != less}
    np.savez(file, **arrays)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_named_with_what_to_do(damage: str, graph: Any, tmp_path: Path) -> None:
    interrupted(Settling, graph, {}, tmp_path, 4, 3)
    DAMAGES[damage](tmp_path)
    said = pytest.raises(ValueError, match=rf"checkpoint in {tmp_path} is damaged: .*; restore .* or delete it")
    with distributed.Cluster(threads=3), distributed.Checkpoint(tmp_path, resume=True), said:
        gasla.run(Settling, distributed.Graph(graph), compile=False)


def test_a_checkpoint_of_another_version_is_named(graph: Any, tmp_path: Path) -> None:
    interrupted(Settling, graph, {}, tmp_path, 4, 1)
    (tmp_path / "current.json").write_text('{"version": 2}')
    said = pytest.raises(ValueError, match=r"has version 2 of checkpoints, and this gasla reads version 1; resume")
    with distributed.Cluster(threads=1), distributed.Checkpoint(tmp_path, resume=True), said:
        gasla.run(Settling, distributed.Graph(graph), compile=False)


def test_nothing_written_is_a_start(graph: Any, tmp_path: Path) -> None:
    with distributed.Cluster(threads=2), distributed.Checkpoint(tmp_path / "new", every=5, resume=True):
        for _ in range(2):  # the second run is another one
            found = gasla.run(Hops, distributed.Graph(graph), compile=False, active=[0], hops={0: 0})
            assert (
                found.hops.compute().tobytes()
                == gasla.run(Hops, graph, compile=False, active=[0], hops={0: 0}).hops.tobytes()
            )
