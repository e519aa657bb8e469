"""Writes the C++ lines with which a program's kernel loads and stores fields and calls the program's functions.

In these lines, `v` is the vertex and `c` the context of the run, which has the kernel's arguments.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gasla.gpu.program.plan import GpuPlan
from gasla.program.statements import Call, Copy, Deposit, Load, LoadEdge, Reduce, Statement, Store, StoreEdge
from semirings.printers import warp
from semirings.types import has_wide

# The fields of these three roles of a vertex are local variables in CUDA, with these prefixes: `own_rank` is the field
# `rank` of `vertex`. The prefix is not `vertex`, because a field `t` would then be `vertex_t`, which is a type. The
# other roles, such as `src`, are structs.
LOCAL = {"vertex": "own", "before": "before", "after": "after"}


def kind_of(plan: GpuPlan, name: str) -> Any:
    """Return the type of a vertex field, given its name. `id`, `in_degree` and `out_degree` count as fields."""
    if name == "id":
        return plan.traced.id_type
    return np.dtype(np.int64) if name in ("in_degree", "out_degree") else plan.traced.vertex_types[name]


def place(plan: GpuPlan, name: str, copy: str = "old") -> str:
    """Return the C++ lvalue, such as an entry of an array, that holds a field of vertex `v`.

    If the field has two copies, `copy` says which one: "old" for the value before the iteration, or "new".
    """
    if name not in plan.doubled:
        return f"c.a.v_{name}[v]"
    if plan.variant.small:
        # The sum is in 32 bits, which is faster, because the arrays of a small graph are short enough.
        return f"c.a.v_{name}[c.u.{copy}_at + v]"
    return f"(c.a.v_{name} + c.u.{copy}_at)[v]"


def load(plan: GpuPlan, name: str, copy: str = "old") -> str:
    """Return the C++ expression that reads a field of vertex `v`, given the field's name, which may be "id" or a
    degree.

    If the field has two copies, `copy` says which one: "old" for the value before the iteration, or "new".
    """
    original_id = "c.a.originals[v]" if plan.relabelled else "v"
    if name == "id":
        return original_id
    if name in ("in_degree", "out_degree"):
        p = f"c.a.{name[:-7]}_p"
        return f"(long long)({p}[{original_id} + 1] - {p}[{original_id}])"
    return got(kind_of(plan, name), place(plan, name, copy))


def got(kind: Any, where: str) -> str:
    """Return the C++ expression that reads a value of type `kind` at `where`, a C++ lvalue.

    If the value is a wide vector, a whole warp reads it together, and each thread gets some of its items.
    """
    return f"gasla::get(&{where})" if has_wide(kind) else where


def put(plan: GpuPlan, where: str, value: str) -> list[str]:
    """Return C++ statements that write `value` to `where`, which are a C++ expression and an lvalue.

    In a program with wide vectors, a whole warp runs the statements. It waits until all of its threads have read the
    old value. Then one thread writes a number, and all threads write a vector together.
    """
    return ["__syncwarp();", f"gasla::put(&{where}, {value});"] if plan.wide else [f"{where} = {value};"]


def load_edge(plan: GpuPlan, load: LoadEdge, side: str) -> str:
    """Return the C++ expression for what a program reads of an edge, or of its partner, the reverse edge.

    In the expression, `e` is the edge's position in the adjacency lists of a `side`: "g" for the lists over which
    vertices gather, "s" for those along which they send.
    """
    name, is_back = load.field, load.role == "back"
    edge_number = f"c.a.{side}b[e]" if is_back else f"(c.a.{side}e ? c.a.{side}e[e] : e)"
    if name == "id":
        return f"(long long){edge_number}"
    if name == "leaves":
        return "!c.a.leaving[e]" if side == "g" else "c.a.leaving[e]"
    if name in plan.edge_values and not is_back:
        return f"c.a.{side}v_{name}[e]"
    array = "value" if name not in plan.edge_states else "was" if load.copy == "before" else "e"
    return got(plan.traced.edge_types[name], f"c.a.{array}_{name}[{edge_number}]")


def edge_member(role: str, field: str) -> str:
    """Return the name under which a C++ struct holds a field of an edge, or of the edge's partner (the reverse edge).

    The `role` is "edge" for the edge itself, and "back" for its partner.
    """
    return f"b_{field}" if role == "back" else f"f_{field}"


def call(plan: GpuPlan, name: str) -> str:
    """Return the C++ call of one of the program's functions, such as `apply`, with all values that it reads as
    arguments.
    """
    arguments = []
    for symbol in plan.functions[name].symbols:
        source_role, field = plan.functions[name].sources[symbol.name]
        if source_role == "self":
            arguments.append(of_run(plan, field))
        elif source_role == "other":
            arguments.append(copy_of(plan, name, field))
        elif source_role == "":
            arguments.append(field)
        elif source_role in LOCAL:
            arguments.append(f"{LOCAL[source_role]}_{field}")
        elif source_role in ("edge", "back"):
            arguments.append(f"edge.{edge_member(source_role, field)}")
        else:
            arguments.append(f"{source_role}.f_{field}")
    return f"{plan.functions[name].printed}({', '.join(arguments)})"


def copy_of(plan: GpuPlan, function: str, field: str) -> str:
    """Return the C++ expression for the array in which `self.at` of a program's function looks up a field of other
    vertices.

    A field may have several arrays, such as the values before and after an iteration. The result depends on when the
    function runs.
    """
    rows = {"only": "", "behind": "", "old": " + c.u.old_at", "next": " + (c.u.self_iteration & 1) * c.a.self_n"}
    rows["left"] = " + (1 - (c.u.self_iteration & 1)) * c.a.self_n"
    rows["reduced"] = " + (c.u.self_iteration % 3) * c.a.self_n"
    rows["reduced before"] = " + ((c.u.self_iteration + 2) % 3) * c.a.self_n"
    copy_name = plan.where_found(function, field)
    if field in plan.traced.deposits:
        return f"c.a.to_{field}{rows[copy_name]}"
    return f"c.a.{'was' if copy_name == 'behind' else 'v'}_{field}{rows[copy_name]}"


def of_run(plan: GpuPlan, name: str) -> str:
    """Return the C++ expression for what a program reads as `self.name`, such as a parameter or an aggregate."""
    is_given = name in plan.traced.parameter_types and name not in plan.changes and name not in plan.shared
    return f"c.a.self_{name}" if is_given or name == "n" else f"c.u.self_{name}"


def local(plan: GpuPlan, role: str, field: str, value: str) -> str:
    """Return the C++ declaration of a local variable that holds `field` of a vertex, with the initializer `value`.

    The variable's name also has the `role` of the vertex, such as "before" for the state before `apply`.
    """
    return f"const {warp.ctype(kind_of(plan, field))} {LOCAL[role]}_{field} = {value};"


def rendered(plan: GpuPlan, statements: Iterable[Statement], side: str = "s") -> list[str]:
    """Return the C++ lines for statements (loads, calls and stores) about the vertex `v` and one of its edges.

    In these lines, `e` is the edge's position in the adjacency lists of a `side`: "g" for the lists over which vertices
    gather, "s" for those along which they send.
    """
    return [line for statement in statements for line in _render(plan, statement, side)]


def _render(plan: GpuPlan, statement: Statement, list_side: str) -> list[str]:
    match statement:
        case Load("src" | "dst" as role, field, copy):
            return [f"{role}.f_{field} = {load(plan, field, copy)};"]
        case Load(role, field, copy):
            return [local(plan, role, field, load(plan, field, copy))]
        case LoadEdge(field, role):
            return [f"edge.{edge_member(role, field)} = {load_edge(plan, statement, list_side)};"]
        case Copy(role, field, of):
            return [local(plan, role, field, f"{LOCAL[of]}_{field}")]
        case Call(name, role):
            return _call_and_assign(plan, name, role)
        case Store(field):
            return put(plan, place(plan, field, "new"), f"after_{field}")
        case StoreEdge(field):
            return put(plan, f"c.a.e_{field}[c.a.se ? c.a.se[e] : e]", f"result_{field}")
        case Deposit(name, is_first):
            row = "2" if is_first else "c.u.self_iteration % 3"
            is_inside = f"(gasla::u64)put_{name}.item0 < (gasla::u64)c.a.self_n"
            is_inside = f"gasla::lane() == 0 && {is_inside}" if plan.wide else is_inside
            entry_address = f"c.a.to_{name} + ({row}) * c.a.self_n + put_{name}.item0"
            named = f"const auto put_{name} = {call(plan, name)};"
            return [named, f"if ({is_inside}) deposit_{name}({entry_address}, put_{name}.item1);"]
        case Reduce(name) if plan.wide:
            combined_text = f"combine_{name}(c.sums.sum_{name}, given_{name})"
            once = f"if (gasla::lane() == 0) c.sums.sum_{name} = {combined_text};"
            return [f"const auto given_{name} = {call(plan, name)};", once]
        case Reduce(name):
            return [f"c.sums.sum_{name} = combine_{name}(c.sums.sum_{name}, {call(plan, name)});"]


def _call_and_assign(plan: GpuPlan, name: str, state_role: str) -> list[str]:
    """Return C++ statements that call one of the program's functions, and store its results in local variables.

    There is a variable for each field that the function returns, named after `state_role` (such as "after") and the
    field.
    """
    field_types = {field: warp.ctype(value.type) for field, value in plan.functions[name].result.items()}
    if len(field_types) == 1:
        return [
            f"const {type_name} {state_role}_{field} = {call(plan, name)};" for field, type_name in field_types.items()
        ]
    result_lines = [
        f"const {type_name} {state_role}_{field} = results.item{i};"
        for i, (field, type_name) in enumerate(field_types.items())
    ]
    return [f"const auto results = {call(plan, name)};", *result_lines]
