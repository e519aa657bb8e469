"""Writes C++ functions that run at one vertex: apply, activate, mask, priority, bucket, and initial values."""

from gasla.gpu.program.generate.rendering import call, got, kind_of, load, local, of_run, place, put, rendered
from gasla.gpu.program.generate.syntax import function, literal, struct
from gasla.gpu.program.plan import GpuPlan, bytes_of
from gasla.program.hooks import ALONG
from gasla.program.statements import Call, Load, applied, loads, read, revised, watched, written_by
from semirings.printers import cuda, warp
from semirings.types import has_wide

AT_VERTEX = "(const Context& c, vertex_t v)"


def vertex(plan: GpuPlan) -> list[str]:
    """Return the C++ functions of a program that run at one vertex, such as `finish`, which applies the gathered value.

    The functions that concern the whole run, such as `stop`, are returned as well.
    """
    functions_of_vertex = _finish_functions(plan)
    mask = ["return true;"]
    if "mask" in plan.functions:
        mask = [*rendered(plan, loads(plan, "vertex", "mask")), f"return {call(plan, 'mask')};"]
    functions_of_vertex.append(function(f"bool admits{AT_VERTEX}", mask))
    copies = [
        line for field in sorted(plan.doubled) for line in put(plan, place(plan, field, "new"), load(plan, field))
    ]
    functions_of_vertex.append(function(f"void carry_over{AT_VERTEX}", copies))
    functions_of_vertex += [function(f"void revise{AT_VERTEX}", _revise_statements(plan))] if plan.revising else []
    functions_of_vertex += [function(f"void catch_up{AT_VERTEX}", _copy_statements(plan))] if plan.behind else []
    if "stop" in plan.functions:
        functions_of_vertex.append(function("bool stop(const Context& c)", [f"return {call(plan, 'stop')};"]))
    functions_of_vertex += _priority_functions(plan) if plan.prioritised else []
    functions_of_vertex += _resume_functions(plan) if plan.resumes else []
    return functions_of_vertex + (_phase_functions(plan) if plan.in_turns else [])


def _revise_statements(plan: GpuPlan) -> list[str]:
    """Return C++ statements for the program's functions that change a vertex once more after `apply`.

    The functions run one after the other, each with local variables of its own.
    """
    lines: list[str] = []
    for name in plan.revising:
        lines += ["__syncwarp();"] if plan.wide and lines else []
        lines += ["{", *rendered(plan, revised(plan, name)), "}"]
    return lines


def peers(plan: GpuPlan) -> list[str]:
    """Return the C++ functions by which the kernels of several GPUs exchange fields of vertices.

    They store a vertex's fields in another GPU's memory, and load the fields that other GPUs have stored here.
    """
    if not plan.variant.peers:
        return []
    byte_offset, parameters, values, store_lines, load_lines = 0, "", [], [], []
    for name in plan.traced.seen_by_neighbors:
        value_type = cuda.ctype(kind_of(plan, name))
        parameters += f", const {value_type}& {name}"
        values.append(load(plan, name))
        store_lines.append(f"(({value_type}*)(to + {byte_offset} * entries))[i] = {name};")
        load_lines += put(plan, place(plan, name), f"((const {value_type}*)(from + {byte_offset} * entries))[i]")
        byte_offset += bytes_of(kind_of(plan, name))
    indices = "gasla::u64 i, gasla::u64 entries"
    call = ", ".join(["to, i, entries", *values])
    functions = [
        function(f"void send(char* to, {indices}{parameters})", store_lines),
        function(f"void send(const Context& c, vertex_t v, char* to, {indices})", [f"send({call});"]),
        function(f"void receive(const Context& c, vertex_t v, const char* from, {indices})", load_lines),
    ]
    if plan.sends_at_once:
        send = f"[&](char* to, {indices}) {{ send({', '.join(['to, i, entries', *plan.traced.seen_by_neighbors])}); }}"
        body = f"c.a.stores.at_mirrors(c.a.ranks, c.u.half, v, mirrored, {send});"
        mirrored_parameter = "const gasla::Mirrored& mirrored"
        functions.append(
            function(f"void send_at_once(const Context& c, vertex_t v, {mirrored_parameter}{parameters})", [body])
        )
        again = ", ".join(["c, v, c.a.stores.load(v)", *values])
        functions.append(function(f"void send_again{AT_VERTEX}", [f"send_at_once({again});"]))
    return functions


