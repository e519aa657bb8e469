"""The engine for graphs whose parts are on several ranks, each of which runs the CPU's engine on its own part."""
