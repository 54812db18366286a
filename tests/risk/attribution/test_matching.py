"""What people share with source rows."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.counts.counter import counter_of
from chaffinch.risk.attribution.attack_data import key_schema
from chaffinch.risk.attribution.cap import MEASURES
from chaffinch.risk.attribution.matching import (
    KeyCounts,
    WholeCounts,
    counts_of_marginal,
    match,
    match_counts,
)
from chaffinch.risk.attribution.tcap import CONVENTIONS, tcap_of
from chaffinch.table.codes import Codes
from chaffinch.table.compare.classes import KeySpace


def test_tau_is_met_by_equal_shares() -> None:
    """7 of 10 meets 0.7, and not 0.7 and a little."""
    for k in range(1, 10):
        keys, values = np.zeros((10, 1), dtype=int), np.array([0] * k + [1] * (10 - k))
        found = match(keys, values, keys, values)
        assert found.right_at(k / 10)[0]
        assert not found.right_at(k / 10 + 1e-9)[0]


SIZES = {"a": 3, "b": 4, "s": 2}


@st.composite
def rows(draw, most: int = 25):
    n = draw(st.integers(1, most))
    return {
        name: np.array(draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)))
        for name, size in SIZES.items()
    }


def count_keys(table: dict[str, np.ndarray], *cliques: tuple[str, ...]) -> list[KeyCounts]:
    schema = key_schema({name: SIZES[name] for name in table})
    rows = chaffinch.Table(
        schema, pa.table({}), Codes.from_columns(list(table.values()), schema.sizes)
    )
    found = counter_of(rows).marginals(cliques)
    return [counts_of_marginal(own, clique) for own, clique in zip(found, cliques, strict=True)]


def as_dict(counts: KeyCounts) -> dict[tuple[int, ...], int]:
    return dict(
        zip(
            zip(*(column.tolist() for column in counts.codes), strict=True),
            counts.counts.tolist(),
            strict=True,
        )
    )


@settings(max_examples=60, deadline=None)
@given(table=rows())
def test_projections_count_as_counting_without(table):
    whole, pair = count_keys(table, ("a", "b", "s"), ("b", "a"))
    assert as_dict(whole) == Counter(zip(*(table[name].tolist() for name in "abs"), strict=True))
    assert (
        as_dict(whole.summed_to(["b", "a"]))
        == as_dict(pair)
        == Counter(zip(table["b"].tolist(), table["a"].tolist(), strict=True))
    )


@settings(max_examples=40, deadline=None)
@given(
    people=rows(),
    source=rows(),
    tau=st.sampled_from([0.5, 0.7, 1.0]),
    chosen=st.integers(1, 99),
)
def test_measures_from_counts_are_those_of_rows(people, source, tau, chosen):
    """CAP and its kin, and TCAP under every convention, from counts in batches against rows in memory; and the scores of some persons."""
    theirs = match([people["a"], people["b"]], people["s"], [source["a"], source["b"]], source["s"])
    (first,), (second,) = (count_keys(table, ("a", "b", "s")) for table in (people, source))
    some = np.arange(len(people["s"])) % 3 == chosen % 3
    whole, persons = match_counts(
        first, second, [people["a"][some], people["b"][some]], people["s"][some]
    )
    assert whole.n_people == len(people["s"])
    for name, measure in MEASURES.items():
        expected = measure(theirs)
        scores = measure(whole) if name == "UiS" else whole.of_people(measure(whole))
        assert (
            scores.value == pytest.approx(expected.value, abs=1e-12)
            if expected.value is not None
            else scores.value is None
        )
        if name not in ("UiS", "baseCAPd"):
            np.testing.assert_allclose(measure(persons).numerator, expected.numerator[some])
    for convention in CONVENTIONS:
        mine, expected = (tcap_of(one, convention=convention, tau=tau) for one in (whole, theirs))
        assert (
            mine.reason,
            mine.n_source_selected,
            mine.n_matched,
            mine.n_people,
            mine.counted,
        ) == (
            expected.reason,
            expected.n_source_selected,
            expected.n_matched,
            expected.n_people,
            expected.counted,
        )
        assert mine.value == (
            None if expected.value is None else pytest.approx(expected.value, abs=1e-12)
        )


def test_sides_are_added_up():
    table = {"a": np.array([0, 1]), "b": np.array([3, 3]), "s": np.array([1, 0])}
    (one,) = count_keys(table, ("a", "b", "s"))
    whole = WholeCounts({("x", "s"): one, ("y", "s"): one}, {"x": 2, "y": 2})
    both = whole.counts_of(["x", "y"], ["b"], "s")
    assert sum(both.counts) == 4
    assert both.columns == ("b", "s")
    assert as_dict(whole.column("y", "a")) == {(0,): 1, (1,): 1}
    assert KeySpace.from_tables(list(both.codes)).n_keys == 2
    with pytest.raises(InputError, match="Unknown column 'q'"):
        one.summed_to(["q"])
