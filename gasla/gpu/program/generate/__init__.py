"""Generates the CUDA source of a program from its traced functions: a C++ struct, `Program`, by which the kernel's loop
loads fields, calls the program's functions, and stores their results.

The loop is the same for all programs. It is a template over `Program` (`kernels/loop/loop.cuh`, or for one block
`kernels/small/single_block.cuh`), of which the compiler drops what a program does not use.
"""

import functools
from collections.abc import Mapping

import numpy as np

import semirings
from gasla.gpu.program.generate.atomics import combinations
from gasla.gpu.program.generate.declarations import body, flags, types
from gasla.gpu.program.generate.edge_records import edge_records, scatter
from gasla.gpu.program.generate.reduction import aggregates, reduction
from gasla.gpu.program.generate.syntax import INDENT, combination, struct
from gasla.gpu.program.generate.vertex import peers, starts, vertex
from gasla.gpu.program.plan import GpuPlan, Variant
from gasla.gpu.program.rows import ids_type
from gasla.program.program import VertexProgram
from semirings import Symbol
from semirings.printers import cuda, warp

THREADS = 1024
STAGE_THREADS = 256

BEFORE = """\
typedef {vertex_t} vertex_t;
typedef {offset_t} offset_t;
typedef {prefix_t} prefix_t;
constexpr unsigned int THREADS = {threads};
#include "packed_ids.cuh"
typedef {ids_t} ids_t;
#include "{header}.cuh"
{prelude}
"""

PROGRAM = """\
{functions}
struct Program {{
{body}
}};
"""

LOOP = """
extern "C" __global__ void __launch_bounds__(THREADS, 1)
run_loop(const __grid_constant__ Program::Arguments a) {
    __shared__ gasla::Shared<Program> shared;
    gasla::run_program<Program>(a, shared);
}
"""

# A kernel that runs several programs ("phases"), which take turns until the run ends.
PHASES = """\
struct Phases {{
    gasla::Turns turns;
    SharedValues values;
{arguments}
}};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
run_phases(const __grid_constant__ Phases a) {{
    __shared__ union {{
{shared}
    }} shared;
    __shared__ struct {{
{kept}
    }} kept;
    __shared__ gasla::Between between;
    __shared__ SharedValues values;
    if (threadIdx.x == 0) {{
        between.begin(a.turns);
        values = a.values;
{take}
    }}
    __syncthreads();
    gasla::u32 target = 0;
    while (between.goes_on(a.turns)) {{
{stays}
        if (threadIdx.x == 0) {{
            between.end_turn(a.turns);
            ++values.self_turn;
        }}
        __syncthreads();
    }}
    if (gasla::thread_of_grid() == 0) {{
{leave}
        *a.turns.done = between.done;
        __threadfence_system();
    }}
    if (gasla::Barrier(a.of_0.barrier, target).leave()) gasla::publish_end(a.turns);
}}
"""

# Kernels are named `stage_mask` and so on, because NVRTC 12.9 crashes on a kernel that is named just `mask`.
STAGE = """
extern "C" __global__ void __launch_bounds__(THREADS) stage_{name}(const __grid_constant__ Program::Arguments a) {{
    __shared__ Program::Uniform uniform;
    gasla::Stages<Program>(a, uniform).{name}();
}}
"""


@functools.cache
def module(program: type[VertexProgram], id_type: np.dtype, variant: Variant) -> "Module":
    """Return the plan and the CUDA source of a program's kernel. They are cached for each type of ids and each variant.

    A variant is what a kernel is specialized for, such as the type of adjacency offsets.
    """
    return Module(program.traced(id_type), variant)


class Module(GpuPlan):
    """The plan of one program's kernel (the decisions about how the GPU runs it), together with its CUDA source."""

    @functools.cached_property
    def source(self) -> str:
        """The CUDA source of the program's kernels, which includes gasla's headers by `#include`."""
        kernels = "".join(STAGE.format(name=name) for name in self.stages) if self.staged else LOOP
        return _before(self, self.wide) + self.struct_source + kernels

    @functools.cached_property
    def struct_source(self) -> str:
        """The CUDA source of the program's own functions, and of the struct by which the kernel's loop calls them
        (`Program`).
        """
        texts = [flags(self), types(self), *edge_records(self), *vertex(self), *reduction(self), *aggregates(self)]
        texts += [*starts(self), *peers(self), *scatter(self), *([body(self)] if self.rows or self.lists_rows else [])]
        return PROGRAM.format(
            functions="\n".join(_printed(self)),
            body="\n".join(INDENT + line for text_line in texts for line in text_line.split("\n")),
        )


