"""Attacks on files larger than memory: what is counted is that of tables in memory, and a sample of all records gives all the same figures."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.risk.finding import column_findings, record_findings

ADULT = Path(__file__).parents[2] / "examples" / "data"
COUNTED = ("cap", "dcap", "disco", "tcap")
OPTIONS = {
    "keys": ["age", "sex", "education", "hours_per_week"],
    "sensitive": ["workclass", "income"],
    "attackers": ["matching", "nb", "memorisation"],
    "resamples": 60,
    "seed": 3,
}


def near(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(near(a[key], b[key]) for key in a)
    return a == b


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Files come in several batches."""
    monkeypatch.setattr("chaffinch.table.formats.parquet.BATCH_ROWS", 700)


@pytest.fixture(scope="module")
def adult(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("adult")
    columns = ["age", "workclass", "education", "hours_per_week", "sex", "income"]
    train, test = (
        pq.read_table(ADULT / f"adult_{half}.parquet", columns=columns)
        for half in ("train", "test")
    )
    drawn = (
        chaffinch.BayesNet(parents=2)
        .fit(train.slice(0, 3000), seed=1)
        .sample(2500, seed=2)
        .to_arrow()
    )
    copied = pa.concat_tables(
        [drawn, train.slice(0, 300).cast(drawn.schema)]
    )  # a tenth of the people is copied
    for name, table in {
        "original": train.slice(0, 3000),
        "synthetic": copied,
        "holdout": test.slice(0, 1500),
    }.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in ("original", "synthetic", "holdout")}


def of_files(adult: dict[str, Path], **more):
    return chaffinch.risk(
        chaffinch.scan(adult["original"], rare="keep"),
        adult["synthetic"],
        adult["holdout"],
        **{**OPTIONS, **more},
    )


@pytest.fixture(scope="module")
def memory(adult):
    return chaffinch.risk(
        chaffinch.read(adult["original"], rare="keep"),
        adult["synthetic"],
        adult["holdout"],
        label="income",
        **OPTIONS,
    )


@pytest.fixture(scope="module")
def memory_attacks(memory):
    return {(a.attacker, a.sensitive): a for a in column_findings(memory.findings)}


def test_with_a_sample_of_all_records_every_figure_is_that_of_memory(adult, memory, memory_attacks):
    files = of_files(adult, label="income", sample_rows=3000)
    assert len(column_findings(files.findings)) == len(column_findings(memory.findings)) == 14
    for attack in column_findings(files.findings):
        theirs = memory_attacks[attack.attacker, attack.sensitive]
        for name, value in vars(theirs).items():
            if name not in ("records", "n_compared"):
                assert near(getattr(attack, name), value), (attack.attacker, name)
        assert attack.records == ("all" if attack.attacker in COUNTED else "sample")
        assert theirs.records is None
    assert near(files.family.to_dict(), memory.family.to_dict())
    for name in ("funnel", "records", "classes"):
        assert near(
            *([list(vars(one).values()) for one in getattr(side, name)] for side in (files, memory))
        ), name
    for mine, theirs in zip(*map(record_findings, (files.findings, memory.findings)), strict=True):
        assert mine.records == "sample"
        assert near(vars(replace(mine, records=None)), vars(theirs)), mine.attacker
    assert files.memorisation.rows_equal == memory.memorisation.rows_equal
    assert files.memorisation.holdout_rows_equal == memory.memorisation.holdout_rows_equal
    assert files.secrets["attacks"] == memory.secrets["attacks"]
    assert "records" not in memory.to_dict()["findings"][0]


