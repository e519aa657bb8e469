"""The asv suite (`asv run`): speed from commit to commit. docs/history.md says how to run it.

All other measuring goes through the runner in `gasla.bench`; asv is for the history only, because it builds each commit
in an environment of its own.
"""
