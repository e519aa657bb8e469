"""The public name of `gasla.operations.stages`."""

from gasla.operations.stages import *  # noqa: F403
from gasla.operations.stages import __all__ as __all__
from gasla.operations.stages import __doc__ as __doc__
