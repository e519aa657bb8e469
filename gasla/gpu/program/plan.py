"""`GpuPlan` decides how the GPU engine runs a program, and lays out the arguments of the program's kernel."""

import ctypes
import functools
from dataclasses import dataclass
from sys import intern  # attributes are found faster by interned names, and every run sets many attributes
from typing import Any

import numpy as np

from gasla.gpu.program.rows import ROWS
from gasla.names import given
from gasla.program.hooks import ALONG, at
from gasla.program.plan import Part, Plan
from gasla.program.statements import read
from gasla.program.tracing import Traced, trace_start
from semirings import TupleType, VectorType
from semirings.printers.cuda import ctype
from semirings.types import HALF, SHORT, has_wide

# Arguments of a kernel besides the graph, the fields and the parameters. Each has a name and a C++ type, which for
# pointers is the type of the elements. Numbers also have a NumPy type.
_LOOP_POINTERS = [
    *[("barrier", "gasla::u32"), ("counters", "gasla::u64"), ("control", "gasla::Control")],
    *[("page", "gasla::Page"), ("log", "long long"), ("shown", "void"), ("parts", "void")],
    *[("active_ids", "const vertex_t"), ("aside", "vertex_t"), ("starts", "const long long"), ("levels", "const int")],
    *[("pieces", "void"), ("piece_values", "void"), ("queue", "void")],
    *[(name, "gasla::u32") for name in ("bits", "claimed", "closed", "received", "far_bits")],
    *[("far", "gasla::u64"), ("far_lists", "vertex_t"), ("segments", "void")],
]
_KEYED_POINTERS = [
    ("keys_used", "gasla::u64"),
    ("put_off", "vertex_t"),
    ("table_keys", "Key"),
    ("table_totals", "Value"),
]
_LOOP_NUMBERS = [
    *[(name, "long long", np.int64) for name in ("m", "words", "active_count", "first_active", "first_level")],
    *[(name, "long long", np.int64) for name in ("log_from", "log_rows", "limit")],
    ("delta", "double", np.float64),
    *[(name, "unsigned int", np.uint32) for name in ("shift", "fresh", "way", "lanes", "hubs", "launch", "backward")],
]
_STAGE_POINTERS = [
    *[("vertices", "const vertex_t"), ("targets", "const vertex_t"), ("places", "const offset_t")],
    *[("queue", "const void"), ("bits", "gasla::u32"), ("claimed", "gasla::u32"), ("flags", "bool")],
]
STORES = np.dtype([(f"of_{i}_{name}", np.uint64) for i in range(31) for name in ("mirrored", "even", "odd", "entries")])
"""The struct `gasla::Stores`: for each of up to 31 other GPUs, where the kernel stores values for its mirrors."""
# The C++ type of the vertex ids in adjacency lists: a pointer, or a struct for packed ids (packed_ids.cuh).
_IDS_TYPE = "ids_t"
_NUMBER_TYPES = (int, float, np.number, np.bool_)
_STAGE_NUMBERS = [(name, "long long", np.int64) for name in ("count", "edges", "iteration")]


@dataclass(frozen=True)
class Variant:
    """What a program's kernel is specialized for besides the program, such as the type of offsets and the graph's
    degrees.

    Attributes
    ----------
    scheduled : bool
        A schedule gives the vertices that receive in each iteration.
    bounded_degree : bool
        No vertex has very many edges, so that a few threads per vertex share the work evenly.
    local : bool
        Neighbors also have nearby ids, as in a road network: expect many iterations with few active vertices.
    row_lanes : int
        Threads per row where every vertex gathers (see `rows`).
    staged : bool
        Each stage, such as `gather`, is a kernel of its own, for a loop that a user has written.
    relabelled : bool
        Vertices are renumbered by descending degree (see `relabel`).
    small : bool
        One block runs the whole program.
    table_slots : int
        Slots of each warp's hash table in shared memory, for values that are grouped by key (see `tables`).
    peers : bool
        The kernel exchanges values with the kernels of other GPUs (see `peers`).
    streamed : bool
        Adjacency lists are in host memory, and the GPU reads them over PCIe or NVLink (see `gasla.graph.streamed`).
    packed : bool
        The ids in adjacency lists are packed, that is, use fewer bits (see `gasla.graph.packed`).
    shared : tuple of str, optional
        The names of all parameters that change between the turns of phases, if the program is one of several phases
        that take turns in one launch (see `phases`).
    """

    offset_type: np.dtype
    deterministic: bool = False
    scheduled: bool = False
    bounded_degree: bool = False
    local: bool = False
    row_lanes: int = 0
    staged: bool = False
    relabelled: bool = False
    small: bool = False
    table_slots: int = 0
    peers: bool = False
    streamed: bool = False
    packed: bool = False
    shared: tuple[str, ...] | None = None


