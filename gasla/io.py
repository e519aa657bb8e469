"""The public name of `gasla.graph.io`."""

from gasla.graph.io import *  # noqa: F403
from gasla.graph.io import __all__ as __all__
from gasla.graph.io import __doc__ as __doc__
