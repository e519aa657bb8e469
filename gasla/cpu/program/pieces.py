"""The text for one vertex or one edge: what is loaded, called and stored; and the loops around it."""

import functools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from gasla.cpu.program.signature import Arguments
from gasla.program.plan import Part
from gasla.program.statements import (
    Call,
    Copy,
    Deposit,
    Load,
    LoadEdge,
    Reduce,
    Statement,
    Store,
    StoreEdge,
    applied,
    edge_loads,
    loads,
    watched,
)
from gasla.program.tracing import AFTERWARDS
from semirings import TupleType, VectorType
from semirings.printers import python as printer
from semirings.types import has_wide

FEW = 4  # values of a list that are computed in any case
LINES, DISTANCE, FURTHER = 8, 12, 32  # of a vector that are fetched ahead; so many edges; if it is short
INDENT = "    "
COUNTED = {  # what a stage counts, and where the sums go
    "listed": ("zero", "NEXT"),
    "received": ("zero", "RECEIVED"),
    "edges": ("np.int64(0)", "EDGES"),
    "touched": ("np.int64(0)", "TOUCHED"),
}


def indented(lines: Iterable[str], depth: int) -> str:
    """`lines` indented by `depth` levels, ready to stand in a template."""
    return "\n".join(INDENT * depth + line for text in lines for line in text.split("\n")) or INDENT * depth + "pass"


def names_in(lines: Iterable[str]) -> set[str]:
    """The names that occur in some lines."""
    return set(re.findall(r"[a-zA-Z_]\w*", "\n".join(lines)))


class Stage(NamedTuple):
    """A generated function, and the arguments that it takes."""

    name: str
    takes: list[str]
    text: str

    def call(self, threads: str = "threads") -> str:
        """The statement that calls it, where its arguments are known by the same names; `threads` take part."""
        return f"{self.name}({', '.join(threads if x == 'threads' else x for x in self.takes)})"


