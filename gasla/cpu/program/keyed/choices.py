"""Text that reduces by key over the edges of a vertex, and chooses one of the keys."""

import functools
from typing import Any

import semirings
from gasla.cpu.program.loop.resume import Resumes
from gasla.cpu.program.pieces import FEW, INDENT, literal_text
from gasla.cpu.program.push.atomics import combination
from gasla.cpu.program.signature import TABLES
from semirings import Expr, Symbol, VectorType
from semirings.printers import python as printer

AHEAD = 16  # edges


class Choices(Resumes):
    """What a keyed program's gather is made of."""

    @property
    def local_names(self) -> list[str]:
        """Local names of a stage, with the thread's own table."""
        tables = [f"my_{name}" for name in TABLES]
        return [f"{', '.join(tables)} = {', '.join(f'{name}[thread]' for name in TABLES)}", *super().local_names]

    def reductions_by_key(self) -> list[str]:
        """The functions that combine two values of a key, and say which of two keys is chosen."""
        assert self.keyed is not None and self.traced.monoid is not None
        x, y = Symbol("x", self.keyed.total), Symbol("y", self.keyed.total)
        better = printer.function("better", self.keyed.better_symbols, self.keyed.better)
        combined: Expr = semirings.as_expr(self.traced.monoid.combine(x, y))
        return [combination("combine", x, y, combined), f"@jit\n{better}"]

    def begin_table(self) -> list[str]:
        """Lines before the edges of `v`."""
        return ["used, capacity = zero, (np.uint64(gp[v + one]) - np.uint64(gp[v])) << one"]

    def gather_by_key(self) -> list[str]:
        """Lines that combine an edge's value with those of its key."""
        return [
            f"key = {self.call('key')}",
            "if key >= 0:",
            "    place = place_of(my_table_keys, key, capacity)",
            "    if my_table_keys[place] >= 0:",
            f"        my_table_totals[place] = combine(my_table_totals[place], {self.call('gather')})",
            "    else:",
            f"        my_table_keys[place], my_table_totals[place] = key, {self.call('gather')}",
            "        my_table_places[used] = place",
            "        used += one",
            *("        " + line for line in self.choice_ahead()),
        ]

    def choice_ahead(self) -> list[str]:
        """Fetch what the choice will read of other vertices, which most often are those that keys name."""
        return [
            self._fetch(f"other_{name}", name, "np.uint64(key)") for name in sorted(self.read_by("choose", "other"))
        ]

    def fields_ahead(self) -> list[str]:
        """Fetch what is read of the neighbour some edges on: whether a key is new the processor can't foresee."""
        names = sorted(self.read_by("key", "src") & {*self.traced.vertex_types})
        lines = [f"ahead = np.uint64(gi[min(e + np.uint64({AHEAD}), np.uint64(len(gi)) - one)])"]
        return [*lines, *(self._fetch(self.row(n, "old"), n, "ahead") for n in names)] if names else []

    def _fetch(self, array: str, name: str, at: str) -> str:
        """Ask for a field of a vertex; of a vector for its first items."""
        is_vector = isinstance(self.traced.vertex_types.get(name), VectorType)
        return f"prefetch({array}[{at}], zero)" if is_vector else f"prefetch({array}, {at})"

    def choose(self) -> list[str]:
        """Lines after the edges: `gathered` is what is chosen, if the vertex receives; the table is empty again."""
        assert self.keyed is not None
        scores = [f"score_{i}" for i in range(len(self.keyed.scores))]
        found = ["key", "total", *scores]
        best = ", ".join(f"best_{name}" for name in found)
        compared = ", ".join(f"{name}, best_{name}" for name in ["key", *scores])
        return [
            *self.loads("vertex", "v", "choose"),
            f"{best} = {self.identity}",
            "for i in range(used):",
            "    place = np.uint64(my_table_places[i])",
            "    key, total = my_table_keys[place], my_table_totals[place]",
            "    my_table_keys[place] = -1",
            "    if found:",
            f"        {', '.join(scores)}, = {self.call('choose')}",
            f"        if better({compared}):",
            f"            {best} = {', '.join(found)}",
            f"gathered = ({best})",
        ]

    def of_few(self, loads: list[str], asks_active: bool, otherwise: list[str]) -> list[str]:
        """Lines for a list of few edges, without a table or a branch: each edge is compared with all after it.

        A wrong guess of the processor costs more than values for nothing. `loads` reads what functions see of edge `e`.
        If it `asks_active`, the vertex receives if one of its neighbours is active.
        """
        assert self.keyed is not None and self.traced.monoid is not None
        nothing = printer.literal(self.traced.monoid.identity(self.keyed.total), self.keyed.total)
        none, names = printer.literal(-1, self.keyed.key), [f"score_{i}" for i in range(len(self.keyed.scores))]
        best = ", ".join(f"best_{name}" for name in ["key", "total", *names])
        compared = ", ".join(f"{name}, best_{name}" for name in ["key", *names])
        lines = [*self.loads("vertex", "v", "choose"), f"{best} = {self.identity}", f"found = {not asks_active}"]
        for i in range(FEW):
            lines += [
                f"e = first + np.uint64({i})",
                "u = np.uint64(gi[e])",
                *loads,
                f"value_{i} = {self.call('gather')}",
            ]
            lines += [f"found |= has(active, u) & (last - first > np.uint64({i}))"] if asks_active else []
            lines += [f"key_{i} = select(last - first > np.uint64({i}), {self.call('key')}, {none})"]
        for i in range(FEW):
            is_first = " & ".join([f"(key_{i} >= 0)", *(f"(key_{j} != key_{i})" for j in range(i))])
            lines += [f"key, total = key_{i}, value_{i}"]
            lines += [
                f"total = combine(total, select(key_{j} == key, value_{j}, {nothing}))" for j in range(i + 1, FEW)
            ]
            lines += [f"{', '.join(names)}, = {self.call('choose')}", f"wins = {is_first} & better({compared})"]
            lines += [f"best_{name} = select(wins, {name}, best_{name})" for name in ["key", "total", *names]]
        return [
            "first, last = np.uint64(gp[v]), np.uint64(gp[v + one])",
            f"if last - first <= np.uint64({FEW}) and first + np.uint64({FEW}) <= np.uint64(len(gi)):",
            *(INDENT + x for x in lines),
            f"    gathered = ({best})",
            "else:",
            *(INDENT + x for x in otherwise),
        ]

    def clear_tables(self) -> list[str]:
        """Lines that empty all tables when a run begins."""
        return ["for t in range(thread, len(table_keys), threads):", "    table_keys[t] = -1"]

    @functools.cached_property
    def identity(self) -> str:
        """What is gathered of no edges."""
        if self.keyed is None:
            return super().identity
        kind: Any = self.keyed.gathered_type
        return literal_text(self.keyed.nothing, kind)
