"""Sensitivities against all neighbours of all small tables, and against the worst large ones we know.

Scores are written here once more, from their definitions. `counts.families` is tested to compute the same.
"""

from __future__ import annotations

from itertools import combinations, product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.privacy.counter import integer_scores, sensitivity
from chaffinch.privacy.relation import PrivacyUnit

ADD, REPLACE = PrivacyUnit("add-remove"), PrivacyUnit("replace-one")
SHAPES = [
    (2, 2),
    (3, 2),
    (2, 3),
    (4, 2),
    (1, 3),
    (3, 3),
]  # parents by child; (4, 2) is also two binary parents


def information(tables, most=np.inf):
    """min(n, most) I of tables of counts, in nats: the sum of p log(p / (p_row p_column)). 0 of an empty table."""
    n = np.maximum(tables.sum(axis=(-2, -1), keepdims=True), 1)
    p = tables / n
    free = p.sum(axis=-1, keepdims=True) * p.sum(axis=-2, keepdims=True)
    terms = p * np.log(np.where(p > 0, p, 1) / np.where(free > 0, free, 1))
    return np.minimum(n[..., 0, 0], most) * terms.sum(axis=(-2, -1))


def r(tables, most=None):
    n = np.maximum(tables.sum(axis=(-2, -1), keepdims=True), 1)
    free = tables.sum(axis=-1, keepdims=True) * tables.sum(axis=-2, keepdims=True) / n
    return np.abs(tables - free).sum(axis=(-2, -1)) / 2


def f(tables, most=None):
    """n F by trying all ways to give each row to one of two columns."""
    n = tables.sum(axis=(-2, -1))
    best = np.full(n.shape, -np.inf)
    for split in product([0, 1], repeat=tables.shape[-2]):
        gained = [tables[..., [s == x for s in split], x].sum(axis=-1) for x in (0, 1)]
        best = np.maximum(
            best, -np.maximum(0, n / 2 - gained[0]) - np.maximum(0, n / 2 - gained[1])
        )
    return best


SCORES = {"I": information, "R": r, "F": f}


def all_tables(n, shape):
    """Every table of counts of n records, one a row: bars among n stars."""
    cells = shape[0] * shape[1]
    bars = np.array(list(combinations(range(n + cells - 1), cells - 1)), dtype=int).reshape(
        -1, cells - 1
    )
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), n + cells - 1)])
    return (np.diff(edges, axis=1) - 1).reshape(-1, *shape)


def with_one_more(tables):
    """All tables with one record more: an axis for the cell that it went to."""
    cells = tables.shape[-2] * tables.shape[-1]
    return tables[:, None] + np.eye(cells, dtype=int).reshape(1, cells, *tables.shape[1:])


def jumps(score, n, shape, most=np.inf):
    """The largest change of a score by adding one record to any table of n, and by exchanging one of n + 1."""
    tables = all_tables(n, shape)
    before, after = SCORES[score](tables, most)[:, None], SCORES[score](with_one_more(tables), most)
    return np.abs(after - before).max(), (after.max(axis=1) - after.min(axis=1)).max()


def claimed(score, unit, rows, shape):
    return sensitivity(score, unit, rows=rows, child_size=shape[1], parent_cells=shape[0])


def within(jump, claim):
    return jump <= claim * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("score", ["I", "R", "F"])
def test_no_neighbours_of_small_tables_differ_by_more(score, shape):
    if score == "F" and shape[1] != 2:
        with pytest.raises(chaffinch.errors.InputError, match="2 declared levels"):
            claimed("F", ADD, 10, shape)
        return
    added = []
    for n in range(7):
        add, replace = jumps(score, n, shape)
        added.append(add)
        # Tables of n and n + 1 are below any N from n + 1 on, where min(n, N) I is n I.
        assert within(max(added), claimed(score, ADD, n + 1, shape))
        claim = claimed(score, REPLACE, n + 1, shape)
        assert within(replace, claim)
        # How near the claims are. I: reached, but for three levels at odd n - 1, which cannot be halved.
        halves = min(shape) == 2 or (min(shape) == 3 and n % 2 == 0)
        if score == "I" and n >= 1 and halves:
            assert replace == pytest.approx(claim, rel=1e-9)
        if score == "I" and n >= 1 and min(shape) >= 2:
            assert max(added) == pytest.approx(claimed(score, ADD, n + 1, shape), rel=1e-9)
        if score == "R" and n >= 1 and min(shape) == 2:
            assert replace == pytest.approx(claim, rel=1e-9)
        if score == "R" and min(shape) >= 2:
            assert add == pytest.approx(2 * n / (n + 1), rel=1e-9)
        if score == "F" and n >= 2:
            assert max(add, replace) == pytest.approx(1.0)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)], ids=str)
