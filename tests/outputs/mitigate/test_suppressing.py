"""Suppression against brute force: every table of whole people that agrees with what is shown, and every smaller set of cells."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.mitigate.base import RuleTrial, bad_findings, plain_cells
from chaffinch.outputs.mitigate.suppressing import SUPPRESS, secondary_cells, smallest_cells
from chaffinch.outputs.rules import Policy

from .conftest import codes_of_counts, fields_of

LEAST = 3
POLICY = Policy(threshold=LEAST, zeros_are_disclosive=False, name="small")


def ranges(counts, hidden, *, known_small):
    """Return the least and largest count of each hidden inner cell over all tables with the same shown cells and margins, by enumeration.

    Hidden margins bind nothing. A reader knows which hidden cells are small (1 to LEAST - 1) if `known_small`.
    """
    rows, columns = counts.shape
    inner = [(i, j) for i, j in product(range(rows), range(columns)) if (i, j) in hidden]
    total = int(counts.sum())
    row_sums = {i: int(counts[i].sum()) for i in range(rows) if (i, columns) not in hidden}
    column_sums = {j: int(counts[:, j].sum()) for j in range(columns) if (rows, j) not in hidden}
    choices = []
    for cell in inner:
        small = 0 < counts[cell] < LEAST
        most = min(row_sums.get(cell[0], total), column_sums.get(cell[1], total))
        choices.append(range(1, LEAST) if small and known_small else range(most + 1))
    found = {cell: set() for cell in inner}
    for values in product(*choices):
        table = counts.copy()
        for cell, value in zip(inner, values, strict=True):
            table[cell] = value
        if any(table[i].sum() != one for i, one in row_sums.items()) or any(
            table[:, j].sum() != one for j, one in column_sums.items()
        ):
            continue
        if (rows, columns) not in hidden and table.sum() != total:
            continue
        for cell, value in zip(inner, values, strict=True):
            found[cell].add(int(value))
    return {cell: (min(some), max(some)) for cell, some in found.items()}


def safe(counts, hidden):
    """Whether each small cell is left at least two values, and what is hidden of a line with its total shown is not few people."""
    rows, columns = counts.shape
    small = {(i, j) for i, j in product(range(rows), range(columns)) if 0 < counts[i, j] < LEAST}
    if not small <= hidden:
        return False
    ends = ranges(counts, hidden, known_small=True)
    if any(high == low for cell, (low, high) in ends.items() if cell in small):
        return False
    lines = [[(i, j) for j in range(columns)] for i in range(rows) if (i, columns) not in hidden]
    lines += [[(i, j) for i in range(rows)] for j in range(columns) if (rows, j) not in hidden]
    for line in lines:
        people = sum(int(counts[cell]) for cell in line if cell in hidden)
        if 0 < people < LEAST:
            return False
    return True


def hidden_cells(form, shape):
    """Return the positions of withheld cells, the last along an axis being its total."""
    names = (
        [*(f"a{k}" for k in range(shape[0])), "All"],
        [*(f"b{k}" for k in range(shape[1])), "All"],
    )
    return {
        (names[0].index(one), names[1].index(two))
        for one, two in (name.split("|") for name in form.recipe.withheld)
    }


TABLES = {
    "one small cell": [[1, 4, 3], [5, 3, 4], [4, 3, 5]],
    "two in a row": [[1, 2, 5], [5, 4, 4]],
    "two apart": [[2, 4], [4, 1]],
    "a corner of a wide table": [[5, 4, 3, 1], [3, 4, 4, 5]],
}


@pytest.mark.parametrize("name", TABLES)
def test_withheld_cells_cannot_be_worked_out_and_none_can_be_spared(trial_of, name):
    counts = np.array(TABLES[name])
    trial = trial_of(counts, {"margins": True}, policy=POLICY)
    (output,) = trial.outputs.outputs
    (series,) = SUPPRESS.series(output, trial)
    form = next(series)
    hidden = hidden_cells(form, counts.shape)
    assert not bad_findings(trial.report([form.recipe]))
    assert safe(counts, hidden)
    every = list(product(range(counts.shape[0] + 1), range(counts.shape[1] + 1)))
    small = {
        (i, j)
        for i, j in every
        if i < counts.shape[0] and j < counts.shape[1] and 0 < counts[i, j] < LEAST
    }
    extra = len(hidden) - len(small)
    others = [cell for cell in every if cell not in small]
    for size in range(extra):
        assert not any(
            safe(counts, small | set(more)) for more in combinations(others, size)
        )  # no fewer cells would do


def test_without_further_cells_a_total_gives_the_small_one_away(trial_of):
    counts = np.array(TABLES["one small cell"])
    assert not safe(counts, {(0, 0)})
    trial = trial_of(counts, {"margins": True}, policy=POLICY)
    (output,) = trial.outputs.outputs
    alone = trial.recipe_of(output).changed(withheld=["a0|b0"])
    assert any(one.rule == "suppression undone" for one in bad_findings(trial.report([alone])))


@settings(deadline=None, max_examples=8)
@given(
    st.lists(st.lists(st.integers(1, 6), min_size=2, max_size=3), min_size=2, max_size=3).filter(
        lambda rows: len({len(row) for row in rows}) == 1
    )
)
def test_what_is_taken_is_safe_by_enumeration(rows):
    counts = np.array(rows)
    fields, codes = fields_of(counts.shape), codes_of_counts(counts)
    trial = RuleTrial(
        recipes_of(
            [{"name": "t", "kind": "table", "by": ["x", "y"], "margins": True}],
            fields.counted(codes),
        ),
        codes,
        POLICY,
    )
    (output,) = trial.outputs.outputs
    forms = [form for series in SUPPRESS.series(output, trial) for form in series]
    for form in forms:
        hidden = hidden_cells(form, counts.shape)
        if len(hidden) <= 5:  # more would take long to enumerate
            assert safe(counts, hidden)


def test_small_cells_are_those_of_the_policy(trial_of):
    trial = trial_of([[0, 2, 9], [3, 10, 40]])
    (output,) = trial.outputs.outputs
    cells = plain_cells(output, trial)
    assert cells.counts.tolist() == [0, 2, 9, 3, 10, 40]
    assert smallest_cells(cells, output, trial).tolist() == [True, True, True, True, False, False]
    lenient = trial_of(
        [[0, 2, 9], [3, 10, 40]], policy=Policy(threshold=3, zeros_are_disclosive=False)
    )
    assert smallest_cells(cells, output, lenient).tolist() == [
        False,
        True,
        False,
        False,
        False,
        False,
    ]


def test_other_outputs_are_reckoned_with(trial_of):
    """The total is in another output: the table by itself needs one cell withheld, beside the other one more."""
    counts = [2, 5, 6, 4]
    trial = trial_of(
        counts,
        {},
        {"name": "n", "kind": "mean", "of": "x", "by": [], "n": True},
        policy=POLICY,
        numeric=True,
    )
    output = trial.outputs.outputs[0]
    cells = plain_cells(output, trial)
    small = smallest_cells(cells, output, trial)
    trial.together = False
    assert secondary_cells(output, trial, cells, small) == []
    trial.together = True
    assert secondary_cells(output, trial, cells, small) == [3]  # the smallest of the others


def test_groups_of_means_are_withheld_by_their_records(trial_of):
    counts = np.array([[4, 4], [20, 20], [15, 15]])
    trial = trial_of(counts, {"name": "m", "kind": "mean", "of": "y", "by": ["x"]}, numeric=True)
    (series,) = SUPPRESS.series(trial.outputs.outputs[0], trial)
    (form,) = series
    assert form.recipe.withheld == ["0"]
    assert form.description == "1 of 3 groups withheld"
    assert form.recipe.computed(trial.outputs.fields, trial.codes).to_dict()["values"][0] == "x"


def test_a_table_of_small_cells_alone_is_not_withheld_cell_by_cell(trial_of):
    trial = trial_of([[1, 2], [3, 4]])
    assert list(SUPPRESS.series(trial.outputs.outputs[0], trial)) == []
