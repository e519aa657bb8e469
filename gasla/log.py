"""The library's log: one logger, "gasla", which is silent unless a program asks for it.

Nothing is logged at INFO or above in normal use. DEBUG has each compilation and each call that another library runs
instead. WARNING has what costs a service time: fewer threads than wanted, code that can't be stored.
"""

import logging

LOG = logging.getLogger("gasla")
LOG.addHandler(logging.NullHandler())  # or Python would print warnings where a program has not set up logging