def test_information_of_more_records_than_the_public_number(most, shape):
    # All n from 0 to three times N, or what can be listed.
    last = {4: 12, 6: 9, 9: 6}[shape[0] * shape[1]]
    worst = max(jumps("I", n, shape, most)[0] for n in range(last + 1))
    assert within(worst, claimed("I", ADD, most, shape))
    if most >= 2:
        assert worst == pytest.approx(claimed("I", ADD, most, shape), rel=1e-9)


@pytest.mark.parametrize("score", ["I", "R", "F"])
def test_two_rows_for_each_person(score):
    # Add-remove: 1 or 2 rows more. Replace-one: 0 to 2 rows out and 0 to 2 others in, for I with N from 1 to 4.
    shape = (2, 2)
    for n in range(5):
        rest = all_tables(n, shape)
        for most in (1, 2, 4) if score == "I" else (1,):
            one = with_one_more(rest).reshape(len(rest), -1, *shape)
            two = with_one_more(one.reshape(-1, *shape)).reshape(len(rest), -1, *shape)
            values = [SCORES[score](t, most) for t in (rest[:, None], one, two)]
            added = max(np.abs(v - values[0]).max() for v in values[1:])
            every = np.concatenate(values, axis=1)
            assert within(added, claimed(score, PrivacyUnit("add-remove", 2), most, shape))
            assert within(
                (every.max(axis=1) - every.min(axis=1)).max(),
                claimed(score, PrivacyUnit("replace-one", 2), most, shape),
            )
    for unit, times in (
        (PrivacyUnit("add-remove", 2), 2),
        (PrivacyUnit("replace-one", 2), 4),
        (PrivacyUnit("replace-one", 5), 10),
    ):
        assert claimed(score, unit, 9, shape) == pytest.approx(
            times * claimed(score, ADD, 9, shape)
        )


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_climbing_from_random_larger_tables(data):
    """From a random table of up to 1,000 records, move records so that the jump grows: it stays within the claim."""
    shape = data.draw(st.sampled_from([(2, 2), (4, 2), (3, 3), (6, 4), (12, 12)]))
    n = data.draw(st.integers(20, 1000))
    most = max(1, int(n * data.draw(st.sampled_from([0.3, 0.9, 1.0, 1.1]))))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    score = data.draw(st.sampled_from(["I", "R", "F"] if shape == (4, 2) else ["I", "R"]))
    replaced = data.draw(st.booleans())
    if replaced:
        most = n + 1
    claim = claimed(score, REPLACE if replaced else ADD, most, shape)

    def jump(table):
        after = SCORES[score](with_one_more(table[None]), most)[0]
        return (
            after.max() - after.min()
            if replaced
            else np.abs(after - SCORES[score](table[None], most)[0]).max()
        )

    cells = shape[0] * shape[1]
    table = rng.multinomial(n, rng.dirichlet(np.full(cells, 0.2))).reshape(shape)
    best = jump(table)
    for _ in range(25):
        other = table.copy()
        source = rng.choice(np.flatnonzero(other))
        moved = rng.integers(1, other.flat[source] + 1)
        other.flat[source] -= moved
        other.flat[rng.integers(cells)] += moved
        if jump(other) >= best:
            table, best = other, jump(other)
    assert within(best, claim)


