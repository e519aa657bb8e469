"""Stages that need no program, on the CPU: forests and intersections."""