def test_counts_are_of_all_records_and_the_sample_is_said(adult, memory, memory_attacks):
    files = of_files(adult, sample_rows=1000)
    for attack in column_findings(files.findings):
        theirs = memory_attacks[attack.attacker, attack.sensitive]
        if attack.attacker in COUNTED:
            for name in (
                "value",
                "guess",
                "holdout",
                "original",
                "n_people",
                "n_matched",
                "coarse",
            ):
                assert near(getattr(attack, name), getattr(theirs, name)), (attack.attacker, name)
            low, high = attack.interval
            assert low <= attack.value <= high
            # of a third of the people, scaled to all: as wide as memory's within a third; TCAP's may be wider, since classes have fewer people
            assert (
                2 / 3
                < (high - low) / (theirs.interval[1] - theirs.interval[0])
                < (2 if attack.attacker == "tcap" else 4 / 3)
            )
            assert attack.n_compared <= 1200
        else:
            assert attack.n_people < 1200
    for mine, theirs in zip(
        (*files.funnel, *files.records, *files.classes),
        (*memory.funnel, *memory.records, *memory.classes),
        strict=True,
    ):
        assert near(list(vars(mine).values()), list(vars(theirs).values()))
    plain = files.to_dict()
    sample = plain["about"]["sample"]
    assert (
        sample["of_original"],
        sample["of_synthetic"],
        sample["of_holdout"],
        sample["chosen_by"],
        sample["whole"],
    ) == (3000, 2800, 1500, "values", False)
    assert {attack["attacker"]: attack["records"] for attack in plain["findings"]}[
        "gcap_vote"
    ] == "sample"
    assert plain["about"]["notes"][:2] == [
        "Of all records: CAP, DCAP, DiSCO, TCAP (matched_rows).",
        "Of a sample: GCAP, mean score, GCAP, majority vote, Naive Bayes, memorisation tests, equal rows, intervals, excesses and p-values.",
    ]
    assert plain["about"]["notes"][2].startswith("The sample has ")
    assert "finds less in it" in plain["about"]["notes"][3]
    assert type(files).from_dict(plain).about.sample == files.about.sample
    assert {**of_files(adult, sample_rows=1000).to_dict(), "run": 0} == {**plain, "run": 0}
    assert files.secrets["records"].startswith("a sample")


def test_copies_are_found_in_a_slice_as_they_would_be_in_all(adult, memory):
    """Rows equal to an original one: the interval of the slice holds what all rows say, and copies are still told from chance."""
    files = of_files(adult, sample_rows=1000)
    for side in ("rows_equal", "holdout_rows_equal"):
        low, high = getattr(files.memorisation, f"{side}_interval")
        # 95 % intervals, seeded: three times as wide misses once in a hundred million
        middle, half = (low + high) / 2, (high - low) / 2
        assert abs(getattr(memory.memorisation, side) - middle) < 3 * half
        assert half < 0.2
    tests = {test.attacker: test for test in record_findings(files.findings)}
    assert tests["exact_row"].value > tests["exact_row"].holdout
    assert tests["exact_row"].p_value < 0.05


def test_a_table_with_few_distinct_rows_is_sampled_by_place_and_that_is_said(tmp_path):
    rng = np.random.default_rng(1)
    for name, n in (("a", 4000), ("b", 4000), ("c", 2000)):
        pq.write_table(
            pa.table({"k": rng.choice(["x", "y"], n), "s": rng.choice(["p", "q"], n)}),
            tmp_path / name,
        )
    options = {
        "keys": ["k"],
        "sensitive": ["s"],
        "attackers": ["matching", "memorisation"],
        "resamples": 20,
        "seed": 1,
    }
    found = chaffinch.risk(
        chaffinch.scan(tmp_path / "a"), tmp_path / "b", tmp_path / "c", sample_rows=400, **options
    )
    assert found.about.sample.chosen_by == "place"
    assert 300 < found.about.sample.original < 500
    assert found.memorisation is None
    assert "may miss copies" in found.about.notes[4]
    whole = chaffinch.risk(tmp_path / "a", tmp_path / "b", tmp_path / "c", **options)
    assert [
        near(mine.value, theirs.value)
        for mine, theirs in zip(
            column_findings(found.findings), column_findings(whole.findings), strict=True
        )
    ][:4] == [True] * 4


def test_without_keys_memorisation_tests_alone(adult):
    files = of_files(
        adult,
        keys=[],
        sensitive=[],
        attackers=["matching", "learning", "memorisation"],
        sample_rows=500,
    )
    assert column_findings(files.findings) == ()
    assert record_findings(files.findings)
    assert files.about.notes[0].startswith("Of a sample: memorisation tests")


