"""Verify sets of vertices or edges that have nothing to do with each other."""

from gasla.verify.independence.colourings import greedy_color
from gasla.verify.independence.independent_sets import maximal_independent_set
from gasla.verify.independence.matchings import maximal_matching

__all__ = ["greedy_color", "maximal_independent_set", "maximal_matching"]
