"""What adding and subtracting gives away: against exact rank in fractions over all combinations of levels, and against every table that fits."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch.outputs.document import output_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules.cell_counts import CellCounts, tallies_of
from chaffinch.outputs.rules.lookups import Lookups, _OpenCells

FIELDS = OutputDomain(
    (
        OutputColumn("A", ("p", "q")),
        OutputColumn("B", ("x", "y", "z")),
        OutputColumn("C", ("u", "v")),
    )
)
SHAPE = (2, 3, 2)
WAYS = [["A"], ["B"], ["C"], ["A", "B"], ["A", "C"], ["B", "C"], ["A", "B", "C"]]


def records(cells: Any) -> Any:
    return np.repeat(np.indices(SHAPE).reshape(3, -1).T, cells, axis=0).astype(np.int32)


def tally(name: str, by: list[str], codes: Any, hidden: set[int], **more: Any) -> CellCounts:
    entry = {"name": name, "kind": "table", "by": by, **more}
    whole = tallies_of(output_of(entry), FIELDS, codes)[0]
    if not hidden:
        return whole
    shown: Any = [
        f"0-{max(int(n), 9)}" if k in hidden else int(n) for k, n in enumerate(whole.counts)
    ]
    entry["counts"] = (
        np.array(shown, dtype=object).reshape([SHAPE["ABC".index(one)] for one in by]).tolist()
    )
    return tallies_of(output_of(entry), FIELDS, codes)[0]


def in_row_space(rows: list[list[int]], target: list[int]) -> bool:
    """Whether a row is a combination of others, by elimination in fractions."""

    def rank(some: list[list[int]]) -> int:
        matrix, done = [[Fraction(v) for v in row] for row in some], 0
        for column in range(len(target)):
            pivot = next((k for k in range(done, len(matrix)) if matrix[k][column]), None)
            if pivot is None:
                continue
            matrix[done], matrix[pivot] = matrix[pivot], matrix[done]
            for k in range(done + 1, len(matrix)):
                if factor := matrix[k][column] / matrix[done][column]:
                    matrix[k] = [
                        a - factor * b for a, b in zip(matrix[k], matrix[done], strict=True)
                    ]
            done += 1
        return done

    return rank(rows) == rank([*rows, target])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_follows_by_rank_is_named_and_what_is_named_follows(data):
    codes = records(data.draw(st.lists(st.integers(1, 6), min_size=12, max_size=12)))
    ways = data.draw(st.lists(st.sampled_from(WAYS), min_size=1, max_size=4, unique_by=tuple))
    some = []
    for number, by in enumerate(ways):
        size = int(np.prod([SHAPE["ABC".index(one)] for one in by]))
        hidden = data.draw(st.sets(st.integers(0, size - 1), min_size=number == 0, max_size=4))
        where = data.draw(st.sampled_from([None, None, "C == 'u'", "A == 'p' or B == 'x'"]))
        some.append(tally(f"t{number}", by, codes, hidden, **({"where": where} if where else {})))
    table, *others = some
    grid = np.indices(SHAPE).reshape(3, -1)

    def rows(one: CellCounts) -> list[list[int]]:
        from chaffinch.outputs.rules.atoms import find_cells

        of = find_cells(one, dict(enumerate(grid)), grid.shape[1])
        return [(of == cell).astype(int).tolist() for cell in range(one.size)]

    known = [
        row
        for one in some
        for row, lo, hi in zip(rows(one), one.lo, one.hi, strict=True)
        if lo == hi
    ]
    found = Lookups(some).narrow_cells(table, others, table.withheld, 1)
    for cell in np.flatnonzero(table.withheld):
        follows = any(rows(table)[cell]) and in_row_space(known, rows(table)[cell])
        # Ends may say of a cell that it is narrow where rank does not: never the other way round.
        assert found[cell] or not follows or table.lo[cell] == table.hi[cell]
        if found[cell] and not follows:
            assert one_count_left(some, table, int(cell), rows)


def one_count_left(some: list[CellCounts], table: CellCounts, cell: int, rows: Any) -> bool:
    """Whether linear programmes over all combinations leave the cell less than one other whole count."""
    from scipy.optimize import linprog

    matrix = np.array([row for one in some for row in rows(one)])
    lo, hi = (np.concatenate([getattr(one, name) for one in some]) for name in ("lo", "hi"))
    target = np.array(rows(table)[cell])
    ends = [
        linprog(
            sign * target,
            A_ub=np.concatenate([matrix, -matrix]),
            b_ub=np.concatenate([hi, -lo]),
            bounds=(None, None),
        )
        for sign in (1, -1)
    ]
    return bool(np.floor(-ends[1].fun + 1e-6) - np.ceil(ends[0].fun - 1e-6) < 1)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=6, max_size=6),
    st.sets(st.integers(0, 5), min_size=2, max_size=4),
    st.integers(1, 3),
)
def test_ends_are_never_too_narrow(cells, hidden, least):
    """Every filling of withheld cells of a table with its totals is tried."""
    codes = records(np.array(cells).reshape(2, 3)[:, :, None].repeat(2, axis=2).ravel())
    table, totals = (
        tally("t", ["A", "B"], codes, hidden),
        [tally("a", ["A"], codes, set()), tally("b", ["B"], codes, set())],
    )
    found = Lookups([table, *totals]).narrow_cells(table, totals, table.withheld, least)
    places, counts = sorted(hidden), table.counts.reshape(2, 3)
    seen = []
    for filled in product(range(10), repeat=len(places)):
        trial = counts.copy().ravel()
        trial[places] = filled
        trial = trial.reshape(2, 3)
        if (trial.sum(axis=0) == counts.sum(axis=0)).all() and (
            trial.sum(axis=1) == counts.sum(axis=1)
        ).all():
            seen.append(trial.ravel())
    width = np.ptp(np.array(seen), axis=0)
    assert (width[found] < least).all()


def test_signs_are_counted_in_people_whatever_the_sizes_of_cells():
    """By hand: of p|x|u nothing but "0-9" is said. All of p are 8 others and these, at most 9 by the sign of p: 0 or 1 people, so that 8 and 9 are left to p."""
    codes = records([1, 1, 1, 1, 1, 4, 1, 1, 1, 1, 1, 1])
    some = [
        tally("t0", ["A"], codes, {0}),
        tally("t1", ["B"], codes, {0}),
        tally("t2", ["A", "B", "C"], codes, {0}),
    ]
    system = Lookups(some)
    assert [
        system.narrow_cells(some[0], some[1:], some[0].withheld, least)[0] for least in (1, 2)
    ] == [
        False,
        True,
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([-2.0, -1.0, -0.5, 0.0, 1e-12, 0.5, 1.0]),
            st.integers(-6, 0),
            st.integers(0, 6),
        ),
        min_size=2,
        max_size=6,
    ),
    st.data(),
)
def test_ends_where_all_cells_move_together_are_those_of_a_linear_programme(cells, data):
    """Rounding that looks like a move (1e-12) must not end it."""
    from scipy.optimize import linprog

    moves, down, up = (np.array(column, dtype=float) for column in zip(*cells, strict=True))
    moving = np.flatnonzero(np.abs(moves) > 1e-6)
    if not len(moving):
        return
    cell = int(data.draw(st.sampled_from(moving.tolist())))
    rest = _OpenCells(np.arange(len(moves)), moves[:, None], down, up)
    exact = np.where(np.abs(moves) > 1e-6, moves, 0.0)[:, None]
    ends = [
        linprog(
            sign * exact[cell],
            A_ub=np.concatenate([exact, -exact]),
            b_ub=np.concatenate([up, -down]),
            bounds=(None, None),
        ).fun
        for sign in (1, -1)
    ]
    assert rest.ends(cell) == (int(np.ceil(ends[0] - 1e-6)), int(np.floor(-ends[1] + 1e-6)))


def test_ends_that_were_worked_out_are_kept():
    """By hand: the signs say 0 to 9 of two cells with 3 and 4 people, whose total of 7 is shown: 0 to 7 of each."""
    codes = records([3, 0, 4, 0, 0, 0, 1, 0, 1, 0, 1, 0])
    table, total = tally("t", ["A", "B"], codes, {0, 1}), tally("a", ["A"], codes, set())
    system = Lookups([table, total])
    assert not system.narrow_cells(table, [total], table.withheld, 3).any()
    assert [end[:2].tolist() for end in system.ends(table, [total])] == [[0, 0], [7, 7]]
    assert [end[:2].tolist() for end in system.ends(table, [])] == [
        table.lo[:2].tolist(),
        table.hi[:2].tolist(),
    ]
    assert system.near_counts(table, [total], 0, 6)[1].tolist() == [6, 1]
    assert system.near_counts(table, [total], 0, 8) is None  # the other would be below 0


def test_overlaps_are_those_of_the_tallies_that_are_asked_about():
    """A table of many cells beside it must not cost a question about one of few the square of its cells."""
    codes = records([3, 0, 4, 0, 0, 0, 1, 0, 1, 0, 1, 0])
    table, total = tally("t", ["A", "B"], codes, {0, 1}), tally("a", ["A"], codes, set())
    beside = tally("b", ["A", "B", "C"], codes, set())
    system = Lookups([table, total, beside])
    assert not system.narrow_cells(table, [total], table.withheld, 3).any()
    assert set(system._blocks) == {(0, 0), (0, 1), (1, 0), (1, 1)}
