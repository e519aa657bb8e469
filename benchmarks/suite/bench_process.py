"""A fresh process: how long until gasla is imported, and until there is a first result."""

from benchmarks import footprint


def track_import() -> float:
    """`import gasla`, the interpreter's own start left out; the median of five."""
    return footprint.import_seconds()


def track_first_result() -> float:
    """A whole process that searches a small graph, compiled code found in the cache; the median of five."""
    return footprint.first_result_seconds()


track_import.unit = track_first_result.unit = "s"  # type: ignore[attr-defined]
