"""The stages of a program: each a function that all threads of a run call together (`thread` of `threads`)."""

import functools
from typing import Any

import numpy as np

from gasla.cpu.program.keyed.choices import Choices
from gasla.cpu.program.pieces import (
    FEW,
    FURTHER,
    INDENT,
    Stage,
    load_text,
    store_text,
)
from gasla.cpu.program.signature import Field
from gasla.program.statements import (
    Deposit,
    Load,
    Reduce,
    Store,
    applied_once_more,
    loads,
    observed,
    scattered,
)
from semirings import TupleType, VectorType
from semirings.printers import python as printer

AHEAD, LINE = 512, 16  # edges; so many lie in a cache line, if their ids are int32


class Stages(Choices):
    """The source of every stage; `run_loop` strings them together."""

    @functools.cached_property
    def stages(self) -> dict[str, Stage]:
        """The stages that the program has, by name."""
        found = [self.pull_list()] if self.scheduled else [self.pull_all()]
        if self.sends and not self.scheduled:
            found += [self.expand(), self.pull_list()]
        if self.pushes:
            found.append(self.push())
        if self.prioritised:
            found.append(self.split())
        if "receivers" in self.arrays:
            if self.two_phases or (self.components and self.components[0][0] in self.arrays):
                found.append(self.apply_list())
            if self.sends and not self.scheduled:
                found.append(self.release())
        if "scatter" in self.functions:
            found.append(self.scatter())
        if self.edges_behind:
            found.append(self.catch_up_edges())
        if "post_apply" in self.functions:
            found.append(self.post_apply())
        if self.behind:
            found.append(self.catch_up())
        if self.traced.measures:
            found += [self.aggregate(), *([self.sum_up()] if self.sums_in_order else [])]
        if not self.staged:
            found += [*self.resuming, self.fill()]
        return {stage.name: stage for stage in found}

    def fill(self) -> Stage:
        """Fields are filled: from one value, and the values of some vertices; or from those of all.

        By all threads: to get fresh pages from the system takes longer than anything else before a run.
        """
        clears = {"bits": "clear_both", "claimed": "clear_both", "far_bits": "clear", "summed": "clear"}
        clears["waiting"] = "clear"
        given = {"bits"} if self.starts_active else set()
        body = [f"{clears[n]}(thread, threads, {n})" for n in clears if n in self.arrays and n not in given]
        body += ["if thread == 0:", "    begin(control, counts)"]
        if "queues" in self.arrays:
            body += ["    if control[SOURCE] >= 0:", "        queues[0, 0, 0] = control[SOURCE]"]
        if self.sends:
            body += ["    if control[ACTIVE] < self_n:"]
            body += ["        control[EDGE_SUM] = edges_from(queues[0], counts[2], control[TEAM], sp)"]
        if self.prioritised:  # all that are active at first are near
            body += ["    lows[:] = np.inf", "    lows[:, 1::8] = bounds[:] = -np.inf"]
        body.append("low, high = self_n * thread // threads, self_n * (thread + 1) // threads")
        for field in self.fields:
            body += self._fill(field) if field.name in self.filled else []
        body += self.clear_tables() if self.keyed is not None else []
        body += [f"to_{name}[:, low:high] = {self.aggregate_identity(name)}" for name in self.traced.deposits]
        for name in sorted(self.behind):
            body += ["for v in range(low, high):", *(INDENT + x for x in self._brought_up(name))]
        if self.accumulates:
            body += ["for v in range(low, high):", *(INDENT + x for x in self._forget("v"))]
        if self.sends_news:  # at first all that a vertex holds is new
            body += ["for v in range(low, high):", f"    news[v] = {self.all_news}"]
        doc = "What a run starts with: fields, empty bitmaps, nothing gathered."
        return self.function("fill", doc, body)

    def _fill(self, field: Field) -> list[str]:
        """The thread's part of one field. Values are none, if it is full already; all; or one, and those of places."""
        name, array, values, places = field
        copies = [f"{array}[0]", f"{array}[1]"] if name in self.doubled else [array]
        fill = "fill_vectors" if isinstance(self.traced.vertex_types[name], VectorType) else "fill_field"
        return [f"{fill}(low, high, {copy}, {values}, {places})" for copy in copies]

    def _brought_up(self, name: str) -> list[str]:
        """What others see of a field of `v` becomes what it is now."""
        kind = self.traced.vertex_types[name]
        return store_text(f"was_{name}", kind, "v", load_text(f"v_{name}", kind, "v"))

    def pull_edges(self, of_receivers: bool) -> list[str]:
        """Reduce over the in-edges of `v` into `gathered`; `found` says whether the vertex receives."""
        if not self.gathers and (of_receivers or self.everyone):
            return ["found = True"]
        lines = self.loads("dst", "v", "gather", "key", "edge_mask")
        if self.gathers:
            lines += [f"gathered = {self.identity}"] if self.keyed is None else self.begin_table()
        test_active = self.active_only
        asks_active = not self.everyone and not of_receivers and not test_active
        body: list[str] = []
        loads = self.loads("src", "u", "edge_mask") + self.edge_loads("g", "edge_mask")
        more = self.loads("src", "u", "gather", "key") + self.edge_loads("g", "gather", "key")
        more = [line for line in more if line not in loads]
        inner = list(more)
        if self.gathers:
            inner += [f"gathered = {self.gather_one()}"] if self.keyed is None else self.gather_by_key()
        if asks_active:
            inner.append("found |= has(active, u)")
        elif not of_receivers and not self.everyone:
            inner.append("found = True")
        leaving = self.leave_early()
        # A result that nothing can change any more ends the search only of a vertex that is sure to receive it.
        inner += ["if found:", *(INDENT + x for x in leaving)] if leaving and asks_active else leaving
        body = ["u = np.uint64(gi[e])"] + (["touched += 1"] if leaving else [])
        core = [*loads, *self.edge_condition(inner)]
        if test_active:
            core = ["if has(active, u):", *(INDENT + line for line in core)]
        lines.append("found = " + ("True" if of_receivers or self.everyone else "False"))
        if "mask" in self.functions and not of_receivers:  # whose lists are next can't be foreseen by the processor
            lines.append("prefetch(gi, np.uint64(gp[min(v + NEAR, np.uint64(self_n))]))")
        takes_all = not (leaving or test_active or "edge_mask" in self.functions)
        if takes_all and self.is_wide:
            lines += self.several_at_once(more + inner[len(more) + 1 :], body + core)
        elif not takes_all or asks_active or not self._may_be_narrow:
            ahead = [] if self.keyed is None else self.fields_ahead()
            lines += self.neighbours("g", "v", ahead + body + core)
        else:
            lines += self._narrow_or_not(more, body + core, ahead=not of_receivers)
        if self.keyed is not None:
            lines += self.choose()
            if takes_all and not self._edge_roles("gather", "key") & {"back", *self.edge_states}:
                begin = lines.index(self.begin_table()[0])
                lines[begin:] = self.of_few(more, asks_active, lines[begin:])
        return lines if leaving else [*lines, "touched += np.int64(last - first)"]

    @property
    def _may_be_narrow(self) -> bool:
        monoid = self.traced.monoid
        single = not self.is_tuple and not self.is_wide
        return monoid is not None and monoid.commutative and single and not self.takes_first

    def _narrow_or_not(self, loads: list[str], body: list[str], ahead: bool) -> list[str]:
        """Where no list is long, the first few edges are gathered in any case and then chosen from.

        Where list follows on list, what lies `ahead` in them is asked for, in a loop of its own: the other stays one
        that LLVM may vectorise. By itself the processor is late with it, as it waits for what edges point to.
        """
        assert self.traced.monoid is not None
        kind = self.traced.gathered_type
        identity = self.traced.monoid.identity(kind)
        lines = ["first, last = np.uint64(gp[v]), np.uint64(gp[v + one])", "begin = first"]
        lines.append(f"if narrow and first + np.uint64({FEW}) <= np.uint64(len(gi)):")
        for i in range(FEW):
            lines += [f"    e = first + np.uint64({i})", "    u = np.uint64(gi[e])", *(INDENT + x for x in loads)]
            lines.append(f"    term{i} = {self.call('gather')}")
            lines.append(f"    term{i} = {within('last - first', i, f'term{i}', identity, kind)}")
        gathered = combined([f"term{i}" for i in range(FEW)])
        lines += [f"    gathered = {gathered}", f"    begin = first + np.uint64({FEW})"]
        if ahead:
            names = ["gi", *(f"gv_{name}" for name in sorted(self._edge_roles("gather") & set(self.edge_values)))]
            lines += ["else:", f"    for e in range(first, last, np.uint64({LINE})):"]
            lines += [f"        prefetch({name}, e + np.uint64({AHEAD}))" for name in names]
        return [
            *lines,
            "for e in range(begin, max(begin, last)):",
            *(INDENT + x for x in [*self.rows_ahead(FURTHER), *body]),
        ]

    def leave_early(self) -> list[str]:
        """Stop gathering once nothing can change the result."""
        if self.takes_first:
            return ["break"]
        return ["if is_final(gathered):", "    break"] if self.final is not None else []

    @property
    def ratio(self) -> int:
        """Edges that a push may follow for one that a pull looks at: many, where a pull stops at the first hit."""
        return 15 if self.leave_early() else 2

    def take_back(self, at: str) -> list[str]:
        """Load what `put_aside` stored, or what pushes brought together."""
        values = [load_text(name, kind, at) for name, kind in self.components]
        if not values:
            return []
        return ["gathered = " + (f"({', '.join(values)},)" if self.is_tuple else values[0])]

    def pull_list(self) -> Stage:
        then = self.put_aside("v") if self.two_phases else self._finish_to_list("v", receiver=False)
        body = self.over_receivers(1, [*self.pull_edges(of_receivers=True), *then], "g")
        doc = "Gather: every receiver reduces over its in-edges" + ("." if self.two_phases else ", and applies.")
        return self.stage("gather_list", doc, body)

    def pull_all(self) -> Stage:
        if self.two_phases:
            done = ["if found:", *(INDENT + x for x in [*self.put_aside("v"), *self.received("v")])]
            body = self.over_all(self.masked("v", [*self.pull_edges(of_receivers=False), *done]))
            return self.stage("gather_all", "Gather over all vertices that the mask admits; list the receivers.", body)
        word, after, listed = [], [], ["listed += one"]
        if self.keeps_active:
            word, after = ["word = zero"], ["next_active[base >> np.uint64(6)] = word"]
            listed.insert(0, "word |= one << (v & np.uint64(63))")
        if self.sends_news:
            listed.append(f"news[v] = {self.all_news}")
        if self.sends:
            listed += ["if skewed:", "    edges += np.int64(sp[v + one] - sp[v])"]
        then = [*self.finish("v"), *self.if_active("v", listed)]
        if not self.everyone:
            then = ["if found:", *(INDENT + x for x in then)]
        per_vertex = self.masked("v", [*self.pull_edges(of_receivers=False), *then])
        if self.doubled and "mask" in self.functions:
            copied = [s for n in sorted(self.doubled) for s in (Load("after", n), Store(n))]
            copies = self.rendered(copied)
            per_vertex += ["else:", *(INDENT + s for s in copies)]
        body = self.over_all(per_vertex, word, after)
        return self.stage("gather_all", "Gather over all vertices that the mask admits, and apply.", body)

    def expand(self) -> Stage:
        body = self.neighbours("s", "u", ["v = np.uint64(si[e])", *self.masked("v", self._wake())])
        body = [*self.loads("src", "u", "edge_mask"), *body, "touched += np.int64(last - first)"]
        loop = self.over_active(self._clear_claim() + body)
        return self.stage("expand", "List the vertices that an edge from an active one reaches, each once.", loop)

    def _wake(self) -> list[str]:
        claim = [
            "if claim(claims, v, threads > 1):",
            *(INDENT + x for x in self.received("v")),
        ]
        return [*self.loads("dst", "v", "edge_mask"), *self.edge_loads("s", "edge_mask"), *self.edge_condition(claim)]

    def apply_list(self) -> Stage:
        """Apply to listed receivers what was put aside for them."""
        body = self.take_back("v")
        if self.accumulates:
            body += self._forget("v")
        body += self._finish_to_list("v", receiver=False)
        loop = self.over_receivers(2, body)
        return self.stage(
            "apply_list", "Every receiver applies what it gathered; those that activate are listed.", loop
        )

    def release(self) -> Stage:
        """Clear the claims of the receivers."""
        loop = self.over_receivers(3, ["store_unordered(claims, v >> np.uint64(6), zero)"])
        return self.stage("release", "Clear the claims.", loop)

    def scatter(self) -> Stage:
        body = ["v = np.uint64(si[e])", *self.rendered(scattered(self))]
        tail = self.rendered(loads(self, "src", "scatter", copy="new"), "u")
        if self.staged:
            per_vertex = ["u = v", *tail, *self._over_own_edges(body)]
            return self.stage("scatter", "Vertices write to their out-edges.", self.over_receivers(5, per_vertex))
        return self._by_newly_active("scatter", "Newly active vertices write to their out-edges.", 5, tail, body)

    def catch_up_edges(self) -> Stage:
        body = []
        for name in sorted(self.edges_behind):
            kind, at = self.traced.edge_types[name], "np.uintp(se[e])"
            body += store_text(f"was_{name}", kind, at, load_text(f"e_{name}", kind, at))
        doc = "What partners see of the edges that were written to becomes what they are now."
        return self._by_newly_active("catch_up_edges", doc, 6, [], body)

    def _over_own_edges(self, body: list[str]) -> list[str]:
        """A loop over the out-edges of `u`: an edge is there from both ends where lists have both."""
        if self.scatters_from_tails:
            body = ["if leaving[e]:", *(INDENT + line for line in body)]
        return self.neighbours("s", "u", body)

    def _by_newly_active(self, name: str, doc: str, ticket: int, tail: list[str], body: list[str]) -> Stage:
        """A stage of the vertices that are active next, along their edges."""
        per_vertex = [*tail, *self._over_own_edges(body)]
        sizes = "counters[own_at(other) + NEXT]"
        loop = ["next_queues = queues[1 - parity]", *self.over_queue("next_queues", sizes, ticket, per_vertex, "u")]
        return self.stage(name, doc, loop)

    def post_apply(self) -> Stage:
        loop = self.over_receivers(4, self.rendered(applied_once_more(self)))
        return self.stage("post_apply", "Receivers change once more, now that all have applied.", loop)

    def catch_up(self) -> Stage:
        """Each thread takes those that it listed: there is little to do for any."""
        then = [line for name in sorted(self.behind) for line in self._brought_up(name)]
        if self.scheduled:
            loop = [
                "size, part, parts = np.uint64(receiver_count), np.uint64(thread), np.uint64(threads)",
                "for position in range(size * part // parts, size * (part + one) // parts):",
                "    v = np.uint64(receivers[position])",
            ]
        else:
            listed = "np.uint64(counters[own_at(thread) + RECEIVED])"
            loop = [f"for position in range(zero, {listed}):", "    v = np.uint64(my_receivers[position])"]
        doc = "What others see of the receivers becomes what they are now."
        return self.stage("catch_up", doc, [*loop, *(INDENT + line for line in then)])

    def aggregate(self) -> Stage:
        names = list(self.traced.aggregates)
        seen, put = self.rendered(observed(self)), self.rendered(Deposit(n, True) for n in self.traced.deposits)
        if self.sums_in_order:
            each = [*seen, *self.in_order(map(self.call, names)), *put]
            body = self.sum_chunks(["for v in range(start, stop):", *(INDENT + line for line in each)])
        else:
            body = self.over_all([*seen, *self.rendered(map(Reduce, names)), *put])
        body.insert(0, "self_iteration = max(self_iteration, 0)  # for the program's functions, to which this is no -1")
        return self.stage("aggregate", "The aggregates of the initial state.", body)

    def sum_up(self) -> Stage:
        each = [
            "for base in range(start, stop, np.uint64(64)):",
            "    word = summed[base >> np.uint64(6)]",
            "    summed[base >> np.uint64(6)] = zero",
            "    while word != zero:",
            "        v = base + count_trailing_zeros(word)",
            *(INDENT * 2 + line for line in self.in_order(f"term_{n}[v]" for n in self.traced.aggregates)),
            "        word &= word - one",
        ]
        doc = "The aggregates of an iteration, from what each vertex put aside."
        return self.stage("sum_up", doc, self.sum_chunks(each))