class Start:
    """How a kernel fills a vertex field with its initial values at the start of a run.

    The kernel copies an array, or fills the field with one number, except that a single vertex may have another number.
    `number` is the program's initial value, or None if this is an array or a function. `kind` is the type of the field,
    and `is_wide` tells whether it is a wide vector. The other attributes are names of the kernel's arguments.
    """

    def __init__(self, name: str, kind: Any, init: Any) -> None:
        # a wide vector has more than eight numbers, which are all filled with the same number, or else from an array
        self.is_wide = has_wide(kind)
        self.kind = kind = kind.scalar if self.is_wide else kind
        has_plain_numbers = not isinstance(kind, VectorType) and kind != HALF
        self._number_types = (
            ((int, float) if kind.kind == "f" else (int,) if kind.kind in "iu" else ()) if has_plain_numbers else ()
        )
        self.number = self.number_of(init)
        prefixes = ("v", "from", "fills", "start", "at", "seed")
        self.field, self.source, self.fills, self.value, self.at, self.seed = (intern(f"{p}_{name}") for p in prefixes)

    def number_of(self, value: Any) -> Any:
        """Return a field's initial value in a form that a kernel's argument accepts, so that the kernel can fill the
        field.

        Return None if the initial value is not a number, but an array or a function.
        """
        if type(value) in self._number_types:  # ctypes converts numbers of these Python types itself
            return value
        return as_ctypes_value(value, self.kind) if isinstance(value, _NUMBER_TYPES) else None


