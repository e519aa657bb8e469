"""The public name of `gasla.operations.primitives`."""

from gasla.operations.primitives import *  # noqa: F403
from gasla.operations.primitives import __all__ as __all__
from gasla.operations.primitives import __doc__ as __doc__