def phases_source(plans: tuple[Module, ...], values: Mapping[str, np.dtype]) -> str:
    """Return the CUDA source of one kernel in which several programs ("phases") take turns.

    `plans` has the plan of each program. `values` are the types, by name, of the numbers that the programs share, such
    as the number of turns.
    """

    def each(line: str, levels: int) -> str:
        return "\n".join(INDENT * levels + line.format(i=i) for i in range(len(plans)))

    step = "target = gasla::stay<phase_{i}::Program>(a.of_{i}, shared.of_{i}, kept.of_{i}, between, values, target);"
    return "".join([
        _before(plans[0], any(plan.wide for plan in plans)),
        struct("SharedValues", [(cuda.ctype(dtype), f"self_{name}") for name, dtype in values.items()]) + "\n",
        *(f"namespace phase_{i} {{\n{plan.struct_source}}}\n" for i, plan in enumerate(plans)),
        PHASES.format(
            arguments=each("phase_{i}::Program::Arguments of_{i};", 1),
            shared=each("gasla::Shared<phase_{i}::Program> of_{i};", 2),
            kept=each("gasla::Kept<phase_{i}::Program> of_{i};", 2),
            take=each("kept.of_{i}.control = *a.of_{i}.control, kept.of_{i}.control.iteration = -1;", 2),
            stays=each(f"if (!between.ends()) {step}", 2),
            leave=each("gasla::leave_phase(a.of_{i}, kept.of_{i}, a.turns.ends[{i}]);", 2),
        ),
    ])  # fmt: skip


def _before(plan: GpuPlan, is_wide: bool) -> str:
    """Return the C++ includes, types and helper functions that come before the struct `Program` in a kernel's source.

    `is_wide` says whether some values are wide vectors, which a whole warp processes.
    """
    return BEFORE.format(
        vertex_t=cuda.ctype(plan.traced.id_type),
        offset_t=cuda.ctype(plan.offset_type),
        prefix_t="unsigned int" if plan.offset_type.itemsize == 4 else "unsigned long long",
        ids_t=ids_type(plan.traced.id_type, plan.variant.packed),
        threads=STAGE_THREADS if plan.staged else THREADS,
        header="stages" if plan.staged else "single_block" if plan.single_block else "loop",
        prelude=cuda.PRELUDE + (warp.PRELUDE if is_wide else ""),
    )


def _printed(plan: GpuPlan) -> list[str]:
    """Return the CUDA source of a program's own functions, such as `gather`, as a list with one text per function.

    The list also has the functions that combine two values in each of the program's reductions.
    """
    function_texts, function = [], (warp if plan.wide else cuda).function
    for traced_function in plan.functions.values():
        result = (
            tuple(traced_function.result.values())
            if isinstance(traced_function.result, dict)
            else traced_function.result
        )
        if isinstance(result, tuple) and len(result) == 1:
            result = result[0]
        function_texts.append(function(traced_function.printed, traced_function.symbols, result))
    if plan.gathers:
        value_type, monoid = plan.traced.gathered_type, plan.traced.monoid
        if plan.keyed is not None:
            value_type = plan.keyed.total
            function_texts.append(function("better_", plan.keyed.better_symbols, plan.keyed.better))
        function_texts.append(combination("combine_", monoid, value_type, function))
        if plan.wide:
            function_texts.append(function("identity_", [], semirings.as_expr(monoid.identity(value_type))))  # type: ignore[union-attr]
    if plan.pushes and not plan.is_single:
        function_texts += [
            cuda.function(f"combine_{i}_", [Symbol("x", e.type), Symbol("y", e.type)], e)
            for e, i in combinations(plan).items()
        ]
    if plan.final is not None:
        function_texts.append(function("is_terminal_", [Symbol("x", plan.traced.gathered_type)], plan.final))
    traced = plan.traced
    for name, declared in {**traced.aggregates, **traced.deposits}.items():
        value_type = traced.deposit_types[name] if name in traced.deposits else traced.aggregate_types[name]
        function_texts.append(combination(f"combine_{name}", declared.monoid, value_type))
    return function_texts
