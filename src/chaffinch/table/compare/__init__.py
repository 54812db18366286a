"""Comparison of tables: codes of values, classes of equal rows, distances."""
