"""The numbers of a recipe from records, kind by kind, as they would be printed.

What comes out is an entry of a file of outputs. Numbers that cannot be had from these records, because a cell is empty or a coefficient
has no finite estimate, are an error that names them, unless the recipe withholds numbers anyway.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._base.masking import HIDDEN
from ..columns import Codes
from ..fields import Fields
from ..kinds.base import Cells, Frame, crossed
from ..kinds.quantiles import QuantileSpec
from ..kinds.regressions import RegressionSpec
from ..kinds.summaries import CorrelationSpec, MomentSpec
from ..kinds.survival import KaplanMeierSpec
from ..kinds.tables import HistogramSpec, TableSpec
from ..kinds.trees import TreeSpec
from ..unrounded import (
    bin_names,
    cell_names,
    correlations,
    crosstab,
    histogram,
    leaves,
    moment,
    quantile_names,
    quantiles,
    shares,
    survival,
    survival_names,
    values_by_group,
    whole_axis,
    with_margins,
)
from .blanks import cleaned, template
from .estimable import cannot
from .printing import WITHHELD, Printer
from .regressions import regression_numbers

__all__ = ["computed_entry"]


def computed_entry(blank: Mapping[str, Any], fields: Fields, codes: Codes, *, part: str) -> dict[str, Any]:
    """Return an output with its numbers, as these records give them and as it prints them.

    Parameters
    ----------
    blank
        The output without numbers (`blanks.py`).
    fields, codes
        The columns, and the records.
    part
        What the records are, for messages: "the first fold".

    Examples
    --------
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("sex", ("f", "m")), Field("age", (0, 1, 2))))
    >>> codes = np.array([[0, 0], [0, 1], [1, 2]], dtype=np.int32)
    >>> blank = {"name": "ages", "kind": "mean", "of": "age", "by": ["sex"], "decimals": 1}
    >>> computed_entry(blank, fields, codes, part="the data")["values"]
    [0.5, 2.0]
    """
    output, frame, printer = template(blank), Frame(fields.counted(codes), len(codes)), Printer(blank)
    kept = codes if isinstance(output, TreeSpec) else codes[output.filter(frame).of(codes)]
    numbers: dict[str, Any]
    if isinstance(output, TableSpec):
        numbers = _table(output, blank, frame, kept, printer, part)
    elif isinstance(output, HistogramSpec):
        numbers = {"counts": printer.counts(histogram(output, frame, kept), bin_names(output))}
    elif isinstance(output, MomentSpec):
        numbers = _moments(output, frame, kept, printer, part)
    elif isinstance(output, CorrelationSpec):
        numbers = _correlations(output, frame, kept, printer, part)
    elif isinstance(output, QuantileSpec):
        numbers = _quantiles(output, blank, frame, kept, printer, part)
    elif isinstance(output, KaplanMeierSpec):
        numbers = _survival(output, blank, frame, kept, printer, part)
    elif isinstance(output, TreeSpec):
        numbers = _leaves(output, blank, frame, codes, printer)
    else:
        assert isinstance(output, RegressionSpec)
        numbers = regression_numbers(output, blank, frame, codes, printer, part=part)
    if blank.get("n") and "n" not in numbers:
        numbers["n"] = int(output.filter(frame).of(codes).sum())
    return {**cleaned(blank), **numbers}


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """A flat list as nested ones; the entry itself for no axes."""
    boxed = np.empty(len(flat), dtype=object)
    boxed[:] = flat
    return boxed.reshape(shape).tolist()


def _table(
    output: TableSpec, blank: Mapping[str, Any], frame: Frame, codes: Codes, printer: Printer, part: str
) -> dict[str, Any]:
    cells = output.crossing(frame)
    counts = crosstab(cells, codes)
    if output.percentages is None:
        counts = with_margins(counts) if output.margins else counts
        names = cell_names(cells, margins=output.margins)
        return {"counts": _nested(printer.counts(counts.ravel(), names), counts.shape)}
    percentages, _, totals = shares(output, counts)
    printed = [
        WITHHELD if name in printer.withheld or printer.few(int(count)) else printer.number(share, "values", name)
        for name, count, share in zip(cell_names(cells), counts.ravel(), percentages.ravel(), strict=True)
    ]
    _check_some(printed, output.name, part)
    numbers = {"values": _nested(printed, counts.shape)}
    if blank.get("totals") and whole_axis(output) is not None:
        numbers["totals"] = printer.counts(totals, [f"total {k}" for k in range(len(totals))])
    return numbers


def _check_some(printed: list[Any], name: str, part: str) -> None:
    if all(number == WITHHELD for number in printed):
        raise cannot(name, part, "every one of its numbers would be withheld")


def _cell(cells: Cells, cell: int) -> str:
    """A cell as messages may call it."""
    name = cells.safe_cell(cell)
    return "the output" if not name else "a cell" if name == HIDDEN else f"cell '{name}'"


def _moments(output: MomentSpec, frame: Frame, codes: Codes, printer: Printer, part: str) -> dict[str, Any]:
    cells, printed = output.crossing(frame), list[Any]()
    for group, (name, x) in enumerate(zip(cell_names(cells), values_by_group(output, frame, codes), strict=True)):
        value = moment(output, x)
        if name in printer.withheld or printer.few(len(x)) or (printer.suppresses and not len(x)):
            value = math.nan
        elif math.isnan(value) and not printer.suppresses:
            # Of a spread nothing is said but this: one record would be a count of people.
            few = "has no records" if output.kind == "mean" else f"has too few records for its {output.kind}"
            raise cannot(output.name, part, f"{_cell(cells, group)} {few}")
        printed.append(WITHHELD if math.isnan(value) else printer.number(value, "values", name))
    _check_some(printed, output.name, part)
    return {"values": _nested(printed, cells.shape)} if output.by else {"value": printed[0]}


def _correlations(output: CorrelationSpec, frame: Frame, codes: Codes, printer: Printer, part: str) -> dict[str, Any]:
    matrix, k = correlations(output, frame, codes), len(output.of)
    printed = [[printer.number(1.0, "values", "")] * k for _ in range(k)]
    for a in range(k):
        for b in range(a + 1, k):
            name = f"{output.of[a]}|{output.of[b]}"
            if name in printer.withheld:
                printed[a][b] = printed[b][a] = WITHHELD
                continue
            if not math.isfinite(matrix[a, b]):
                position = frame.fields.position(output.of[a])
                one = output.of[a] if len(np.unique(codes[:, position])) < 2 else output.of[b]
                raise cannot(output.name, part, f"column '{one}' has a single value there")
            printed[a][b] = printed[b][a] = printer.number(float(matrix[a, b]), "values", name)
    return {"value": printed[0][1]} if k == 2 else {"values": printed}


def _quantiles(
    output: QuantileSpec, blank: Mapping[str, Any], frame: Frame, codes: Codes, printer: Printer, part: str
) -> dict[str, Any]:
    cells, printed, sizes = output.crossing(frame), list[Any](), list[Any]()
    names, width = quantile_names(output, cells), len(output.points)
    for group, x in enumerate(values_by_group(output, frame, codes)):
        of = names[group * width : (group + 1) * width]
        gone = printer.few(len(x)) or (printer.suppresses and not len(x))
        if not len(x) and not gone:
            raise cannot(output.name, part, f"{_cell(cells, group)} has no records")
        row = [
            WITHHELD if gone or name in printer.withheld else printer.number(value, "values", name)
            for name, value in zip(of, quantiles(output, x), strict=True)
        ]
        sizes.append(WITHHELD if gone else len(x))
        printed.append(row[0] if output.kind == "median" else row)
    _check_some([number for row in printed for number in (row if isinstance(row, list) else [row])], output.name, part)
    if not output.by:
        numbers = {"value": printed[0]} if output.kind == "median" else {"values": printed[0]}
        n = sizes[0]
    else:
        numbers, n = {"values": _nested(printed, cells.shape)}, _nested(sizes, cells.shape)
    # A quantile between two values of the column says something only together with n.
    if blank.get("n") or not _on_grid(output, frame, printed):
        numbers["n"] = n
    return numbers


def _on_grid(output: QuantileSpec, frame: Frame, printed: list[Any]) -> bool:
    """Whether each quantile as printed may be a value of the column; always where n is known anyway."""
    if not output.by and not output.filter(frame).masks:
        return True
    values = frame.fields[output.of].values
    for row in printed:
        for number in row if isinstance(row, list) else [row]:
            if number != WITHHELD:
                low, high = output.printed(number, "a quantile")
                slack = 1e-9 * max(1.0, abs(low), abs(high))
                if not ((values >= low - slack) & (values <= high + slack)).any():
                    return False
    return True


def _survival(
    output: KaplanMeierSpec, blank: Mapping[str, Any], frame: Frame, codes: Codes, printer: Printer, part: str
) -> dict[str, Any]:
    cells = crossed(output.by, output.groups, frame.fields, output=output.name)
    found = list(survival(output, frame, codes))
    shape = (*cells.shape, len(output.times))
    numbers: dict[str, Any] = {}
    for key in ("at_risk", "events"):
        if blank.get(key):
            counts = [count for one in found for count in getattr(one, key)]
            numbers[key] = _nested(printer.counts(counts, survival_names(output, key, frame)), shape)
    if blank.get("survival"):
        names = iter(survival_names(output, "survival", frame))
        printed = list[Any]()
        for group, one in enumerate(found):
            gone = printer.few(one.n) or (printer.suppresses and not one.n)
            if not one.n and not gone:
                raise cannot(output.name, part, f"{_cell(cells, group)} has no records")
            for chance, name in zip(one.survival, names, strict=False):
                hidden = gone or name in printer.withheld
                printed.append(WITHHELD if hidden else printer.number(chance, "survival", name))
        if not numbers:
            _check_some(printed, output.name, part)
        numbers["survival"] = _nested(printed, shape)
    return numbers


def _leaves(output: TreeSpec, blank: Mapping[str, Any], frame: Frame, codes: Codes, printer: Printer) -> dict[str, Any]:
    made = []
    for number, (leaf, inside) in enumerate(zip(blank["leaves"], leaves(output, frame, codes), strict=True), 1):
        if leaf.get("n"):
            made.append({"where": leaf["where"], "n": printer.counts([len(inside)], [f"leaf {number}"])[0]})
            continue
        assert output.label is not None
        cells = crossed([output.label], {}, frame.fields, output=output.name)
        words = cells.names[0]
        counts = printer.counts(crosstab(cells, inside), [f"leaf {number}: {word}" for word in words])
        made.append({"where": leaf["where"], "counts": dict(zip(words, counts, strict=True))})
    return {"leaves": made}
