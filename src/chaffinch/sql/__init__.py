"""Counting in a database, for engines without Python on their workers: SQL is sent, and only counts
come back.
"""

from .counter import Dialect, SqlCounter, codes_sql, counts_sql

__all__ = ["Dialect", "SqlCounter", "codes_sql", "counts_sql"]
