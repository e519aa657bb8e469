"""The public name of `gasla.graph.datasets`."""

from gasla.graph.datasets import *  # noqa: F403
from gasla.graph.datasets import __all__ as __all__
from gasla.graph.datasets import __doc__ as __doc__