@pytest.fixture(scope="module")
def copies(adult, tmp_path_factory):
    """Two releases, of which the second copies other people than the first, and is smaller."""
    folder = tmp_path_factory.mktemp("copies")
    one, people = pq.read_table(adult["synthetic"]), pq.read_table(adult["original"])
    pq.write_table(
        pa.concat_tables([one.slice(0, 1_800), people.slice(300, 300).cast(one.schema)]),
        folder / "second.parquet",
    )
    return [adult["synthetic"], folder / "second.parquet"]


@pytest.mark.parametrize("holdout", [True, False])
def test_several_releases_are_attacked_together_as_in_memory(adult, copies, holdout):
    """With a sample of all records; and what they tell together is more than each by itself, for together they copy twice as many."""
    options = {
        **OPTIONS,
        "attackers": ["matching", "memorisation"],
        "keys": ["age", "sex", "education"],
        "sensitive": ["workclass"],
    }
    fresh = adult["holdout"] if holdout else None
    files = chaffinch.risk(
        chaffinch.scan(adult["original"], rare="keep"), copies, fresh, sample_rows=3_000, **options
    )
    memory = chaffinch.risk(
        chaffinch.read(adult["original"], rare="keep"), copies, fresh, **options
    )
    assert files.about.synthetic == memory.about.synthetic
    assert files.about.sample.of_synthetic == 4_900
    for mine, theirs in zip(
        column_findings(files.findings), column_findings(memory.findings), strict=True
    ):
        assert near(
            [mine.value, mine.holdout, mine.excess, mine.excess_interval],
            [theirs.value, theirs.holdout, theirs.excess, theirs.excess_interval],
        ), mine.attacker
    assert files.together.tables == 2
    assert near(
        [one.to_dict() for one in files.together.findings],
        [one.to_dict() for one in memory.together.findings],
    )
    if holdout:
        (exact,) = (one for one in files.together.findings if one.attacker == "exact_row")
        assert exact.excess > max(exact.releases.alone)


def test_counts_of_releases_together_are_of_all_their_records_in_a_sample(adult, copies):
    """CAP of the people in the sample, each with all rows of both files: what memory gives for these people."""
    options = {
        **OPTIONS,
        "attackers": ["matching", "memorisation"],
        "keys": ["age", "sex", "education"],
        "sensitive": ["workclass"],
    }
    files = chaffinch.risk(
        chaffinch.scan(adult["original"], rare="keep"),
        copies,
        adult["holdout"],
        sample_rows=1_500,
        **options,
    )
    memory = chaffinch.risk(
        chaffinch.read(adult["original"], rare="keep"), copies, adult["holdout"], **options
    )
    assert "what the releases tell together" in " ".join(files.about.sample.sentences)
    for mine, theirs in zip(
        column_findings(files.findings), column_findings(memory.findings), strict=True
    ):
        if mine.attacker in COUNTED:
            assert near([mine.value, mine.holdout], [theirs.value, theirs.holdout]), mine.attacker
    (mine,), (theirs,) = (
        [one for one in side.together.findings if one.attacker == "cap"] for side in (files, memory)
    )
    # Means of scores in [0, 1] over some 1,500 of 3,000 people: off by 0.07 less than once in a million times.
    assert abs(mine.value - theirs.value) < 0.07


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"model": "a.chaffinch"},
            "A model beside a release is attacked in memory: pass --engine memory",
        ),
        ({"keys": ["agee"]}, "Did you mean 'age'"),
        ({"sample_rows": 3}, "sample_rows must be a whole number of at least 100"),
    ],
)
def test_what_cannot_be_done_is_said(adult, change, says):
    with pytest.raises((InputError, KeyError), match=says):
        chaffinch.risk(
            chaffinch.scan(adult["original"]),
            adult["synthetic"],
            adult["holdout"],
            **{**OPTIONS, **change},
        )
