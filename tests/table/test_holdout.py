"""A holdout with people of the input is refused, an honest one in at most one case of 1,000; and people can be set aside."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

import chaffinch
from chaffinch.errors import InputError
from chaffinch.table.holdout import (
    UNSEEN,
    RowClasses,
    chance_explains,
    check_holdout,
    check_holdout_share,
    check_set_aside,
    is_run_of,
    overlap_unseen,
    set_aside,
)
from chaffinch.table.read import read
from chaffinch.table.scan import scan
from chaffinch.table.sources import open_source

NEXT = "--holdout-share 0.25"


def notes_of(original, holdout):
    return check_holdout(original, holdout)[1]


def people_with_ids(n: int, seed: int = 0, *, first_id: int = 1000) -> pa.Table:
    """A table with an id whose rows are nearly all different."""
    rng = np.random.default_rng(seed)
    columns = {
        "patient_id": np.arange(first_id, first_id + n),
        "age": rng.integers(18, 90, n),
        "sex": rng.choice(["f", "m"], n),
    }
    return pa.table(
        {**columns, "days": rng.integers(1, 60, n), "weight": rng.normal(70, 12, n).round(1)}
    )


def labelled(pool: np.ndarray, in_holdout: np.ndarray) -> RowClasses:
    """The classes of a pool of rows, given by number, of which some are the holdout's."""
    sizes = np.bincount(pool)
    own = np.bincount(pool[in_holdout], minlength=len(sizes))
    return RowClasses(
        sizes - own, own, int((~in_holdout).sum()), int(in_holdout.sum()), np.ones(len(sizes))
    )


@pytest.mark.parametrize(
    "pool",
    [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7], [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5]],
    ids=["pairs", "larger classes"],
)
def test_the_test_is_that_of_all_choices_of_the_holdout(pool):
    """Brute force: every choice of 6 of 13 rows; refused are those whose exact tail is at most the level, but for those within three standard errors of it."""
    pool, level = np.array(pool), 0.05
    choices = [np.isin(np.arange(13), chosen) for chosen in itertools.combinations(range(13), 6)]
    classes = {tuple(one.in_holdout): one for one in (labelled(pool, chosen) for chosen in choices)}
    keys = [tuple(np.bincount(pool[chosen], minlength=pool.max() + 1)) for chosen in choices]
    score = {
        key: sum(
            a * (m - a) / (m * (m - 1))
            for a, m in zip(key, np.bincount(pool), strict=True)
            if m > 1
        )
        for key in classes
    }
    every = np.array([score[key] for key in keys])
    assert classes[keys[0]].repeated().expected == pytest.approx(
        every.mean()
    )  # a mean that is said to be known
    error = 3 * np.sqrt(level * (1 - level) / 5000)
    refused = {}
    for key, own in classes.items():
        tail = (every >= score[key] - 1e-9).mean()
        refused[key] = not chance_explains(own, level)
        if abs(tail - level) > error:
            assert refused[key] == (tail < level)
    assert np.mean([refused[key] for key in keys]) <= level + error


@pytest.mark.parametrize(
    "columns",
    [
        ["wife_age", "num_children", "husband_occupation"],
        ["wife_education", "wife_religion", "media_exposure"],
        None,
    ],
)
def test_honest_splits_are_not_refused(data, columns):
    """150 splits each: with one refusal in 1,000, more than three are refused once in 50,000 runs of the test."""
    table = csv.read_csv(data / "cmc.csv")
    rows = (table if columns is None else table.select(columns)).to_pandas()
    pool = rows.groupby(list(rows.columns)).ngroup().to_numpy()
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(150):
        chosen = np.zeros(len(pool), dtype=bool)
        chosen[rng.choice(len(pool), rng.integers(60, 700), replace=False)] = True
        refused += not chance_explains(labelled(pool, chosen))
    assert refused <= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "columns"),
    [
        ("cmc.csv", None),
        ("adult_test.parquet", ["age", "education", "hours_per_week"]),
        ("adult_test.parquet", None),
    ],
)
def test_one_honest_split_in_a_thousand_is_refused(data, file, columns):
    """500 splits into halves and quarters, whole check: with one refusal in 1,000, more than four are refused once in 5,800 runs of the test."""
    table = chaffinch.read(data / file, rare="keep")
    table = table.take(np.arange(min(table.n_rows, 5000)))
    table = table if columns is None else table[columns]
    rng = np.random.default_rng(7)
    refused = 0
    for i in range(500):
        order = rng.permutation(table.n_rows)
        size = table.n_rows // (2 if i % 2 else 4)
        refused += not chance_explains(
            RowClasses.from_rows(table.take(order[size:]), table.take(order[:size]))
        )
    assert refused <= 4


