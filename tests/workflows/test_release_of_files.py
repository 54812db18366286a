"""A release of files: the same table and model as in memory, figures of all records or of a sample that is said, and nothing left behind."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import chaffinch as cf
from chaffinch.errors import InputError
from chaffinch.risk.finding import column_findings
from chaffinch.risk.study import ONE_ROW_EACH
from chaffinch.table import sources
from chaffinch.table.formats import delimited
from chaffinch.workflows import release
from chaffinch.workflows.release import ROWS_APART

LABEL, KEYS = "contraceptive_method", ["wife_religion", "wife_education", "num_children"]
WHAT = {
    "label": LABEL,
    "sensitive": ["wife_age"],
    "keys": KEYS,
    "measures": ["tvd", "jensen_shannon"],
    "attackers": ["matching", "memorisation"],
    "seed": 3,
}
FILES = ("confidential/model.chaffinch", "to-release/synthetic.csv")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, empty."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


@pytest.fixture(scope="module")
def two_files(data, tmp_path_factory):
    """Two files of people of one population."""
    folder = tmp_path_factory.mktemp("people")
    frame = pd.read_csv(data / "cmc.csv").sample(frac=1.0, random_state=1)
    for name, part in (("in.csv", frame[:700]), ("out.csv", frame[700:])):
        part.to_csv(folder / name, index=False)
    return folder


def test_what_is_of_a_sample_is_said_in_the_result_and_on_the_page(
    two_files, temporary, tmp_path, run_here
):
    done = run_here(
        "release",
        two_files / "in.csv",
        "-o",
        tmp_path / "out",
        "--label",
        LABEL,
        "--sensitive",
        "wife_age",
        "--keys",
        ",".join(KEYS),
        "--measures",
        "tvd",
        "--attackers",
        "matching,memorisation",
        "--seed",
        3,
        "--engine",
        "stream",
        "--sample-rows",
        300,
    )
    assert done.code == 0, done.err
    plain = json.loads((tmp_path / "out" / "confidential" / "report.json").read_text())
    crossed = plain["risk"]["cross_fit"]["about"]
    assert not crossed["sample"]["whole"]
    assert crossed["sample"]["of_original"] == 700
    assert crossed["sample"]["original"] == crossed["original"]["rows"] < 400
    said = f"The sample has {crossed['sample']['original']} of 700 original records, chosen by a keyed hash of their place in the file."
    assert said in crossed["notes"]
    assert said in (tmp_path / "out" / "confidential" / "report.html").read_text()
    assert said in " ".join((done.out + done.err).split())
    assert plain["risk"]["about"]["sample"]["of_synthetic"] == 700
    assert list(temporary.iterdir()) == []


def test_a_holdout_is_read_batch_by_batch_too(two_files, temporary):
    found = cf.release(two_files / "in.csv", holdout=two_files / "out.csv", engine="stream", **WHAT)
    held = cf.release(two_files / "in.csv", holdout=two_files / "out.csv", engine="memory", **WHAT)
    assert found.risk.cross_fit is None
    assert [a.holdout for a in column_findings(found.risk.findings)] == pytest.approx(
        [a.holdout for a in column_findings(held.risk.findings)]
    )
    assert found.lower_bound == pytest.approx(held.lower_bound, abs=1e-9)
    (file,) = found.files
    assert Path(file).read_text().count("\n") == 701
    del found
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_several_syntheses_are_attacked_together_as_in_memory(two_files, temporary):
    """Without a holdout: each by itself, together, and by models of half the people of which as many tables are drawn."""
    what = {**WHAT, "copies": 2, "measures": ["tvd"]}
    one, other = (
        cf.release(two_files / "in.csv", engine=name, **what) for name in ("memory", "stream")
    )
    assert len(other.files) == 2
    assert [table.to_pandas().to_csv(index=False) for table in one.tables] == [
        pd.read_csv(file).to_csv(index=False) for file in other.files
    ]
    for mine, theirs in zip(
        column_findings(one.risk.findings), column_findings(other.risk.findings), strict=True
    ):
        assert (theirs.value is None) == (mine.value is None)  # few people behind a share hide it
        assert mine.value is None or theirs.value == pytest.approx(mine.value, rel=1e-12)
    assert other.risk.together.tables == 2
    pairs = list(zip(one.risk.together.findings, other.risk.together.findings, strict=True))
    assert sum(mine.value is not None for mine, _ in pairs) > 5
    for mine, theirs in pairs:
        assert theirs.value == (
            None if mine.value is None else pytest.approx(mine.value, rel=1e-12)
        )
    assert (
        other.risk.cross_fit.together == one.risk.cross_fit.together
    )  # all 700 records are in the sample
    del other
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_auto_takes_files_batch_by_batch_and_says_so(two_files, run_here, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "free_bytes", lambda: 1 << 10)
    done = run_here(
        "release",
        two_files / "in.csv",
        "-o",
        tmp_path / "out",
        "--copies",
        2,
        "--measures",
        "tvd",
        "--seed",
        1,
    )
    assert done.code == 0, done.err
    assert "Rows are read batch by batch (--engine stream)" in done.err
    assert sorted(path.name for path in (tmp_path / "out" / "to-release").iterdir()) == [
        "synthetic-1.csv",
        "synthetic-2.csv",
    ]


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """People with several rows each, of whom some cells are outside their declared domain, and the schema that declares it."""
    folder = tmp_path_factory.mktemp("visits")
    rng = np.random.default_rng(2)
    n = 1_500
    who = [f"p{i:03d}" for i in rng.integers(0, 400, n)]
    sex = np.array(["f", "m", "unknown"])[rng.choice(3, n, p=[0.48, 0.48, 0.04])]
    age = np.where(rng.random(n) < 0.03, -8, rng.integers(0, 120, n)).astype(object)
    age[rng.random(n) < 0.02] = "n/a"
    ill = np.where(rng.random(n) < 0.2, "yes", "no")
    pd.DataFrame({"who": who, "sex": sex, "age": age, "ill": ill}).to_csv(
        folder / "visits.csv", index=False
    )
    (folder / "visits.toml").write_text(
        'format = "chaffinch-schema"\nversion = 1\npublic = true\n[columns.who]\nkind = "identifier"\n[columns.sex]\nkind = "categorical"\n'
        'levels = ["f", "m"]\nother = true\n[columns.age]\nkind = "integer"\nbounds = [0, 99]\nmissing = [-8]\nnullable = true\n'
        '[columns.ill]\nkind = "categorical"\nlevels = ["no", "yes"]\n'
    )
    return folder


PROMISED = {
    "declared": ["--schema", "visits.toml"],
    "persons": ["--schema", "visits.toml", "--person-id", "who", "--rows-per-person", 2],
    "discovered": ["--discover", "all", "--delta", "1e-5"],
}


def values_of(plain, path=()):
    """All that is called a value in plain data, by where it stands."""
    if isinstance(plain, list):
        plain = dict(enumerate(plain))
    if not isinstance(plain, dict):
        return {}
    own = {(*path, "value"): plain["value"]} if isinstance(plain.get("value"), float) else {}
    return own | {
        place: value
        for name, part in plain.items()
        for place, value in values_of(part, (*path, name)).items()
    }


@pytest.mark.parametrize("what", PROMISED)
def test_what_has_a_promise_is_released_and_measured_as_tables_are(
    visits, temporary, tmp_path, run_here, monkeypatch, what
):
    """The same bytes, and, of all records, the same figures: the original is read under its declared domain, whatever stands in it."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 3_000)
    found = {}
    options = [
        str(visits / word) if str(word).endswith(".toml") else word for word in PROMISED[what]
    ]
    for name in ("memory", "stream"):
        out = tmp_path / name
        done = run_here(
            "release",
            visits / "visits.csv",
            "-o",
            out,
            "--engine",
            name,
            "--epsilon",
            4,
            "--seed",
            4,
            "--measures",
            "tvd,jensen_shannon,rules",
            "--keys",
            "sex,age",
            "--sensitive",
            "ill",
            "--attackers",
            "matching,memorisation",
            *options,
        )
        assert done.code == 0, done.err
        assert "no promise covers them" in done.err
        found[name] = (
            {file: (out / file).read_bytes() for file in FILES},
            json.loads((out / "confidential" / "report.json").read_text()),
        )
    (files, one), (streamed_files, other) = found["memory"], found["stream"]
    assert files == streamed_files
    assert (
        other["synthesis"] == one["synthesis"]
    )  # also without a word of the engine: it may be chosen by the size of the data
    worth = values_of(one["utility"])
    assert len(worth) > 4
    assert values_of(other["utility"]) == pytest.approx(worth, rel=1e-12)
    assert (
        other["risk"]["cross_fit"]["findings"] == one["risk"]["cross_fit"]["findings"]
    )  # all records are in the sample
    if what != "persons":
        assert [
            one["value"] for one in other["risk"]["findings"] if one["sensitive"]
        ] == pytest.approx(
            [own["value"] for own in one["risk"]["findings"] if own["sensitive"]], rel=1e-12
        )
    else:  # of each person one row, drawn at random: the same persons, and other rows
        n_persons = pd.read_csv(visits / "visits.csv")["who"].nunique()
        for risk in (one["risk"], other["risk"]):
            assert ONE_ROW_EACH in risk["about"]["notes"]
            assert risk["about"]["original"]["rows"] == n_persons // 10 * 10
            assert risk["cross_fit"]["about"]["original"]["rows"] == n_persons // 10 * 10
        assert ROWS_APART in " ".join(other["about"]["notes"])
    assert list(temporary.iterdir()) == []


