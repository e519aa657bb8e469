"""Call the program's functions: load the fields that they read, and store their results.

Only `perform` generates code for the statements of `gasla.program.statements`. Local variables have the names of the
functions' parameters: `src_level` is the field `level` of an edge's source.
"""

import numpy as np

from gasla.cpu.kernels.atomics import copy_lanes, improve
from gasla.cpu.kernels.record import Pass, Run, plan
from gasla.cpu.runtime.intrinsics import ONE, load_unordered, store_unordered
from gasla.program.statements import Call, Copy, Deposit, Load, LoadEdge, Reduce, Store, StoreEdge
from semirings import VectorType
from semirings.types import has_wide


def call(run: Run, function):
    """Call one of the program's functions with the fields loaded before. It returns wide vectors in scratch rows."""
    return run.local[plan.functions[function].printed](
        *tuple(argument(run, function, name, field) for name, field in plan.passed(function)), *scratch(run, function)
    )


def argument(run: Run, function, name, field):
    """Return the local variable of a parameter, or the array of a field that is read of any vertex."""
    return run.local[name] if field is None else copy_of(run, function, field)


def scratch(run: Run, function):
    """Return the thread's scratch rows for the wide vectors that a function returns, in order."""
    return tuple(run.local["scratch", name][run.thread] for name in plan.returns_wide(function))


def copy_of(run: Run, function, field):
    """Return the array from which a function reads a field of any vertex."""
    match plan.where_found(function, field):
        case "old":
            return run.old[field]
        case "left":
            return run.v[field][1 - (run.self_iteration & 1)]
        case "only":
            return run.v[field]
        case "behind":
            return run.was[field]
        case "next":
            return run.v[field][run.self_iteration & 1]
        case "reduced":
            return run.to[field][run.self_iteration % 3]
        case "reduced before":
            return run.to[field][(run.self_iteration + 2) % 3]


def identity(run: Run):
    """Return the gathered value of a vertex without edges."""
    if not plan.gathers:
        return None
    if plan.is_wide and plan.keyed is None:
        return run.nothing(*scratch(run, "gather"))
    return plan.gathered_identity


def part_of(value, part):
    """Return a part of a gathered value: an item, a lane of an item, or the value itself."""
    if part.item is None:
        return value if part.lane is None else value[part.lane]
    return value[part.item] if part.lane is None else value[part.item][part.lane]


def place_of(array, v, part):
    """Return the array and the index of a part of vertex `v`, as arguments of atomic operations."""
    return (array, v) if part.lane is None else (array[v], part.lane)


def load(run: Pass, role, at, *functions, copy="old", but="", number=None):
    """Load the fields of the vertex `at` that functions read, except the fields in `but`, which are loaded already."""
    perform(run, plan.loads(role, *functions, copy=copy, but=but), at, number=number)


def load_edge(run: Pass, side, place, *functions, but="", number=None):
    """Load the fields that functions read of the edge at a position of the lists to gather (`g`) or to send (`s`)."""
    perform(run, plan.edge_loads(*functions, but=but), side=side, place=place, number=number)


def perform(run: Pass, statements, at="", side="s", place="", number=None):
    """Run statements for the vertex `at`, and for the edge at a position (`place`) of one side's lists."""
    for statement in statements:
        match statement:
            case Load(role, field, copy):
                run.local[role, field, number] = vertex_field(run, field, at, copy)
            case LoadEdge(field, role, copy):
                run.local[role, field, number] = edge_field(run, field, side, place, role, copy)
            case Copy(role, field, of):
                run.local[role, field] = run.local[of, field]
            case Call(function, role):
                run.local[role, plan.returned(function)] = call(run, function)
            case Store(field):
                store(
                    row(run, field, "new"), plan.vertex_type(field), at, run.local["after", field], field in plan.racing
                )
            case StoreEdge(field):
                store(
                    run.e[field],
                    plan.edge_type(field),
                    np.uintp(run.local[side + "e"][place]),
                    run.local["result", field],
                )
            case Deposit(name, is_first):
                deposit(run, name, 2 if is_first else run.self_iteration % 3)
            case Reduce(name):
                if plan.sums_in_order:
                    run.term[name][at] = call(run, name)
                else:
                    run.sum_[name] = run.combine[name](run.sum_[name], call(run, name))


def deposit(run: Pass, name, row):
    """Reduce a value into an aggregate at another vertex."""
    run.local["place", name], run.local["given", name] = call(run, name)
    if np.uint64(run.local["place", name]) < np.uint64(run.self_n):
        improve(
            run, name, run.to[name][row], np.uint64(run.local["place", name]), run.local["given", name], run.threads > 1
        )


def row(run: Pass, field, copy):
    """Return the array of a field, or the "old" or the "new" copy of a field with two copies."""
    return run.local[copy, field] if field in plan.doubled else run.v[field]


def vertex_field(run: Pass, field, at, copy="old"):
    """Return the value of a field of the vertex `at`."""
    if field == "id":
        return plan.id_type(at)
    if field == "in_degree":
        return np.int64(run.in_p[at + ONE] - run.in_p[at])
    if field == "out_degree":
        return np.int64(run.out_p[at + ONE] - run.out_p[at])
    return item(row(run, field, copy), plan.vertex_type(field), at, field in plan.racing)


def edge_field(run: Pass, field, side, place, role="edge", copy="now"):
    """Return the value of a field of the edge at a position of one side's lists, or of its reverse edge."""
    if field == "id":
        return np.int64(edge_number(run, side, place, role))
    if field == "leaves":
        return run.leaving[place] if side == "s" else not run.leaving[place]
    if role == "edge" and field in plan.edge_values:
        return run.local[side + "v", field][place]
    if field not in plan.edge_states:
        return item(run.value[field], plan.edge_type(field), np.uintp(edge_number(run, side, place, role)))
    return item(
        run.was[field] if copy == "before" else run.e[field],
        plan.edge_type(field),
        np.uintp(edge_number(run, side, place, role)),
    )


def edge_number(run: Pass, side, place, role):
    """Return the number of the edge, or of its reverse edge, in the order of the input."""
    return run.local[side + ("b" if role == "back" else "e")][place]


def item(array, kind, at, races=False):
    """Return an item of an array. Vectors become tuples, but wide vectors stay in place.

    `races` says that other threads may write the item.
    """
    if has_wide(kind):
        return array[at]
    if isinstance(kind, VectorType):
        if races:
            return tuple(load_unordered(array[at], i) for i in range(kind.length))
        return tuple(array[at, i] for i in range(kind.length))
    return load_unordered(array, at) if races else array[at]


def store(array, kind, at, value, races=False):
    """Set an item of an array. `races` says that other threads may read or write it."""
    if has_wide(kind):
        copy_lanes(array[at], value, kind.length)
    elif isinstance(kind, VectorType):
        for i in range(kind.length):
            if races:
                store_unordered(array[at], i, value[i])
            else:
                array[at, i] = value[i]
    elif races:
        store_unordered(array, at, value)
    else:
        array[at] = value
