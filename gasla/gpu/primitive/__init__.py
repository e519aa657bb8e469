"""Stages that need no program, on the GPU."""