class Pieces(Arguments):
    """Pieces of stages, as lists of lines."""

    def load(self, name: str, at: str, when: str = "old") -> str:
        """The value of a field of the vertex whose index is in variable `at`."""
        if name == "id":
            return f"np.{self.traced.id_type}({at})"
        if name in ("in_degree", "out_degree"):
            p = f"{name[:-7]}_p"
            return f"np.int64({p}[{at} + one] - {p}[{at}])"
        kind = self.traced.vertex_types[name]
        return load_text(self.row(name, when), kind, at, name in self.racing)

    @functools.cached_property
    def racing(self) -> set[str]:
        """The fields that are written in place: other threads read them meanwhile, or write them too."""
        return self.in_place | (self.traced.writes("apply") if self.absorbs or self.push_at_once else set())

    def row(self, name: str, when: str) -> str:
        """The array to read a vertex field from; of two copies the "old" or the "new" one."""
        return f"{when}_{name}" if name in self.doubled else f"v_{name}"

    def rendered(self, statements: Iterable[Statement], at: str = "v", side: str = "s") -> list[str]:
        """Statements of the kernel language, for the vertex in variable `at` and the edge at position `e` of a side."""
        return [line for statement in statements for line in self._render(statement, at, side)]

    def _render(self, statement: Statement, at: str, side: str) -> list[str]:
        match statement:
            case Load(role, field, copy):
                return [f"{role}_{field} = {self.load(field, at, copy)}"]
            case LoadEdge(field, role, copy):
                return [f"{role}_{field} = {self.load_edge(field, side, role, copy)}"]
            case Copy(role, field, of):
                return [f"{role}_{field} = {of}_{field}"]
            case Call(function, role):
                results = ", ".join(f"{role}_{field}" for field in self.functions[function].result)
                return [f"{results} = {self.call(function)}"]
            case Store(field):
                row, kind = self.row(field, "new"), self.traced.vertex_types[field]
                return store_text(row, kind, at, f"after_{field}", field in self.racing)
            case StoreEdge(field):
                kind, place = self.traced.edge_types[field], f"np.uintp({side}e[e])"
                return store_text(f"e_{field}", kind, place, f"result_{field}")
            case Deposit(name, is_first):
                return self.deposit(name, "2" if is_first else "self_iteration % 3", self.call(name))
            case Reduce(name) if self.sums_in_order:
                return [f"term_{name}[{at}] = {self.call(name)}"]
            case Reduce(name):
                return [f"sum_{name} = combine_{name}(sum_{name}, {self.call(name)})"]

    def load_edge(self, name: str, side: str, role: str, copy: str) -> str:
        """The value of a field of the edge at position `e` of one adjacency, or of its partner."""
        numbers = f"{side}{'b' if role == 'back' else 'e'}[e]"
        if name == "id":
            return f"np.int64({numbers})"
        if name == "leaves":
            return "not leaving[e]" if side == "g" else "leaving[e]"
        if role == "edge" and name in self.edge_values:
            return f"{side}v_{name}[e]"
        array = "value" if name not in self.edge_states else "was" if copy == "before" else "e"
        return load_text(f"{array}_{name}", self.traced.edge_types[name], f"np.uintp({numbers})")

    def loads(self, role: str, at: str, *functions: str) -> list[str]:
        """The text that loads what some functions read of a vertex."""
        return self.rendered(loads(self, role, *functions), at)

    def edge_loads(self, side: str, *functions: str) -> list[str]:
        """The text that loads what some functions read of an edge."""
        return self.rendered(edge_loads(self, *functions), side=side)

    def call(self, name: str) -> str:
        f = self.functions[name]
        of = {s.name: f.sources[s.name] for s in f.symbols} if name in AFTERWARDS else {}
        found = {symbol: self.copy_of(name, field) for symbol, (role, field) in of.items() if role == "other"}
        return f"{f.printed}({', '.join([*(found.get(s.name, s.name) for s in f.symbols), *self.scratch_of(name)])})"

    def finish(self, at: str, receiver: bool = True) -> list[str]:
        """Apply to the vertex in variable `at`, whose reduced value is in `gathered`; then activate and aggregate."""
        lines = self._applied(at)
        if self.sums_in_order:
            lines.append(f"claim(summed, {at}, threads > 1)")
        if receiver and self.keeps_receivers and not self.two_phases:
            lines += self.received(at)
        return lines

    def _applied(self, at: str) -> list[str]:
        """Apply. Wide vectors are looked at where they are, so they change once all have seen what was before."""
        statements = applied(self)
        if not self._sees_rows:
            return self.rendered(statements, at)
        stores = [s for s in statements if isinstance(s, Store)]
        lines = self.rendered([s for s in statements if not isinstance(s, Store)], at)
        lines += [f"activates = {self.call('activate')}"] if "activate" in self.functions else []
        return [*lines, *self.rendered(stores, at)]

    @functools.cached_property
    def _sees_rows(self) -> bool:
        """Whether activate or an aggregate looks at a wide vector where its field has it, while that changes."""
        return any(f"scratch_after_{field}" in self.wide_scratch for field in watched(self))

    def is_active(self) -> str:
        """The condition under which the vertex just finished is active next."""
        if "activate" not in self.functions:
            return "False"
        return "activates" if self._sees_rows else self.call("activate")

    def if_active(self, at: str, body: list[str]) -> list[str]:
        """`body` for the vertex just finished if it is active next; one whose bucket is not open yet waits."""
        if self.has_buckets:
            turn = f"takes_turn(waiting, {at}, {self.call('bucket')}, self_bucket, threads > 1)"
            body = [*self.loads("vertex", at, "bucket"), f"if {turn}:", *(INDENT + x for x in body)]
        return [f"if {self.is_active()}:", *(INDENT + x for x in body)]

    @staticmethod
    def received(at: str) -> list[str]:
        """List a vertex as a receiver."""
        return [f"my_receivers[received] = {at}", "received += one"]

    @staticmethod
    def activated(at: str) -> list[str]:
        """List a vertex as active next. Where degrees are much alike, their number serves for the sum of them."""
        return [
            f"next_queue[listed] = {at}",
            "listed += one",
            "if skewed:",
            f"    edges += np.int64(sp[{at} + one] - sp[{at}])",
        ]

    def edge_condition(self, body: list[str]) -> list[str]:
        """`body` under the program's edge_mask."""
        if "edge_mask" not in self.functions:
            return body
        return [f"if {self.call('edge_mask')}:", *(INDENT + line for line in body)]

    @property
    def local_names(self) -> list[str]:
        """Local names that any stage may use, each line after those that it needs."""
        lines = [
            "one, zero = np.uint64(1), np.uint64(0)",
            "parity = self_iteration & 1",
            "counters = counts[self_iteration % 3]",
            "last_counters = counts[(self_iteration + 2) % 3]",
            "next_queue = queues[1 - parity, thread]",
            "my_receivers = receivers[thread]",
            "my_far, deferred = far[thread], np.uint64(last_counters[own_at(thread) + LEFT])",
            "low = lows[(self_iteration + 2) % 3, thread * 8]",
            "high = lows[(self_iteration + 2) % 3, thread * 8 + 1]",
            "active, next_active = bits[parity], bits[1 - parity]",
            "claims, last_claims = claimed[parity], claimed[1 - parity]",
        ]
        lines += [f"old_{n}, new_{n} = v_{n}[parity], v_{n}[1 - parity]" for n in sorted(self.doubled)]
        lines += [f"other_{n} = {self.copy_of('gather', n)}" for n in self.seen_elsewhere]
        lines += [f"sum_{n} = part_{n}[parity, thread * 8]" for n in self.traced.aggregates]
        return lines + [f"{name} = {start}" for name, (start, _) in COUNTED.items()]

    def _results_of(self, used: set[str]) -> list[str]:
        """What a stage leaves in the counters, and elsewhere."""
        sums = {slot: name for name, (_, slot) in COUNTED.items() if name in used}
        lines = [f"counters[own_at(thread) + {slot}] += np.int64({name})" for slot, name in sums.items()]
        if "deferred" in used:
            lines.append("counters[own_at(thread) + LEFT] = np.int64(deferred)")
            lines.append("lows[self_iteration % 3, thread * 8] = low")
            lines += [] if self.adds_up else ["lows[self_iteration % 3, thread * 8 + 1] = high"]
        return lines + [f"part_{n}[parity, thread * 8] = sum_{n}" for n in self.traced.aggregates if f"sum_{n}" in used]

    def stage(self, name: str, doc: str, body: list[str]) -> Stage:
        """One stage function; `threads` is how many take part, which may be fewer than run."""
        lines = [*body, *self._results_of(names_in(body))]
        used = names_in(lines)
        for line in reversed(self.local_names):
            if names_in([line.partition(" = ")[0]]) & used:
                lines.insert(0, line)
                used |= names_in([line])
        return self.function(name, doc, lines)

    def function(self, name: str, doc: str, lines: list[str]) -> Stage:
        """A function with those of the arguments that it uses; with all of them where Python calls it."""
        used = names_in(lines)
        takes = [x for x in self.arguments.split(", ") if self.staged or x in used]
        head = f'@{"entry_point" if self.staged else "stage"}\ndef {name}({", ".join(takes)}):\n{INDENT}"""{doc}"""\n'
        return Stage(name, takes, head + indented(lines, 1) + "\n")

    def over_queue(
        self, queue: str, sizes: str, ticket: int, body: list[str], variable: str, side: str = "", field: str = ""
    ) -> list[str]:
        """A loop over the vertices of all threads' queues, in chunks: a thread's own first, then what others left.

        `side` names the neighbour lists to fetch ahead, `field` what to fetch of the first neighbours, with a place for
        which it is.
        """
        entry = f"{queue}[other, min(position + {{}}, size - one)]"
        ahead = [*self._ahead(entry, side), *self._neighbours_ahead(entry, side, field)]
        return [
            "for shift in range(threads):",
            "    other = (thread + shift) % threads",
            f"    size = np.uint64({sizes})",
            "    while True:",
            f"        start = take(counters, other, {ticket}, np.int64(size))",
            "        if start >= size or load_unordered(control, STOP) != 0:",
            "            break",
            "        for position in range(start, min(start + np.uint64(CHUNK), size)):",
            *(INDENT * 3 + line for line in ahead),
            f"            {variable} = np.uint64({queue}[other, position])",
            *(INDENT * 3 + line for line in body),
        ]

    def _ahead(self, entry: str, side: str) -> list[str]:
        """Prefetch the lists of vertices further on in a queue: first their offsets, then their first entries."""
        if not side:
            return []
        names = [f"{side}i", *(f"{side}v_{n}" for n in self.edge_values)]
        return [
            f"prefetch({side}p, np.uint64({entry.format('FAR')}))",
            f"place = np.uint64({side}p[np.uint64({entry.format('NEAR')})])",
            *(f"prefetch({name}, place)" for name in names),
        ]

    @staticmethod
    def _neighbours_ahead(entry: str, side: str, field: str) -> list[str]:
        """Prefetch a field of the first neighbours of a vertex further on in a queue, which the processor would not."""
        if not field:
            return []
        return [
            f"ahead = np.uint64({side}p[np.uint64({entry.format('NEAREST')})])",
            f"if ahead + np.uint64({FEW}) <= np.uint64(len({side}i)):",
            *(f"    prefetch({field.format(f'np.uint64({side}i[ahead + np.uint64({k})])')})" for k in range(FEW)),
        ]

    def over_active(self, body: list[str], field: str = "") -> list[str]:
        """A loop over the active vertices, as the last iteration listed them."""
        loop = self.over_queue("queue", "last_counters[own_at(other) + NEXT]", 0, body, "u", "s", field)
        return ["queue = queues[parity]", *loop]

    def over_receivers(self, ticket: int, body: list[str], side: str = "") -> list[str]:
        """A loop over the receivers of this iteration."""
        if not self.scheduled:
            return self.over_queue("receivers", "counters[own_at(other) + RECEIVED]", ticket, body, "v", side)
        ahead = self._ahead("receivers[min(position + {}, size - one)]", side)
        # Where lists are short, each thread keeps to its part, much the same from level to level, and so to its cache.
        return [
            "size, part, parts = np.uint64(receiver_count), np.uint64(thread), np.uint64(threads)",
            "start, stop = size * part // parts, size * (part + one) // parts",
            "while load_unordered(control, STOP) == 0:",
            "    if not narrow:",
            f"        start = take(counters, 0, {ticket}, receiver_count)",
            "        stop = min(start + np.uint64(CHUNK), size)",
            "    if start >= stop:",
            "        break",
            "    for position in range(start, stop):",
            *(INDENT * 2 + line for line in ahead),
            "        v = np.uint64(receivers[position])",
            *(INDENT * 2 + line for line in body),
            "    if narrow:",
            "        break",
        ]

    def sum_chunks(self, body: list[str]) -> list[str]:
        """A loop over chunks of vertices; `body` adds to the aggregates what those from `start` to `stop` give.

        Sums start anew in each chunk: whatever the threads are, they add up in the same order.
        """
        names = self.traced.aggregates
        return [
            "for chunk in range(thread, chunks_of(self_n), threads):",
            *(f"    ordered_{n} = {self.aggregate_identity(n)}" for n in names),
            "    start, stop = np.uint64(DENSE_CHUNK * chunk), np.uint64(min(DENSE_CHUNK * (chunk + 1), self_n))",
            *(INDENT + line for line in body),
            *(f"    part_{n}[parity, chunk * 8] = ordered_{n}" for n in names),
        ]

    def in_order(self, values: Iterable[str]) -> list[str]:
        """Statements that add a value to each of the aggregates."""
        return [f"ordered_{n} = combine_{n}(ordered_{n}, {v})" for n, v in zip(self.traced.aggregates, values)]

    def aggregate_identity(self, name: str) -> str:
        return literal_text(self.identities[name], self.measured_types[name])

    @staticmethod
    def over_all(body: list[str], before: list[str] = [], after: list[str] = []) -> list[str]:  # noqa: B006
        """A loop over all vertices in chunks of whole bitmap words; `before` and `after` surround each word."""
        return [
            "size = np.uint64(self_n)",
            "while True:",
            "    start = np.uint64(fetch_add(counters, DENSE_TICKET, DENSE_CHUNK))",
            "    if start >= size or load_unordered(control, STOP) != 0:",
            "        break",
            "    for base in range(start, min(start + np.uint64(DENSE_CHUNK), size), np.uint64(64)):",
            *(INDENT * 2 + line for line in before),
            "        for v in range(base, min(base + np.uint64(64), size)):",
            *(INDENT * 3 + line for line in body),
            *(INDENT * 2 + line for line in after),
        ]

    def masked(self, at: str, body: list[str]) -> list[str]:
        """`body` for a vertex that the program's mask admits."""
        if "mask" not in self.functions:
            return body
        return [*self.loads("vertex", at, "mask"), f"if {self.call('mask')}:", *(INDENT + line for line in body)]

    def neighbours(self, side: str, center: str, body: list[str]) -> list[str]:
        """A loop over the edges of the vertex in variable `center`."""
        return [
            f"first, last = np.uint64({side}p[{center}]), np.uint64({side}p[{center} + one])",
            "for e in range(first, last):",
            *(INDENT + line for line in body),
        ]

    def reduced(self, old: str, new: str) -> str:
        return new if self.takes_first else f"combine({old}, {new})"

    def several_at_once(self, loads: list[str], body: list[str]) -> list[str]:
        """Wide vectors of a few edges are gathered together: what has been gathered is read and written once."""
        own = re.compile(r"\b(src_\w+|edge_\w+|back_\w+|u|e)\b")
        lines = ["first, last = np.uint64(gp[v]), np.uint64(gp[v + one])", "begin = first"]
        lines += [f"while begin + np.uint64({FEW}) <= last:"]
        for i in range(FEW):
            each = [f"e = begin + np.uint64({i})", "u = np.uint64(gi[e])", *self.rows_ahead(DISTANCE), *loads]
            lines += [INDENT + own.sub(rf"\1_{i}", line) for line in each]
        symbols = self.functions["gather"].symbols
        several = [own.sub(rf"\1_{i}", s.name) for i in range(FEW) for s in symbols]
        lines += [f"    gathered = gather_few({', '.join(['gathered', *dict.fromkeys(several)])})"]
        lines += [f"    begin += np.uint64({FEW})"]
        return [*lines, "for e in range(begin, last):", *(INDENT + x for x in body)]

    def rows_ahead(self, distance: int) -> list[str]:
        """Fetch the vectors of the neighbour some edges on, as far as the processor itself doesn't go on to."""
        lines = [f"ahead = np.uint64(gi[min(e + np.uint64({distance}), np.uint64(len(gi)) - one)])"]
        for name in sorted(self.read_by("gather", "src")):
            kind = self.traced.vertex_types.get(name)
            if isinstance(kind, VectorType):
                places = range(0, min(kind.length, LINES * 64 // kind.scalar.itemsize), 64 // kind.scalar.itemsize)
                lines += [f"prefetch({self.row(name, 'old')}[ahead], np.uint64({i}))" for i in places]
        return lines if len(lines) > 1 else []

    def gather_one(self) -> str:
        """What has been gathered once an edge's value is with it."""
        if not self.is_wide or self.takes_first:
            return self.reduced("gathered", self.call("gather"))
        return f"gather_into({', '.join(['gathered', *(s.name for s in self.functions['gather'].symbols)])})"

    def read_by(self, function: str, role: str) -> set[str]:
        return self.functions[function].reads(role) if function in self.functions else set()


def load_text(array: str, kind: Any, at: str, races: bool = False) -> str:
    """The value of a field at an index: a tuple of items for a vector. `races` where others may write it meanwhile.

    A wide vector stays where it is.
    """
    if has_wide(kind):
        return f"{array}[{at}]"
    if isinstance(kind, VectorType):
        items = (f"load_unordered({array}[{at}], {i})" if races else f"{array}[{at}, {i}]" for i in range(kind.length))
        return "(" + "".join(f"{item}, " for item in items) + ")"
    return f"load_unordered({array}, {at})" if races else f"{array}[{at}]"


def store_text(array: str, kind: Any, at: str, value: str, races: bool = False) -> list[str]:
    """Statements that store a value at an index; `races` where others may read or write it meanwhile."""
    if has_wide(kind):
        return [f"copy_lanes({array}[{at}], {value}, {kind.length})"]
    if isinstance(kind, VectorType):
        items = range(kind.length)
        if races:
            return [f"store_unordered({array}[{at}], {i}, {value}[{i}])" for i in items]
        return [f"{array}[{at}, {i}] = {value}[{i}]" for i in items]
    return [f"store_unordered({array}, {at}, {value})" if races else f"{array}[{at}] = {value}"]


def part_text(value: str, part: Part) -> str:
    """One number of a local variable."""
    item = value if part.item is None else f"{value}[{part.item}]"
    return item if part.lane is None else f"{item}[{part.lane}]"


def place_text(array: str, part: Part, at: str) -> str:
    """The array and the index where one number is, as functions of atomic operations take them."""
    return f"{array}, {at}" if part.lane is None else f"{array}[{at}], {part.lane}"


def literal_text(value: Any, kind: Any) -> str:
    """A constant of any type."""
    if isinstance(kind, TupleType):
        return "(" + "".join(f"{literal_text(v, k)}, " for v, k in zip(value, kind.items)) + ")"
    if isinstance(kind, VectorType):
        return "(" + "".join(f"{printer.literal(v, kind.scalar)}, " for v in np.broadcast_to(value, kind.length)) + ")"
    return printer.literal(value, kind)
