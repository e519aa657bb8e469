"""The stages that need no program, all in one place."""

from gasla.cpu.primitive.intersect import intersect
from gasla.cpu.primitive.link import compress, hook, likely_largest, link, number

__all__ = ["compress", "hook", "intersect", "likely_largest", "link", "number"]