class GpuPlan(Plan):
    """The decisions about how the GPU runs a program, for one variant of its kernel, such as whether it ever pushes."""

    def __init__(self, traced: Traced, variant: Variant) -> None:
        super().__init__(traced, variant.deterministic, variant.scheduled or variant.staged, variant.staged)
        if traced.keyed is not None and has_wide_values(traced):
            raise TypeError(
                f"{traced.program.__name__} reduces by key, and has vectors of more than {SHORT} numbers: on a GPU a "
                "whole warp holds one such vector and cannot group keys; expected shorter vectors, or device='cpu'"
            )
        self.variant, self.offset_type = variant, variant.offset_type
        if self.in_turns and (start := trace_start(traced.program, traced.id_type)):
            self.functions = {**self.functions, "start": start}
        # A schedule gives each vertex a level, the iteration in which it is computed. By the levels, the kernel reads
        # the initial values of neighbors that are not computed yet. So vertices are updated in place, without a second
        # phase.
        self.read_by_level = traced.gathers_what_apply_writes if self.lists_rows else set()
        if self.read_by_level:
            self.two_phases, self.keeps_receivers = False, bool(self.revising or self.behind)
        # in a single block, processing by priority saves less time than it costs
        self.prioritised = self.prioritised and not variant.small
        has_no_later_stage = not (self.resumes or self.stop_sees_fields or "scatter" in self.functions)
        self.small_frontiers = bool(
            variant.bounded_degree and (self.absorbs or self.push_at_once) and has_no_later_stage
        )

    @functools.cached_property
    def wide(self) -> bool:
        """Whether some fields or gathered values of the program are wide vectors, which have more than eight numbers.

        A whole warp then processes one vertex (kernels/wide).
        """
        return has_wide_values(self.traced)

    @property
    def in_turns(self) -> bool:
        """Whether the program is one of several phases that take turns in one launch."""
        return self.variant.shared is not None

    @functools.cached_property
    def shared(self) -> list[str]:
        """The names of the program's parameters that change during a launch of several phases.

        The kernel reads these from a struct that all phases share, not from the arguments of one phase.
        """
        return [name for name in self.variant.shared or () if name in self.traced.parameter_types]

    @functools.cached_property
    def parts(self) -> list[Part]:
        """The numbers that make up a gathered value, such as the items of a tuple, each with the expression that
        combines two.

        A push combines them one by one, each by its own atomic operation. The list is empty for a program with wide
        vectors. Such a program never pushes, because a whole warp gathers for each vertex.
        """
        return [] if self.wide else super().parts

    @functools.cached_property
    def reason_to_pull(self) -> str | None:
        """A sentence that says why the program always pulls, or None if it may push.

        On the GPU, a program that gathers wide vectors always pulls, besides the programs that do so on every engine.
        """
        if self.wide and self.gathers and not (self.scheduled or self.everyone or self.deterministic):
            return "a warp gathers wide vectors for one vertex; they are never sent"
        return super().reason_to_pull

    @property
    def shares_keys(self) -> bool:
        """Whether all warps of a block may together group the values of one long row by key.

        The warps reduce values in no fixed order, so this is allowed only where the order doesn't matter.
        """
        return self.keyed is not None and not (self.staged or self.reduces_in_order or self.sums_in_order)

    @property
    def rows(self) -> bool:
        """Whether each iteration is a plain reduction over all rows of the graph's matrix, without a set of active
        vertices.
        """
        is_plain = self.everyone and self.gathers and self.keyed is None and not self.active_only and not self.wide
        return is_plain and not self.keeps_active and not self.keeps_receivers and not self.variant.small

    @property
    def sends_at_once(self) -> bool:
        """Whether a vertex's new value is stored in the memory of other GPUs as soon as `apply` has computed it.

        If not, new values are sent together at the end of the iteration.
        """
        return self.variant.peers and self.rows

    @property
    def partitions_rows(self) -> bool:
        """Whether rows (adjacency lists) are divided among warps once per graph, before the program's first run.

        The division cuts long rows into pieces, which several warps reduce.
        """
        return self.rows or (self.wide and not self.scheduled and not self.variant.small)

    @functools.cached_property
    def only_pulls(self) -> bool:
        """Whether every iteration pulls, so that the kernel needs no code for pushes."""
        return self.variant.small or self.variant.deterministic

    @property
    def keeps_bits_of_receivers(self) -> bool:
        """Whether a bitmap marks the vertices that receive in an iteration, so that they are visited in the order of
        their ids.

        A queue, which is used otherwise, has no fixed order, so floating-point sums could differ from run to run.
        """
        return self.sums_in_order and self.two_phases and not self.scheduled

    @property
    def single_block(self) -> bool:
        """Whether the simpler loop for small graphs (single_block.cuh), which takes one block, can run the program."""
        is_plain = not (self.scheduled or self.two_phases or self.wide or self.behind or self.keyed)
        if self.in_turns or not self.variant.small:
            return False
        return is_plain and not (self.resumes or self.functions.keys() & at("scatter", "revise"))

    @property
    def lists_rows(self) -> bool:
        """Whether the program runs by a schedule and each iteration reduces the rows of the vertices that receive in
        it.
        """
        is_plain = not (self.takes_first and "edge_mask" in self.functions) and not self.wide and self.keyed is None
        return self.scheduled and not self.staged and self.gathers and is_plain

    @property
    def lane_groups(self) -> bool:
        """Whether a group of at most 32 threads reduces each row of a schedule, which suits low degrees."""
        monoid = self.traced.monoid
        commutes = monoid is not None and monoid.commutative
        return bool(self.variant.bounded_degree) and self.lists_rows and commutes and not self.takes_first

    @property
    def cuts_rows(self) -> bool:
        """Whether long rows of a schedule are cut into pieces, which several warps reduce."""
        # A deterministic run adds up aggregates in the order of rows. That order would be lost if rows were cut.
        ordered_sums = self.variant.deterministic and self.traced.aggregates
        return self.lists_rows and not (self.lane_groups or self.takes_first or self.variant.small or ordered_sums)

    @functools.cached_property
    def relabelled(self) -> bool:
        """Whether the kernel works on vertices renumbered by descending degree, which users never see."""
        return self.variant.relabelled and self.rows and not self.traced.looks_up

    @functools.cached_property
    def hub_fields(self) -> list[str]:
        """The gathered fields of hubs (vertices of highest degree) that a block copies to shared memory, widest first.

        Fields that change during an iteration are left out.
        """
        if not self.relabelled or self.in_place:
            return []
        gathered, field_types = read(self, "src", ALONG), self.traced.vertex_types
        return sorted(
            (f for f in gathered if isinstance(field_types.get(f), np.dtype)),
            key=lambda f: (-field_types[f].itemsize, f),
        )

    @property
    def hub_bytes(self) -> int:
        """The bytes of shared memory that the fields in `hub_fields` take for one hub."""
        return sum(int(self.traced.vertex_types[f].itemsize) for f in self.hub_fields)

    @property
    def searches(self) -> bool:
        """Whether a pull ends its search as soon as it meets any active neighbor (search.cuh).

        Such a pull visits the vertices that the mask may still admit. It is not used where pulls are rare, as on road
        networks, because its code takes registers from the rest of the loop.
        """
        is_plain = self.closes and "edge_mask" not in self.functions
        return is_plain and not self.variant.small and not self.variant.local

    @functools.cached_property
    def sums_look_up(self) -> bool:
        """Whether an aggregate reads fields of other vertices, or has a value per vertex.

        All fields must then have their initial values before the first aggregate is computed.
        """
        return bool(self.traced.deposits) or any(self.functions[n].reads("other") for n in self.traced.aggregates)

    @property
    def hub_first(self) -> bool:
        """Whether a pull first tests each vertex's neighbor of highest degree, which is the most likely to be active.

        This helps where degrees differ much. Only the neighbor's id is stored, so `gather` must not read the edge.
        """
        return self.searches and not self.variant.bounded_degree and not self._edge_roles("gather")

    @property
    def claims(self) -> bool:
        """Whether a push sets a receiver's bit in a bitmap, so that only the thread that sets it adds the vertex to the
        queue.

        A program in which vertices become closed (their mask refuses them for good) uses the bitmap of closed vertices
        instead.
        """
        return not self.scheduled and not self.everyone and not self.closes

    @property
    def waits(self) -> bool:
        """Whether the kernel stores, for each vertex that is postponed to a later bucket (range of priorities), the
        smallest priority that the vertex still has to send.
        """
        return self.prioritised and not self.is_single

    @property
    def accumulates(self) -> bool:
        """Whether pushed values are reduced into an array with an accumulator for each vertex, not directly into a
        field.

        Between iterations, every accumulator holds the identity of the reduction.
        """
        return self.pushes and not self.absorbs and not self.push_at_once and not self.takes_first

    @property
    def keeps(self) -> bool:
        """Whether each vertex's gathered value is stored in an array, from which a second phase of the iteration
        applies it.
        """
        return self.gathers and (self.two_phases or (self.pushes and not self.absorbs and not self.push_at_once))

    @functools.cached_property
    def members(self) -> list[tuple[str, str, Any]]:
        """The members of the kernel's struct of arguments: for each its name, C++ type and NumPy type, in order."""
        traced = self.traced
        pointers = list(_STAGE_POINTERS if self.staged else _LOOP_POINTERS)
        pointers += [(name, ctype(kind)) for name, kind in (self.components if self.keeps else [])]
        pointers += [(f"v_{n}", ctype(kind)) for n, kind in traced.vertex_types.items()]
        pointers += [(f"to_{n}", ctype(kind)) for n, kind in traced.deposit_types.items()]
        pointers += [(f"last_{n}", ctype(kind)) for n, kind in traced.deposit_types.items() if self.in_turns]
        pointers += [(f"was_{n}", ctype(traced.vertex_types[n])) for n in sorted(self.behind)]
        for side in "gs":
            pointers += [(f"{side}p", "const offset_t"), (f"{side}i", _IDS_TYPE), (f"{side}e", "const offset_t")]
            pointers += [(f"{side}v_{n}", f"const {ctype(traced.edge_types[n])}") for n in self.edge_values]
        pointers += [(f"e_{n}", ctype(traced.edge_types[n])) for n in self.edge_states]
        pointers += [(f"was_{n}", ctype(traced.edge_types[n])) for n in sorted(self.edges_behind)]
        pointers += [(f"value_{n}", f"const {ctype(traced.edge_types[n])}") for n in self.back_values]
        pointers += [(f"{side}b", "const offset_t") for side in "gs" if self.knows_partners]
        pointers += [("leaving", "const bool")] if self.needs_leaving else []
        pointers += [(f"{d[:-6]}p", "const offset_t") for d in sorted(self.degrees)]
        if self.keyed is not None:
            keyed_types = {"Key": ctype(self.keyed.key), "Value": ctype(self.keyed.total)}
            pointers += [(name, keyed_types.get(kind, kind)) for name, kind in _KEYED_POINTERS]
        pointers += [("originals", "const vertex_t")] if self.relabelled else []
        pointers += [(f"from_{n}", f"const {ctype(traced.vertex_types[n])}") for n in self.starts]
        pointers += [("hub_neighbors", "vertex_t")] if self.hub_first else []
        pointers += [("waits", "gasla::u64")] if self.waits else []
        pointers += [("waiting", "gasla::u32")] if self.has_buckets else []
        pointers += [("changed", "Changed")] if self.changes else []
        pointers += [("peers", "const gasla::Peer")] if self.variant.peers else []
        result: list[tuple[str, str, Any]] = [
            (name, kind if kind == _IDS_TYPE else f"{kind}*", np.uint64) for name, kind in pointers
        ]
        result += [("self_n", "long long", np.int64), *(_STAGE_NUMBERS if self.staged else _LOOP_NUMBERS)]
        for n, kind in traced.parameter_types.items():
            result.append((f"self_{n}", ctype(kind), kind))
        for n in self.starts:
            kind = self.starts[n].kind
            result += [(f"start_{n}", ctype(kind), kind), (f"seed_{n}", ctype(kind), kind)]
            result += [(f"at_{n}", "long long", np.int64), (f"fills_{n}", "int", np.int32)]
        if self.variant.peers:
            result += [(name, "unsigned int", np.uint32) for name in ("rank", "ranks")]
            result += [("met", "unsigned long long", np.uint64)]
        if self.sends_at_once:
            result.append(("stores", "gasla::Stores", STORES))
        return result + ([("rows", "gasla::Rows<offset_t>", ROWS)] if self.partitions_rows else [])

    @functools.cached_property
    def starts(self) -> dict[str, "Start"]:
        """How a kernel fills each vertex field with initial values at the start of a run: a `Start` by the field's
        name.
        """
        types = {} if self.staged else self.traced.vertex_types
        fields = self.traced.program.vertex_fields
        return {n: Start(n, kind, fields[given(n)].init) for n, kind in types.items()}

    @functools.cached_property
    def changed(self) -> np.dtype:
        """The NumPy struct type for the new values of the parameters that the program's `idle` changes during a run.

        It is laid out as in C.
        """
        return np.dtype([(name, self.traced.parameter_types[name]) for name in self.changes], align=True)

    @functools.cached_property
    def parameters(self) -> list[tuple[str, str, Any]]:
        """The program's parameters: for each its name, the name of the kernel's argument, and its type."""
        return [(name, intern(f"self_{name}"), kind) for name, kind in self.traced.parameter_types.items()]

    @functools.cached_property
    def struct(self) -> type[ctypes.Structure]:
        """The ctypes struct of the kernel's arguments.

        ctypes lays the struct out as C does, and setting its members is fast.
        """
        fields = [(name, as_ctypes(kind)) for name, _, kind in self.members]
        return type("Arguments", (ctypes.Structure,), {"_fields_": fields})


