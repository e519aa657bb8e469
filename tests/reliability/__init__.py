"""Tests of docs/reliability.md: full disks, memory that runs out, signals, and damaged caches."""
