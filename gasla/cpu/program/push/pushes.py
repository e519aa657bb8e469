"""The stages in which active vertices send along their out-edges, and the targets reduce what arrives."""

import functools

import numpy as np

from gasla.cpu.program.pieces import INDENT, Pieces, Stage, literal_text, part_text, place_text, store_text
from gasla.cpu.program.push.atomics import combinations
from gasla.program.plan import Part
from gasla.program.statements import Call, Store, loads, written_by


class Pushes(Pieces):
    """Pushes, and what waits for its turn in them."""

    def push(self) -> Stage:
        loads = [*self.loads("dst", "v", "gather", "edge_mask"), *self.edge_loads("s", "gather", "edge_mask")]
        if self.absorbs:
            then = self._push_into_field()
        elif self.push_at_once:
            then = self._push_any()
        else:
            then = self._push_accumulate()
        target = self._target()
        # Some edges on as well, where the list is long.
        ahead = f"    prefetch({target.format('np.uint64(si[e + NEAR])')})"
        on = ["if e + NEAR < last:", ahead] if target else []
        edge = ["v = np.uint64(si[e])", *on, *self.masked("v", [*loads, *self.edge_condition(then)])]
        walk = [*self.neighbours("s", "u", edge), "touched += np.int64(last - first)"]
        load = self.loads("src", "u", "gather", "edge_mask")
        if self.sends_news:  # taken before the fields are read: what comes later is new again
            send = ["fresh = take_news(news, u, threads > 1)", "if fresh != zero:", *(INDENT + x for x in load + walk)]
        else:
            send = load + walk
        doc = "Active vertices send along their out-edges; the targets reduce."
        return self.stage("push", doc, self.over_active([*self._clear_claim(), *send], target))

    def _target(self) -> str:
        """What of a target is fetched ahead: an array and an index, which has a place for the vertex."""
        read = set(self.absorbs) or self._read("mask", "vertex")
        kinds = {f: self.traced.vertex_types.get(f) for f in sorted(read)}
        fields = [f for f in kinds if isinstance(kinds[f], np.dtype)] or list(self.absorbs)
        if not fields:
            return ""
        return f"v_{fields[0]}, {{}}" if isinstance(kinds[fields[0]], np.dtype) else f"v_{fields[0]}[{{}}], 0"

    def _push_into_field(self) -> list[str]:
        """Reduce straight into the fields that absorb; whoever improves them lists the vertex."""
        listed = ["if claim(claims, v, threads > 1):", *(INDENT + x for x in self.activated("v"))]
        if self.prioritised:
            later = [
                *self._wait,
                "if claim(far_bits, v, threads > 1):",
                *(INDENT + x for x in self._put_off),
            ]
            listed = [
                *self._known("better", "gathered"),
                f"priority = {self.priority}",
                "if priority < threshold:",
                *(INDENT + x for x in listed),
                "else:",
                *(INDENT + x for x in later),
            ]
        gathered = f"gathered = {self.call('gather')}"
        if not self.sends_news:
            improved = f"if improve(v_{self.absorbs[0]}, v, gathered, threads > 1):"
            return [gathered, improved, *(INDENT + x for x in listed)]
        lines = [gathered, "better = zero"]
        for bit, part in self.news:
            place, value = place_text(f"v_{self.absorbs[part.item or 0]}", part, "v"), part_text("gathered", part)
            improve = f"improve_{self.number(part)}({place}, {value}, threads > 1)"
            lines += [f"if fresh & np.uint64({bit}) != zero and {improve}:", f"    better |= np.uint64({bit})"]
        added = "add_news(news, v, better, threads > 1)"
        return [*lines, "if better != zero:", *(INDENT + x for x in [added, *listed])]

    @property
    def news(self) -> list[tuple[int, Part]]:
        """The parts of what is gathered, each with the bit that says that it is new."""
        return [(1 << i, part) for i, part in enumerate(self.parts)]

    @property
    def all_news(self) -> str:
        """The bits of all of them."""
        return f"np.uint8({(1 << len(self.parts)) - 1})"

    def number(self, part: Part) -> int:
        """Which of the functions that combine parts is its own."""
        return combinations(self)[part.combined]

    def _known(self, fresh: str, value: str = "") -> list[str]:
        """What a priority is computed from: of parts where it is the least of them, those that are new in `fresh`."""
        if not (self.sends_news and self.ranks_least):
            return self.loads("vertex", "v", "priority")
        items: dict[str, list[str]] = {name: [] for name in self.absorbs}
        for bit, part in self.news:
            name = self.absorbs[part.item or 0]
            field = f"v_{name}"
            held = f"load_unordered({place_text(field, part, 'v')})"
            new, nothing = part_text(value, part) if value else held, part_text(self.identity, part)
            items[name].append(f"{new} if {fresh} & np.uint64({bit}) != zero else {nothing}")
        kinds = self.traced.vertex_types
        return [
            f"vertex_{name} = " + (texts[0] if isinstance(kinds[name], np.dtype) else f"({', '.join(texts)},)")
            for name, texts in items.items()
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
        near = ["next_queue[held] = v", "held += one"]
        forget = "fetch_and(far_bits, v >> np.uint64(6), ~(one << (v & np.uint64(63))))"
        if self.sends_news:
            known = ["fresh = np.uint64(news[v])", *self._known("fresh")]
            test, then = "fresh != zero and priority >= threshold", [forget, "if fresh != zero:"]
        else:
            known = self.loads("vertex", "v", "priority")
            test, then = "priority >= threshold", [forget, "if priority >= last_threshold:"]
        body = [
            "count, kept, low = kept, zero, np.inf",
            *([] if self.adds_up else ["high = -np.inf"]),
            "for position in range(count):",
            f"    prefetch({self._target().format('np.uint64(my_far[min(position + FAR, count - one)])')})",
            "    v = np.uint64(my_far[position])",
            *(INDENT + x for x in known),
            f"    priority = {self.priority}",
            f"    if {test}:",
            *(INDENT * 2 + x for x in self._wait),
            *(INDENT * 2 + x for x in self._put_off),
            "    else:",
            *(INDENT * 2 + x for x in then),
            *(INDENT * 3 + x for x in near),
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
        """Reduce into arrays that hold the identity between iterations; the first to come lists the receiver."""
        listed = [INDENT + x for x in self.received("v")]
        claimed = "if claim(claims, v, threads > 1):"
        if self.takes_first:
            return [claimed, *(INDENT + x for x in self._keep_gathered()), *listed]
        if self.is_single:
            return [f"accumulate(acc, v, {self.call('gather')}, threads > 1)", claimed, *listed]
        lines = [f"gathered = {self.call('gather')}"]
        for part in self.parts:
            place, value = place_text(self.components[part.item or 0][0], part, "v"), part_text("gathered", part)
            lines.append(f"accumulate_{self.number(part)}({place}, {value}, threads > 1)")
        return [*lines, claimed, *listed]

    def _keep_gathered(self) -> list[str]:
        if self.is_single:
            return [f"acc[v] = {self.call('gather')}"]
        return [f"gathered = {self.call('gather')}", *self.keep("v")]

    def _forget(self, at: str) -> list[str]:
        """Have accumulators hold the identity."""
        values = zip(self.components, self._parts(self.identity), strict=True)
        return [line for (name, kind), value in values for line in store_text(name, kind, at, value)]

    def _clear_claim(self) -> list[str]:
        """Claims of the last iteration are cleared by its active vertices, where these are all that were claimed."""
        return ["store_unordered(last_claims, u >> np.uint64(6), zero)"] if self.absorbs or self.push_at_once else []

    def _read(self, function: str, role: str) -> set[str]:
        return self.functions[function].reads(role) if function in self.functions else set()

    def _finish_to_list(self, at: str, receiver: bool = True) -> list[str]:
        if self.scheduled:
            note = [f"activated[{at}] = {self.is_active()}"] if self.staged else []
            return [*self.finish(at, receiver=False), *note]
        return [*self.finish(at, receiver), f"if {self.is_active()}:", *(INDENT + x for x in self.activated(at))]

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

    @functools.cached_property
    def identity(self) -> str:
        if not self.gathers:
            return "None"
        assert self.traced.monoid is not None
        kind = self.traced.gathered_type
        return literal_text(self.traced.monoid.identity(kind), kind)