@pytest.mark.parametrize("n", [50, 1000, 100_000])
def test_worst_large_tables_we_know(n):
    # I and R, add-remove: all records in one cell, then one that shares neither row nor column.
    alone = np.zeros((3, 3), dtype=int)
    alone[0, 0] = n - 1
    fresh = alone.copy()
    fresh[1, 1] = 1
    assert information(fresh) == pytest.approx(claimed("I", ADD, n, (3, 3)), rel=1e-6)
    assert within(information(fresh), claimed("I", ADD, n, (3, 3)))
    assert r(fresh) == pytest.approx(2 * (n - 1) / n)
    # R, replace-one, three levels. Rows y, a, y' and columns x, b, x': shares s at (y, b) and at (a, x), the rest at
    # (a, b); a record at (y, x) moves to (y', x'). For small s with s^2 n above 1 the jump comes near 3.
    s = round(1.2 * (n - 1) ** 0.5)
    rest = np.array([[0, s, 0], [s, n - 1 - 2 * s, 0], [0, 0, 0]])
    there, here = rest.copy(), rest.copy()
    there[0, 0] += 1
    here[2, 2] += 1
    jump, claim = r(here) - r(there), claimed("R", REPLACE, n, (3, 3))
    assert within(jump, claim)
    assert jump > claim * (1 - 3 / n**0.5)


@pytest.mark.parametrize(("most", "size"), [(1000, 100), (1000, 1000), (200, 3000), (30, 50)])
def test_information_of_many_levels_falls_near_the_claim(most, size):
    """A record in a row and a column that many share, all others apart: the fall that decides for many levels."""
    worst = 0.0
    for n in (most, most + 1, 2 * most):
        for half in sorted({max(1, round(n * q / 2)) for q in np.linspace(0.02, 1.0, 60)}):
            apart = max(0, n - 2 * half)
            used = min(size - 2, apart)
            sizes = np.bincount(np.arange(apart) % max(used, 1), minlength=used)[:used]
            # Row 0 is met in column 1, column 0 in row 1, and (i, i) from 2 on: no table is needed.
            filled = np.concatenate([[half, half], sizes[sizes > 0]])
            if 2 * half > n or filled.sum() != n:
                continue
            value = (
                log(n) - (filled * np.log(filled)).sum() / n
            )  # I: row and column tell each other
            # The record joins row 0 and column 0.
            joined = np.concatenate([[half, half, 1], sizes[sizes > 0]])
            margin = np.concatenate([[half + 1, half], sizes[sizes > 0]])
            after = log(n + 1) + (
                (joined * np.log(joined)).sum() - 2 * (margin * np.log(margin)).sum()
            ) / (n + 1)
            worst = max(worst, min(n, most) * value - min(n + 1, most) * after)
    claim = sensitivity("I", ADD, rows=most, child_size=size, parent_cells=2 * size)
    assert within(worst, claim)
    if size <= most:
        assert worst > 0.95 * claim
    assert claim < log(most) + log(size)  # what bounding the two terms apart would give


def test_formulas_of_the_paper():
    # Zhang et al., PrivBayes (TODS 2017), lemma 4.1, times n and in nats.
    n = 500
    binary = log(n) + (n - 1) * log(n / (n - 1))
    other = 2 * log((n + 1) / 2) + (n - 1) * log((n + 1) / (n - 1))
    for child, parents, want in ((2, 9, binary), (9, 2, binary), (3, 9, other), (9, 3, other)):
        got = sensitivity("I", REPLACE, rows=n, child_size=child, parent_cells=parents)
        assert want <= got <= want * (1 + 1e-11)
    # R: below the paper's 3 + 2/n.
    assert sensitivity("R", REPLACE, rows=n, child_size=3, parent_cells=9) < 3 + 2 / n


