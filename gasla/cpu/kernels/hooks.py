"""Calls of the program's own functions: load the fields that they read, call them, and store their results.

Only `perform` handles the statements of `gasla.program.statements`. Local variables have the names of the functions'
parameters. For example, `src_level` is the field `level` of an edge's source.
"""

import numpy as np

from gasla.cpu.kernels.atomics import copy_lanes, improve
from gasla.cpu.kernels.record import Pass, Run, plan
from gasla.cpu.runtime.intrinsics import ONE, load_unordered, store_unordered
from gasla.program.statements import Call, Copy, Deposit, Load, LoadEdge, Reduce, Store, StoreEdge
from semirings import VectorType
from semirings.types import has_wide


def call(run: Run, function):
    """Call one of the program's functions with fields that have been loaded into local variables before.

    Return its result. A wide vector (one too long for registers) is stored in a row of a scratch array instead.
    """
    return run.local[plan.functions[function].printed](
        *tuple(argument(run, function, name, field) for name, field in plan.passed(function)), *scratch(run, function)
    )


def argument(run: Run, function, name, field):
    """Return the argument for one parameter (`name`) of a function of the program.

    If the function may read the vertex field `field` at any vertex, this is the field's whole array, and else a local
    variable.
    """
    return run.local[name] if field is None else copy_of(run, function, field)


def scratch(run: Run, function):
    """Return this thread's rows of the scratch arrays in which a function stores the wide vectors that it returns."""
    return tuple(run.local["scratch", name][run.thread] for name in plan.returns_wide(function))


def copy_of(run: Run, function, field):
    """Return the array from which a function of the program reads a field of any vertex.

    A field may have several copies, such as its old and its new values.
    """
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
    """Return the gathered value of a vertex that has no edges, or None if the program gathers nothing."""
    if not plan.gathers:
        return None
    if plan.is_wide and plan.keyed is None:
        return run.nothing(*scratch(run, "gather"))
    return plan.gathered_identity


def part_of(value, part):
    """Return one part (a single number) of a gathered value: an item of a tuple, a lane of a vector, or the value
    itself.

    `part` says which item and which lane.
    """
    if part.item is None:
        return value if part.lane is None else value[part.lane]
    return value[part.item] if part.lane is None else value[part.item][part.lane]


def place_of(array, v, part):
    """Return an array, and the index in it, at which an atomic operation finds one number of the value of vertex `v`.

    `array` has the values of all vertices. If they are vectors, `part` says which lane (number of the vector) is meant.
    """
    return (array, v) if part.lane is None else (array[v], part.lane)


def load(run: Pass, role, at, *functions, copy="old", but="", number=None):
    """Load the fields of the vertex `at` that some functions of the program read, into local variables.

    `role` is what the vertex is to these functions, such as "src". Fields that the function `but` reads as well are
    left out, because they have been loaded already.
    """
    perform(run, plan.loads(role, *functions, copy=copy, but=but), at, number=number)


def load_edge(run: Pass, side, place, *functions, but="", number=None):
    """Load the fields of an edge that some functions of the program read, into local variables.

    The edge is given by its position `place` in the adjacency lists to gather (side "g") or to send (side "s").
    """
    perform(run, plan.edge_loads(*functions, but=but), side=side, place=place, number=number)


def perform(run: Pass, statements, at="", side="s", place="", number=None):
    """Emit code for statements such as the load of a field, the call of a function of the program, or the store of a
    result.

    The statements are about the vertex `at`, or about the edge at position `place` of the adjacency lists to gather
    (`side` "g") or to send (`side` "s").
    """
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
    """Reduce a value into an aggregate that has a value for each vertex, at the vertex that the program chooses.

    The program's function for the aggregate `name` returns the id of that vertex, and the value. Ids out of range are
    ignored. `row` is the row of the aggregate's array to write to.
    """
    run.local["place", name], run.local["given", name] = call(run, name)
    if np.uint64(run.local["place", name]) < np.uint64(run.self_n):
        improve(
            run, name, run.to[name][row], np.uint64(run.local["place", name]), run.local["given", name], run.threads > 1
        )


def row(run: Pass, field, copy):
    """Return the array of a vertex field.

    If the field has two copies, return the one named by `copy`, "old" or "new".
    """
    return run.local[copy, field] if field in plan.doubled else run.v[field]


def vertex_field(run: Pass, field, at, copy="old"):
    """Return the value of a field of the vertex `at`, or its id or degree, which are read like fields.

    If the field has two copies, `copy` ("old" or "new") says which one to read.
    """
    if field == "id":
        return plan.id_type(at)
    if field == "in_degree":
        return np.int64(run.in_p[at + ONE] - run.in_p[at])
    if field == "out_degree":
        return np.int64(run.out_p[at + ONE] - run.out_p[at])
    return item(row(run, field, copy), plan.vertex_type(field), at, field in plan.racing)


def edge_field(run: Pass, field, side, place, role="edge", copy="now"):
    """Return the value of a field of an edge, or of its reverse edge if `role` is "back".

    The edge is at position `place` in the adjacency lists to gather (`side` "g") or to send (`side` "s").
    """
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
    """Return the number of an edge, or of its reverse edge if `role` is "back", in the order in which the user gave the
    edges.

    The edge is at position `place` in the adjacency lists to gather (`side` "g") or to send (`side` "s").
    """
    return run.local[side + ("b" if role == "back" else "e")][place]


def item(array, kind, at, races=False):
    """Return the item at index `at` of an array whose items have the type `kind`, such as the value of a vertex field.

    A short vector becomes a tuple, and a wide vector a row of the array. `races` says that other threads may write the
    item meanwhile, so that it is read atomically.
    """
    if has_wide(kind):
        return array[at]
    if isinstance(kind, VectorType):
        if races:
            return tuple(load_unordered(array[at], i) for i in range(kind.length))
        return tuple(array[at, i] for i in range(kind.length))
    return load_unordered(array, at) if races else array[at]


def store(array, kind, at, value, races=False):
    """Set the item at index `at` of an array whose items have the type `kind`, such as the value of a vertex field.

    The value is a number, a short vector given as a tuple, or a wide vector. `races` says that other threads may read
    or write the item meanwhile, so that it is written atomically.
    """
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
