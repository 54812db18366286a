"""New identifiers for synthetic rows: row numbers in the type of the old ones, and nothing of the old ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .schema import Column
from .types import is_words, parse_type, value_type

__all__ = ["new_identifiers"]

DIGITS = 9


def new_identifiers(column: Column, first_row: int, n_rows: int) -> pa.Array:
    """Return numbers from `first_row` + 1 on, as integers or, for text, as words of nine digits.

    Examples
    --------
    >>> new_identifiers(Column("id", "identifier", output="regenerate"), 0, 2).to_pylist()
    ['000000001', '000000002']
    """
    numbers = pa.array(np.arange(first_row + 1, first_row + n_rows + 1, dtype=np.int64))
    kind = value_type(parse_type(column.type))
    if is_words(kind):
        return pc.utf8_lpad(numbers.cast(pa.string()), width=DIGITS, padding="0").cast(kind)
    if pa.types.is_integer(kind) and n_rows + first_row < 2 ** (kind.bit_width - 1):
        return numbers.cast(kind)
    return numbers
