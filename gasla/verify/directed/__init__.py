"""Verifiers of flows, cuts, and acyclic graphs."""
