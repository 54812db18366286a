"""The whole study: what it names, between which references it stands, that nothing vanishes; and of files what it is of tables in memory."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch import BayesNet
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.table.align import align
from chaffinch.utility import References, choices

QUICK = [name for name in choices() if name != "delta"]


@pytest.fixture(scope="module")
def cmc(data):
    table = chaffinch.read(data / "cmc.csv")
    return table, BayesNet(parents=2).fit(table, seed=1).sample(table.n_rows, seed=2)


@pytest.fixture(scope="module")
def study(cmc):
    return chaffinch.utility(
        *cmc,
        label="contraceptive_method",
        formula="num_children ~ wife_age + wife_education",
        repeats=2,
        seed=1,
        svm_rows=300,
        thorough=True,
    )


def test_it_has_every_measure_with_value_direction_references_and_settings(study):
    told = study.to_dict()
    single = [
        "mu",
        "phi_k",
        "pearson",
        "jensen_shannon",
        "pmse_ratio",
        "impossible",
        "delta",
        "G",
        "learning",
        "regression",
    ]
    for entry in [*(told[name] for name in single), *(told["tvd"][width] for width in "123")]:
        assert isinstance(entry["value"], float)
        assert entry["direction"] in ("lower is better", "higher is better")
        assert entry["settings"]
        assert set(entry["references"]) == {field.name for field in fields(References)}
    assert set(told["tvd"]) == {"1", "2", "3", "settings"}
    assert {"mean", "worst"} <= set(told["tvd"]["3"])
    assert set(told["jensen_shannon"]["per_column"]) == {
        column.name for column in study.about.columns
    }
    assert {row["trained_on"] for row in told["learning"]["rows"]} == {
        "original",
        "synthetic",
        "marginals",
    }
    assert {"model", "trained_on", "score", "sd"} <= set(told["learning"]["rows"][0])
    assert told["delta"]["tstr"]["references"]["marginals"] is not None
    json.dumps(told, allow_nan=False)


def test_a_network_lies_between_independent_columns_and_a_resample(study):
    for name in ("mu", "phi_k", "tvd.2", "tvd.3", "pmse_ratio"):
        held = study.references[name]
        assert held.resample < study[name].value < held.marginals, name
        assert held.holdout is None


def test_g_is_the_sum_of_mu_and_delta(study):
    assert study["G"].value == pytest.approx(study["mu"].value + study["delta"].value)


def test_a_quick_study_has_the_figures_of_a_thorough_one_and_names_the_rest(cmc, study):
    quick = chaffinch.utility(
        *cmc,
        label="contraceptive_method",
        formula="num_children ~ wife_age + wife_education",
        repeats=2,
        seed=1,
    )
    assert set(study.results) - set(quick.results) == {"delta", "delta.tstr", "G"}
    for name in set(quick.results) - {"learning"}:
        assert quick[name].to_dict() == study[name].to_dict(), name
        assert quick.references[name] == study.references[name], name
    rows = {(row.model, row.trained_on): row for row in study["learning"].rows}
    assert {row.model for row in quick["learning"].rows} == {"nb", "knn", "lr"}
    assert all(row == rows[row.model, row.trained_on] for row in quick["learning"].rows)
    left = {part.what: part.flag for part in quick.about.left_out}
    assert set(left.values()) == {"--thorough"}
    assert {
        "Learning any column (delta)",
        "Learning any column (TSTR)",
        "Relations and learning together (G)",
        "learners svc and rf",
    } == set(left)
    assert study.about.left_out == ()


def test_the_first_splits_of_a_thorough_study_are_those_of_a_quick_one(cmc):
    """So means over three splits and over ten are of the same kind, and differ by the splits that are added alone."""
    few, more = (
        chaffinch.utility(
            *cmc,
            label="contraceptive_method",
            measures=["learning"],
            models=["lr"],
            repeats=repeats,
            seed=1,
        )["learning"]
        for repeats in (1, 2)
    )
    only_second = [2 * b.score - a.score for a, b in zip(few.rows, more.rows, strict=True)]
    assert all(0.0 < score < 1.0 for score in only_second)
    assert [row.sd for row in more.rows] == pytest.approx(
        [abs(a.score - s) / 2**0.5 for a, s in zip(few.rows, only_second, strict=True)], abs=1e-9
    )


def test_what_was_named_is_measured_however_quick(cmc):
    few = chaffinch.utility(*cmc, measures=["delta"], repeats=1, svm_rows=100, seed=1)
    assert set(few.results) == {"delta", "delta.tstr"}
    assert few.about.left_out == ()
    plain = chaffinch.utility(*cmc, measures=["learning", "regression", "tvd"], seed=1)
    assert {(part.what, part.flag) for part in plain.about.left_out} == {
        ("Learning the label", "--label"),
        ("A regression's results", "--formula"),
    }


def test_identical_tables_score_perfectly(cmc):
    outcome = chaffinch.utility(
        cmc[0],
        cmc[0],
        measures=[*QUICK, "delta"],
        formula="num_children ~ wife_age",
        repeats=1,
        seed=1,
        svm_rows=200,
    )
    for name, result in outcome.results.items():
        if name != "learning":
            assert result.value == pytest.approx(result.identical, abs=1e-12), name


def test_the_same_seed_gives_the_same_study_whatever_the_threads(cmc):
    one, two = (
        chaffinch.utility(
            *cmc, label="contraceptive_method", repeats=1, seed=5, svm_rows=200, threads=n
        ).to_dict()
        for n in (1, 2)
    )
    for told in (one, two):
        del told["run"]
    assert one == two


def test_a_holdout_stands_beside_each_value(data):
    table, holdout = (chaffinch.read(data / f"adult_{part}.parquet") for part in ("train", "test"))
    synthetic = BayesNet(parents=1).fit(table, seed=1).sample(4000, seed=2)
    result = chaffinch.utility(
        table, synthetic, holdout, measures=["phi_k", "tvd", "impossible"], seed=1
    )
    assert all(
        0 < result.references[name].holdout < result[name].value
        for name in ("mu", "tvd.2", "tvd.3")
    )


def test_what_was_not_asked_for_is_absent_and_what_does_not_apply_says_why(cmc):
    told = chaffinch.utility(
        *cmc, measures=["jensen_shannon", "learning", "regression"], seed=1
    ).to_dict()
    assert "learning" not in told
    assert "regression" not in told
    assert "jensen_shannon" in told
    one_class = pa.table({"a": ["x", "y"] * 30, "b": ["p"] * 60})
    told = chaffinch.utility(
        chaffinch.read(one_class), one_class, label="b", measures=["learning", "phi_k"], seed=1
    ).to_dict()
    assert told["learning"]["value"] is None
    assert "class" in told["learning"]["not_applicable"]
    assert told["mu"]["value"] is None
    assert told["mu"]["not_applicable"]


def test_two_rows_give_values_or_reasons():
    two = pa.table({"a": ["x", "y"], "b": [1, 2], "c": ["u", "u"]})
    outcome = chaffinch.utility(chaffinch.read(two, rare="keep"), two, label="a", repeats=1, seed=1)
    for name, result in outcome.results.items():
        assert result.value is not None or result.reason, name


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"measures": ["mu"]}, UnknownNameError, "Unknown measure 'mu'"),
        ({"measures": []}, InputError, "at least one measure"),
        ({"repeats": 0}, InputError, "repeats must be a whole number of at least 1"),
        ({"label": "nobody"}, UnknownNameError, "Unknown label 'nobody'"),
        ({"formula": "y ~ x", "measures": ["regression"]}, UnknownNameError, "Unknown column 'y'"),
    ],
)
def test_bad_use_is_refused(cmc, options, error, words):
    with pytest.raises(error, match=words):
        chaffinch.utility(*cmc, **{"measures": ["jensen_shannon"], **options})


def test_different_columns_are_refused(cmc):
    with pytest.raises(InputError, match="lacks columns of the original: wife_age"):
        chaffinch.utility(cmc[0], cmc[1].to_arrow().drop_columns(["wife_age"]))


def test_a_stage_of_its_own_may_be_asked_for_alone_with_the_same_figures(cmc, study):
    """What else is measured does not move a metric's random stream."""
    alone = chaffinch.utility(*cmc, measures=["pmse", "tvd"], seed=1)
    for name, result in alone.results.items():
        assert result == study[name]
        assert alone.references[name] == study.references[name]


