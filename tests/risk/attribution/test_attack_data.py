"""The data of an attack: one grid for all tables, and the made-up sources."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.cap import dcap
from chaffinch.risk.attribution.matching import match
from chaffinch.table import Schema
from chaffinch.table.schema import Column

AGES = [20, 21, 30, 31, None, *range(40, 95)]
ROWS = {"age": AGES, "sex": ["f", "m", "f", None, "m", "f"] * 10, "ill": ["y", "n"] * 30}


@pytest.fixture(scope="module")
def sixty_people():
    return chaffinch.read(pa.table(ROWS))


def test_values_are_equal_only_if_they_are_equal(sixty_people):
    other = pa.table({"age": [20, 25, None], "sex": ["m", "x", None], "ill": ["y", "n", "y"]})
    scene = AttackData.from_tables(
        sixty_people, [other], columns=["age", "sex", "ill"], numeric="values"
    )
    ours, theirs = scene.values("original", "age"), scene.values("synthetic", "age")
    assert scene.grids["age"].numbers[ours[:4]].tolist() == [20, 21, 30, 31]
    assert theirs[0] == ours[0]
    assert theirs[1] not in ours
    assert theirs[2] == ours[4]
    assert ours[4] >= scene.grids["age"].n_values
    assert scene.values("synthetic", "sex")[2] == scene.values("original", "sex")[3]


def test_a_tolerance_is_a_grid_of_its_width(sixty_people):
    scene = AttackData.from_tables(
        sixty_people, [sixty_people], columns=["age"], tolerance={"age": 10}
    )
    codes = scene.values("original", "age")
    assert codes[0] == codes[1]  # 20 and 21 round to 20
    assert codes[2] == codes[3]  # 30 and 31 to 30
    assert codes[0] != codes[2]


def test_bins_are_those_of_the_schema(sixty_people):
    scene = AttackData.from_tables(sixty_people, [sixty_people], columns=["age"], numeric="bins")
    assert np.array_equal(scene.values("original", "age"), sixty_people.code("age"))


def test_marginals_keep_each_column_and_no_relation():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 6000)
    table = chaffinch.read(pa.table({"a": a.astype(str), "b": a.astype(str)}))
    scene = AttackData.from_tables(table, [table], columns=["a", "b"]).with_marginals(60_000, 2)
    codes = scene.by_side["marginals"].codes
    shares = np.bincount(scene.values("original", "a")) / 6000
    drawn = np.bincount(codes["a"]) / 60_000
    assert np.abs(drawn - shares).max() < 0.012  # six standard errors of 0.002: once in 10^8
    agree = (codes["a"] == codes["b"]).mean()
    assert abs(agree - (shares**2).sum()) < 0.012


def test_the_label_only_source_keeps_the_label_and_cuts_the_rest():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 8000)
    hidden = np.where(rng.random(8000) < 0.8, label, 1 - label)
    key = np.where(rng.random(8000) < 0.9, hidden, rng.integers(0, 2, 8000))
    table = chaffinch.read(
        pa.table(
            {name: pa.array(v.astype(str)) for name, v in (("l", label), ("s", hidden), ("k", key))}
        )
    )
    scene = AttackData.from_tables(table, [table], columns=["l", "s", "k"]).with_label_only(
        80_000, ["s"], "l", 3
    )
    codes = scene.by_side["label_only"].codes
    within = [(codes["s"][codes["l"] == v] == 1).mean() for v in (0, 1)]
    truth = [(hidden[label == v] == 1).mean() for v in (0, 1)]
    assert np.abs(np.array(within) - truth).max() < 0.015  # over six standard errors of 0.002
    for value in (
        0,
        1,
    ):  # given the label, key and sensitive value are independent: phi under six standard errors of 0.005
        here = codes["l"] == value
        assert abs(np.corrcoef(codes["s"][here], codes["k"][here])[0, 1]) < 0.03
    assert abs(np.corrcoef(codes["l"], codes["k"])[0, 1] - np.corrcoef(label, key)[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"columns": ["nobody"]}, UnknownNameError, "Unknown column 'nobody'"),
        ({"columns": ["age"], "tolerance": {"age": 0}}, InputError, "must be a number above 0"),
        ({"columns": ["sex"], "tolerance": {"sex": 2}}, InputError, "A tolerance is for numbers"),
    ],
)
def test_bad_settings_are_refused(sixty_people, settings, error, words):
    with pytest.raises(error, match=words):
        AttackData.from_tables(sixty_people, [sixty_people], **settings)


WORDS = ["a", "b", "c", "d", "e"]


def table_of(words, numbers=None, **options):
    columns = {
        "word": pa.array(words, pa.string()),
        "pad": ["x", "y"] * (len(words) // 2) + ["x"] * (len(words) % 2),
    }
    if numbers is not None:
        columns["number"] = numbers
    return chaffinch.read(pa.table(columns), **options)


@pytest.mark.parametrize("reading", ["pool", "keep"])
@given(
    words=st.tuples(
        *(st.lists(st.sampled_from([*WORDS, None]), min_size=8, max_size=20) for _ in range(3))
    ),
)
@hypothesis_settings(max_examples=40, deadline=None)
def test_cells_are_equal_where_their_values_are_whatever_the_schema_pooled(reading, words):
    """All pairs of cells of all tables, by brute force; the common levels make every table readable."""
    common = ["x"] * 6 + ["y"] * 6
    own = [common + list(one) for one in words]
    first = table_of(own[0], rare=reading)
    rest = [
        pa.table({"word": pa.array(one, pa.string()), "pad": ["x"] * len(one)}) for one in own[1:]
    ]
    data = AttackData.from_tables(first, [rest[0]], rest[1], columns=["word"])
    codes = np.concatenate(
        [data.values(side, "word") for side in ("original", "synthetic", "holdout")]
    )
    values = np.array([str(word) for one in own for word in one])
    assert np.array_equal(codes[:, None] == codes, values[:, None] == values)
    grid = data.grids["word"]
    assert grid.coarse == ""
    assert codes.max() < grid.size == len(grid.labels)
    assert [grid.labels[code] for code in codes] == [
        "(missing)" if word == "None" else word for word in values
    ]
    assert np.array_equal(codes >= grid.n_values, values == "None")
    assert data.coarse(["word"]) == ()


def test_rare_levels_are_pooled_by_both_samples_together():
    """In the original: a 2, b 2, c 12; in the holdout: a 1, b 0, d 2, e 3. Below three in all: b and d, and f, which only the synthesis has."""
    original = table_of(["a", "a", "b", "b", *["c"] * 12], rare="pool")
    holdout = pa.table({"word": ["a", "d", "d", "e", "e", "e", "c"], "pad": ["x"] * 7})
    synthetic = pa.table({"word": ["a", "b", "c", "d", "e", "f", "(other)"], "pad": ["x"] * 7})
    pooled, named = (
        AttackData.from_tables(original, [synthetic], holdout, columns=["word"], rare=rare)
        for rare in ("pool", "keep")
    )
    labels = pooled.grids["word"].labels
    assert labels == ("a", "c", "e", "(other)")
    assert [labels[code] for code in pooled.values("synthetic", "word")] == [
        "a",
        "(other)",
        "c",
        "(other)",
        "e",
        "(other)",
        "(other)",
    ]
    assert [labels[code] for code in pooled.values("original", "word")] == [
        "a",
        "a",
        "(other)",
        "(other)",
        *["c"] * 12,
    ]
    assert pooled.coarse(["word"]) == ("word with rare levels pooled",)
    assert named.grids["word"].labels == ("a", "b", "c", "d", "e", "f", "(other)")
    # The rule is the same with the samples exchanged: neither is favoured.
    turned = AttackData.from_tables(
        table_of(holdout["word"].to_pylist(), rare="keep"),
        [synthetic],
        original,
        columns=["word"],
        rare="pool",
    )
    assert turned.grids["word"].labels == labels


def test_declared_levels_and_truth_values_are_never_pooled():
    schema = Schema(
        (
            Column("word", "categorical", levels=("a", "b", "z"), other=True),
            Column("pad", "categorical"),
        )
    )
    original = table_of(["a", "b", *["z"] * 10, "q", "r"], schema=schema)
    data = AttackData.from_tables(original, [original], columns=["word"], rare="pool")
    assert data.grids["word"].labels == ("a", "b", "z", "(other)")
    flags = chaffinch.read(pa.table({"yes": [True, *[False] * 11], "pad": ["x", "y"] * 6}))
    assert (
        AttackData.from_tables(flags, [flags], columns=["yes"], rare="pool").grids["yes"].n_values
        == 2
    )


def test_coded_levels_stay_in_the_order_of_their_numbers():
    """Learners see codes: a rare 4 between 3 and 5 must stand there, not behind them."""
    schema = Schema((Column("grade", "categorical", type="int64"), Column("pad", "categorical")))
    values = [1] * 6 + [3] * 6 + [4] + [5] * 6
    original = chaffinch.read(pa.table({"grade": values, "pad": (["x", "y"] * 10)[:19]}), schema)
    assert original.schema["grade"].codec.other
    # Where (other) cannot be written, a synthesis has null: nothing is behind it, and it is missing.
    synthetic = pa.table({"grade": pa.array([1, 2, 3, 4, 5, None]), "pad": ["x"] * 6})
    data = AttackData.from_tables(original, [synthetic], columns=["grade"])
    assert data.grids["grade"].labels == ("1", "2", "3", "4", "5", "(missing)")
    assert data.values("synthetic", "grade").tolist() == [0, 1, 2, 3, 4, 5]
    assert data.grids["grade"].n_values == 5


def test_numbers_are_compared_as_they_are_and_learners_see_them():
    rng = np.random.default_rng(1)
    numbers = np.round(rng.normal(50, 9, 400), 1)
    original = table_of(["a", "b"] * 200, numbers)
    other = original.take(np.arange(200))
    exact = AttackData.from_tables(original, [other], columns=["number"])
    assert np.array_equal(
        exact.grids["number"].numbers[exact.values("original", "number")], numbers
    )
    assert exact.coarse(["number"]) == ()
    binned = AttackData.from_tables(original, [other], columns=["number"], numeric="bins")
    assert binned.coarse(["number"]) == ("number in bins",)
    assert AttackData.from_tables(
        original, [other], columns=["number"], tolerance={"number": 2}
    ).coarse(["number"]) == ("number to multiples of 2",)
    # Bins that join nothing are values.
    schema = Schema(
        (
            Column("word", "categorical"),
            Column("pad", "categorical"),
            Column("number", "integer", type="int64"),
        )
    )
    few = table_of(["a", "b"] * 200, np.arange(400) % 4, schema=schema)
    assert (
        AttackData.from_tables(few, [few], columns=["number"], numeric="bins").coarse(["number"])
        == ()
    )


def test_numbers_that_are_hardly_released_are_named():
    rng = np.random.default_rng(2)
    original, drawn = (table_of(["a", "b"] * 100, rng.normal(size=200)) for _ in range(2))
    assert AttackData.from_tables(original, [drawn], columns=["number"]).rarely_released(
        ["number"]
    ) == ("number",)
    assert (
        AttackData.from_tables(original, [original], columns=["number"]).rarely_released(["number"])
        == ()
    )
    assert (
        AttackData.from_tables(
            original, [drawn], columns=["number"], numeric="bins"
        ).rarely_released(["number"])
        == ()
    )


def draw(rng, n=300):
    """People with a key of four values and a sensitive word of 59 levels, most of them rare, that the key has no say in."""
    shares = 1 / np.arange(1, 60)
    secret = rng.choice(59, n, p=shares / shares.sum())
    return {
        "key": [f"k{i}" for i in rng.integers(0, 4, n)],
        "secret": [f"s{i:02d}" for i in secret],
    }


def dcap_excess(tables, rare):
    original, synthetic, holdout = map(pa.table, tables)
    schema = Schema((Column("key", "categorical"), Column("secret", "categorical")))
    data = AttackData.from_tables(
        chaffinch.read(original, schema), [synthetic], holdout, columns=["key", "secret"], rare=rare
    )
    source = data.keys("synthetic", ["key"]), data.values("synthetic", "secret")
    sides = [
        dcap(match(data.keys(s, ["key"]), data.values(s, "secret"), *source)).value
        for s in ("original", "holdout")
    ]
    return sides[0] - sides[1]


def test_pooling_favours_neither_sample():
    """A synthetic table that is one more sample: the mean excess over 80 draws is 0 within 4 standard errors (fails once in 15,000 if right).

    Pooled by the original's counts alone it is not: in each draw the holdout has more of the pooled words.
    """
    excesses = {"keep": [], "pool": [], "by the original": []}
    for seed in range(80):
        rng = np.random.default_rng((3, seed))
        tables = [draw(rng) for _ in range(3)]
        for rare in ("keep", "pool"):
            excesses[rare].append(dcap_excess(tables, rare))
        counts = Counter(tables[0]["secret"])
        one_sided = [
            {**t, "secret": [w if counts[w] >= 3 else "rare" for w in t["secret"]]} for t in tables
        ]
        excesses["by the original"].append(dcap_excess(one_sided, "keep"))
    scores = {
        way: np.mean(e) / (np.std(e, ddof=1) / np.sqrt(len(e))) for way, e in excesses.items()
    }
    assert abs(scores["keep"]) < 4
    assert abs(scores["pool"]) < 4
    assert scores["by the original"] < -8
