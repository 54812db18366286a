"""The numbers that stand in an output's entry, by key and by name, as they were written: digits and marks included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..formula import plain_name
from ..kinds.base import Cells, Frame, OutputSpec, crossed, shaped
from ..kinds.quantiles import QuantileSpec
from ..kinds.regressions import RegressionSpec
from ..kinds.summaries import CorrelationSpec, MomentSpec
from ..kinds.survival import KaplanMeierSpec
from ..kinds.tables import HistogramSpec, TableSpec
from ..kinds.trees import TreeSpec
from ..unrounded import bin_names, cell_names, quantile_names, survival_names
from .printing import is_withheld

__all__ = ["Given", "given_numbers"]


class Given(NamedTuple):
    """Numbers under a key as they stand in the file, with what each is called."""

    key: str
    names: list[str]
    numbers: list[Any]
    counted: bool


def given_numbers(output: OutputSpec, frame: Frame) -> Iterator[Given]:
    """Give the numbers that stand in an output, those of each key together; none for a blank."""
    if isinstance(output, TableSpec):
        names = cell_names(output.crossing(frame), margins=output.margins)
        if any(part is not None for part in (output.counts, output.cells, output.values)):
            key = "counts" if output.percentages is None else "values"
            yield Given(key, names, output.given(frame).ravel().tolist(), output.percentages is None)
        if output.totals is not None:
            yield Given("totals", [f"total {k}" for k in range(len(output.totals))], output.totals, True)
    elif isinstance(output, HistogramSpec) and output.counts:
        if len(output.counts) == len(output.edges) - 1:
            yield Given("counts", bin_names(output), output.counts, True)
    elif isinstance(output, MomentSpec) and (output.value is not None or output.values is not None):
        cells = output.crossing(frame)
        output.intervals(cells)
        numbers = shaped(output.value if output.values is None else output.values, cells, what="", absent="")
        yield Given("values", cell_names(cells), numbers.ravel().tolist(), False)
    elif isinstance(output, CorrelationSpec) and (output.value is not None or output.values is not None):
        output.intervals()
        yield _correlations(output)
    elif isinstance(output, QuantileSpec) and (output.value is not None or output.values is not None):
        cells = output.crossing(frame)
        output.intervals(cells)
        yield Given("values", quantile_names(output, cells), _quantiles(output, cells), False)
    elif isinstance(output, KaplanMeierSpec):
        for key in ("at_risk", "events", "survival"):
            rows = output.lists(key, frame)
            if rows is not None:
                flat = [number for row in rows for number in row]
                yield Given(key, survival_names(output, key, frame), flat, key != "survival")
    elif isinstance(output, TreeSpec):
        yield from _leaves(output, frame)
    elif isinstance(output, RegressionSpec):
        yield from _coefficients(output, frame)


def _quantiles(output: QuantileSpec, cells: Cells) -> list[Any]:
    """The quantiles of all groups, one after the other; None where a group has none."""
    given = output.value if output.values is None else output.values
    parts = [given]
    if isinstance(given, Mapping):
        by = {"|".join(word.strip() for word in str(key).split("|")): part for key, part in given.items()}
        parts = [by.get(name) for name in cell_names(cells)]
    else:
        for _ in cells.shape:
            parts = [inner for part in parts for inner in part]
    width = len(output.points)
    return [q for part in parts for q in (part if isinstance(part, list) else [part] * (width if part is None else 1))]


def _correlations(output: CorrelationSpec) -> Given:
    pairs = [(a, b) for a in range(len(output.of)) for b in range(a + 1, len(output.of))]
    names = [f"{output.of[a]}|{output.of[b]}" for a, b in pairs]
    if output.values is None:
        return Given("values", names, [output.value], False)
    matrix = output.values
    return Given(
        "values", names, [matrix[b][a] if is_withheld(matrix[a][b]) else matrix[a][b] for a, b in pairs], False
    )


def _leaves(output: TreeSpec, frame: Frame) -> Iterator[Given]:
    for number, leaf in enumerate(output.leaves, 1):
        if leaf.n is not None:
            yield Given("leaves", [f"leaf {number}"], [leaf.n], True)
        if leaf.counts is not None and output.label is not None:
            cells = crossed([output.label], {}, frame.fields, output=output.name)
            numbers = shaped(leaf.counts, cells, what=f"Output '{output.name}', leaf {number}", absent=0)
            yield Given("leaves", [f"leaf {number}: {word}" for word in cells.names[0]], numbers.tolist(), True)


def _coefficients(output: RegressionSpec, frame: Frame) -> Iterator[Given]:
    if output.coefficients:
        formula = output.compiled(frame)
        output.intervals(frame, formula)
        known = {plain_name(name): name for name in formula.names}
        known |= {"const": "Intercept"} if "Intercept" in formula.names else {}
        blocks = [("", output.coefficients)]
        if output.kind == "multinomial":
            blocks = [(f"{label}: ", inner) for label, inner in output.coefficients.items()]
        named = {
            f"{before}{known[plain_name(name)]}": number
            for before, inner in blocks
            for name, number in inner.items()
            if plain_name(name) in known
        }
        yield Given("coefficients", list(named), list(named.values()), False)
        if "alpha" in output.coefficients:
            yield Given("alpha", ["alpha"], [output.coefficients["alpha"]], False)
        if output.standard_errors is not None:
            named = {
                known[plain_name(name)]: number
                for name, number in output.standard_errors.items()
                if plain_name(name) in known
            }
            yield Given("standard_errors", list(named), list(named.values()), False)
    for key in ("loglik", "dispersion"):
        if getattr(output, key) is not None:
            yield Given(key, [key], [getattr(output, key)], False)