def _finish_functions(plan: GpuPlan) -> list[str]:
    """Return the C++ functions by which a vertex applies its gathered value.

    One function loads the fields that `apply` reads, before the gathered value is known. Another prefetches these
    fields. `finish` applies the value, and returns bits that say, for example, whether the vertex becomes active.
    """
    early_fields = _fields_loaded_early(plan)
    prefetched = sorted({*early_fields, *read(plan, "dst", ALONG)} & set(plan.traced.vertex_types))
    active = call(plan, "activate") if "activate" in plan.functions else "false"
    active = f"{active} && {_bucket_condition(plan)}" if plan.has_buckets else active
    outcome = f"gasla::OPEN | ({active} ? gasla::ACTIVE : 0u)"
    result = f"return open ? {outcome} : gasla::ACTIVE;" if plan.closes else f"return {outcome};"
    loaded = [f"r.f_{field} = {load(plan, field)};" for field in early_fields]
    loaded += ["r.mirrored = c.a.stores.load(v);"] if plan.sends_at_once else []
    mirrored = [("gasla::Mirrored", "mirrored")] if plan.sends_at_once else []
    sent_fields = [f"after_{field}" for field in plan.traced.seen_by_neighbors]
    sends = [f"send_at_once({', '.join(['c, v, had.mirrored', *sent_fields])});"] if plan.sends_at_once else []
    arguments = "Context& c, vertex_t v, const Gathered& gathered"
    return [
        struct("Had", [*[(warp.ctype(kind_of(plan, field)), f"f_{field}") for field in early_fields], *mirrored]),
        function(f"Had load_had{AT_VERTEX}", ["Had r;", *loaded, "return r;"]),
        function(f"void ask_for{AT_VERTEX}", [f"gasla::prefetch(&{place(plan, field)});" for field in prefetched]),
        function(
            f"gasla::u32 finish({arguments}, const Had& had)", [*_apply_statements(plan, early_fields), *sends, result]
        ),
        function(f"gasla::u32 finish({arguments})", ["return finish(c, v, gathered, load_had(c, v));"]),
    ]


def _copy_statements(plan: GpuPlan) -> list[str]:
    """Return C++ statements that copy a vertex's new fields to second arrays, from which `self.at` reads."""
    return [f"c.a.was_{field}[v] = c.a.v_{field}[v];" for field in sorted(plan.behind)]


def _fields_loaded_early(plan: GpuPlan) -> list[str]:
    """Return the names of the fields that are loaded before the row of a vertex is reduced, so that the load takes no
    time.

    Fields are left out, and loaded later, if only few vertices need their previous values.
    """
    fields_of_apply = read(plan, "vertex", ["apply"])
    return fields_of_apply if plan.closes else sorted({*fields_of_apply, *watched(plan)})


def _apply_statements(plan: GpuPlan, early_fields: list[str]) -> list[str]:
    lines = []
    for statement in applied(plan):
        if not isinstance(statement, Load):
            lines += rendered(plan, [statement])
        elif statement.field in early_fields:
            lines.append(local(plan, statement.role, statement.field, f"had.f_{statement.field}"))
        # The previous value of a field is only needed if the mask still admits the vertex after `apply`, so it is not
        # loaded for other vertices.
        else:
            name = f"before_{statement.field}"
            lines.append(f"{warp.ctype(kind_of(plan, statement.field))} {name}{{}};")
            lines.append(f"if (open) {name} = {load(plan, statement.field)};")
        if plan.closes and isinstance(statement, Call):
            lines.append(f"const bool open = {'false' if plan.applies_once else _open_condition(plan)};")
    return lines


