"""Writes C++ functions that reduce gathered values, one after the other or by atomic operations, and aggregates."""

from gasla.gpu.program.generate.atomics import accumulated, differs, improved, improves, native
from gasla.gpu.program.generate.keyed import by_key
from gasla.gpu.program.generate.rendering import call, got, put, rendered
from gasla.gpu.program.generate.syntax import function, literal
from gasla.gpu.program.plan import GpuPlan
from gasla.program.statements import Deposit, Reduce, observed
from semirings.printers import cuda


def reduction(plan: GpuPlan) -> list[str]:
    """Return the C++ functions of a program's reduction: they compute the value that a vertex gathers over one edge,
    combine two such values, and store and send the result.
    """
    edge = "const Context& c, const Source& src, const Target& dst, const Edge& edge"
    edge_mask = call(plan, "edge_mask") if "edge_mask" in plan.functions else "true"
    reduction_functions = [function(f"bool edge_mask({edge})", [f"return {edge_mask};"])]
    if plan.keyed is not None and plan.traced.monoid is not None:
        return [
            *reduction_functions,
            *by_key(plan, plan.keyed, plan.traced.monoid),
            *(_store_and_load(plan) if plan.keeps else []),
        ]
    reduction_functions.append(
        function(f"Gathered gather({edge})", [f"return {call(plan, 'gather') if plan.gathers else 0};"])
    )
    if not plan.gathers:
        reduction_functions.append(function("Gathered identity()", ["return 0;"]))
        reduction_functions.append(function("Gathered take_back(const Context& c, vertex_t v)", ["return 0;"]))
        reduction_functions.append(
            function("void put_aside(const Context& c, vertex_t v, const Gathered& gathered)", [])
        )
        return reduction_functions
    value_type, monoid = plan.traced.gathered_type, plan.traced.monoid
    assert monoid is not None
    identity = "identity_()" if plan.wide else literal(monoid.identity(value_type), value_type)
    reduction_functions.append(function("Gathered identity()", [f"return {identity};"]))
    combine_line = "return combine_(x, y);"
    reduction_functions.append(function("Gathered combine(const Gathered& x, const Gathered& y)", [combine_line]))
    over = "return false;" if plan.final is None else "return is_terminal_(x);"
    reduction_functions.append(function("bool is_terminal(const Gathered& x)", [over]))
    reduction_functions += _store_and_load(plan) if plan.keeps else []
    reduction_functions += _piece_functions(plan) if plan.wide and plan.partitions_rows else []
    if plan.absorbs:
        reduction_functions += _improve_functions(plan)
    elif plan.pushes and not plan.takes_first:
        reduction_functions.append(_accumulate_function(plan))
    return reduction_functions


def _store_and_load(plan: GpuPlan) -> list[str]:
    """Return C++ functions that store a vertex's gathered value in memory, and load it again later in the iteration.

    If the value is a tuple, each of its items has an array of its own.
    """
    array_entries = [(f"c.a.{name}[v]", value_type) for name, value_type in plan.components]
    if plan.is_tuple:
        stores = [line for i, (entry, _) in enumerate(array_entries) for line in put(plan, entry, f"gathered.item{i}")]
        load = f"return Gathered{{{', '.join(got(value_type, entry) for entry, value_type in array_entries)}}};"
    else:
        ((entry, value_type),) = array_entries
        stores, load = put(plan, entry, "gathered"), f"return {got(value_type, entry)};"
    return [
        function("void put_aside(const Context& c, vertex_t v, const Gathered& gathered)", stores),
        function("Gathered take_back(const Context& c, vertex_t v)", [load]),
    ]


def _piece_functions(plan: GpuPlan) -> list[str]:
    """Return C++ functions that store the reduction of a piece of a long row, and load it again.

    Several warps reduce the pieces of one row, and the results of the pieces are then combined.
    """
    items = [f".item{i}" for i in range(len(plan.components))] if plan.is_tuple else [""]
    written = [f"gasla::put(&(*to){item}, x{item});" for item in items]
    read = ", ".join(f"gasla::get_fresh(&(*from){item})" for item in items)
    return [
        function("void put_whole(Whole* to, const Gathered& x)", written),
        function(
            "Gathered get_whole(const Whole* from)", [f"return {f'Gathered{{{read}}}' if plan.is_tuple else read};"]
        ),
    ]


def _accumulate_function(plan: GpuPlan) -> str:
    """Return the C++ function that reduces a pushed value into the accumulator of a vertex by an atomic operation."""
    if not plan.is_single:
        body = accumulated(plan)
    elif native(plan.parts[0].combined) == "add":
        body = ["gasla::add(c.a.acc + v, value);"]
    else:
        set_wanted = "" if plan.final is None else "wanted = !is_terminal_(old); "
        change = f"[&](Gathered old, bool& wanted) {{ {set_wanted}return combine_(old, value); }}"
        body = [f"gasla::update(c.a.acc + v, {change});"]
    return function("void accumulate(const Context& c, vertex_t v, Gathered value)", body)


