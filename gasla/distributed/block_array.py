"""Arrays with one entry per vertex or edge, distributed over ranks in contiguous blocks."""

import itertools
import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gasla.arrays import device_of, here, moved
from gasla.distributed.communicator import Member, Rank, Ranks
from gasla.engines import peers

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# Largest number of bytes of an array for which one thread copies the blocks of all GPUs. For more bytes each rank
# copies its block on a thread of its own, although starting the threads takes some time.
SMALL = 1 << 22


class Handle:
    """The owner of a key under which ranks store data, such as the fields of a result.

    When the `Handle` is freed, ranks delete the data at the next call of a function on them.
    """

    def __init__(self, ranks: Ranks) -> None:
        self.ranks, self.key = ranks, _Key(next(_numbers))
        ranks.dropped.add_with(self, self.key)


class _Key(NamedTuple):
    """The key under which ranks store some data: a number that no other key of this process has.

    All processes of an MPI job make the same keys in the same order.
    """

    number: int


# Under mpiexec every process makes keys in the same order, so a key has the same number in all processes.
_numbers = itertools.count(1)


class Placed(dict[str, Any]):
    """A rank's block of an array with an entry per vertex, which several runs of vertex programs use as start values
    (`distributed.Graph.placed`).

    The block itself is the dictionary's entry "values".

    Attributes
    ----------
    with_mirrors : mapping
        For each shard on which a run has started with the array: the array's values at the shard's own vertices,
        followed by those at mirrors (copies of other ranks' vertices).
    """

    def __init__(self, values: Any) -> None:
        super().__init__(values=values)
        self.with_mirrors: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class BlockArray:
    """An array distributed over ranks in blocks: a field in the result of a run, or start values for another run.

    NumPy functions accept it, and gather the whole array first (`compute`): the array is small compared with the graph,
    but each process that uses it then holds all of it. Under `mpiexec` all ranks have to do this together.

    Attributes
    ----------
    shape, dtype, ndim
        As of the whole array.
    """

    def __init__(self, handle: Handle, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.handle, self.name = handle, name
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)

    @property
    def local(self) -> np.ndarray:
        """The blocks of the ranks that this process controls: its own under `mpiexec`, else all, as one array.

        Examples
        --------
        >>> import gasla
        >>> from gasla import distributed
        >>> g = distributed.Graph.from_graph(gasla.Graph.from_edges([0, 1], [1, 2]), distributed.ThreadRanks(2))
        >>> gasla.bfs(g, 0).local
        array([0, 1, 2], dtype=int32)
        """
        ranks, key = self.handle.ranks, self.handle.key
        is_small = math.prod(self.shape) * self.dtype.itemsize <= SMALL
        blocks = ranks.together(_blocks_of_process, key, self.name) if is_small else None
        return np.concatenate(ranks.each(_block, key, self.name) if blocks is None else blocks)

    def compute(self) -> np.ndarray:
        """Gather the whole array, and return it as a NumPy array."""
        ranks = self.handle.ranks
        if len(ranks.here) == ranks.size:
            return self.local
        gathered_blocks: np.ndarray = ranks.each(_gather_blocks, self.handle.key, self.name)[0]
        return gathered_blocks.reshape(self.shape)

    def to_dask_array(self) -> Any:
        """Convert to a Dask array with one chunk per rank. On Dask workers the chunks stay where they are.

        Raises
        ------
        TypeError
            Under ``mpiexec``, where one process can't access the blocks of the others.
        """
        import dask.array as da
        from dask import delayed

        ranks = self.handle.ranks
        if len(ranks.here) < ranks.size:
            raise TypeError("under mpiexec one process can't access all blocks; use .local or .compute()")
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
        return getattr(ufunc, method)(*map(_gathered_if_distributed, inputs), **kwargs)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.compute()[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        # Any other method or attribute of NumPy's arrays, such as sum, max or tolist, gathers the array first.
        return getattr(self.compute(), name)

    def __repr__(self) -> str:
        return f"BlockArray({self.dtype}{self.shape}, in {self.handle.ranks.size} blocks)"


def _operator(name: str) -> Any:
    """Return a method for the operator `name` of `BlockArray`, such as `__add__`.

    The method gathers the distributed arrays among its operands, and applies NumPy's operator of the same name.
    """

    def apply(self: BlockArray, *others: Any) -> Any:
        return getattr(self.compute(), name)(*map(_gathered_if_distributed, others))

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(BlockArray, _form, _operator(_form))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "invert", "abs"):
    setattr(BlockArray, f"__{_name}__", _operator(f"__{_name}__"))


