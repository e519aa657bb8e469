"""Tracing: each function of a program is called once, with symbols in place of values.

It returns typed expressions of these symbols. Engines see only these expressions, not the function itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import semirings
from gasla.names import given, inner
from gasla.program.fields import (
    ID,
    Aggregate,
    Declared,
    as_index,
    check_lanes,
    check_length,
    check_missing,
    check_other,
    check_parameters,
    check_start,
    refuse_degree,
    refuse_others,
)
from gasla.program.hooks import ALONG, BETWEEN, HOOKS, REVISING, WRITING
from gasla.program.records import Lazy, Record
from gasla.program.reductions.keys import Keyed, as_keyed, check_values, key_type
from semirings import Expr, Held, Monoid, Symbol, TupleType, VectorType
from semirings.advice import monoid_for
from semirings.expr import cast_expr, load
from semirings.types import computed, has_wide


@dataclass(frozen=True)
class Function:
    """A traced function of a program, such as `gather`: its result as expressions, and what the symbols mean."""

    name: str
    result: Any  # the returned value: an expression, a tuple of expressions, or a dict of expressions by field
    symbols: tuple[Symbol, ...]
    # for each symbol's name, the argument ("src", "self", …) and its field for which the symbol stands
    sources: Mapping[str, tuple[str, str]] = field(hash=False)
    is_aggregate: bool = False

    @property
    def printed(self) -> str:
        """The name that the function has in generated C++ or LLVM source."""
        return f"measure_{self.name}" if self.is_aggregate else f"{self.name.replace('_', '')}_"

    def reads(self, role: str) -> set[str]:
        """Return the names of the fields that the function reads of an argument, such as "src"."""
        return {f for s in self.symbols for source_role, f in [self.sources[s.name]] if source_role == role}


@dataclass(frozen=True)
class Traced:
    """A program as an engine sees it, for one dtype of vertex ids: typed fields, and functions as expressions.

    Here and in all engines, fields, parameters and aggregates are called by their inner names (see `gasla.names`).
    """

    program: type[Declared]
    id_type: np.dtype
    vertex_types: Mapping[str, Any]
    edge_types: Mapping[str, Any]
    parameter_types: Mapping[str, Any]
    aggregate_types: Mapping[str, np.dtype]
    aggregates: Mapping[str, Aggregate]
    deposits: Mapping[str, Aggregate]  # aggregates that have a value for each vertex (declared with `at=`)
    deposit_types: Mapping[str, np.dtype]
    functions: Mapping[str, Function]
    keyed: Keyed | None = None  # the types of a program that reduces by key, else None
    # If `reduce` combines values in another form, such as a more precise one: how values are converted to it and back.
    # Otherwise None.
    held: Held | None = None

    @property
    def monoid(self) -> Monoid | None:
        """The monoid that reduces gathered values, or None if the program gathers nothing.

        If values are converted to another form to be reduced, it is the monoid of this form.
        """
        reduce = self.program.reduce if self.held is None else self.held.monoid
        return reduce if "gather" in self.functions else None

    @property
    def gathered_type(self) -> Any:
        return _type_of_result(self.functions["gather"].result) if self.keyed is None else self.keyed.gathered_type

    def bounds(self, name: str) -> Mapping[str, tuple[int, int]]:
        """Return the range of each symbol in a traced function that stands for an id or a count: its smallest and
        largest value.

        `name` is the function.
        """
        # the largest values: iterations are numbered from 0, and engines allow at most 2**31 - 1 of them
        # (`schedule.MOST`)
        largest_values = {"id": int(np.iinfo(self.id_type).max) - 1, "iteration": 2**31 - 2}
        largest_values |= dict.fromkeys(("n", "in_degree", "out_degree"), 2**62) | self.program._most
        function = self.functions[name]
        sources = {symbol.name: function.sources[symbol.name] for symbol in function.symbols}
        return {
            symbol: (0, 2**62 if role in ("edge", "back") else largest_values[attribute])
            for symbol, (role, attribute) in sources.items()
            if attribute in largest_values
        }

    def writes(self, *names: str) -> set[str]:
        """Return the names of the fields or parameters to which some of the program's functions give new values.

        `names` are the functions, such as "apply".
        """
        return {f for n in names if n in self.functions for f in self.functions[n].result}

    @functools.cached_property
    def seen_by_neighbors(self) -> list[str]:
        """The vertex fields that functions read of other vertices, and that the program writes.

        In a distributed run, these are the fields whose new values ranks and GPUs send each other.
        """
        neighbor_fields = {
            field for function in self.functions.values() for role in ("src", "other") for field in function.reads(role)
        }
        return sorted(neighbor_fields & self.writes(*WRITING))

    @functools.cached_property
    def revised(self) -> set[str]:
        """The vertex fields that functions such as `post_apply` write, after `apply` has run for all vertices."""
        return self.writes(*REVISING)

    @functools.cached_property
    def renames(self) -> bool:
        """Whether any field, parameter or aggregate has another name in generated code than in the program.

        `gasla.names.inner` gives it another name if its own is not an ASCII identifier.
        """
        types = self.vertex_types, self.edge_types, self.parameter_types, self.aggregate_types
        return any(given(name) != name for names in types for name in names)

    @functools.cached_property
    def gathers_what_apply_writes(self) -> set[str]:
        """The fields that gather and edge_mask read of neighbors and that apply writes in the same iteration."""
        source_fields = {function for n in ALONG if n in self.functions for function in self.functions[n].reads("src")}
        return source_fields & self.writes("apply")

    @functools.cached_property
    def looked_up(self) -> set[str]:
        """The fields that functions read of other vertices by `self.at`, and that the same iteration writes.

        Such a read gets the value from before the iteration.
        """
        functions = [function for name, function in self.functions.items() if name not in BETWEEN]
        return {field for function in functions for field in function.reads("other")} & self.writes(*WRITING)

    @functools.cached_property
    def looks_up(self) -> bool:
        """Whether any function of the program reads other vertices by `self.at`, or any aggregate has a value for each
        vertex.
        """
        return self.deposits != {} or any(function.reads("other") for function in self.functions.values())

    @property
    def measures(self) -> list[str]:
        """The names of all aggregates: those over all vertices, then those with a value per vertex."""
        return [*self.aggregates, *self.deposits]

    @functools.cached_property
    def reads_ahead(self) -> bool:
        """Whether a function that runs within an iteration, such as `gather` or `apply`, reads an aggregate.

        For the first iteration, the aggregate is then computed over the start values.
        """
        functions = [function for name, function in self.functions.items() if name not in BETWEEN]
        return any(
            function.reads("self") & self.aggregates.keys() or function.reads("other") & self.deposits.keys()
            for function in functions
        )

    @functools.cached_property
    def changing(self) -> set[str]:
        """The names of the attributes of `self`, such as "iteration", that may differ between iterations of a run."""
        return {"iteration", "bucket", *self.aggregates, *self.writes("idle"), *self.program._changing}

    @property
    def whole(self) -> Traced:
        """The traced program for the whole graph, from which a program for a part of the graph is derived.

        If this program was not derived from another, it is this program itself.
        """
        return self.program._whole or self

    @property
    def hooks(self) -> set[str]:
        """The names of the functions that the program defines.

        In a program for a part of a graph, they include functions that the program lacks because the ranks call them
        together, such as `stop`.
        """
        return {*self.functions, *self.program._decided}

    @functools.cached_property
    def settles(self) -> bool:
        """Whether `apply` writes, to all fields that the mask reads, values that do not depend on gathered values.

        If so, several threads may apply different gathered values to one vertex at the same time. Whichever value is
        applied, the mask gives the same answer for the vertex afterwards. At most one number that apply writes may
        depend on the gathered value, because two such numbers could come from different threads.
        """
        apply, mask = self.functions.get("apply"), self.functions.get("mask")
        if apply is None or mask is None or self.measures or not mask.reads("vertex") <= set(apply.result):
            return False
        varying_count = 0
        for name, result in apply.result.items():
            sources = {self.functions["apply"].sources[s.name] for s in symbols_of([result])}
            changing = ("", "gathered") in sources or any(
                role == "vertex" and field_name in apply.result for role, field_name in sources
            )
            if changing and name in mask.reads("vertex"):
                return False
            varying_count += changing * getattr(self.vertex_types[name], "length", 1)
        return varying_count <= 1


class Tracer:
    """An object that calls a program's functions with symbols in place of values, and checks what they return."""

    def __init__(self, program: type[Declared], id_type: np.dtype) -> None:
        self.program, self.id_type = program, id_type
        self.vertex_types = {inner(n): self._field_type(n, f.type) for n, f in program.vertex_fields.items()}
        self.edge_types = {inner(n): self._field_type(n, f.type) for n, f in program.edge_fields.items()}
        self.parameter_types = {
            inner(n): self._scalar_type("parameter", n, p.type) for n, p in program.parameters.items()
        }
        self.aggregate_types = {
            inner(n): self._scalar_type("aggregate", n, a.type) for n, a in program.aggregates.items()
        }
        for name, declared, field_type in [
            *((n, f.init, self.vertex_types[inner(n)]) for n, f in program.vertex_fields.items()),
            *((n, f.init, self.edge_types[inner(n)]) for n, f in program.edge_fields.items() if not f.is_value),
        ]:
            if not callable(declared):
                check_start(program, name, declared, field_type)
        for name, vertex in program.vertex_fields.items():
            if vertex.missing is not None:
                check_missing(program, name, vertex.missing, self.vertex_types[inner(name)])
        for name, parameter in program.parameters.items():
            check_start(program, name, parameter.default, self.parameter_types[inner(name)], "is")
        for name, aggregate in program.aggregates.items():
            if not isinstance(aggregate.monoid, Monoid):
                raise TypeError(
                    f"the aggregate {program.__name__}.{name} reduces with {aggregate.monoid!r}; expected "
                    f"{monoid_for(aggregate.monoid)}"
                )
            if not aggregate.monoid.commutative:
                raise TypeError(
                    f"the aggregate {program.__name__}.{name} reduces with {aggregate.monoid!r}; expected a "
                    "semirings.Monoid that commutes, as vertices have no order"
                )
            if not aggregate.monoid.is_neutral:
                raise TypeError(
                    f"the aggregate {program.__name__}.{name} reduces with {aggregate.monoid!r}, which has no "
                    "identity; expected one that does, as there may be no vertex to reduce over"
                )
            aggregate.monoid.combination(self.aggregate_types[inner(name)])
        self.deposits = {inner(n): a for n, a in program.aggregates.items() if a.at is not None}
        self.deposit_types = {name: self.aggregate_types.pop(name) for name in self.deposits}
        self.sources: dict[str, tuple[str, str]] = {}
        self.functions: dict[str, Function] = {}
        self.keyed: Keyed | None = None
        self.held: Held | None = None

    def _type(self, declared: Any) -> Any:
        return self.id_type if declared is ID else semirings.as_type(declared)

    def _field_type(self, name: str, declared: Any) -> Any:
        field_type = self.id_type if declared is ID else semirings.as_type(declared, stored=True)
        check_length(f"{self.program.__name__}.{name}", field_type)
        return field_type

    def _scalar_type(self, value_kind: str, name: str, declared: Any) -> np.dtype:
        dtype = self._type(declared)
        if not isinstance(dtype, np.dtype):
            raise TypeError(f"the {value_kind} {self.program.__name__}.{name} is {dtype}; expected a scalar type")
        return dtype

    def trace(self) -> Traced:
        self._check_hooks()
        records: dict[str, Any] = {
            role: self._make_vertex(role) for role in ("src", "dst", "vertex", "before", "after")
        }
        records["edge"] = self._make_edge()
        types: dict[str, Any] = {"test": np.dtype(bool), "value": None, "vertex fields": self.vertex_types}
        types |= {"edge fields": self.edge_types, "parameters": self.parameter_types}
        # Methods that make further arguments of `choose` and `apply`. They need the results of functions that have been
        # traced before.
        argument_makers = {"choose": self._make_key_and_total, "apply": self._make_gathered}
        checks = {"choose": self._check_choice, "priority": self._check_priority, "bucket": self._check_bucket}
        for name, hook in HOOKS.items():
            records |= argument_makers[name]() if name in argument_makers else {}
            if hook.when != "phase" and getattr(self.program, name, None) is not None:
                self._trace_function(name, types[hook.returns], *(records[role] for role in hook.parameters))
                checks.get(name, lambda: None)()
        for name, declared in self.program.aggregates.items():
            function = (
                declared.function if declared.at is None else functools.partial(self._trace_deposit, name, declared)
            )
            dtype = self.aggregate_types[inner(name)] if declared.at is None else None
            self._trace_function(name, dtype, records["before"], records["after"], function=function)
            if read := self.functions[inner(name)].reads("other") & self.deposits.keys():
                raise ValueError(
                    f"{self.program.__name__}.{name} reads {given(min(read))!r} of another vertex, an aggregate; "
                    "expected fields: all aggregates of the initial state are computed together"
                )
        self._check_scatter()
        declared_by = {inner(n): declared for n, declared in self.program.aggregates.items()}
        return Traced(
            self.program,
            self.id_type,
            self.vertex_types,
            self.edge_types,
            self.parameter_types,
            self.aggregate_types,
            {n: declared for n, declared in declared_by.items() if n not in self.deposits},
            self.deposits,
            self.deposit_types,
            self.functions,
            self.keyed,
            self.held,
        )  # fmt: skip

    def _symbol(self, role: str, name: str, value_type: Any) -> Expr:
        """Return the symbol that stands for a value while the user's functions are traced.

        `role` says whose value it is: the argument of which it is a field ("src", "dst", "vertex", "before", "after",
        "edge"), "back" for the reverse edge, or "self". It is empty for a value that is itself an argument. A type that
        functions do not compute with is cast to one that they do.
        """
        symbol = Symbol(f"{role}_{name}" if role else name, value_type)
        self.sources[symbol.name] = (role, name)
        return cast_expr(symbol, computed(value_type))

    def _make_vertex(self, role: str) -> Record:
        types = {
            **self.vertex_types,
            "id": self.id_type,
            "in_degree": np.dtype(np.int64),
            "out_degree": np.dtype(np.int64),
        }
        return Record(
            "vertex", {given(n): self._symbol(role, n, field_type) for n, field_type in types.items()}, self._of_self
        )

    def _make_edge(self) -> Record:
        """Return the record that stands for `edge` while functions are traced.

        Besides the edge's fields and `id` it has `leaves`, whether the edge is stored as one from `src` to `dst`, and
        `back`, the record of its partner, the edge in the other direction.
        """
        types = {**self.edge_types, "id": np.dtype(np.int64)}
        edge_symbols, partner_symbols = (
            {given(n): self._symbol(role, n, field_type) for n, field_type in types.items()}
            for role in ("edge", "back")
        )
        is_out_edge: Any = semirings.as_expr(np.bool_(self.program.direction == "in"))
        if self.program.direction == "all":
            is_out_edge = self._symbol("edge", "leaves", np.dtype(bool))
        partner = Record("edge's partner", partner_symbols, self._of_self)
        return Record("edge", {**edge_symbols, "leaves": is_out_edge, "back": partner}, self._of_self)

    @property
    def _of_self(self) -> set[str]:
        """The names of the program's parameters, aggregates and options, which functions read from `self`."""
        return {*self.program.parameters, *self.program.aggregates, *self.program._chosen}

    def _check_hooks(self) -> None:
        """Raise ValueError if the program lacks a function that another of its functions needs, or has two that exclude
        each other.
        """
        where, defined = (
            self.program.__name__,
            {name for name in HOOKS if getattr(self.program, name, None) is not None},
        )
        for name in (name for name in HOOKS if name in defined):
            for other_hook, reason in HOOKS[name].needs.items():
                if other_hook not in defined:
                    raise ValueError(
                        f"{where} has {name} and no {other_hook}: {reason}; write {other_hook}, or remove {name}"
                    )
            for other_hook, reason in HOOKS[name].excludes.items():
                if other_hook in defined:
                    raise ValueError(f"{where} has a {name} and a {other_hook}: {reason}; remove one")

    def _make_gathered(self) -> dict[str, Any]:
        """Return what `apply` gets as the argument `gathered` while it is traced, in a dict: a symbol or a record of
        symbols.

        If the program has no gather, the argument is None.
        """
        if "gather" not in self.functions:
            return {"gathered": None}
        self._check_monoid()
        if self.keyed is not None:
            fields = self.keyed.fields(list(self._symbol("", "gathered", self.keyed.gathered_type)))
            return {"gathered": Record("gathered", fields)}
        gather_type = _type_of_result(self.functions["gather"].result)
        self.program.reduce.combination(gather_type)
        if has_wide(gather_type):
            check_lanes(self.program, gather_type)
        self.held = self.program.reduce.held_of(gather_type)
        if self.held is None:
            return {"gathered": self._symbol("", "gathered", gather_type)}
        gather = self.functions["gather"]
        lifted: Any = semirings.trace(self.held.lift, semirings.as_expr(gather.result))
        self.functions["gather"] = replace(gather, result=lifted)
        return {"gathered": self.held.lower(self._symbol("", "gathered", _type_of_result(lifted)))}

    def _check_monoid(self) -> None:
        if not isinstance(self.program.reduce, Monoid):
            raise TypeError(
                f"{self.program.__name__} gathers, but its `reduce` is {self.program.reduce!r}; "
                f"expected {monoid_for(self.program.reduce)}"
            )

    def _make_key_and_total(self) -> dict[str, Any]:
        """Return what the program's `choose` gets as `key` and `total` while it is traced: a dict of two symbols.

        The dict is empty if the program does not reduce by key.
        """
        if "key" not in self.functions:
            return {}
        where, gather, key = self.program.__name__, self.functions["gather"], self.functions["key"]
        self._check_monoid()
        check_values(where, self.program.reduce, gather.result)
        self.program.reduce.combination(gather.result.type)
        key_dtype = key_type(where, key.result)
        self.functions["key"] = replace(key, result=cast_expr(key.result, key_dtype))
        return {"key": self._symbol("", "key", key_dtype), "total": self._symbol("", "total", gather.result.type)}

    def _check_choice(self) -> None:
        """Store the types of keys, totals and scores in `self.keyed`, after the program's `choose` has been traced."""
        where, choose, key_dtype = self.program.__name__, self.functions["choose"], self.functions["key"].result.type
        self.keyed = as_keyed(
            where, self.program.reduce, self.functions["gather"].result.type, key_dtype, choose.result
        )
        scores = choose.result if isinstance(choose.result, tuple) else (choose.result,)
        self.functions["choose"] = replace(choose, result=scores)

    def _record_at(self, where: str, given_index: Any) -> Record:
        """Return what a user's call `self.at(index)` returns while functions are traced: the record of the vertex with
        this id.
        """
        index = as_index(where, given_index)
        n = self._symbol("self", "n", np.dtype(np.int64))
        makers = {
            given(name): functools.partial(self._load_at, where, name, index, n)
            for name in [*self.vertex_types, *self.deposits]
        }
        is_there = (index >= 0) & (index < n)
        return Record("vertex", Lazy(makers | {
            "id": lambda: semirings.where(is_there, cast_expr(index, self.id_type), -1),
            **{name: functools.partial(refuse_degree, where, name) for name in ("in_degree", "out_degree")},
        }))  # fmt: skip

    def _load_at(self, where: str, name: str, index: Expr, n: Expr) -> Expr:
        if name in self.deposits:
            field_type: Any = self.deposit_types[name]
            default = self.deposits[name].monoid.identity(field_type)
        else:
            field_type, default = self.vertex_types[name], self.program.vertex_fields[given(name)].missing
        check_other(where, given(name), field_type, default)
        array = Symbol(f"other_{name}", field_type)
        self.sources[array.name] = ("other", name)
        default_expr = cast_expr(semirings.as_expr(np.asarray(default)), field_type)
        return cast_expr(load(array, index, n, default_expr), computed(field_type))

    def _trace_deposit(
        self, name: str, declared: Aggregate, this: Any, before: Record, after: Record
    ) -> tuple[Expr, Expr]:
        """Return the two expressions of an aggregate that has a value per vertex, by calling the user's functions with
        symbols.

        One is the id of the vertex at which a value is reduced, and the other is the value.
        """
        where, dtype = f"{self.program.__name__}.{name}", self.deposit_types[inner(name)]
        check_parameters(where, declared.function, ("before", "after"))
        value = semirings.as_expr(semirings.trace(declared.function, this, before, after))
        assert declared.at is not None
        check_parameters(f"the at= of {where}", declared.at, ("vertex",))
        return as_index(f"the at= of {where}", declared.at(this, after)), _cast_to_declared(where, value, dtype)

    def _make_self(self, where: str) -> Declared:
        """Return the object that is passed as `self` to a program's functions while they are traced.

        It has symbols for parameters, aggregates and numbers such as `iteration`, in place of their values.
        """
        stand_in = object.__new__(self.program)
        types = self.parameter_types | self.aggregate_types | self._counters()
        stand_in.__dict__.update({given(n): self._symbol("self", n, value_type) for n, value_type in types.items()})
        stand_in.__dict__.update({n: getattr(self.program, n) for n in self.program._chosen})
        stand_in.__dict__["at"] = functools.partial(self._record_at, where)
        return stand_in

    def _counters(self) -> dict[str, np.dtype]:
        """Return the names and types of the attributes of `self` that every program has, such as `iteration`."""
        names = ("iteration", "n", *(("bucket",) if getattr(self.program, "bucket", None) else ()))
        return dict.fromkeys(names, np.dtype(np.int64))

    def _trace_function(
        self, name: str, expected: Any, *records: Any, function: Callable[..., Any] | None = None
    ) -> None:
        is_aggregate, function = function is not None, function or getattr(self.program, name, None)
        if function is None:
            return
        where = f"{self.program.__name__}.{name}"
        # An aggregate is not in the table of hooks: its function takes a vertex before and after apply.
        check_parameters(where, function, self.program._hooks.get(name, ("before", "after")))
        stand_in = self._make_self(where)
        attributes = dict(stand_in.__dict__)
        result = semirings.trace(functools.partial(function, stand_in), *records)
        if changed := [name for name, value in attributes.items() if stand_in.__dict__.get(name) is not value]:
            raise TypeError(
                f"{where} assigns self.{changed[0]}, which has no effect: idle() returns new parameters, apply "
                "new fields of a vertex, and aggregates are computed from these"
            )
        if isinstance(expected, dict):
            result = self._convert_fields(where, result, expected)
        elif isinstance(result, dict) or (expected is not None and isinstance(result, tuple)):
            raise TypeError(f"{where} returned {result!r}; expected one value")
        elif expected is not None:
            result = _cast_to_declared(where, result, expected)
        neutral = HOOKS[name].neutral if name in HOOKS else None
        if neutral is not None and result is semirings.as_expr(np.bool_(neutral)):
            return
        check_length(where, result if isinstance(result, dict) else _type_of_result(result))
        values = list(result.values()) if isinstance(result, dict) else result
        symbols = symbols_of(values if isinstance(values, list | tuple) else [values])
        name = inner(name)
        self.functions[name] = Function(name, result, symbols, self.sources, is_aggregate)

    def _convert_fields(self, where: str, result: Any, types: dict[str, Any]) -> dict[str, Expr]:
        if not isinstance(result, dict):
            noun = "parameters" if types is self.parameter_types else "fields"
            raise TypeError(f"{where} returned {result!r}; expected a dict of the {noun} to change, {{name: value}}")
        names_and_types = {given(n): (n, field_type) for n, field_type in types.items()}
        unknown = sorted(set(result) - set(names_and_types), key=str)
        if unknown:
            expected = ", ".join(names_and_types) or "nothing, as there are none"
            hint = "; it is an option, which no run changes" if unknown[0] in self.program._chosen else ""
            raise ValueError(f"{where} returned a field {unknown[0]!r}; expected some of: {expected}{hint}")
        return {
            names_and_types[n][0]: _cast_to_declared(f"{where}[{n!r}]", e, names_and_types[n][1])
            for n, e in result.items()
        }

    def _check_priority(self) -> None:
        """Raise an error if the program's `priority` depends on more than the vertex's own fields and parameters.

        A vertex that waits keeps the priority that it got, so the priority must not change while it waits.
        """
        where, function = f"{self.program.__name__}.priority", self.functions["priority"]
        if isinstance(function.result, tuple | dict) or not isinstance(function.result.type, np.dtype):
            raise TypeError(f"{where} returned {function.result!r}; expected one number")
        refuse_others(where, set(map(given, function.reads("other"))))
        if "iteration" in function.reads("self"):
            raise ValueError(
                f"{where} reads self.iteration; expected fields of the vertex, parameters and self.n alone"
            )

    def _check_bucket(self) -> None:
        """Raise an error if the program's `bucket` depends on more than the vertex's own fields and parameters.

        The bucket of a vertex that waits is computed again later, and must then be the same unless its fields changed.
        """
        where, function = f"{self.program.__name__}.bucket", self.functions["bucket"]
        if isinstance(function.result, tuple | dict) or getattr(function.result.type, "kind", "") not in tuple("iu"):
            raise TypeError(
                f"{where} returned {function.result!r}; expected a whole number, or one below 0 for no bucket"
            )
        refuse_others(where, set(map(given, function.reads("other"))))
        if varying := function.reads("self") & {"iteration", "bucket", *self.aggregate_types}:
            raise ValueError(
                f"{where} reads self.{given(min(varying))}; expected fields of the vertex, parameters and self.n alone"
            )
        if self.program.everyone:
            raise ValueError(f"{where} limits the active vertices, and everyone = True makes all active; remove one")

    def _check_scatter(self) -> None:
        for name in self.functions["scatter"].result if "scatter" in self.functions else ():
            if self.program.edge_fields[given(name)].is_value:
                raise ValueError(
                    f"{self.program.__name__}.scatter writes {given(name)!r}, which is the matrix's own values; "
                    f"declare it with a start value: gasla.edge(dtype, init=0)"
                )