def has_wide_values(traced: Traced) -> bool:
    """Return whether a field of a program or its gathered value has a wide vector, of more than eight numbers."""
    types = [*traced.vertex_types.values(), *traced.edge_types.values()]
    return any(map(has_wide, [*types, *([traced.gathered_type] if "gather" in traced.functions else [])]))


def bytes_of(kind: Any) -> int:
    """Return how many bytes one value of type `kind` (a dtype or a vector type) takes."""
    if isinstance(kind, VectorType):
        return int(kind.length * kind.scalar.itemsize)
    assert not isinstance(kind, TupleType)
    return int(kind.itemsize)


def as_ctypes_value(value: Any, kind: Any) -> Any:
    """Convert a vertex's value of a field of type `kind` to Python objects that ctypes accepts, as an argument of a
    kernel.

    A float16 becomes the integer with the same bits, because C++ code takes a float16 as a 16-bit integer. A vector
    becomes a tuple. If `value` is a single number, all items of the tuple are this number.
    """
    scalar = kind.scalar if isinstance(kind, VectorType) else kind
    array = np.asarray(value).astype(scalar)
    array = array.view(np.uint16) if scalar == HALF else array
    return tuple(np.broadcast_to(array, kind.length).tolist()) if isinstance(kind, VectorType) else array.item()


def as_ctypes(kind: Any) -> Any:
    """Return the ctypes type for values of type `kind`: a dtype, a vector type or a NumPy struct."""
    if isinstance(kind, VectorType):
        return as_ctypes(kind.scalar) * kind.length
    kind = np.dtype(kind)
    if kind.fields is not None:  # Kernels take a struct as an array of 64-bit words.
        return ctypes.c_uint64 * (kind.itemsize // 8)
    return ctypes.c_uint16 if kind == HALF else np.ctypeslib.as_ctypes_type(kind)