def _open_condition(plan: GpuPlan) -> str:
    """Return the C++ condition that the program's `mask` still admits a vertex after `apply`.

    The fields that `apply` has returned are local variables, which the condition reads.
    """
    mask, written = plan.functions["mask"], written_by(plan, "apply")
    arguments = []
    for symbol in mask.symbols:
        source_role, field = mask.sources[symbol.name]
        if source_role == "vertex":
            arguments.append(f"after_{field}" if field in written else load(plan, field))
        else:
            arguments.append(of_run(plan, field))
    return f"{mask.printed}({', '.join(arguments)})"


def _bucket_condition(plan: GpuPlan) -> str:
    """Return the C++ condition that a vertex is active after `apply`: its bucket (range of priorities) is the open one.

    If the vertex is in a later bucket, the condition also marks it as waiting for that bucket.
    """
    written = written_by(plan, "apply")
    bucket_fields = (
        f"after_{field}" if field in written else load(plan, field) for field in read(plan, "vertex", ["bucket"])
    )
    return f"takes_turn({', '.join(['c', 'v', *bucket_fields])})"


def _resume_functions(plan: GpuPlan) -> list[str]:
    """Return C++ functions for a program whose run may go on when no vertex is active any more.

    The functions compute a vertex's bucket (range of priorities), activate waiting vertices, and change the parameters
    that the program's `idle` returns.
    """
    resume_functions = []
    if plan.has_buckets:
        body = [*rendered(plan, loads(plan, "vertex", "bucket")), f"return (long long){call(plan, 'bucket')};"]
        resume_functions.append(function(f"long long bucket{AT_VERTEX}", body))
        fields = read(plan, "vertex", ["bucket"])
        own_parameters = "".join(f", const {warp.ctype(kind_of(plan, field))}& own_{field}" for field in fields)
        lines = [
            f"const long long bucket = (long long){call(plan, 'bucket')};",
            "const bool waits = bucket > c.u.self_bucket;",
            "gasla::u32* word = c.a.waiting + v / gasla::WARP;",
            "if (waits) atomicOr(word, gasla::bit_of(v));",
            "else if (*word & gasla::bit_of(v)) atomicAnd(word, ~gasla::bit_of(v));",
            "return bucket >= 0 && !waits;",
        ]
        resume_functions.append(function(f"bool takes_turn(const Context& c, vertex_t v{own_parameters})", lines))
    if "wake" in plan.functions:
        body = [*rendered(plan, loads(plan, "vertex", "wake")), f"return {call(plan, 'wake')};"]
        resume_functions.append(function(f"bool wake{AT_VERTEX}", body))
        idle_lines = rendered(plan, [Call("idle", "new")]) if plan.changes else []
        resume_functions.append(
            function("void idle(Context& c)", [*idle_lines, *(f"c.u.self_{n} = new_{n};" for n in plan.changes)])
        )
        take_lines = [f"c.u.self_{n} = c.a.fresh ? c.a.self_{n} : c.a.changed->self_{n};" for n in plan.changes]
        resume_functions.append(function("void take_changed(const Context& c)", take_lines))
        leave_lines = [f"c.a.changed->self_{n} = c.u.self_{n};" for n in plan.changes]
        resume_functions.append(function("void leave_changed(const Context& c)", leave_lines))
    return resume_functions


def _phase_functions(plan: GpuPlan) -> list[str]:
    """Return C++ functions for a program that takes turns with other programs in one launch.

    The functions tell which vertices are active when the program starts, and pass fields, parameters and aggregates
    between the programs.
    """
    traced, phase_functions = plan.traced, []
    if "start" in plan.functions:
        body = [*rendered(plan, loads(plan, "vertex", "start")), f"return {call(plan, 'start')};"]
        phase_functions.append(function(f"bool starts{AT_VERTEX}", body))
    take_lines = [f"u.self_{n} = values.self_{n};" for n in plan.shared]
    leave_lines = [
        f"values.self_{n} = sums.sum_{n};" for n in traced.aggregate_types if n in (plan.variant.shared or ())
    ]
    fields = [f"c.a.v_{n}[v] = c.a.v_{n}[c.a.self_n + v];" for n in sorted(plan.doubled)]
    row = "(c.u.self_iteration + 2) % 3"
    deposits = [f"c.a.last_{n}[v] = c.a.to_{n}[{row} * c.a.self_n + v];" for n in traced.deposits]
    return [
        *phase_functions,
        function("void take_shared(Uniform& u, const SharedValues& values)", take_lines),
        function("void leave_shared(const Sums& sums, SharedValues& values)", leave_lines),
        function(f"void settle{AT_VERTEX}", fields),
        function(f"void hand_on{AT_VERTEX}", deposits),
    ]


