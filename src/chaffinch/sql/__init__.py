"""The same counts in a database, for engines without Python on their workers: SQL goes in, and
counts alone come out.
"""

from .counter import Dialect, SqlCounter, codes_sql, counts_sql

__all__ = ["Dialect", "SqlCounter", "codes_sql", "counts_sql"]
