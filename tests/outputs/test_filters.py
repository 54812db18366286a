"""Filters against pandas' own query language."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._base.errors import InputError
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.filters import read_filter

FIELDS = OutputDomain(
    (
        OutputColumn("sex", ("f", "m")),
        OutputColumn("age", tuple(range(10))),
        OutputColumn("job", ("no", "part", "full's")),
        OutputColumn("wage", (0.0, 0.5, 1.5, 2.5)),
        OutputColumn("a name", (1, 2, 3)),
    )
)
CODES = FIELDS.start(400, seed=3)
FRAME = pd.DataFrame(
    {f.name: np.array(f.levels, dtype=object)[CODES[:, k]] for k, f in enumerate(FIELDS)}
).infer_objects()

leaf = st.one_of(
    st.builds(
        "{} {} {}".format,
        st.just("age"),
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
        st.integers(0, 9),
    ),
    st.builds(
        "{} {} wage".format,
        st.sampled_from([0.5, 1.5]),
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    ),
    st.sampled_from(
        [
            "sex == 'f'",
            'sex != "m"',
            "job in ['no', \"full's\"]",
            "job not in ['part']",
            "`a name` >= 2",
            "2 <= age < 7",
            "wage > -1",
        ]
    ),
)
tree = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(tree)
def test_filters_keep_what_pandas_keeps(text: str) -> None:
    expected = FRAME.index.isin(FRAME.query(text, engine="python").index)
    try:
        kept = read_filter(text, FIELDS)
    except InputError as error:
        assert "keeps no level" in str(error)  # noqa: PT017  most filters are read
        assert not expected.any()
        return
    np.testing.assert_array_equal(kept.record_mask(CODES), expected)


def test_conjunctions_are_products_of_masks_of_one_column() -> None:
    kept = read_filter(
        "not (age < 3 or sex == 'f') and age < 8 and (job == 'no' or wage > 1)", FIELDS
    )
    assert [columns for columns, _ in kept.masks] == [(0,), (1,), (2, 3)]
    assert kept.levels(1).tolist() == [False] * 3 + [True] * 5 + [False] * 2
    assert not kept.simple
    assert read_filter("age >= 0", FIELDS).masks == ()
    assert read_filter(None, FIELDS).simple
    assert (
        read_filter("sex == 'f' and age < 3", FIELDS).key
        == read_filter("age <= 2 and not sex == 'm'", FIELDS).key
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agee > 3", "Unknown column 'agee'. Did you mean 'age'"),
        ("sex == f", "a level of column 'sex'.*Words stand in quotes"),
        ("sex == 'x'", "Unknown level 'x' of column 'sex'"),
        ("age == 77", "Unknown level '77' of column 'age'"),
        ("sex > 'f'", "cannot be compared by size"),
        ("age > '3'", "cannot be compared by size"),
        ("age > wage", "must compare a column with a number"),
        ("3 > 2", "must compare a column with a number"),
        ("age", "has no comparison"),
        ("age > 3 and", "where a column, a number or a word"),
        ("(age > 3", r"must have '\)'"),
        ("age > 3)", "goes on with"),
        ("age > 3 & sex == 'f'", "a sign at position 9"),
        ("__import__('os').system('true')", "has no comparison"),
        ("age.max() > 3", "has no comparison"),
        ("age in 3", "must have a list"),
        ("age in [wage]", "no columns"),
        ("age > 20", "keeps no level"),
        ("(" * 100 + "age > 3" + ")" * 100, "at most 40 brackets"),
        ("age > 3" + " " * 20_000, "at most 20000 characters"),
        ("sex == 'f", "a sign at position"),
        ("age > 3; sex == 'f'", "a sign at position"),
    ],
)
def test_bad_filters(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_filter(text, FIELDS, output="o")
