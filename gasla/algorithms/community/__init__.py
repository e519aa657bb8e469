"""Which vertices form dense groups."""