def trace_start(program: type[Declared], id_type: np.dtype) -> Function | None:
    """Return the function `start` of a phase as expressions, or None if the program has no such function.

    Raises
    ------
    Exception
        Whatever the function raises if it is given symbols: without tracing it is called with arrays.
    """
    tracer_of_start = Tracer(program, id_type)
    tracer_of_start._trace_function("start", np.dtype(bool), tracer_of_start._make_vertex("vertex"))
    return tracer_of_start.functions.get("start")


def _type_of_result(result: Expr | tuple[Expr, ...]) -> Any:
    """Return the type of what a traced function returns, which is an expression or a tuple of expressions.

    The type of a NamedTuple has the names of its items.
    """
    if isinstance(result, tuple):
        return TupleType(tuple(e.type for e in result), getattr(result, "_fields", None))
    return result.type


def symbols_of(results: Any) -> tuple[Symbol, ...]:
    """Return the symbols that occur in an expression, or in any of several expressions."""
    return tuple(symbol for symbol in semirings.free_symbols(results) if isinstance(symbol, Symbol))


def _cast_to_declared(where: str, value: Any, expected: Any) -> Expr:
    """Return the expression `value`, the result of a user's function, cast to the declared type of its field.

    Raise TypeError for a cast such as from float to integer.
    """
    converted: Expr = value
    if value.type == expected:
        return converted
    base = [
        value_type.scalar if isinstance(value_type, VectorType) else value_type for value_type in (value.type, expected)
    ]
    lengths = [value_type.length if isinstance(value_type, VectorType) else 0 for value_type in (value.type, expected)]
    scalars = all(isinstance(value_type, np.dtype) for value_type in base) and lengths[0] in (0, lengths[1])
    if not scalars or not np.can_cast(base[0], base[1], "same_kind"):
        raise TypeError(
            f"{where} gives {value.type}, but {expected} was declared; convert it with semirings.cast(value, dtype)"
        )
    return cast_expr(value, expected)
