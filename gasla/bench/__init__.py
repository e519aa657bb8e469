"""`gasla bench`: time of gasla on this machine, compared with other libraries and with the limits of the hardware."""
