"""Counting in a database, for engines without Python on their workers: SQL is sent, and only counts
come back.
"""

from typing import TYPE_CHECKING

from .._base.lazy import offer_names

if TYPE_CHECKING:
    from .counter import Dialect as Dialect
    from .counter import SqlCounter as SqlCounter
    from .counter import codes_sql as codes_sql
    from .counter import counts_sql as counts_sql

offer_names(__name__)
