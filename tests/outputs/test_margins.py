"""What is known of single columns: against counting by hand, with filters, groups, withheld cells and several tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.margins import (
    KnownMargins,
    counted_margins,
    known_margins,
    published_margins,
    with_margins,
    without_margins,
)

FIELDS = OutputDomain(
    (
        OutputColumn("sex", ("f", "m")),
        OutputColumn("age", (1, 2, 3, 4)),
        OutputColumn("area", ("n", "s", "w")),
    )
)


def published(*entries, codes=None, rows=60):
    """Outputs of some records, with their numbers."""
    codes = drawn(1, rows) if codes is None else codes
    return recipes_of(
        [{"name": f"t{k}", "kind": "table", **entry} for k, entry in enumerate(entries)], FIELDS
    ).computed(codes)


def drawn(seed, rows):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, len(field.levels), rows) for field in FIELDS], axis=1).astype(
        np.int32
    )


@given(st.integers(0, 2**32), st.integers(5, 200))
def test_margins_of_a_table_are_those_of_its_records(seed, rows):
    codes = drawn(seed, rows)
    spec = published({"by": ["area", "sex"]}, codes=codes)
    counted, told = counted_margins(spec, codes), published_margins(spec)
    assert list(counted) == ["sex", "age", "area"]
    assert list(told) == ["sex", "area"]
    for name, margin in told.items():
        assert margin.complete
        assert margin.weights.tolist() == counted[name].weights.tolist()
        assert (
            margin.weights.tolist()
            == np.bincount(codes[:, FIELDS.position(name)], minlength=len(margin.weights)).tolist()
        )


def test_groups_share_their_count_and_are_not_complete():
    codes = drawn(2, 60)
    spec = published(
        {"by": ["age"], "groups": {"age": {"young": [1, 3], "old": [4, 4]}}}, codes=codes
    )
    old = int((codes[:, 1] == 3).sum())
    margin = published_margins(spec)["age"]
    assert not margin.complete
    assert margin.weights == pytest.approx([(60 - old) / 3] * 3 + [old])
    assert known_margins(spec) == KnownMargins(published=("age",))
    assert known_margins(spec, assumed=True) == KnownMargins(assumed=("sex", "age", "area"))


@pytest.mark.parametrize(
    "entry",
    [
        {"by": ["sex"], "where": "area == 'n'"},
        {"by": ["sex"], "threshold": 60, "suppressed_zeros": True},
    ],
    ids=["filter", "withheld"],
)
def test_what_is_of_some_records_or_withheld_tells_no_margin(entry):
    codes = drawn(3, 60)
    codes[0] = (0, 0, 1)
    assert published_margins(published(entry, codes=codes)) == {}


def test_the_most_detailed_and_most_precise_table_counts():
    codes = drawn(4, 200)
    coarse, rounded, exact = (
        {"by": ["age"], "groups": {"age": {"young": [1, 2], "old": [3, 4]}}},
        {"by": ["age"], "base": 5},
        {"by": ["age", "sex"]},
    )
    true = np.bincount(codes[:, 1]).tolist()
    for entries in ([coarse, rounded, exact], [exact, rounded, coarse]):
        assert published_margins(published(*entries, codes=codes))["age"].weights.tolist() == true
    near = published_margins(published(coarse, rounded, codes=codes))["age"]
    assert near.complete
    assert near.weights == pytest.approx(true, abs=2.5)


def test_declared_weights_stand_and_others_are_added():
    data = published({"by": ["sex"]}).to_dict()
    data["columns"][0]["weights"] = [3.0, 1.0]
    spec = Outputs.from_dict(data)
    assert known_margins(spec, assumed=True) == KnownMargins(("sex",), (), ("age", "area"))
    margins = with_margins(spec, {**published_margins(spec), **counted_margins(spec, drawn(1, 60))})
    assert margins.fields["sex"].weights == (3.0, 1.0)
    assert sum(margins.fields["age"].weights) == 60.0
    assert margins.compiled() is spec.compiled()  # equations are not made again
    assert margins.fields.columns[1].weights is not None
    bare = without_margins(margins)
    assert all(field.weights is None for field in bare.fields)
    assert Outputs.from_dict(margins.to_dict()).fields == margins.fields
