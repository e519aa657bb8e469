"""Verifiers of centralities."""
