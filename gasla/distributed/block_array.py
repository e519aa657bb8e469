"""An array with an entry for each vertex, of which every rank has the block of its own vertices."""

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.distributed.communicator import Rank, Ranks

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Handle:
    """What ranks keep under a key, for as long as this object lives."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks, self.key = ranks, _Key()
        weakref.finalize(self, ranks.forget, self.key)


class _Key:
    """A key that is like no other, and itself wherever it is sent."""

    _count = 0

    def __init__(self) -> None:
        _Key._count += 1  # the same on every rank, where all run the same script
        self.number = _Key._count

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.number == self.number


class BlockArray:
    """An array by blocks: what a run over ranks leaves of a field, and what another may start with.

    NumPy's functions take it as the whole array, which is then gathered (`compute`): small in comparison with the
    graph, but all of it in every process that asks. Under `mpiexec` all ranks have to ask at once.

    Attributes
    ----------
    shape, dtype, ndim
        Of the whole array.
    """

    def __init__(self, handle: Handle, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.handle, self.name = handle, name
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)

    @property
    def local(self) -> np.ndarray:
        """The block of this process's rank; where one process speaks for several ranks, all blocks in one array.

        Examples
        --------
        >>> import gasla
        >>> from gasla import distributed
        >>> g = distributed.Graph.from_graph(gasla.Graph.from_edges([0, 1], [1, 2]), distributed.ThreadRanks(2))
        >>> gasla.bfs(g, 0).local
        array([0, 1, 2], dtype=int32)
        """
        return np.concatenate(self.handle.ranks.each(_block, self.handle.key, self.name))

    def compute(self) -> np.ndarray:
        """The whole array, gathered."""
        ranks = self.handle.ranks
        if len(ranks.here) == ranks.size:
            return self.local
        found: np.ndarray = ranks.each(_gathered, self.handle.key, self.name)[0]
        return found

    def to_dask_array(self) -> Any:
        """The array as one of Dask's, a chunk a rank; with a client of Dask's it stays where it is.

        Raises
        ------
        TypeError
            Under ``mpiexec``, where no process can speak for the others.
        """
        import dask.array as da
        from dask import delayed

        ranks = self.handle.ranks
        if len(ranks.here) < ranks.size:
            raise TypeError("under mpiexec there is no Dask to hold the blocks; expected .local or .compute()")
        lengths = ranks.each(_length, self.handle.key, self.name)
        blocks = ranks.held(_block, self.handle.key, self.name)
        if blocks is None:
            return da.concatenate([da.from_array(x, chunks=-1) for x in ranks.each(_block, self.handle.key, self.name)])
        shapes = [(length, *self.shape[1:]) for length in lengths]
        return da.concatenate(
            [da.from_delayed(delayed(x), shape, self.dtype) for x, shape in zip(blocks, shapes, strict=True)]
        )

    def __array__(self, dtype: "DTypeLike | None" = None, copy: bool | None = None) -> np.ndarray:
        return self.compute().astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(_whole, inputs), **kwargs)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.compute()[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.compute(), name)  # sum, max, tolist, …

    def __repr__(self) -> str:
        return f"BlockArray({self.dtype}{self.shape}, in {self.handle.ranks.size} blocks)"


def _operator(name: str) -> Any:
    """An operator of NumPy's arrays, between whole ones."""

    def apply(self: BlockArray, *others: Any) -> Any:
        return getattr(self.compute(), name)(*map(_whole, others))

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(BlockArray, _form, _operator(_form))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "invert", "abs"):
    setattr(BlockArray, f"__{_name}__", _operator(f"__{_name}__"))


def _whole(x: Any) -> Any:
    return x.compute() if isinstance(x, BlockArray) else x


def _block(rank: Rank, key: Any, name: str) -> np.ndarray:
    found: np.ndarray = rank.kept[key][name]
    return found


def _length(rank: Rank, key: Any, name: str) -> int:
    return len(_block(rank, key, name))


def _gathered(rank: Rank, key: Any, name: str) -> np.ndarray:
    return np.concatenate(rank.communicator.allgather(_block(rank, key, name)))