def _priority_functions(plan: GpuPlan) -> list[str]:
    """Return C++ functions for a vertex's priority, for a given new value and for the current value of its field."""
    is_float = plan.functions["priority"].result.type.kind == "f"
    return_line = f"return {'gasla::ranked' if is_float else ''}((double){call(plan, 'priority')});"
    loads_of_others = [
        Load("vertex", field) for field in read(plan, "vertex", ["priority"]) if field not in plan.absorbs
    ]
    own_lines = [f"const Gathered own_{plan.absorbs[0]} = value;"]
    if plan.is_tuple:
        own_lines = [f"const auto own_{field} = value.item{i};" for i, field in enumerate(plan.absorbs)]
    priority_lines = [*own_lines, *rendered(plan, loads_of_others), return_line]
    current_priority = (
        "gasla::from_ordered(c.a.waits[v])" if plan.waits else f"priority(c, v, {load(plan, plan.absorbs[0])})"
    )
    return [
        function("double priority(const Context& c, vertex_t v, Gathered value)", priority_lines),
        function(f"double priority_of{AT_VERTEX}", [f"return {current_priority};"]),
    ]


def starts(plan: GpuPlan) -> list[str]:
    """Return C++ functions that fill a program's fields with their initial values, and evaluate its mask on these
    values.
    """
    start_functions, lines, original_id = [], [], "c.a.originals[v]" if plan.relabelled else "v"
    for n in plan.starts:
        start_value = f"v == c.a.at_{n} ? c.a.seed_{n} : c.a.start_{n}"
        value_type = plan.traced.vertex_types[n]
        if has_wide(value_type):
            start_value = f"gasla::alike<{cuda.ctype(value_type.scalar)}, {value_type.length}>({start_value})"
        return_line = f"return c.a.from_{n} ? {got(value_type, f'c.a.from_{n}[{original_id}]')} : {start_value};"
        start_functions.append(function(f"{warp.ctype(value_type)} initial_{n}{AT_VERTEX}", [return_line]))
        filled = put(plan, place(plan, n), f"initial_{n}(c, v)")
        lines += [f"if (c.a.fills_{n}) {{ {' '.join(filled)} }}" if plan.wide else f"if (c.a.fills_{n}) {filled[0]}"]
    lines += ["__syncwarp();"] if plan.wide and plan.behind else []
    for n, declared in plan.traced.deposits.items():
        value_type = plan.traced.deposit_types[n]
        identity = literal(declared.monoid.identity(value_type), value_type)
        lines.append(f"for (long long row = 0; row < 3; ++row) c.a.to_{n}[row * c.a.self_n + v] = {identity};")
    start_functions.append(function(f"void fill{AT_VERTEX}", [*lines, *_copy_statements(plan)]))
    if "mask" in plan.functions:
        start_functions.append(_admits_at_start(plan))
    return start_functions


def _admits_at_start(plan: GpuPlan) -> str:
    """Return the C++ function that evaluates the program's mask at a vertex whose fields have just been filled.

    The function takes the initial values themselves, and doesn't read them back from memory.
    """
    lines = []
    for n in read(plan, "vertex", ["mask"]):
        filled = f"c.a.fills_{n} ? initial_{n}(c, v) : " if n in plan.starts else ""
        lines.append(local(plan, "vertex", n, filled + load(plan, n)))
    return function(f"bool admits_at_start{AT_VERTEX}", [*lines, f"return {call(plan, 'mask')};"])
