"""The stages of a program: each a function that all threads of a run call together (`thread` of `threads`)."""

import functools
import re

import numpy as np

from gasla.cpu.program.pieces import FEW, INDENT, Pieces, Stage, combined, literal_text, load_text, store_text, within
from gasla.cpu.program.signature import Field
from gasla.program.statements import (
    Call,
    Load,
    Reduce,
    Store,
    applied_once_more,
    loads,
    observed,
    scattered,
    written_by,
)

AHEAD, LINE = 512, 16  # edges; so many lie in a cache line, if their ids are int32


class Stages(Pieces):
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
        if "post_apply" in self.functions:
            found.append(self.post_apply())
        if self.traced.aggregates:
            found += [self.aggregate(), *([self.sum_up()] if self.sums_in_order else [])]
        if not self.staged:
            found.append(self.fill())
        return {stage.name: stage for stage in found}

    def fill(self) -> Stage:
        """Fields are filled: from one value, and the values of some vertices; or from those of all.

        By all threads: to get fresh pages from the system takes longer than anything else before a run.
        """
        clears = {"bits": "clear_both", "claimed": "clear_both", "far_bits": "clear", "summed": "clear"}
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
        if self.accumulates:
            ((name, kind),) = self.components
            body += ["for v in range(low, high):", *(INDENT + x for x in store_text(name, kind, "v", self.identity))]
        doc = "What a run starts with: fields, empty bitmaps, nothing gathered."
        return self.function("fill", doc, body)

    def _fill(self, field: Field) -> list[str]:
        """The thread's part of one field. Values are none, if it is full already; all; or one, and those of places."""
        name, array, values, places = field
        kind, copies, lines = self.traced.vertex_types[name], [array], []
        if name in self.doubled:
            copies, lines = ["first", "second"], [f"first, second = {array}[0], {array}[1]"]
        stores = [line for copy in copies for line in store_text(copy, kind, "np.uint64(v)", "value")]
        return [
            *lines,
            f"if len({values}) > len({places}) + 1:",
            "    for v in range(low, high):",
            f"        value = {load_text(values, kind, 'np.uint64(v)')}",
            *(INDENT * 2 + line for line in stores),
            f"elif len({values}) > 0:",
            f"    value = {load_text(values, kind, '0')}",
            "    for v in range(low, high):",
            *(INDENT * 2 + line for line in stores),
            f"    for i in range(len({places})):",
            f"        v, value = {places}[i], {load_text(values, kind, 'i + 1')}",
            "        if low <= v < high:",
            *(INDENT * 3 + line for line in stores),
        ]

    def pull_edges(self, woken: bool) -> list[str]:
        """Reduce over the in-edges of `v` into `gathered`; `found` says whether the vertex receives."""
        if not self.gathers and (woken or self.everyone):
            return ["found = True"]
        lines = self.loads("dst", "v", "gather", "edge_mask")
        lines.append(f"gathered = {self.identity}")
        test_active = self.active_only
        needs_wake = not self.everyone and not woken and not test_active
        body: list[str] = []
        loads = self.loads("src", "u", "edge_mask") + self.edge_loads("g", "edge_mask")
        more = self.loads("src", "u", "gather") + self.edge_loads("g", "gather")
        more = [line for line in more if line not in loads]
        inner = list(more)
        if self.gathers:
            inner.append(f"gathered = {self.gather_one()}")
        if needs_wake:
            inner.append("found |= has(active, u)")
        elif not woken and not self.everyone:
            inner.append("found = True")
        leaving = self.leave_early()
        # A result that nothing can change any more ends the search only for one who is sure to receive it.
        inner += ["if found:", *(INDENT + x for x in leaving)] if leaving and needs_wake else leaving
        body = ["u = np.uint64(gi[e])"] + (["touched += 1"] if leaving else [])
        core = [*loads, *self.edge_condition(inner)]
        if test_active:
            core = ["if has(active, u):", *(INDENT + line for line in core)]
        lines.append("found = " + ("True" if woken or self.everyone else "False"))
        if "mask" in self.functions and not woken:  # whose lists are next can't be foreseen by the processor
            lines.append("prefetch(gi, np.uint64(gp[min(v + NEAR, np.uint64(self_n))]))")
        if leaving or needs_wake or test_active or "edge_mask" in self.functions or not self._may_be_narrow:
            some = self.is_wide and core == more + inner[len(more) :]
            lines += self._several_at_once(more, body + core) if some else self.neighbours("g", "v", body + core)
        else:
            lines += self._narrow_or_not(more, body + core, ahead=not woken)
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
        return [*lines, "for e in range(begin, max(begin, last)):", *(INDENT + x for x in body)]

    def _several_at_once(self, loads: list[str], body: list[str]) -> list[str]:
        """Wide vectors of a few edges are gathered together: what has been gathered is read and written once."""
        own = re.compile(r"\b(src_\w+|edge_\w+|u|e)\b")
        lines = ["first, last = np.uint64(gp[v]), np.uint64(gp[v + one])", "begin = first"]
        lines += [f"while begin + np.uint64({FEW}) <= last:"]
        for i in range(FEW):
            each = [f"e = begin + np.uint64({i})", "u = np.uint64(gi[e])", *loads]
            lines += [INDENT + own.sub(rf"\1_{i}", line) for line in each]
        symbols = self.functions["gather"].symbols
        several = [own.sub(rf"\1_{i}", s.name) for i in range(FEW) for s in symbols]
        lines += [f"    gathered = gather_few({', '.join(['gathered', *dict.fromkeys(several)])})"]
        lines += [f"    begin += np.uint64({FEW})"]
        return [*lines, "for e in range(begin, last):", *(INDENT + x for x in body)]

    def gather_one(self) -> str:
        """What has been gathered once an edge's value is with it."""
        if not self.is_wide or self.takes_first:
            return self.reduced("gathered", self.call("gather"))
        return f"gather_into({', '.join(['gathered', *(s.name for s in self.functions['gather'].symbols)])})"

    def _read(self, function: str, role: str) -> set[str]:
        return self.functions[function].reads(role) if function in self.functions else set()

    def reduced(self, old: str, new: str) -> str:
        return new if self.takes_first else f"combine({old}, {new})"

    def leave_early(self) -> list[str]:
        """Stop gathering once nothing can change the result."""
        if self.takes_first:
            return ["break"]
        return ["if is_final(gathered):", "    break"] if self.final is not None else []

    @property
    def ratio(self) -> int:
        """Edges that a push may follow for one that a pull looks at: many, where a pull stops at the first hit."""
        return 15 if self.leave_early() else 2

    @functools.cached_property
    def identity(self) -> str:
        if not self.gathers:
            return "None"
        assert self.traced.monoid is not None
        kind = self.traced.gathered_type
        if self.is_wide:
            return f"nothing({', '.join(self.rooms_of('gather'))})"
        return literal_text(self.traced.monoid.identity(kind), kind)

    def keep(self, at: str) -> list[str]:
        """Put `gathered` aside for the apply stage, and list the vertex as a receiver."""
        lines = [
            s
            for (name, kind), value in zip(self.components, self._parts("gathered"))
            for s in store_text(name, kind, at, value)
        ]
        return lines

    def _parts(self, name: str) -> list[str]:
        return (
            [name]
            if len(self.components) == 1 and not self.is_tuple
            else [f"{name}[{i}]" for i in range(len(self.components))]
        )

    def kept(self, at: str) -> list[str]:
        """Take back what `keep` put aside, or pushes brought together."""
        values = [load_text(name, kind, at) for name, kind in self.components]
        if not values:
            return []
        return ["gathered = " + (f"({', '.join(values)},)" if self.is_tuple else values[0])]

    def pull_list(self) -> Stage:
        then = self.keep("v") if self.two_phases else self._finish_to_list("v", receiver=False)
        body = self.over_receivers(1, [*self.pull_edges(woken=True), *then], "g")
        doc = "Gather: every receiver reduces over its in-edges" + ("." if self.two_phases else ", and applies.")
        return self.stage("gather_list", doc, body)

    def _finish_to_list(self, at: str, receiver: bool = True) -> list[str]:
        if self.scheduled:
            note = [f"activated[{at}] = {self.is_active()}"] if self.staged else []
            return [*self.finish(at, receiver=False), *note]
        return [*self.finish(at, receiver), f"if {self.is_active()}:", *(INDENT + x for x in self.activated(at))]

    def pull_all(self) -> Stage:
        if self.two_phases:
            done = ["if found:", *(INDENT + x for x in [*self.keep("v"), *self.received("v")])]
            body = self.over_all(self.masked("v", [*self.pull_edges(woken=False), *done]))
            return self.stage("gather_all", "Gather over all vertices that the mask admits; list the receivers.", body)
        then = [*self.finish("v"), f"if {self.is_active()}:"]
        word, after = [], []
        if self.keeps_active:
            word, after = ["word = zero"], ["next_active[base >> np.uint64(6)] = word"]
            then.append("    word |= one << (v & np.uint64(63))")
        then.append("    held += one")
        if self.sends:
            then += ["    if skewed:", "        edges += np.int64(sp[v + one] - sp[v])"]
        if not self.everyone:
            then = ["if found:", *(INDENT + x for x in then)]
        per_vertex = self.masked("v", [*self.pull_edges(woken=False), *then])
        if self.doubled and "mask" in self.functions:
            kept = [s for n in sorted(self.doubled) for s in (Load("after", n), Store(n))]
            copies = self.rendered(kept)
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

    def _clear_claim(self) -> list[str]:
        """Claims of the last iteration are cleared by its active vertices, where these are all that were claimed."""
        return ["store_unordered(last_claims, u >> np.uint64(6), zero)"] if self.absorbs or self.push_at_once else []

    def push(self) -> Stage:
        loads = [*self.loads("dst", "v", "gather", "edge_mask"), *self.edge_loads("s", "gather", "edge_mask")]
        if self.absorbs:
            then = self._push_into_field()
        elif self.push_at_once:
            then = self._push_any()
        else:
            then = self._push_accumulate()
        field = self._target()
        # Some edges on as well, where the list is long.
        on = ["if e + NEAR < last:", f"    prefetch({field}, np.uint64(si[e + NEAR]))"] if field else []
        edge = ["v = np.uint64(si[e])", *on, *self.masked("v", [*loads, *self.edge_condition(then)])]
        body = [
            *self._clear_claim(),
            *self.loads("src", "u", "gather", "edge_mask"),
            *self.neighbours("s", "u", edge),
            "touched += np.int64(last - first)",
        ]
        doc = "Active vertices send along their out-edges; the targets reduce."
        return self.stage("push", doc, self.over_active(body, field))

    def _target(self) -> str:
        """The field of a target that is fetched ahead."""
        read = {self.absorbs} if self.absorbs else self._read("mask", "vertex")
        fields = sorted(f for f in read if isinstance(self.traced.vertex_types.get(f), np.dtype))
        return f"v_{fields[0]}" if fields else ""

    def _push_into_field(self) -> list[str]:
        """Reduce straight into the field that absorbs; whoever improves it lists the vertex."""
        name = f"v_{self.absorbs}"
        listed = ["if claim(claims, v, threads > 1):", *(INDENT + x for x in self.activated("v"))]
        if self.prioritised:
            later = [
                *self._wait,
                "if claim(far_bits, v, threads > 1):",
                *(INDENT + x for x in self._put_off),
            ]
            listed = [
                *self.loads("vertex", "v", "priority"),
                f"priority = {self.priority}",
                "if priority < threshold:",
                *(INDENT + x for x in listed),
                "else:",
                *(INDENT + x for x in later),
            ]
        return [
            f"gathered = {self.call('gather')}",
            f"if improve({name}, v, gathered, threads > 1):",
            *(INDENT + x for x in listed),
        ]

    @property
    def priority(self) -> str:
        """A priority in the order in which buckets are taken."""
        number = f"np.float64({self.call('priority')})"
        return f"ranked({number})" if self.functions["priority"].result.type.kind == "f" else number

    @property
    def _wait(self) -> list[str]:
        """Note what range of priorities waits."""
        return ["low = min(low, priority)", *([] if self.adds_up else ["high = higher(high, priority)"])]

    _put_off = ("my_far[kept] = v", "kept += one")

    def split(self) -> Stage:
        """The next bucket: what was put off and is near now. What came nearer meanwhile has been done already."""
        body = [
            "count, kept, low = kept, zero, np.inf",
            *([] if self.adds_up else ["high = -np.inf"]),
            "for position in range(count):",
            "    prefetch(v_" + str(self.absorbs) + ", np.uint64(my_far[min(position + FAR, count - one)]))",
            "    v = np.uint64(my_far[position])",
            *(INDENT + x for x in self.loads("vertex", "v", "priority")),
            f"    priority = {self.priority}",
            "    if priority >= threshold:",
            *(INDENT * 2 + x for x in self._wait),
            *(INDENT * 2 + x for x in self._put_off),
            "    else:",
            "        fetch_and(far_bits, v >> np.uint64(6), ~(one << (v & np.uint64(63))))",
            "        if priority >= last_threshold:",
            "            next_queue[held] = v",
            "            held += one",
        ]
        return self.stage("split", "Take what is near now from what was put off.", body)

    def _push_any(self) -> list[str]:
        """The first to reach a vertex applies to it. One that does not activate is listed to have its claim cleared."""
        unmoved = ["else:", *(INDENT + x for x in self.received("v"))]
        then = [f"gathered = {self.call('gather')}", *self._finish_to_list("v", receiver=False), *unmoved]
        claimed = ["if claim(claims, v, threads > 1):", *(INDENT + x for x in then)]
        if not self.traced.settles:
            return claimed
        # Plain stores will do where the mask refuses the vertex from then on: a thread lists it once at most.
        apply = written_by(self, "apply")
        renamed = {f"vertex_{f}": f"after_{f}" for f in apply}
        test = self.functions["mask"]
        mask = f"{test.printed}({', '.join(renamed.get(s.name, s.name) for s in test.symbols)})"
        stores = self.rendered(map(Store, apply))
        return [
            f"gathered = {self.call('gather')}",
            *self.rendered([*loads(self, "vertex", "apply"), Call("apply", "after")]),
            f"if not {mask}:",
            *(INDENT + x for x in [*stores, *self.activated("v")]),
            "else:",
            *(INDENT + x for x in claimed),
        ]

    def _push_accumulate(self) -> list[str]:
        """Reduce into an array that holds the identity between iterations; the first to come lists the receiver."""
        ((name, _),) = self.components
        listed = [INDENT + x for x in self.received("v")]
        if self.takes_first:
            return ["if claim(claims, v, threads > 1):", f"    {name}[v] = {self.call('gather')}", *listed]
        return [
            f"accumulate({name}, v, {self.call('gather')}, threads > 1)",
            "if claim(claims, v, threads > 1):",
            *listed,
        ]

    def apply_list(self) -> Stage:
        """Apply to listed receivers what was put aside for them."""
        body = self.kept("v")
        if self.accumulates:
            ((name, kind),) = self.components
            body += store_text(name, kind, "v", self.identity)
        body += self._finish_to_list("v", receiver=False)
        loop = self.over_receivers(2, body)
        return self.stage(
            "apply_list", "Every receiver applies what it gathered; those that activate are listed.", loop
        )

    def release(self) -> Stage:
        """Clear the claims of the receivers."""
        loop = self.over_receivers(3, ["store_unordered(claims, v >> np.uint64(6), zero)"])
        return self.stage("release", "Forget who was claimed.", loop)

    def scatter(self) -> Stage:
        body = ["v = np.uint64(si[e])", *self.rendered(scattered(self))]
        if self.scatters_from_tails:
            body = ["if leaving[e]:", *(INDENT + line for line in body)]
        tail = self.rendered(loads(self, "src", "scatter", copy="new"), "u")
        per_vertex = [*tail, *self.neighbours("s", "u", body)]
        if self.staged:
            per_vertex = ["u = v", *per_vertex]
            return self.stage("scatter", "Vertices write to their out-edges.", self.over_receivers(5, per_vertex))
        loop = [
            "next_queues = queues[1 - parity]",
            *self.over_queue("next_queues", "counters[block(other) + NEXT]", 5, per_vertex, "u"),
        ]
        return self.stage("scatter", "Newly active vertices write to their out-edges.", loop)

    def post_apply(self) -> Stage:
        loop = self.over_receivers(4, self.rendered(applied_once_more(self)))
        return self.stage("post_apply", "Receivers change once more, now that all have applied.", loop)

    def aggregate(self) -> Stage:
        names = list(self.traced.aggregates)
        seen = self.rendered(observed(self))
        if self.sums_in_order:
            each = [*seen, *self.in_order(map(self.call, names))]
            body = self.sum_chunks(["for v in range(start, stop):", *(INDENT + line for line in each)])
        else:
            body = self.over_all([*seen, *self.rendered(map(Reduce, names))])
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
