"""Writes the declarations at the head of a program's struct `Program` in CUDA: constants that describe the program,
types of its values, and a struct by which kernels reduce rows.
"""

from gasla.gpu.program.generate.reduction import are_paired
from gasla.gpu.program.generate.syntax import function, literal, struct
from gasla.gpu.program.plan import GpuPlan
from gasla.program.hooks import ALONG, HOOKS
from gasla.program.statements import read
from semirings.printers import cuda, warp

CONTEXT = """\
struct Context {
    const Arguments& a;
    Uniform& u;  // the same for all threads of a block
    Sums sums;
    __device__ __forceinline__ Context(const Arguments& a, Uniform& u) : a(a), u(u), sums(no_sums()) {}
    __device__ __forceinline__ gasla::u32* active() const { return a.bits + u.active_at; }
    __device__ __forceinline__ gasla::u32* next_active() const { return a.bits + u.next_at; }
    __device__ __forceinline__ gasla::u32* claimed() const { return a.claimed + u.claimed_at; }
};"""

BODY = """\
struct Body {{  // of a reduction over rows (rows.cuh)
    typedef Gathered value_t;
    typedef {row_t} row_t;
    static constexpr bool ordered = !COMMUTES, first_only = TAKES_FIRST && !HAS_EDGE_MASK;
    static constexpr bool has_terminal = {has_terminal}, brings_near = BRINGS_NEAR;
    Context& c;
{near}    gasla::u64 active = 0;
    __device__ __forceinline__ explicit Body(Context& c) : c(c) {{}}
    __device__ __forceinline__ value_t identity() {{ return Program::identity(); }}
    __device__ __forceinline__ value_t combine(const value_t& x, const value_t& y) {{ return Program::combine(x, y); }}
    __device__ __forceinline__ bool is_terminal(const value_t& x) {{ return Program::is_terminal(x); }}
    __device__ __forceinline__ bool wanted(row_t v) {{
        if (admits(c, (vertex_t)v)) return true;
        carry_over(c, (vertex_t)v);
{send}        return false;
    }}
{bring}    template <class position_t> __device__ __forceinline__ value_t term(row_t v, position_t e) {{
        return term_of(v, e, {load}(c, {id}));
    }}
    template <class position_t> __device__ __forceinline__ value_t term_of(row_t v, position_t e, const Source& src) {{
        const Target dst = load_target(c, (vertex_t)v);
        const Edge edge = load_edge_in(c, (offset_t)e);
        if (HAS_EDGE_MASK && !edge_mask(c, src, dst, edge)) return Program::identity();
        return Program::gather(c, src, dst, edge);
    }}
    typedef Had had_t;
    __device__ __forceinline__ had_t load(row_t v) {{ return load_had(c, (vertex_t)v); }}
    __device__ __forceinline__ void finish(row_t v, const value_t& value, const had_t& had) {{
        if (Program::finish(c, (vertex_t)v, value, had) & gasla::ACTIVE) ++active;
    }}
}};"""

BRING = """\
    template <class position_t> __device__ __forceinline__ void bring_near(position_t e) { near.copy(c.a.gi, e); }
"""


def flags(plan: GpuPlan) -> str:
    """Return C++ constants that describe a program, such as whether every iteration pulls.

    By these constants, the compiler leaves out the parts of the kernel's loop that the program doesn't need.
    """
    has = plan.functions.__contains__
    flags = {
        "WIDE": plan.wide,
        "GATHERS": plan.gathers,
        "TAKES_FIRST": plan.takes_first,
        "KEYED": plan.keyed is not None,
        "KEYS_IN_ORDER": plan.keyed is not None and plan.reduces_in_order,
        "SHARES_KEYS": plan.shares_keys,
        "COMMUTES": not plan.gathers or bool(plan.traced.monoid.commutative),  # type: ignore[union-attr]
        "LEAVES_EARLY": plan.final is not None or not plan.gathers,
        "EVERYONE": plan.everyone,
        "ENDS_WHEN_STILL": plan.ends_when_still,
        "SCHEDULED": plan.scheduled,
        "ACTIVE_ONLY": plan.active_only,
        "KEEPS_ACTIVE": plan.keeps_active,
        "KEEPS_RECEIVERS": plan.keeps_receivers and not plan.scheduled,
        "TWO_PHASES": plan.two_phases,
        "DOUBLED": bool(plan.doubled),
        "SENDS": plan.sends,
        "PUSHES": plan.pushes,
        "PUSHES_AT_ONCE": plan.push_at_once,
        "ABSORBS": bool(plan.absorbs),
        "PRIORITISED": plan.prioritised,
        "ADDS_UP": plan.adds_up,
        "WAITS": plan.waits,
        "CLOSES": plan.closes,
        "APPLIES_ONCE": plan.applies_once,
        "CLAIMS": plan.claims,
        "ACCUMULATES": plan.accumulates,
        "AGGREGATES": bool(plan.traced.aggregates),
        "SUMS_IN_ORDER": plan.keeps_bits_of_receivers,
        **{f"HAS_{name.upper()}": has(name) for name, hook in HOOKS.items() if hook.when != "phase"},
        "EDGES_BEHIND": bool(plan.edges_behind),
        "REVISES": bool(plan.revising),
        "STOP_SEES_FIELDS": plan.stop_sees_fields,
        "PEERS": plan.variant.peers,
        "SENDS_AT_ONCE": plan.sends_at_once,
        "IN_TURNS": plan.in_turns,
        "STARTS": has("start"),
        "SUMS_LOOK_UP": plan.sums_look_up,
        "DEPOSITS": bool(plan.traced.deposits),
        "FALLS_BEHIND": bool(plan.behind),
        "RESUMES": plan.resumes,
        "BUCKETS": plan.has_buckets,
        "WAKES": plan.resumes and has("wake"),
        "SMALL_FRONTIERS": plan.small_frontiers,
        "ONE_BLOCK": plan.variant.small,
        "ONLY_PULLS": plan.only_pulls,
        "ROWS": plan.rows,
        "PARTITIONS_ROWS": plan.partitions_rows,
        "LISTS_ROWS": plan.lists_rows,
        "READS_BY_LEVEL": bool(plan.read_by_level),
        "CUTS_ROWS": plan.cuts_rows,
        "HAS_HUBS": bool(plan.hub_fields),
        "SEARCHES": plan.searches,
        "BRINGS_NEAR": plan.variant.packed and plan.rows,
        "STREAMED": plan.variant.streamed and plan.sends,
        "HUB_FIRST": plan.hub_first,
        "LANE_GROUPS": plan.lane_groups,
        "PAIRED": are_paired(plan),
        "SOURCE_IS_EMPTY": plan.wide or not read(plan, "src", ALONG),
    }
    wide = plan.traced.id_type.itemsize == 8
    lines = [f"static constexpr bool {name} = {str(bool(value)).lower()};" for name, value in flags.items()]
    # The number of edges that a thread loads at the same time, so that it waits for memory once and not for each edge.
    # If neighbors have nearby ids, as in a road network (`local`), most iterations visit only a few edges. Then loading
    # several edges at a time saves little, and the longer code takes more time to compile.
    loads_at_once = (
        1 if plan.variant.local or (plan.pushes and len(plan.parts) > 2) else 2 if plan.absorbs or wide else 4
    )
    lines.append(f"static constexpr int AT_ONCE = {loads_at_once};  // edges per lane whose loads overlap")
    lines.append(f"static constexpr gasla::u32 TABLE_SLOTS = {plan.variant.table_slots};")
    return "\n".join([*lines, f"static constexpr gasla::u32 ROW_LANES = {plan.variant.row_lanes or 0};"])