def test_splits_that_are_stratified_by_the_label_are_not_refused(data):
    """As many of each class of the label as its share: with one refusal in 1,000, more than two of 100 splits are refused once in 6,000 runs of the test."""
    rows = (
        csv.read_csv(data / "cmc.csv")
        .select(["wife_age", "num_children", "contraceptive_method"])
        .to_pandas()
    )
    pool, group = (
        rows.groupby(columns).ngroup().to_numpy()
        for columns in (list(rows.columns), ["contraceptive_method"])
    )
    rng = np.random.default_rng(6)
    refused = 0
    for _ in range(100):
        order = rng.permutation(len(pool))
        order = order[np.argsort(group[order], kind="stable")]
        chosen = np.zeros(len(pool), dtype=bool)
        chosen[order[rng.integers(0, 4) :: 4]] = True
        refused += not chance_explains(labelled(pool, chosen))
    assert refused <= 2


@pytest.mark.parametrize("n_holdout", [200, 1000])
def test_five_per_cent_of_copied_rows_are_refused(n_holdout):
    """Ids are new, columns in another order: the rows say it."""
    table, others = people_with_ids(3000), people_with_ids(n_holdout, 1, first_id=50_000)
    copied = table.slice(100, n_holdout // 20).set_column(
        0, "patient_id", pa.array(range(90_000, 90_000 + n_holdout // 20))
    )
    leaking = pa.concat_tables([others.slice(n_holdout // 20), copied]).select(
        ["weight", "days", "sex", "age", "patient_id"]
    )
    assert notes_of(read(table), others) == ()
    with pytest.raises(InputError, match=r"The holdout has records of the input.*" + NEXT):
        notes_of(read(table), leaking)


def test_where_copies_are_not_seen_that_is_said():
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.choice(["x", "y", "z"], 800) for name in "abc"})
    assert notes_of(read(table.slice(200)), table.slice(0, 200)) == (UNSEEN,)
    assert overlap_unseen(labelled(np.arange(40), np.arange(40) < 10))  # 5 % of ten is no row
    assert not overlap_unseen(labelled(np.arange(4000), np.arange(4000) < 1000))


def test_a_part_of_a_coarse_table_is_found_by_its_order():
    rng = np.random.default_rng(2)
    table = pa.table({name: rng.choice(["x", "y", "z"], 800) for name in "abc"})
    with pytest.raises(
        InputError, match="a part of the input: its rows stand there one after another"
    ):
        notes_of(read(table), table.slice(300, 100))
    with pytest.raises(InputError, match="one after another"):
        notes_of(scan(table), table.slice(300, 100))
    ordered = table.sort_by([(name, "ascending") for name in "abc"])
    odd = pa.array([i % 2 == 1 for i in range(800)])
    assert notes_of(read(ordered.filter(pa.compute.invert(odd))), ordered.filter(odd)) == (UNSEEN,)
    with pytest.raises(InputError, match="the input itself, in another order"):
        notes_of(read(table), table.take(pa.array(rng.permutation(800))))
    round_again = read(pa.table({"a": ["x", "y", "z", "y"] * 50, "b": ["u", "u", "v", "v"] * 50}))
    assert not is_run_of(round_again, round_again.take(np.arange(40)))


def test_files_say_what_memory_says(tmp_path):
    table, others = people_with_ids(1500), people_with_ids(400, 1, first_id=50_000)
    leaking = pa.concat_tables(
        [
            others.slice(20),
            table.slice(0, 20).set_column(0, "patient_id", pa.array(range(90_000, 90_020))),
        ]
    )
    for name, rows in (("in.csv", table), ("out.csv", others), ("leak.csv", leaking)):
        csv.write_csv(rows, tmp_path / name)
    for opened in (scan(tmp_path / "in.csv"), read(tmp_path / "in.csv")):
        assert notes_of(opened, tmp_path / "out.csv") == ()
        with pytest.raises(
            InputError, match=r"[45]\.\d% of its rows are equal to a row of the input"
        ):
            notes_of(opened, tmp_path / "leak.csv")


def test_a_slice_of_the_space_of_rows_is_enough(monkeypatch):
    """Of many rows those of some classes are counted; labels are exchangeable there too."""
    table, others = people_with_ids(6000), people_with_ids(2000, 1, first_id=50_000)
    leaking = pa.concat_tables(
        [
            others.slice(300),
            table.slice(0, 300).set_column(0, "patient_id", pa.array(range(90_000, 90_300))),
        ]
    )
    monkeypatch.setattr("chaffinch.table.holdout.COUNTED_ROWS", 3000)
    monkeypatch.setattr("chaffinch.table.holdout.BLOCKED_ROWS", 3000)
    first, second = chaffinch.read(table), chaffinch.read(others)
    assert 2000 < RowClasses.from_rows(first, second).sizes.sum() < 4000
    assert notes_of(first, others) == ()
    with pytest.raises(InputError, match="records of the input"):
        notes_of(first, leaking)


@pytest.mark.parametrize("change", ["floats", "words", "float32", "missing codes"])
def test_rows_are_equal_however_they_are_written(change, tmp_path):
    table = people_with_ids(900).drop_columns(["patient_id"])
    if change == "missing codes":
        table = table.set_column(
            0,
            "age",
            pa.array([None if i % 7 == 0 else v for i, v in enumerate(table["age"].to_pylist())]),
        )
    part = table.take(pa.array(np.random.default_rng(1).permutation(900)[:200]))
    if change == "floats":
        part = part.set_column(0, "age", part["age"].cast(pa.float64()))
    elif change == "float32":
        part = part.set_column(3, "weight", part["weight"].cast(pa.float32()))
    else:
        csv.write_csv(part, tmp_path / "part.csv")
    if change == "missing codes":
        (tmp_path / "part.csv").write_text(
            "\n".join(
                "NA" + line if line.startswith(",") else line
                for line in (tmp_path / "part.csv").read_text().splitlines()
            )
        )
    with pytest.raises(InputError, match="records of the input"):
        notes_of(read(table), part if change.startswith("float") else tmp_path / "part.csv")


# Ids.


def test_ids_in_both_are_named_by_column(tmp_path):
    table, others = people_with_ids(800), people_with_ids(300, 1, first_id=1799)
    with pytest.raises(
        InputError,
        match=r"values of the column patient_id occur in both. Remove these people.*" + NEXT,
    ):
        notes_of(read(table), others)
    csv.write_csv(table, tmp_path / "in.csv")
    csv.write_csv(
        others.set_column(0, "patient_id", others["patient_id"].cast(pa.float64())),
        tmp_path / "out.csv",
    )
    with pytest.raises(InputError, match="column patient_id"):
        notes_of(scan(tmp_path / "in.csv"), tmp_path / "out.csv")


def test_rows_numbered_in_each_file_are_no_ids():
    (note,) = notes_of(read(people_with_ids(800, first_id=1)), people_with_ids(300, 1, first_id=1))
    assert "'patient_id' numbers the rows of input and holdout" in note


def test_names_that_some_share_are_no_ids():
    """Two in a hundred have a name that another has: no more in both than a split explains."""
    rng = np.random.default_rng(3)
    names = [
        f"{first}{last}"
        for first in "abcdefghij"
        for last in rng.choice(list("klmnopqrst"), (100, 6)).view("<U6")[:, 0]
    ]
    names[:20] = names[20:40]
    table = (
        people_with_ids(1000)
        .set_column(0, "key", pa.array(names))
        .take(pa.array(rng.permutation(1000)))
    )
    first = read(table.slice(300), {"key": {"kind": "identifier"}})
    (note,) = notes_of(first, table.slice(0, 300))
    assert (
        note
        == "Values of column 'key' occur in the input and in the holdout. If they say whose row it is, give the column the role person."
    )
    with pytest.raises(InputError, match="values of the column key occur in both"):
        notes_of(
            first,
            pa.concat_tables(
                [
                    table.slice(0, 250),
                    table.slice(300, 50).set_column(1, "age", pa.array([33] * 50)),
                ]
            ),
        )


def test_a_person_may_not_be_in_both_with_other_rows():
    """Visits of one person are no equal rows, and the ids say it."""
    visits = people_with_ids(900).set_column(
        0, "who", pa.array([f"p{i % 300}" for i in range(900)])
    )
    with pytest.raises(InputError, match="values of the column who occur in both"):
        notes_of(read(visits.slice(0, 600), person="who"), visits.slice(600))
    rest, aside = set_aside(read(visits, person="who"), 0.25, seed=1)
    assert check_holdout(rest, aside, set_aside=True)[1] == ()
    assert notes_of(rest, aside) in ((), (UNSEEN,))
    renamed = aside.data.set_column(
        0, "who", pa.array([f"x{word}" for word in aside.data["who"].to_pylist()])
    )
    with pytest.raises(
        InputError, match="records of the input"
    ):  # whole people are compared, whatever they are called
        notes_of(read(visits, person="who"), renamed)


# People who are set aside.


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(60, 400),
    share=st.floats(0.05, 0.5),
    seed=st.integers(0, 99),
    persons=st.booleans(),
)
def test_those_set_aside_and_the_others_are_all(n, share, seed, persons):
    table = people_with_ids(n).append_column(
        "who", pa.array([f"p{i % (n // 3)}" for i in range(n)])
    )
    person = "who" if persons else None
    rest, aside = set_aside(open_source(table), share, seed=seed, person=person)
    left, right = rest.table(), aside.table()
    assert (
        sorted(left["patient_id"].to_pylist() + right["patient_id"].to_pylist())
        == table["patient_id"].to_pylist()
    )
    assert set_aside(open_source(table), share, seed=seed, person=person)[1].table().equals(right)
    assert next(iter(rest.batches(["age"]))).schema.names == ["age"]
    if persons:
        assert not set(left["who"].to_pylist()) & set(right["who"].to_pylist())


def test_the_same_people_are_set_aside_of_a_file_a_table_and_a_scan(tmp_path):
    csv.write_csv(people_with_ids(600), tmp_path / "p.csv")
    chosen = [
        set_aside(opened(tmp_path / "p.csv"), 0.25, seed=4) for opened in (open_source, read, scan)
    ]
    rests = [
        chosen[0][0].table()["patient_id"],
        chosen[1][0].data["patient_id"],
        chosen[2][0].table().data["patient_id"],
    ]
    assert len({tuple(map(int, ids.to_pylist())) for ids in rests}) == 1
    assert chosen[2][0].n_rows == len(rests[0])
    assert 100 < 600 - len(rests[0]) < 200
    assert (
        set_aside(open_source(tmp_path / "p.csv"), 0.25)[1]
        .table()
        .equals(set_aside(open_source(tmp_path / "p.csv"), 0.25, seed=0)[1].table())
    )


@pytest.mark.parametrize("share", [0, 0.6, -1, True, "a"])
def test_a_share_is_above_nothing_and_at_most_half(share):
    with pytest.raises(InputError, match=r"holdout_share must be above 0 and at most 0\.5"):
        check_holdout_share(share)


def test_a_table_of_everybody_has_no_holdout_among_them():
    rest, aside = set_aside(read(people_with_ids(2000).drop_columns(["patient_id"])), 0.25, seed=1)
    check_set_aside(
        rest, aside, "synthetic"
    )  # the original itself, without those who were set aside: no fault of the holdout
    with pytest.raises(InputError, match="it was made from all of the input"):
        check_set_aside(
            read(people_with_ids(2000).drop_columns(["patient_id"])), aside, "synthetic"
        )