def test_tables_may_be_paths_and_frames(data, cmc):
    asked = {"measures": ["jensen_shannon"], "seed": 1}
    table = chaffinch.utility(*cmc, **asked)
    assert chaffinch.utility(data / "cmc.csv", cmc[1].to_pandas(), **asked) == table
    assert chaffinch.utility(cmc[0].to_pandas(), cmc[1].to_arrow(), **asked)[
        "jensen_shannon"
    ].value == pytest.approx(table["jensen_shannon"].value)


ADULT = Path(__file__).parents[2] / "examples" / "data"
COUNTED = ("phi_k", "mu", "pearson", "jensen_shannon", "tvd.1", "tvd.2", "tvd.3", "impossible")


def near(a: object, b: object) -> bool:
    """Whether plain data are the same, numbers but for their last digits, less what says which records they are of."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = (set(a) | set(b)) - {"records"}
        return keys <= set(a) and keys <= set(b) and all(near(a[key], b[key]) for key in keys)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return a == b


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Files come in several batches."""
    monkeypatch.setattr("chaffinch.table.formats.parquet.BATCH_ROWS", 700)


@pytest.fixture(scope="module")
def adult(tmp_path_factory) -> dict[str, Path]:
    """Adult: the first rows of its two halves, and a synthesis whose batches are small."""
    folder = tmp_path_factory.mktemp("adult")
    train, test = (pq.read_table(ADULT / f"adult_{half}.parquet") for half in ("train", "test"))
    columns = ["age", "workclass", "education", "hours_per_week", "capital_gain", "sex", "income"]
    train, test = (
        table.select([name for name in table.column_names if name in columns])
        for table in (train, test)
    )
    drawn = chaffinch.BayesNet(parents=1).fit(train.slice(0, 4000), seed=1).sample(3500, seed=2)
    tables = {
        "original": train.slice(0, 4000),
        "synthetic": drawn.to_arrow(),
        "holdout": test.slice(0, 2000),
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in tables}


