"""Ranks whose cards are emulated on the CPU."""

from gasla.distributed.thread_ranks import ThreadRanks


class Emulated(ThreadRanks):
    """Ranks that have cards by name only: their arrays are those of the stand-in for CuPy."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.has_cards = True
