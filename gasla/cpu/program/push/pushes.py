"""The stages in which active vertices send along their out-edges, and the targets reduce what arrives."""

import functools

import numpy as np

from gasla.cpu.program.pieces import INDENT, Pieces, Stage, literal_text, part_text, place_text, store_text
from gasla.cpu.program.push.atomics import combinations
from gasla.program.plan import Part
from gasla.program.statements import Call, Load, Store, loads, read, written_by
from semirings import VectorType


class Pushes(Pieces):
    """Pushes, and what waits for its turn in them."""

    def push(self) -> Stage:
        loads = [*self._load_end("dst", "v"), *self.edge_loads("s", "gather", "edge_mask")]
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
        load = self._load_end("src", "u")
        if self.sends_news:  # taken before the fields are read: what comes later is new again
            send = ["fresh = take_news(news, u, threads > 1)", "if fresh != zero:", *(INDENT + x for x in load + walk)]
        else:
            send = load + walk
        doc = "Active vertices send along their out-edges; the targets reduce."
        return self.stage("push", doc, self.over_active([*self._clear_claim(), *send], target))

    def _load_end(self, role: str, at: str) -> list[str]:
        """What is read of one end of an edge, but for what is read lane by lane."""
        names = read(self, role, ["gather", "edge_mask"])
        if self.sends_news and self.lane_gather:
            asked = read(self, role, ["edge_mask"])
            names = [n for n in names if n in asked or not isinstance(self.traced.vertex_types.get(n), VectorType)]
        return self.rendered([Load(role, name) for name in names], at)

    def _target(self) -> str:
        """What of a target is fetched ahead: an array and an index, which has a place for the vertex."""
        kinds = {f: self.traced.vertex_types.get(f) for f in sorted(self.absorbs or self.read_by("mask", "vertex"))}
        fields = [f for f in kinds if isinstance(kinds[f], np.dtype)] or list(self.absorbs)
        if not fields:
            return ""
        return f"v_{fields[0]}, {{}}" if isinstance(kinds[fields[0]], np.dtype) else f"v_{fields[0]}[{{}}], 0"

    def _push_into_field(self) -> list[str]:
        """Reduce straight into the fields that absorb; the thread that improves one lists the vertex."""
        listed = ["if claim(claims, v, threads > 1):", *(INDENT + x for x in self.activated("v"))]
        if self.prioritised:
            later = [
                *self._wait,
                "if claim(far_bits, v, threads > 1):",
                *(INDENT + x for x in self._put_off),
            ]
            known = [] if self.ranks_new else self.loads("vertex", "v", "priority")
            listed = [
                *known,
                f"priority = {self.priority}",
                "if priority < threshold:",
                *(INDENT + x for x in listed),
                "else:",
                *(INDENT + x for x in later),
            ]
        if self.sends_news:
            news = ["if better != zero:", "    add_news(news, v, better, threads > 1)", *(INDENT + x for x in listed)]
            return [*self._improve_parts(), *news]
        improved = f"if improve(v_{self.absorbs[0]}, v, gathered, threads > 1):"
        return [f"gathered = {self.call('gather')}", improved, *(INDENT + x for x in listed)]

    def _improve_parts(self) -> list[str]:
        """Reduce what is new of u into the parts of v; `better` says which of these became so."""
        if self.lane_gather is not None:
            lane = f"improve_0(v_{self.absorbs[0]}[v], lane, value, threads > 1)"
            each = [f"value = {self._call_lane()}", f"if {lane}:", *(INDENT + x for x in self._better("lane", "value"))]
            return ["better = zero", *self._nearest(), *self._over_lanes("fresh", each)]
        lines = [f"gathered = {self.call('gather')}", "better = zero", *self._nearest()]
        for bit, part in enumerate(self.parts):
            place, value = place_text(f"v_{self.absorbs[part.item or 0]}", part, "v"), part_text("gathered", part)
            improve = f"improve_{self.number(part)}({place}, {value}, threads > 1)"
            lines.append(f"if fresh & np.uint64({1 << bit}) != zero and {improve}:")
            lines += [INDENT + x for x in self._better(bit, value)]
        return lines

    @staticmethod
    def _over_lanes(bits: str, body: list[str]) -> list[str]:
        """A loop over the lanes whose bits are set."""
        head = [f"rest = {bits}", "while rest != zero:"]
        return [*head, "    lane = count_trailing_zeros(rest)", "    rest &= rest - one", *(INDENT + x for x in body)]

    def _call_lane(self) -> str:
        """What gather gives for the lane at hand."""
        assert self.lane_gather is not None
        kinds, found = self.traced.vertex_types, []
        for s in self.lane_gather.symbols:
            role, field = self.lane_gather.sources[s.name]
            is_lane = role in ("src", "dst") and isinstance(kinds.get(field), VectorType)
            at = "u" if role == "src" else "v"
            found.append(f"load_unordered({self.row(field, 'old')}[{at}], lane)" if is_lane else s.name)
        return f"{self.lane_gather.printed}({', '.join(found)})"

    @property
    def ranks_new(self) -> bool:
        """Whether what is new of a vertex has a priority by itself."""
        return self.sends_news and self.ranks_least

    def _nearest(self) -> list[str]:
        return ["nearest = np.inf"] if self.ranks_new else []

    def _better(self, bit: int | str, value: str) -> list[str]:
        """Note that a part is new."""
        nearest = [f"nearest = nearer(nearest, np.float64({value}))"] if self.ranks_new else []
        return [f"better |= one << np.uint64({bit})" if bit != "lane" else "better |= one << lane", *nearest]

    @property
    def all_news(self) -> str:
        """The bits of all parts."""
        return f"np.uint8({(1 << len(self.parts)) - 1})"

    def number(self, part: Part) -> int:
        """Which of the functions that combine parts is its own."""
        return combinations(self)[part.combined]

    def _rank_news(self) -> list[str]:
        """The least of the parts of v that are new in `fresh`."""
        if self.lane_gather is not None:
            value = f"load_unordered(v_{self.absorbs[0]}[v], lane)"
            return [*self._nearest(), *self._over_lanes("fresh", [f"nearest = nearer(nearest, np.float64({value}))"])]
        lines = self._nearest()
        for bit, part in enumerate(self.parts):
            value = f"load_unordered({place_text(f'v_{self.absorbs[part.item or 0]}', part, 'v')})"
            lines += [
                f"if fresh & np.uint64({1 << bit}) != zero:",
                f"    nearest = nearer(nearest, np.float64({value}))",
            ]
        return lines

    @property
    def priority(self) -> str:
        """A priority in the order in which buckets are taken."""
        number = "nearest" if self.ranks_new else f"np.float64({self.call('priority')})"
        return f"ranked({number})" if self.functions["priority"].result.type.kind == "f" else number

    @property
    def _wait(self) -> list[str]:
        """Note what range of priorities waits."""
        return ["low = min(low, priority)", *([] if self.adds_up else ["high = higher(high, priority)"])]

    _put_off = ("my_far[deferred] = v", "deferred += one")

    def split(self) -> Stage:
        """The next bucket: what was put off and is near now. What came nearer meanwhile has been done already."""
        near = ["next_queue[listed] = v", "listed += one"]
        forget = "fetch_and(far_bits, v >> np.uint64(6), ~(one << (v & np.uint64(63))))"
        if self.sends_news:
            priority = self._rank_news() if self.ranks_new else self.loads("vertex", "v", "priority")
            known = ["fresh = np.uint64(news[v])", *priority]
            test, then = "fresh != zero and priority >= threshold", [forget, "if fresh != zero:"]
        else:
            known = self.loads("vertex", "v", "priority")
            test, then = "priority >= threshold", [forget, "if priority >= last_threshold:"]
        body = [
            "count, deferred, low = deferred, zero, np.inf",
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
            # A thread that comes later finds more than the identity, and need not read claims, which others write.
            claimed = f"if (old == {self.identity} or old != old) and claim(claims, v, threads > 1):"
            return [f"old = accumulate(acc, v, {self.call('gather')}, threads > 1)", claimed, *listed]
        lines = [f"gathered = {self.call('gather')}"]
        for part in self.parts:
            place, value = place_text(self.components[part.item or 0][0], part, "v"), part_text("gathered", part)
            lines.append(f"accumulate_{self.number(part)}({place}, {value}, threads > 1)")
        return [*lines, claimed, *listed]

    def _keep_gathered(self) -> list[str]:
        if self.is_single:
            return [f"acc[v] = {self.call('gather')}"]
        return [f"gathered = {self.call('gather')}", *self.put_aside("v")]

    def _forget(self, at: str) -> list[str]:
        """Have accumulators hold the identity."""
        values = zip(self.components, self._parts(self.identity), strict=True)
        return [line for (name, kind), value in values for line in store_text(name, kind, at, value)]

    def _clear_claim(self) -> list[str]:
        """Claims of the last iteration are cleared by its active vertices, where these are all that were claimed."""
        return ["store_unordered(last_claims, u >> np.uint64(6), zero)"] if self.absorbs or self.push_at_once else []

    def _finish_to_list(self, at: str, receiver: bool = True) -> list[str]:
        if self.scheduled:
            note = [f"activated[{at}] = {self.is_active()}"] if self.staged else []
            return [*self.finish(at, receiver=False), *note]
        return [*self.finish(at, receiver), *self.if_active(at, self.activated(at))]

    def put_aside(self, at: str) -> list[str]:
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
        if self.is_wide:
            return f"nothing({', '.join(self.scratch_of('gather'))})"
        return literal_text(self.traced.monoid.identity(kind), kind)
