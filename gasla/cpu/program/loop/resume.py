"""Stages that find vertices to go on with where none is active: a bucket opens, or every vertex is asked to wake.

They come after an iteration's end, when `self_iteration` is already that of the next one, and list its active vertices.
"""

import functools

from gasla.cpu.program.pieces import INDENT, Stage
from gasla.cpu.program.push.pushes import Pushes

LOCALS = [
    "one, zero, parity = np.uint64(1), np.uint64(0), self_iteration & 1",
    "mine = counts[(self_iteration + 2) % 3][own_at(thread) :]",
    "words = (self_n + 63) >> 6",
    "first, last = np.uint64(words * thread // threads), np.uint64(words * (thread + 1) // threads)",
]


class Resumes(Pushes):
    """The source of those stages, and the lines of the loop that call them."""

    @functools.cached_property
    def resuming(self) -> list[Stage]:
        """The stages that the program needs."""
        if not self.resumes:
            return []
        found = [self._wait_all(), self._open_bucket()] if self.has_buckets else []
        return [*found, self._wakers()] if "wake" in self.functions else found

    def resume(self, start: bool = False) -> list[str]:
        """Lines that fill the active set, if it is empty; at a run's start buckets hold back all."""
        if not self.resumes:
            return []
        calls = {stage.name: stage.call() for stage in self.resuming}
        counted = [
            "_, size, reached, _ = results_of(counts[(self_iteration + 2) % 3], threads)",
            "edges = reached if skewed else size * mean_degree",
        ]
        opens = [f"self_bucket = {calls['open_bucket']}", *counted] if self.has_buckets else []
        wakes: list[str] = []
        if "wake" in self.functions:
            changed = ", ".join(f"self_{name}" for name in self.changes)
            wakes = [f"{changed} = {self.call('idle')}"] if changed else []
            wakes.append("barrier(control, threads)  # all have read the counts that wake writes")
            wakes += [calls["wake"], "barrier(control, threads)", "remaining = entries", *(opens or counted)]
            wakes = ["if size == 0:", *(INDENT + x for x in wakes)] if opens else wakes
        is_over = "size == 0 and left == 0" if self.prioritised else "size == 0"
        body = [*opens, *wakes, f"form, work = {'BITS' if self.everyone else 'LIST'}, work + self_n"]
        if not start:
            return [f"if {is_over} and not (done or stopped):", *(INDENT + x for x in body)]
        waits = [calls["wait_all"], "barrier(control, threads)", "size = np.int64(0)"] if self.has_buckets else []
        return [
            "if self_iteration == 0:",
            *(INDENT + x for x in [*waits, f"if {is_over}:", *(INDENT + x for x in body)]),
        ]

    def _wait_all(self) -> Stage:
        """All that a run starts with wait for their bucket."""
        lines = [
            *LOCALS,
            "for i in range(mine[NEXT]):",
            "    claim(waiting, np.uint64(queues[parity, thread, i]), threads > 1)",
            "mine[NEXT] = 0",
        ]
        return self.function("wait_all", "Vertices that are active at first wait until the lowest bucket opens.", lines)

    def _open_bucket(self) -> Stage:
        """List the vertices of the lowest bucket in one pass: where a lower one comes up, the list begins anew."""
        lines = [
            *LOCALS,
            "queue, listed, low = queues[parity, thread], zero, np.int64(2**63 - 1)",
            *self._over_waiting(
                [
                    *self.loads("vertex", "v", "bucket"),
                    f"turn = np.int64({self.call('bucket')})",
                    "if turn < 0:",
                    "    waiting[w] &= ~(one << (v & np.uint64(63)))",
                    "elif turn <= low:",
                    "    listed = listed if turn == low else zero",
                    "    low, queue[listed] = turn, v",
                    "    listed += one",
                ]
            ),
            "lowest[thread * 8] = low if listed > zero else np.int64(-1)",
            "barrier(control, threads)",
            "least = least_of(lowest, threads)",
            "listed = listed if low == least else zero",
            "mine[EDGES] = 0",
            "for i in range(listed):",
            "    v = np.uint64(queue[i])",
            "    waiting[v >> np.uint64(6)] &= ~(one << (v & np.uint64(63)))",
            *(INDENT + x for x in self._reached("v")),
            "mine[NEXT] = np.int64(listed)",
            "barrier(control, threads)",
            "return least if least >= 0 else self_bucket",
        ]
        return self.function("open_bucket", "The lowest bucket that is not empty opens; which one is open then.", lines)

    def _reached(self, at: str) -> list[str]:
        """Count the edges that lead on from a vertex."""
        return ["if skewed:", f"    mine[EDGES] += np.int64(sp[{at} + one] - sp[{at}])"] if self.sends else []

    @staticmethod
    def _over_waiting(body: list[str]) -> list[str]:
        """A loop over a thread's part of the waiting vertices."""
        return [
            "for w in range(first, last):",
            "    word = waiting[w]",
            "    while word != zero:",
            "        v = (w << np.uint64(6)) + count_trailing_zeros(word)",
            "        word &= word - one",
            *(INDENT * 2 + x for x in body),
        ]

    def _wakers(self) -> Stage:
        """A pass over all vertices; those that wake are listed, or marked where everyone takes part or has a bucket."""
        wakes = ["listed += one", *self._reached("v")]
        if self.sends_news:
            wakes.append(f"news[v] = {self.all_news}")
        marked = "waiting" if self.has_buckets else "bits[parity]" if self.everyone else ""
        wakes += ["word |= one << (v & np.uint64(63))"] if marked else ["queues[parity, thread, listed - one] = v"]
        keep = [] if not marked else [f"    {marked}[w] {'|=' if self.has_buckets else '='} word"]
        lines = [
            *LOCALS,
            *(f"old_{name} = v_{name}[parity]" for name in sorted(self.doubled)),  # what the next iteration begins with
            "listed, mine[EDGES] = zero, 0",
            "for w in range(first, last):",
            "    word = zero",
            "    for v in range(w << np.uint64(6), min((w + one) << np.uint64(6), np.uint64(self_n))):",
            *(INDENT * 2 + x for x in self.loads("vertex", "v", "wake")),
            f"        if {self.call('wake')}:",
            *(INDENT * 3 + x for x in wakes),
            *keep,
            "mine[NEXT] = np.int64(listed)",
        ]
        return self.function("wake", "Every vertex is asked whether it is active next.", lines)
