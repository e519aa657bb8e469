"""Graphs from and to what others hold: tables, and the graphs of other libraries; the names of vertices."""
