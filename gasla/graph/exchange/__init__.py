"""Conversion from and to tables and the graphs of other libraries; names of vertices; HTML for notebooks."""
