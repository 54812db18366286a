"""The label of a regression: its number for each of its levels, as the family has it."""

from __future__ import annotations

from math import prod

import numpy as np

from ...._base.errors import InputError
from ...crossing import Frame, scalar_code
from ...equations import Lookup
from ...families import BINARY, COUNTS
from ...formula import Formula
from .spec import RegressionSpec


def label_numbers(output: RegressionSpec, frame: Frame, formula: Formula) -> Lookup:
    """Return the label's number for each of its levels: 0 or 1, a class, a count or the number itself."""
    fields, columns = frame.fields, formula.label.columns
    family, what = output.family_name, f"Output '{output.name}': the label"
    if family == "multinomial":
        if len(columns) != 1:
            raise InputError(f"{what} of a multinomial regression must be a column.")
        numbers = np.zeros(fields.columns.sizes[columns[0]])
        for number, code in enumerate(output.classes(frame, formula)):
            numbers[code] = number
        return Lookup(columns, fields.sizes(columns), numbers[:, None])
    grid = fields.grid(columns)
    inside = np.broadcast_to(output.filter(frame).of_grid(grid), prod(fields.sizes(columns)))
    if family in BINARY and (formula.label.categorical or output.success is not None):
        field = fields.every[columns[0]]
        if output.success is None and not all(isinstance(level, bool) for level in field.levels):
            raise InputError(f"{what} has words: say which of them counts as 1, with success = ...")
        numbers = (
            np.arange(len(field.levels))
            == scalar_code(field, output.success, output=output.name, key="success")
        ).astype(float)
    elif formula.label.categorical:
        raise InputError(
            f"{what} must be a number for kind = \"{output.kind}\". Column '{fields.names[columns[0]]}' has words."
        )
    else:
        numbers = formula.label.numbers(fields, grid).copy()
        if not np.isfinite(numbers[inside]).all():
            raise InputError(
                f"{what} is no finite number for some levels. Leave them out by a filter."
            )
        numbers[~inside] = 1.0
    low, high = numbers[inside].min(), numbers[inside].max()
    if family in BINARY and (low < 0 or high > 1):
        raise InputError(
            f"{what} must be 0 or 1; its column has other numbers. Say which counts as 1, with success = ..."
        )
    if family in COUNTS and low < 0:
        raise InputError(
            f'{what} must be at least 0 for kind = "{output.kind}"; its column has smaller numbers.'
        )
    if family.startswith(("gamma", "inverse")) and low <= 0:
        raise InputError(
            f'{what} must be above 0 for kind = "{output.kind}". Leave other levels out by a filter: where = "... > 0".'
        )
    return Lookup(columns, fields.sizes(columns), numbers[:, None])
