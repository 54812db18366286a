"""The compiled loops over rows and predicates: how many rows a predicate is true of, and which one where it is one."""

from __future__ import annotations

from ..._base.compiled import compiled


@compiled
def count_matches(codes, columns, low, high, most, out):  # type: ignore[no-untyped-def]
    """Write the number of rows that each predicate is true of; counting ends above `most`.

    `codes`: one row a column. A predicate is true of a row if in each of its columns the code lies between `low` and `high`.
    """
    for p in range(columns.shape[0]):
        count = 0
        for row in range(codes.shape[1]):
            true = True
            for c in range(columns.shape[1]):
                code = codes[columns[p, c], row]
                if code < low[p, c] or code > high[p, c]:
                    true = False
                    break
            if true:
                count += 1
                if count > most:
                    break
        out[p] = count


@compiled
def only_match(codes, columns, low, high, out):  # type: ignore[no-untyped-def]
    """Write the row that a predicate is true of where it is true of one alone, else -1."""
    for p in range(columns.shape[0]):
        only = -1
        for row in range(codes.shape[1]):
            true = True
            for c in range(columns.shape[1]):
                code = codes[columns[p, c], row]
                if code < low[p, c] or code > high[p, c]:
                    true = False
                    break
            if true:
                if only >= 0:
                    only = -1
                    break
                only = row
        out[p] = only
