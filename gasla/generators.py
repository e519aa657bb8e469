"""The public name of `gasla.graph.generators`."""

from gasla.graph.generators import *  # noqa: F403
from gasla.graph.generators import __all__ as __all__
from gasla.graph.generators import __doc__ as __doc__
