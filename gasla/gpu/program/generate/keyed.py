"""Writes C++ functions for reductions by key.

They compute an edge's key and value, the score of each key's total at a vertex, and the choice of the best key.
"""

from gasla.gpu.program.generate.atomics import native
from gasla.gpu.program.generate.rendering import call, kind_of, load, local
from gasla.gpu.program.generate.syntax import function, literal, struct
from gasla.gpu.program.plan import GpuPlan
from gasla.program.reductions.keys import NONE, Keyed
from gasla.program.statements import read
from semirings import Monoid
from semirings.printers import cuda

EDGE = "const Context& c, const Source& src, const Target& dst, const Edge& edge"


def by_key(plan: GpuPlan, keyed: Keyed, monoid: Monoid) -> list[str]:
    """Return the C++ functions by which a vertex reduces the values of its edges separately for each key.

    They compute the key and the value of an edge, combine values of the same key, and choose the best key at a vertex.
    """
    key, value = cuda.ctype(keyed.key), cuda.ctype(keyed.total)
    no_choice = literal(keyed.nothing, keyed.gathered_type)
    pairs = "".join(f", y.item{i + 2}, x.item{i + 2}" for i in range(len(keyed.scores)))
    better = f"y.item0 >= 0 && better_(y.item0, x.item0{pairs})"
    return [
        f"typedef {key} Key;\ntypedef {value} Value;\nstatic constexpr Key NO_KEY = {NONE};",
        function(f"Key key({EDGE})", [f"return {call(plan, 'key')};"]),
        function(f"Value value({EDGE})", [f"return {call(plan, 'gather')};"]),
        function("Value no_value()", [f"return {literal(monoid.identity(keyed.total), keyed.total)};"]),
        function("Value combine_values(const Value& x, const Value& y)", ["return combine_(x, y);"]),
        function("void add_to(Value* at, Value value)", [_add_statement(keyed, monoid)]),
        *_choice_functions(plan, keyed),
        function("Gathered identity()", [f"return {no_choice};"]),
        function("Gathered combine(const Gathered& x, const Gathered& y)", [f"return {better} ? y : x;"]),
        function("bool is_terminal(const Gathered& x)", ["return false;"]),
    ]


def _add_statement(keyed: Keyed, monoid: Monoid) -> str:
    """Return the C++ statement that reduces the variable `value` into a key's total by an atomic operation."""
    match native(monoid.combination(keyed.total)):
        case "add":
            return "gasla::add(at, value);"
        case "min" | "max" as name:
            return f"gasla::improve_{name}(at, value);"
        case _:
            return "gasla::update(at, [&](Value old, bool&) { return combine_(old, value); });"


def _choice_functions(plan: GpuPlan, keyed: Keyed) -> list[str]:
    """Return the C++ functions with which a vertex chooses a key.

    One loads the fields that the program's `choose` reads. The other returns the gathered value that a given key with
    its total would result in, with the key's scores.
    """
    fields = read(plan, "vertex", ["choose"])
    loaded = [f"r.f_{field} = {load(plan, field)};" for field in fields]
    field_locals = [local(plan, "vertex", field, f"chooser.f_{field}") for field in fields]
    scores = [f"const auto scores = {call(plan, 'choose')};"]
    score_items = ["scores"] if len(keyed.scores) == 1 else [f"scores.item{i}" for i in range(len(keyed.scores))]
    return [
        struct("Chooser", [(cuda.ctype(kind_of(plan, field)), f"f_{field}") for field in fields]),
        function("Chooser load_chooser(const Context& c, vertex_t v)", ["Chooser r;", *loaded, "return r;"]),
        function(
            "Gathered choice(const Context& c, const Chooser& chooser, Key key, Value total)",
            [*field_locals, *scores, f"return Gathered{{key, total, {', '.join(score_items)}}};"],
        ),
    ]
