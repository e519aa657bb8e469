"""Modules that several tests share, and programs that tests start as processes of their own."""

from pathlib import Path

ROOT = Path(__file__).parents[2]  # of the repository