def types(plan: GpuPlan) -> str:
    """Return the C++ structs of the kernel's arguments, of a program's aggregates, and of values that a whole block
    shares.
    """
    traced = plan.traced
    arguments = struct("Arguments", [(type_name, name) for name, type_name, _ in plan.members])
    sums = struct("Sums", [(cuda.ctype(k), f"sum_{n}") for n, k in traced.aggregate_types.items()])
    uniform = [("long long", "self_iteration"), ("double", "threshold")]
    # The struct has positions in arrays instead of pointers. Of a pointer that is read from shared memory, the compiler
    # would not know to which kind of memory it points, and would generate slower code.
    index_type = "gasla::u32" if plan.variant.small else "gasla::u64"
    uniform += [(index_type, f"{name}_at") for name in ("active", "next", "claimed", "old", "new")]
    uniform += [(cuda.ctype(k), f"self_{n}") for n, k in traced.aggregate_types.items()]
    uniform += [("gasla::u32", "half")] if plan.sends_at_once else []
    uniform += [("long long", "self_bucket")] if plan.has_buckets else []
    uniform += [(cuda.ctype(traced.parameter_types[n]), f"self_{n}") for n in plan.shared]
    changed_members = [(cuda.ctype(traced.parameter_types[n]), f"self_{n}") for n in plan.changes]
    uniform += changed_members
    context = "\n".join([struct("Uniform", uniform), CONTEXT])
    gathered_type, whole_type = (
        generator.ctype(traced.gathered_type) if plan.gathers else "char" for generator in (warp, cuda)
    )
    changes = [struct("Changed", changed_members)] if changed_members else []
    return "\n".join(
        [
            *changes,
            arguments,
            sums,
            _no_sums(plan),
            context,
            f"typedef {gathered_type} Gathered;",
            f"typedef {whole_type} Whole;",
        ]
    )


def _no_sums(plan: GpuPlan) -> str:
    """Return the C++ function `no_sums`, from which a thread's reduction of a program's aggregates starts.

    The function returns the identity of each aggregate's reduction.
    """
    types_by_name = plan.traced.aggregate_types
    values = [
        literal(aggregate.monoid.identity(types_by_name[n]), types_by_name[n])
        for n, aggregate in plan.traced.aggregates.items()
    ]
    return function("Sums no_sums()", [f"return Sums{{{', '.join(values)}}};"])


def body(plan: GpuPlan) -> str:
    """Return the C++ struct `Body`, which tells the kernels in rows.cuh how to reduce a row of a program's matrix."""
    row_t = "unsigned int" if plan.traced.id_type.itemsize == 4 else "unsigned long long"
    load = "load_hub_or_source" if plan.hub_fields else "load_source"
    copies_words = plan.variant.packed and plan.rows
    return BODY.format(
        row_t=row_t,
        has_terminal=str(plan.final is not None).lower(),
        load=load,
        id="c.a.gi.get(e, near)" if copies_words else "c.a.gi[e]",
        near="    gasla::NearWords near{};\n" if copies_words else "",
        send="        send_again(c, (vertex_t)v);\n" if plan.sends_at_once else "",
        bring=BRING if copies_words else "",
    )
