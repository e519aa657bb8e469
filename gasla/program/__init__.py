"""Vertex programs and walk programs: declaration, tracing and planning, independent of the engine."""