def test_planted_faults_are_found():
    """The checks above would not pass bounds that other tools have used."""
    n, shape = 5, (2, 2)
    add, replace = jumps("I", n - 1, shape)
    # A score in bits against a bound in nats.
    assert not within(replace / log(2), claimed("I", REPLACE, n, shape))
    assert not within(add / log(2), claimed("I", ADD, n, shape))
    # I over the root of both entropies: from 0 to 1 by one record, whatever n; the bound of plain I shrinks.
    for size in (50, 1000):
        alone = np.array([[size, 0], [0, 0]])
        apart = np.array([[size - 1, 0], [0, 1]])
        p = np.array([size - 1, 1]) / size
        normalised = information(apart) / size / -(p * np.log(p)).sum()
        assert normalised == pytest.approx(1.0)
        assert information(alone) == 0.0
        assert not within(normalised, claimed("I", REPLACE, size, shape) / size)
    # The bound for two levels used for three; plain n I beyond N; a bound for one row used for persons of two.
    assert not within(jumps("I", 4, (3, 3))[1], claimed("I", REPLACE, 5, (3, 2)))
    assert not within(jumps("I", 6, shape)[0], claimed("I", ADD, 3, shape))
    two = with_one_more(with_one_more(all_tables(2, shape)).reshape(-1, *shape)).reshape(
        10, -1, *shape
    )
    assert not within(
        np.abs(r(two) - r(all_tables(2, shape))[:, None]).max(), claimed("F", ADD, 9, shape)
    )


@given(
    st.floats(1e-3, 1e6),
    st.lists(st.tuples(st.floats(-1, 1), st.floats(-1e6, 1e6)), min_size=1, max_size=20),
)
@settings(deadline=None)
def test_integer_scores_keep_the_promise(bound, pairs):
    here = np.array([value * bound for _, value in pairs])
    there = here + np.array([move * bound for move, _ in pairs])
    (ours, most), (theirs, same) = integer_scores(here, bound), integer_scores(there, bound)
    assert most == same  # depends on public numbers alone
    assert (1 << 21) <= most <= (1 << 22) + 1
    assert np.abs(ours - theirs).max() <= most
    # Nothing that matters is lost: a millionth of the sensitivity. One step is between 2^-22 and 2^-21 of it.
    step = bound / (most - 1)
    assert np.abs(ours * step - here).max() <= 1.01e-6 * bound + 1e-6 * np.abs(here).max()


def test_integer_scores_at_the_edges():
    steps, most = integer_scores(np.array([-1e300, 1e300, 0.0, -0.0]), 1.0)
    assert steps.tolist() == [-(1 << 52), 1 << 52, 0, 0]
    assert most == (1 << 22) + 1
    assert integer_scores(np.array([]), 2.0)[0].dtype == np.int64
    # A distance of a little more than the sensitivity, as by float error, rounded to a step more: hence the + 1.
    (a, b), most = integer_scores(np.array([1 - 2.0**-30, 2.0]), 1.0)
    assert b - a == (1 << 22) + 1 <= most
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(chaffinch.errors.InputError, match="positive number"):
            integer_scores(np.array([1.0]), bad)
    with pytest.raises(chaffinch.errors.InputError, match="finite"):
        integer_scores(np.array([np.nan]), 1.0)


def test_edges_and_messages():
    for unit in (ADD, REPLACE, PrivacyUnit("add-remove", 3), PrivacyUnit("replace-one", 3)):
        for rows in (0, 1, 2, 10**9):
            for sizes in ((1, 1), (2, 1), (2, 10**30), (10**6, 10**30)):
                for score in "IR":
                    value = sensitivity(
                        score, unit, rows=rows, child_size=sizes[0], parent_cells=sizes[1]
                    )
                    assert 0 < value < 1000
    with pytest.raises(chaffinch.errors.UnknownNameError, match="Unknown score 'MI'"):
        sensitivity("MI", ADD, rows=1, child_size=2, parent_cells=2)
    with pytest.raises(chaffinch.errors.InputError, match="rows must be at least 0"):
        sensitivity("I", ADD, rows=-1, child_size=2, parent_cells=2)
    with pytest.raises(chaffinch.errors.InputError, match="parent_cells must be at least 1"):
        sensitivity("I", ADD, rows=1, child_size=2, parent_cells=0)
    with pytest.raises(chaffinch.errors.InputError, match=r"2 declared levels\. Got 3"):
        sensitivity("F", ADD, rows=1, child_size=3, parent_cells=2)
