"""The program's functions: loads of the fields that they read, their calls, and stores of their results.

`run` is the only place that generates code for the statements of `gasla.program.statements`. Locals have the names of
the functions' parameters: `src_level` is the field `level` of an edge's source.
"""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.atomics import copy_lanes, improve_
from gasla.cpu.program.specialize import local, plan
from gasla.cpu.runtime.intrinsics import load_unordered, store_unordered
from gasla.program.statements import Call, Copy, Deposit, Load, LoadEdge, Reduce, Store, StoreEdge
from semirings import VectorType
from semirings.types import has_wide


def call(function):
    """Call one of the program's functions with what has been loaded."""
    return plan.call(function)


def load(role, at, *functions, copy="old", but="", number=None):
    """Load the fields that functions read of the vertex `at`, except those that `but` has read already."""
    run(plan.loads(role, *functions, copy=copy, but=but), at, number=number)


def load_edge(side, place, *functions, but="", number=None):
    """Load the fields that functions read of the edge at a position of the lists to gather (`g`) or to send (`s`)."""
    run(plan.edge_loads(*functions, but=but), side=side, place=place, number=number)


def run(statements, at="", side="s", place="", number=None):
    """Run statements for the vertex `at`, and for the edge at a position (`place`) of one side's lists."""
    for statement in statements:
        match statement:
            case Load(role, field, copy):
                local[role, field, number] = vertex_field(field, at, copy)
            case LoadEdge(field, role, copy):
                local[role, field, number] = edge_field(field, side, place, role, copy)
            case Copy(role, field, of):
                local[role, field] = local[of, field]
            case Call(function, role):
                local[role, plan.returned(function)] = call(function)
            case Store(field):
                store(row(field, "new"), plan.vertex_type(field), at, local["after", field], field in plan.racing)
            case StoreEdge(field):
                store(e_[field], plan.edge_type(field), np.uintp(local[side + "e"][place]), local["result", field])
            case Deposit(name, is_first):
                deposit(name, 2 if is_first else self_iteration % 3)
            case Reduce(name):
                if plan.sums_in_order:
                    term_[name][at] = call(name)
                else:
                    sum_[name] = combine_[name](sum_[name], call(name))


def deposit(name, row):
    """Reduce a value into an aggregate at another vertex."""
    place_[name], given_[name] = call(name)
    if np.uint64(place_[name]) < np.uint64(self_n):
        improve_[name](to_[name][row], np.uint64(place_[name]), given_[name], threads > 1)


def row(field, copy):
    """The array of a field; of a field with two copies, the "old" or the "new" one."""
    return local[copy, field] if field in plan.doubled else v_[field]


def vertex_field(field, at, copy="old"):
    """The value of a field of the vertex `at`."""
    if field == "id":
        return plan.id_type(at)
    if field == "in_degree":
        return np.int64(in_p[at + one] - in_p[at])
    if field == "out_degree":
        return np.int64(out_p[at + one] - out_p[at])
    return item(row(field, copy), plan.vertex_type(field), at, field in plan.racing)


def edge_field(field, side, place, role="edge", copy="now"):
    """The value of a field of the edge at a position of one side's lists, or of its partner."""
    if field == "id":
        return np.int64(edge_number(side, place, role))
    if field == "leaves":
        return leaving[place] if side == "s" else not leaving[place]
    if role == "edge" and field in plan.edge_values:
        return local[side + "v", field][place]
    if field not in plan.edge_states:
        return item(value_[field], plan.edge_type(field), np.uintp(edge_number(side, place, role)))
    return item(
        was_[field] if copy == "before" else e_[field],
        plan.edge_type(field),
        np.uintp(edge_number(side, place, role)),
    )


def edge_number(side, place, role):
    """The number of the edge, or of its partner, in the order of the input."""
    return local[side + ("b" if role == "back" else "e")][place]


def item(array, kind, at, races=False):
    """An item of an array; vectors become tuples, wide ones stay in place. `races`: other threads may write it."""
    if has_wide(kind):
        return array[at]
    if isinstance(kind, VectorType):
        if races:
            return tuple(load_unordered(array[at], i) for i in range(kind.length))
        return tuple(array[at, i] for i in range(kind.length))
    return load_unordered(array, at) if races else array[at]


def store(array, kind, at, value, races=False):
    """Set an item of an array. `races`: other threads may read or write it."""
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
