"""Engines: each takes a compiled problem and a start, and gives back codes. None of them reads a file."""