class _Blocks(Mapping[str, Any]):
    """The blocks that belong to one rank, by array name, of result arrays that are stored whole on one GPU.

    `wait` is called before a block is read. It waits until the arrays are computed.
    """

    def __init__(self, arrays: Mapping[str, tuple[Any, np.ndarray]], rank: int, wait: Callable[[], None]) -> None:
        self._arrays, self._rank, self._wait = arrays, rank, wait

    def __getitem__(self, name: str) -> Any:
        self._wait()
        array, cuts = self._arrays[name]
        return array[int(cuts[self._rank]) : int(cuts[self._rank + 1])]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def divide(
    members: Sequence[Member], handle: Handle, arrays: Mapping[str, tuple[Any, np.ndarray]], wait: Callable[[], None]
) -> dict[str, BlockArray]:
    """Return `BlockArray` objects for arrays that are stored whole on one GPU of this process. The data stay on that
    GPU.

    Parameters
    ----------
    members : sequence of Member
        The ranks, among which the arrays are divided.
    handle : Handle
        Owns the key under which ranks store their blocks.
    arrays : mapping
        For each name, the array, and the bounds of its blocks: rank r has the entries bounds[r] to bounds[r + 1] - 1.
    wait : function
        Called before a block is read. It waits until the arrays are computed.
    """
    for rank, member in enumerate(members):
        member.kept[handle.key] = _Blocks(arrays, rank, wait)
    return {name: BlockArray(handle, name, array.shape, array.dtype) for name, (array, _) in arrays.items()}


def fill_out(out: Mapping[str, Any], results: dict[str, BlockArray]) -> None:
    """Copy the resulting fields of a run into the arrays that the caller has passed as `out`.

    In `results`, the mapping of field names to arrays, the caller's arrays then replace the fields.
    """
    for name, array in out.items():
        if isinstance(array, BlockArray):
            handle = results[name].handle
            handle.ranks.each(_copy, array.handle.key, array.name, handle.key, name)
        else:
            array[...] = results[name].compute()
        results[name] = array


def _copy(rank: Rank, to: Any, array: str, result: Any, name: str) -> None:
    target_block = rank.kept[to][array]
    target_block[...] = here(moved(rank.kept[result][name], device_of(target_block)), device_of(target_block))
    if isinstance(rank.kept[to], Placed):
        rank.kept[to].with_mirrors.clear()


def _gathered_if_distributed(x: Any) -> Any:
    return x.compute() if isinstance(x, BlockArray) else x


def _block(rank: Rank, key: Any, name: str) -> np.ndarray:
    # A result on a GPU is copied to the host only here, when a caller reads it.
    block: np.ndarray = moved(rank.kept[key][name], "cpu")
    return block


def _blocks_of_process(group: Any, key: Any, name: str) -> list[np.ndarray]:
    """Return a list with the block of a distributed array on each GPU of this process, copied to host memory by the
    calling thread.

    `name` is the array's name, and `key` the key under which the ranks store it.
    """
    blocks: list[np.ndarray] = []
    for member in group.members:
        with peers().on(member.card):
            blocks.append(moved(member.kept[key][name], "cpu"))
    return blocks


def _length(rank: Rank, key: Any, name: str) -> int:
    return len(_block(rank, key, name))


def _gather_blocks(rank: Rank, key: Any, name: str) -> np.ndarray:
    """Return the blocks of a distributed array from all ranks, concatenated and flattened to one dimension
    (collective).

    The blocks are flattened because ranks can only exchange arrays of one dimension by an allgather.
    """
    return np.concatenate(rank.communicator.allgather(_block(rank, key, name).reshape(-1)))
