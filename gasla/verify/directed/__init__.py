"""Verifiers of what goes along directed edges."""