def _improve_functions(plan: GpuPlan) -> list[str]:
    """Return two C++ functions for a program whose gathered values are reduced directly into fields of the receiver.

    `improves` returns whether a value would change the fields of a vertex. `improve` reduces the value into the fields
    by atomic operations, and returns whether the fields have changed.
    """
    signatures = (
        "bool improves(const Context& c, vertex_t v, Gathered value)",
        "bool improve(const Context& c, vertex_t v, Gathered& value)",
    )
    if not plan.is_single:
        return [function(signatures[0], improves(plan)), function(signatures[1], improved(plan))]
    combine_expr, field_array = plan.parts[0].combined, f"c.a.v_{plan.absorbs[0]}"
    next_value, name = "const Gathered next = combine_(old, value);", native(combine_expr)
    if name in ("min", "max"):
        body = [f"return gasla::improve_{name}({field_array} + v, value);"]
    else:
        body = [
            "bool changed = false;",
            f"gasla::update({field_array} + v, [&](Gathered old, bool& wanted) {{",
            f"    {next_value}",
            f"    wanted = changed = {differs(combine_expr)};",
            "    if (wanted) value = next;",
            "    return next;",
            "});",
            "return changed;",
        ]
    better = [f"const Gathered old = {field_array}[v];", next_value, f"return {differs(combine_expr)};"]
    return [function(signatures[0], better), function(signatures[1], body)]


def aggregates(plan: GpuPlan) -> list[str]:
    """Return C++ functions for a program's aggregates, which are reductions over all vertices.

    The functions combine two values of each aggregate, store the totals where the next iteration reads them, and
    compute the aggregates of the initial fields.
    """
    names = list(plan.traced.aggregates)
    add = ", ".join(f"combine_{n}(x.sum_{n}, y.sum_{n})" for n in names)
    aggregate_functions = []
    if are_paired(plan):
        aggregate_functions.append(f"typedef {cuda.ctype(plan.traced.aggregate_types[names[0]])} Sum;")
        aggregate_functions.append(
            function("Sum add_sum(const Sum& x, const Sum& y)", [f"return combine_{names[0]}(x, y);"])
        )
    first_deposits = [Deposit(name, is_first=True) for name in plan.traced.deposits]
    start = rendered(plan, [*observed(plan), *map(Reduce, names), *first_deposits])
    return [
        *aggregate_functions,
        *(_deposit_function(plan, name) for name in plan.traced.deposits),
        *([_clear_function(plan)] if plan.traced.deposits else []),
        function("Sums add_sums(const Sums& x, const Sums& y)", [f"return Sums{{{add}}};"]),
        function("void take_sums(Context& c, const Sums& total)", [f"c.u.self_{n} = total.sum_{n};" for n in names]),
        function("void aggregate_start(Context& c, vertex_t v)", start),
    ]


def _deposit_function(plan: GpuPlan, name: str) -> str:
    """Return the C++ function that reduces a value into one entry of an aggregate that has a value per vertex.

    The function uses an atomic operation, because several threads may reduce into the same entry.
    """
    value_type, monoid = plan.traced.deposit_types[name], plan.traced.deposits[name].monoid
    typed = cuda.ctype(value_type)
    match native(monoid.combination(value_type)):
        case "add":
            line = "gasla::add(at, value);"
        case "min" | "max" as operator:
            line = f"gasla::improve_{operator}(at, value);"
        case _:
            line = f"gasla::update(at, [&]({typed} old, bool&) {{ return combine_{name}(old, value); }});"
    return function(f"void deposit_{name}({typed}* at, {typed} value)", [line])


def _clear_function(plan: GpuPlan) -> str:
    """Return the C++ function that prepares one vertex's entries of the aggregates with a value per vertex.

    The function sets these entries to the identity of the reduction, for the next iteration.
    """
    lines = []
    for name, declared in plan.traced.deposits.items():
        value_type = plan.traced.deposit_types[name]
        row = f"c.a.to_{name}[(c.u.self_iteration + 1) % 3 * c.a.self_n + v]"
        lines.append(f"{row} = {literal(declared.monoid.identity(value_type), value_type)};")
    return function("void clear_deposits(const Context& c, gasla::u64 v)", lines)


def are_paired(plan: GpuPlan) -> bool:
    """Return whether a program has exactly two aggregates, of the same type, with the same commutative monoid.

    Each half of a warp then reduces one of them, which saves half of the shuffles.
    """
    types_and_monoids = {
        (value_type, plan.traced.aggregates[n].monoid) for n, value_type in plan.traced.aggregate_types.items()
    }
    return (
        len(plan.traced.aggregates) == 2
        and len(types_and_monoids) == 1
        and all(monoid.commutative for _, monoid in types_and_monoids)
    )
