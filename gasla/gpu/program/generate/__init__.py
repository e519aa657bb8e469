"""From a traced program to CUDA: the struct `Program` of what its functions load, compute and store.

The loop is the same for all programs, a template over `Program` (`kernels/loop/loop.cuh`, or for one block
`kernels/small/single_block.cuh`); the compiler drops what a program does not use.
"""

import functools

import numpy as np

import semirings
from gasla.gpu.program.generate.atomics import combinations
from gasla.gpu.program.generate.declarations import body, flags, types
from gasla.gpu.program.generate.edge_records import edge_records, scatter
from gasla.gpu.program.generate.reduction import aggregates, reduction
from gasla.gpu.program.generate.syntax import INDENT, combination
from gasla.gpu.program.generate.vertex import peers, starts, vertex
from gasla.gpu.program.plan import GpuPlan, Variant
from gasla.gpu.program.rows import ids_type
from gasla.program.program import VertexProgram
from semirings import Symbol
from semirings.printers import cuda, warp

THREADS = 1024
STAGE_THREADS = 256

SOURCE = """\
typedef {vertex_t} vertex_t;
typedef {offset_t} offset_t;
typedef {prefix_t} prefix_t;
constexpr unsigned int THREADS = {threads};
#include "packed_ids.cuh"
typedef {ids_t} ids_t;
#include "{header}.cuh"
{prelude}
{functions}
struct Program {{
{body}
}};
{kernels}"""

LOOP = """
extern "C" __global__ void __launch_bounds__(THREADS, 1)
run_loop(const __grid_constant__ Program::Arguments a) {
    __shared__ gasla::Shared<Program> shared;
    gasla::run_program<Program>(a, shared);
}
"""

# The prefix is needed: NVRTC 12.9 crashes on a kernel that is named just `mask`.
STAGE = """
extern "C" __global__ void __launch_bounds__(THREADS) stage_{name}(const __grid_constant__ Program::Arguments a) {{
    __shared__ Program::Uniform uniform;
    gasla::Stages<Program>(a, uniform).{name}();
}}
"""


@functools.cache
def module(program: type[VertexProgram], id_type: np.dtype, variant: Variant) -> "Module":
    """The module of a program, cached per choice of types and variant."""
    return Module(program.traced(id_type), variant)


class Module(GpuPlan):
    """One program's CUDA source."""

    @functools.cached_property
    def source(self) -> str:
        """The source without the headers that it includes."""
        parts = [flags(self), types(self), *edge_records(self), *vertex(self), *reduction(self), *aggregates(self)]
        parts += [*starts(self), *peers(self), *scatter(self), *([body(self)] if self.rows or self.lists_rows else [])]
        return SOURCE.format(
            vertex_t=cuda.ctype(self.traced.id_type),
            offset_t=cuda.ctype(self.offset_type),
            prefix_t="unsigned int" if self.offset_type.itemsize == 4 else "unsigned long long",
            ids_t=ids_type(self.traced.id_type, self.variant.packed),
            threads=STAGE_THREADS if self.staged else THREADS,
            header="stages" if self.staged else "single_block" if self.single_block else "loop",
            kernels="".join(STAGE.format(name=name) for name in self.stages) if self.staged else LOOP,
            prelude=cuda.PRELUDE + (warp.PRELUDE if self.wide else ""),
            functions="\n".join(_printed(self)),
            body="\n".join(INDENT + line for part in parts for line in part.split("\n")),
        )


def _printed(plan: GpuPlan) -> list[str]:
    """The program's functions and the combinations of its reductions, as the printer renders them."""
    parts, function = [], (warp if plan.wide else cuda).function
    for f in plan.functions.values():
        result = tuple(f.result.values()) if isinstance(f.result, dict) else f.result
        if isinstance(result, tuple) and len(result) == 1:
            result = result[0]
        parts.append(function(f.printed, f.symbols, result))
    if plan.gathers:
        kind, monoid = plan.traced.gathered_type, plan.traced.monoid
        if plan.keyed is not None:
            kind = plan.keyed.total
            parts.append(function("better_", plan.keyed.better_symbols, plan.keyed.better))
        parts.append(combination("combine_", monoid, kind, function))
        if plan.wide:
            parts.append(function("identity_", [], semirings.as_expr(monoid.identity(kind))))  # type: ignore[union-attr]
    if plan.pushes and not plan.is_single:
        parts += [
            cuda.function(f"combine_{i}_", [Symbol("x", e.type), Symbol("y", e.type)], e)
            for e, i in combinations(plan).items()
        ]
    if plan.final is not None:
        parts.append(function("is_terminal_", [Symbol("x", plan.traced.gathered_type)], plan.final))
    t = plan.traced
    for name, declared in {**t.aggregates, **t.deposits}.items():
        kind = t.deposit_types[name] if name in t.deposits else t.aggregate_types[name]
        parts.append(combination(f"combine_{name}", declared.monoid, kind))
    return parts
