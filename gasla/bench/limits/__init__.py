"""Limits of the hardware (`ceilings`), and the lower bounds of times that follow from them (`floors`)."""