def test_a_file_that_is_rewritten_before_it_is_measured_is_refused(
    visits, temporary, tmp_path, run_here, monkeypatch
):
    file = tmp_path / "visits.csv"
    file.write_bytes((visits / "visits.csv").read_bytes())
    measure = release.measure_utility

    def rewritten(*words, **options):
        before = file.stat()
        file.write_bytes(file.read_bytes().replace(b"p001", b"p999", 1))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        return measure(*words, **options)

    monkeypatch.setattr(release, "measure_utility", rewritten)
    done = run_here(
        "release",
        file,
        "-o",
        tmp_path / "out",
        "--engine",
        "stream",
        "--epsilon",
        4,
        "--seed",
        4,
        "--measures",
        "tvd",
        "--schema",
        visits / "visits.toml",
    )
    assert done.code == 2
    assert "visits.csv' was changed or replaced while it was read" in done.err
    assert not (tmp_path / "out").exists()
    assert list(temporary.iterdir()) == []


def test_an_error_while_measuring_leaves_nothing(
    two_files, temporary, tmp_path, run_here, monkeypatch
):
    def fails(*_args, **_options):
        raise InputError("no")

    monkeypatch.setattr("chaffinch.workflows.release.measure_risk", fails)
    done = run_here(
        "release",
        two_files / "in.csv",
        "-o",
        tmp_path / "out",
        "--measures",
        "tvd",
        "--seed",
        1,
        "--engine",
        "stream",
    )
    assert done.code == 2
    assert not (tmp_path / "out").exists()
    assert list(temporary.iterdir()) == []