def test_every_figure_is_that_of_memory_where_the_sample_is_all(adult):
    options = {"label": "income", "models": ["nb"], "repeats": 1, "seed": 3}
    memory = chaffinch.utility(*adult.values(), **options)
    files = chaffinch.utility(
        chaffinch.scan(adult["original"]),
        adult["synthetic"],
        adult["holdout"],
        **options,
        sample_rows=5000,
    )
    assert list(files.results) == list(memory.results)
    assert set(COUNTED) < set(files.results)
    for name, result in memory.results.items():
        assert near(result.to_dict(), files[name].to_dict()), name
        assert near(
            list(vars(memory.references[name]).values()),
            list(vars(files.references[name]).values()),
        ), name
        assert files[name].settings["records"] == ("all" if name in COUNTED else "sample")
        assert "records" not in result.settings
    assert files.about.sample.all_records
    assert files.shapes == memory.shapes


def test_counts_are_of_all_records_and_the_rest_says_of_which_sample(adult):
    memory = chaffinch.utility(*adult.values(), label="income", models=["nb"], repeats=1, seed=3)
    files = chaffinch.utility(
        chaffinch.scan(adult["original"]),
        adult["synthetic"],
        adult["holdout"],
        label="income",
        models=["nb"],
        repeats=1,
        seed=3,
        sample_rows=1000,
    )
    for name in COUNTED:
        assert near(memory[name].to_dict(), files[name].to_dict()), name
        assert near(
            list(vars(memory.references[name]).values()),
            list(vars(files.references[name]).values()),
        ), name
    plain = files.to_dict()
    sample = plain["about"]["sample"]
    # About a quarter of 4,000, 3,500 and 2,000: within six standard deviations, which fails twice in a billion
    for side, n in (("original", 4000), ("synthetic", 3500), ("holdout", 2000)):
        assert sample[f"of_{side}"] == n
        assert abs(sample[side] - n / 4) < 6 * math.sqrt(n * 3 / 16)
    assert plain["learning"]["settings"]["records"] == "sample"
    assert plain["tvd"]["2"]["settings"]["records"] == "all"
    first, second, third, *_ = files.about.notes
    assert first.startswith("Of all records: Relations of pairs (phi_k),")
    assert second.startswith("Of a sample: ")
    assert third.startswith(
        f"The sample has {sample['original']:,} of 4,000 original, {sample['synthetic']} of 3,500 synthetic"
    )
    assert sample["sentences"] == [first, second, third]
    assert type(files).from_dict(plain).about.sample == files.about.sample
    again = chaffinch.utility(
        chaffinch.scan(adult["original"]),
        adult["synthetic"],
        adult["holdout"],
        label="income",
        models=["nb"],
        repeats=1,
        seed=3,
        sample_rows=1000,
    )
    assert {**again.to_dict(), "run": 0} == {**plain, "run": 0}


def test_no_codes_stay_behind_also_where_it_fails(adult, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    chaffinch.utility(
        chaffinch.scan(adult["original"]), adult["synthetic"], measures=["tvd"], seed=1
    )
    with pytest.raises(InputError, match="nothing"):
        chaffinch.utility(
            chaffinch.scan(adult["original"]),
            adult["synthetic"],
            formula="income ~ nothing",
            measures=["regression"],
            seed=1,
        )
    assert list(tmp_path.iterdir()) == []


def test_a_sample_of_few_is_refused():
    with pytest.raises(
        InputError, match=r"sample_rows must be a whole number of at least 100\. Got 5"
    ):
        chaffinch.utility(pa.table({"a": [1, 2]}), pa.table({"a": [1, 2]}), sample_rows=5)


def test_files_need_no_others():
    (alone,) = align(chaffinch.scan(pa.table({"a": ["x", "y"] * 30, "b": [1, 2, 3] * 20})))
    assert alone.n_rows == 60