# --- short lists without a branch: a wrong guess by the processor costs more than values for nothing ------------------


def within(length: str, k: int, value: str, identity: Any, kind: Any) -> str:
    """The text of value k of a list, a local variable, if the list is longer than that, else of the identity."""
    if isinstance(kind, TupleType | VectorType):
        kinds = kind.items if isinstance(kind, TupleType) else (kind.scalar,) * kind.length
        identities = identity if isinstance(identity, tuple) else np.broadcast_to(identity, len(kinds))
        items = enumerate(zip(identities, kinds, strict=True))
        return "(" + "".join(f"{within(length, k, f'{value}[{i}]', *item)}, " for i, item in items) + ")"
    return f"select({_rank(length, kind)} > {_rank(k, kind)}, {value}, {printer.literal(identity, kind)})"


def combined(values: list[str]) -> str:
    """What so many values come to, a power of two, as a tree."""
    while len(values) > 1:
        values = [f"combine({a}, {b})" for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def _rank(count: Any, kind: Any) -> str:
    """A number below 2**23, as a float that so many others lie between 1 and it where it is floats that are chosen.

    By another comparison than one of floats, LLVM makes it a branch.
    """
    if kind.kind != "f":
        return f"np.uint64({count})"
    word = f"np.int{8 * kind.itemsize}"
    one = np.ones(1, kind).view(f"i{kind.itemsize}").item()
    return f"float_of({word}({word}({count}) + {word}({one})))"
