"""What is seen of a target in released values, against the same in plain loops, and both ends: copies and strangers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch import read
from chaffinch._base.errors import InputError
from chaffinch.risk.membership.values import (
    NEAREST,
    RARE,
    NumberScale,
    ValueFeatures,
    count_beyond,
    look_at_rows,
    outermost,
)
from chaffinch.risk.shadows import Generator, Working, run_shadows, shared_draws
from chaffinch.risk.shadows.values import PlainValues


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(8)
    n = 250
    frame = pd.DataFrame(
        {
            "pay": np.exp(rng.normal(size=n)).round(3),
            "age": rng.integers(20, 60, n).astype(float),
            "town": rng.choice(list("abcd"), n),
            "job": rng.choice(list("uvw"), n),
        }
    )
    frame.loc[0, "pay"] = 900.0
    frame.loc[1, "town"] = "lonely"
    frame.loc[2, "age"] = np.nan
    frame.loc[[9, 70], "age"] = np.nan
    return frame


@pytest.fixture(scope="module")
def people_with_outliers(frame):
    return read(frame)


def gower(a, b, spans):
    apart = []
    for name in a.index:
        if name in spans:
            both = pd.isna(a[name]) + pd.isna(b[name])
            apart.append(
                0.0 if both == 2 else 1.0 if both else abs(a[name] - b[name]) / spans[name]
            )
        else:
            apart.append(float(a[name] != b[name]))
    return np.mean(apart)


def test_features_are_those_of_plain_loops(frame, people_with_outliers):
    targets = np.array([0, 1, 2, 30])
    sight = ValueFeatures.from_population(people_with_outliers, targets)
    rows = np.random.default_rng(1).choice(250, 60, replace=False)
    part = frame.iloc[rows].reset_index(drop=True)
    seen = pd.DataFrame(sight.of_table(people_with_outliers.take(rows)), columns=sight.names)
    spans = {name: frame[name].max() - frame[name].min() for name in ("pay", "age")}
    for place, target in enumerate(targets):
        mine, now = frame.iloc[target], seen.iloc[place]
        same = pd.DataFrame(
            {c: (part[c] == mine[c]) | (part[c].isna() & pd.isna(mine[c])) for c in frame}
        )
        whole = {
            c: int(((frame[c] == mine[c]) | (frame[c].isna() & pd.isna(mine[c]))).sum())
            for c in frame
        }
        rare = [c for c in frame if whole[c] < RARE]
        assert now["exact: rows equal in all columns"] == same.all(axis=1).sum()
        assert now["exact: rows with a rare value of the target"] == same[rare].any(axis=1).sum()
        assert (
            now["exact: rows with two rare values of the target"]
            == (same[rare].sum(axis=1) > 1).sum()
        )
        assert now["exact: most columns equal in a row"] == same.sum(axis=1).max()
        first = min(frame, key=lambda c: whole[c])
        assert now["exact: rare value 1"] == (same[first].sum() if first in rare else 0)
        near = sorted(gower(mine, row, spans) for _, row in part.iterrows())
        np.testing.assert_allclose(
            now[["nearest: nearest", "nearest: second nearest"]].tolist(),
            near[:2],
            rtol=1e-5,
            atol=1e-7,
        )
        level = min(("town", "job"), key=lambda c: whole[c])
        assert now["presence: level 1 times released"] == same[level].sum()
        assert now["presence: levels not released"] == (~same[["town", "job"]].any()).sum()


def test_extremes_are_in_the_order_of_how_far_out_a_target_is(frame, people_with_outliers):
    sight = ValueFeatures.from_population(people_with_outliers, np.array([0]))
    inside, outside = (
        sight.of_table(people_with_outliers.take(rows))[0]
        for rows in (np.arange(100), np.arange(1, 101))
    )
    at = {name: i for i, name in enumerate(sight.names)}
    pay = frame["pay"]
    low, middle, high = pay.quantile([0.25, 0.5, 0.75])
    expected = [np.arcsinh((x - middle) / (high - low)) for x in (900.0, pay[1:101].max())]
    largest = at["extremes: end on the target's side, number 1"]
    np.testing.assert_allclose([inside[largest], outside[largest]], expected, rtol=1e-5)
    assert inside[at["extremes: values beyond the target's, number 1"]] == 1
    assert outside[at["extremes: values beyond the target's, number 1"]] == 0
    assert (
        inside[at["extremes: gap to the target's, number 1"]]
        == 0
        < outside[at["extremes: gap to the target's, number 1"]]
    )
    np.testing.assert_allclose(
        inside[at["extremes: second from that end, number 1"]],
        np.arcsinh((pay[1:100].max() - middle) / (high - low)),
        rtol=1e-5,
    )


def test_the_density_of_a_target_is_higher_where_it_was_copied(people_with_outliers):
    sight = ValueFeatures.from_population(people_with_outliers, np.arange(20))
    part = sight.groups["density"]
    with_them, without = (
        sight.of_table(people_with_outliers.take(rows))[:, part]
        for rows in (np.arange(100), np.arange(100, 200))
    )
    assert (with_them > without).mean() > 0.75  # a guess has 0.5
    whole = sight.of_table(people_with_outliers)[:, part]
    assert np.isfinite(whole).all()
    assert (
        whole >= -1e-6
    ).all()  # the population with the target in it, less the population without


def test_groups_cover_all_features_once_and_all_are_finite(frame, people_with_outliers):
    sight = ValueFeatures.from_population(people_with_outliers, np.array([3, 2]))
    places = np.concatenate([np.arange(len(sight.names))[part] for part in sight.groups.values()])
    np.testing.assert_array_equal(places, np.arange(len(sight.names)))
    assert list(sight.groups) == ["nearest", "density", "exact", "extremes", "presence"]
    empty = frame.iloc[:30].copy()
    empty["pay"] = np.nan
    assert np.isfinite(sight.of_table(read(empty))).all()


@pytest.mark.parametrize("names", [["pay", "age"], ["town", "job"]])
def test_tables_of_numbers_alone_and_of_words_alone(frame, names):
    table = read(frame[names])
    seen = ValueFeatures.from_population(table, np.arange(5)).of_table(table.take(np.arange(50)))
    assert np.isfinite(seen).all()
    sight = ValueFeatures.from_population(table, np.arange(5))
    assert (seen[:, sight.names.index("exact: rows equal in all columns")] >= 1).all()


def test_ranks_of_a_scale_are_those_of_the_population():
    scale = NumberScale.from_numbers(np.array([1.0, 2.0, 2.0, np.nan, 10.0]))
    np.testing.assert_allclose(
        scale.rank(np.array([0.0, 1.0, 2.0, 6.0, 99.0])), [0.125, 0.125, 0.5, 0.6875, 0.875]
    )
    assert NumberScale.from_numbers(np.array([np.nan])).robust(np.array([np.nan])).tolist() == [0.0]


def test_targets_that_are_no_rows_are_refused(people_with_outliers):
    with pytest.raises(InputError, match="numbers of rows of the population, 0 to 249"):
        ValueFeatures.from_population(people_with_outliers, np.array([250]))


def permute(table, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            name: column.sample(frac=1, random_state=rng).to_numpy()
            for name, column in table.to_pandas().items()
        }
    )


@pytest.mark.parametrize(
    ("target", "feature"),
    [
        (0, "exact: rare value 1"),
        (1, "presence: level 1 is released"),
        (0, "extremes: end on the target's side, number 1"),
    ],
)
def test_real_values_in_any_order_show_who_is_in(people_with_outliers, target, feature):
    """Both ends: a permutation of each column releases a value that nobody else has if and only if its owner is in; a fixed table says nothing."""
    rows = np.random.default_rng(2)
    draws = shared_draws(250, np.array([target]), rows=80, shadows=20, rng=rows)
    sight = ValueFeatures.from_population(people_with_outliers, np.array([target]))
    fixed = people_with_outliers.take(np.arange(80))
    seen = {
        name: run_shadows(
            Generator(maker, people_with_outliers),
            draws.rows,
            sight=sight,
            seed=1,
            working=Working(workers=1),
        ).values[:, 0, 0]
        for name, maker in (("permuted", permute), ("fixed", lambda part, seed: fixed))
    }
    scores = seen["permuted"][:, sight.names.index(feature)]
    assert scores[draws.member[:, 0]].min() > scores[~draws.member[:, 0]].max()
    assert (seen["fixed"] == seen["fixed"][0]).all()


def test_the_end_is_the_one_on_the_targets_side(frame):
    low = frame.copy()
    low.loc[5, "pay"] = -900.0
    table = read(low)
    sight = ValueFeatures.from_population(table, np.array([5, 0]))
    end = sight.names.index("extremes: end on the target's side, number 1")
    seen = sight.of_table(table.take(np.arange(50)))[:, end]
    low_quartile, middle, high_quartile = low["pay"].quantile([0.25, 0.5, 0.75])
    np.testing.assert_allclose(
        seen,
        np.arcsinh((np.array([-900.0, 900.0]) - middle) / (high_quartile - low_quartile)),
        rtol=1e-5,
    )


def test_a_table_worked_by_hand():
    """One number of span 10 and one word; the target (2, word 1) among three rows."""
    numbers, words = np.array([[2.0, 7.0, np.nan]]), np.array([[1, 1, 0]], dtype=np.int32)
    ranks = np.array([[0.2, 0.7, np.nan]])
    target = (
        np.array([[2.0]]),
        np.array([[0.2]]),
        np.array([[0.2]]),
        np.array([[1]], dtype=np.int32),
    )
    per_column, near, rows, by_rank, kernels = look_at_rows(
        (numbers, numbers / 10, ranks, words), target, np.array([[True, False]]), np.array([0.5])
    )
    assert per_column.tolist() == [[1, 2]]
    np.testing.assert_allclose(near, [[0.0, 0.25]])  # (0 + 0) / 2, (0.5 + 0) / 2, (1 + 1) / 2
    assert rows.tolist() == [
        [1, 1, 0, 2, 1]
    ]  # equal in all, with a rare value, with two, most columns equal, most rare ones
    np.testing.assert_allclose(by_rank[0], [0.0, 0.25, 1.0, *[1.0] * (NEAREST - 3)])
    distances = np.array([0.0, 0.25, 1.0])
    np.testing.assert_allclose(
        kernels[0], [np.exp(-distances / 0.5).sum(), np.exp(-distances / 0.25).sum()]
    )


def test_ends_and_what_lies_beyond():
    numbers = np.array([[5.0, np.nan, 1.0, 9.0], [np.nan] * 4])
    ends = outermost(numbers)
    assert ends[0].tolist() == [9.0, 5.0, 1.0, 5.0, 5.0]
    assert np.isnan(ends[1]).all()
    own = np.array([[5.0, 5.0, np.nan], [1.0, 1.0, 1.0]])
    upper = np.array([[True, False, True], [True, True, True]])
    beyond, gaps = count_beyond(numbers, own, upper)
    assert beyond[:, 0].tolist() == [2, 2, 1]  # 5 and 9; 5 and 1; one missing
    assert gaps[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert (gaps[:, 1] == 1e300).all()  # no number to be near to


@given(random=st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_no_feature_depends_on_the_order_of_released_rows(people_with_outliers, random):
    sight = ValueFeatures.from_population(people_with_outliers, np.array([0, 1, 2, 30]))
    values = sight.reader.read(people_with_outliers)
    order = random.sample(range(values.n_rows), values.n_rows)
    turned = PlainValues(values.numbers[:, order], values.level_codes[:, order])
    np.testing.assert_allclose(sight.look(turned), sight.look(values), rtol=1e-5, atol=1e-6)
