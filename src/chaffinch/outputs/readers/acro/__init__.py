"""Directories that ACRO writes: read as outputs with their published numbers, and written back with our evidence."""
