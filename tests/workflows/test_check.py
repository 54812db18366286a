"""chaffinch.check: one door for paths, frames, tables, documents and ACRO folders, with the errors of the command line; what is written, and what is not."""

from __future__ import annotations

import json
import shutil
import stat
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.outputs import records
from chaffinch.outputs.check.released import read_released
from chaffinch.outputs.check.settings import CheckJob, DeliverySettings, SourceSettings
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.records import TableCoder
from chaffinch.outputs.rules import Policy
from chaffinch.workflows.check import (
    check_destinations,
    run_check,
    table_of_output,
    write_mitigated,
)
from chaffinch.workflows.run import Destinations, RunOptions

ROOT = Path(__file__).resolve().parents[2]
CMC = ROOT / "examples" / "data" / "cmc.csv"
ACRO = ROOT / "tests" / "data" / "acro" / "cmc"
TABLE = {"name": "t", "kind": "table", "by": ["area", "ill"]}
DOCUMENT = {"format": "chaffinch-outputs", "version": 1, "outputs": [TABLE]}
ASK = {
    "keys": ["area"],
    "sensitive": ["ill"],
    "syntheses": 2,
    "proposals": 20_000,
    "seed": 1,
    "workers": 1,
}


@pytest.fixture(scope="module")
def people_of_two_areas():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"area": rng.choice(["north", "south"], 200), "ill": rng.choice(["no", "yes"], 200)}
    )


def told(result):
    return {**result.to_dict(), "about": 0, "run": 0}


def test_whatever_holds_outputs_and_records_will_do(people_of_two_areas, tmp_path):
    outputs, data = tmp_path / "outputs.json", tmp_path / "people.csv"
    outputs.write_text(json.dumps(DOCUMENT))
    people_of_two_areas.to_csv(data, index=False)
    one = chaffinch.check(str(outputs), data, **ASK)
    assert one.about.outputs == "outputs.json"
    assert one.about.data == "people.csv"
    assert one.verdict.text in repr(one)
    for source in (people_of_two_areas, chaffinch.read(people_of_two_areas), chaffinch.read(data)):
        other = chaffinch.check(DOCUMENT, source, **ASK)
        assert told(other) == told(one)
        assert other.about.data is None
    fields = OutputDomain(
        (OutputColumn("area", ("north", "south")), OutputColumn("ill", ("no", "yes")))
    )
    codes = fields.codes({name: people_of_two_areas[name].tolist() for name in fields.names})
    assert told(chaffinch.check(recipes_of([TABLE], fields), codes, **ASK)) == told(one)


def test_outputs_are_recorded_and_count_the_next_time(people_of_two_areas, tmp_path):
    known = tmp_path / "released.json"
    rounded = {**DOCUMENT, "outputs": [{**TABLE, "base": 100}]}
    one = chaffinch.check(rounded, people_of_two_areas, released=known, record=True, **ASK)
    assert one.about.recorded == one.passed == known.exists()
    assert one.passed
    again = chaffinch.check(
        {**DOCUMENT, "outputs": [{**TABLE, "name": "u", "by": ["area", "ill"]}]},
        people_of_two_areas,
        released=known,
        **ASK,
    )
    assert [(output.name, output.released) for output in again.outputs] == [
        ("t", True),
        ("u", False),
    ]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([], "people.csv"), {}, "The outputs must be a file of outputs.*Got list"),
        (([TABLE, 3], "people.csv"), {}, "Output 2 is of type int, which is not read"),
        (("none.toml", None), {}, "No such file"),
        ((DOCUMENT, [1, 2, 3]), {}, "list"),
        ((DOCUMENT, None), {"keys": ["aera"]}, "Did you mean 'area'"),
        ((DOCUMENT, None), {"keys": []}, "A check needs keys"),
        ((DOCUMENT, None), {"syntheses": 1}, "syntheses must be a whole number of at least 2"),
        ((DOCUMENT, None), {"search_engine": "incrementl"}, "Did you mean 'incremental'"),
        ((DOCUMENT, None), {"leave_one_out": "alway"}, "Did you mean 'always'"),
        ((DOCUMENT, None), {"record": True}, "--record needs --released"),
        ((DOCUMENT, None), {"recipes": "none.toml"}, "--recipes is for an ACRO folder"),
        ((DOCUMENT, None), {"acro_write_back": "back"}, "--acro-write-back is for an ACRO folder"),
        ((DOCUMENT, None), {"rules": "none.toml"}, "No such file"),
        ((DOCUMENT, np.zeros((30, 2), dtype=np.int32)), {}, "Codes as data need recipes"),
        (({**DOCUMENT, "outputs": []}, None), {}, "has no outputs"),
    ],
)
def test_bad_use_is_named(people_of_two_areas, arguments, options, words):
    outputs, data = arguments
    with pytest.raises(chaffinch.errors.ChaffinchError, match=words):
        chaffinch.check(
            outputs, people_of_two_areas if data is None else data, **{**ASK, **options}
        )


def test_a_typo_in_a_filter_names_no_rare_level(people_of_two_areas):
    few = pd.concat([people_of_two_areas, pd.DataFrame({"area": ["Sark"], "ill": ["no"]})])
    document = {**DOCUMENT, "outputs": [{**TABLE, "where": "area != 'sark'"}]}
    with pytest.raises(InputError, match="10 or more records have: north, south") as caught:
        chaffinch.check(document, few, **ASK)
    assert "Sark" not in str(caught.value)


def test_the_records_are_read_and_coded_once(people_of_two_areas, tmp_path, monkeypatch):
    """Words by the table's own codes; numbers, whose codes may be bins, by one look at the values."""
    data, known = tmp_path / "people.csv", tmp_path / "released.json"
    people_of_two_areas.assign(age=np.arange(len(people_of_two_areas)) % 50, unused="x").to_csv(
        data, index=False
    )
    calls = {"opened": [], "encoded": [], "matched": []}

    def counted(module, name, what, column):
        real = getattr(module, name)

        def call(*arguments, **options):
            calls[what].append(column(arguments))
            return real(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    reading = sys.modules["chaffinch.table.read"]  # the name in chaffinch.table is the function
    counted(reading, "open_source", "opened", lambda a: Path(a[0]).name)
    counted(reading, "encode_column", "encoded", lambda a: a[0].name)
    counted(records, "_nearest", "matched", lambda a: a[0].name)
    mean = {"name": "ages", "kind": "mean", "of": "age", "by": ["area"], "decimals": 0}
    document = {**DOCUMENT, "outputs": [{**TABLE, "base": 100}, mean]}
    result = chaffinch.check(document, data, released=known, record=True, **ASK)
    assert calls["opened"] == ["people.csv"]
    assert sorted(calls["encoded"]) == sorted(set(calls["encoded"]))
    assert calls["matched"] == ["age"]
    assert result.records == 200


@pytest.mark.parametrize(
    ("threshold", "by_policy"), [(7, True), (7, False), (25, True), (25, False)]
)
def test_one_threshold_reaches_whatever_leaves(people_of_two_areas, threshold, by_policy):
    """15 people live in the east: from a threshold of 15 down they may be told of, and above it they may not. Nothing says ten."""
    rng = np.random.default_rng(3)
    people_of_two_areas = people_of_two_areas.assign(
        area=np.r_[np.full(15, "east"), np.full(185, "north")],
        ill=rng.permutation(people_of_two_areas["ill"]),
    )
    options = {"rules": Policy(threshold=threshold)} if by_policy else {"threshold": threshold}
    asked = {**ASK, "leave_one_out": "never", **options}

    def refusal(**changes):
        entry = {"name": "t", "kind": "table", "by": ["ill"], **changes}
        entry = {key: value for key, value in entry.items() if value is not None}
        with pytest.raises(InputError) as caught:
            chaffinch.check(
                {**DOCUMENT, "outputs": [{**TABLE, "name": "s"}, entry]},
                people_of_two_areas,
                **asked,
            )
        return str(caught.value)

    result = chaffinch.check(DOCUMENT, people_of_two_areas, **asked)
    assert result.records == round(200 / threshold) * threshold
    exposed = len(result.exposed)
    assert result.exposed_classes == (
        0
        if not exposed
        else f"<{threshold}"
        if exposed < threshold
        else exposed // threshold * threshold
    )
    assert "<10" not in json.dumps(result.to_dict())
    # A level in a filter that does not exist: those that enough people have are listed.
    words = refusal(where="area == 'eest'")
    assert f"Levels that {threshold} or more records have" in words
    assert ("east" in words) == (threshold == 7)
    words = refusal(by=["area"], cells={"north": 185, "est": 15})
    assert f"Cells whose levels {threshold} or more records have" in words
    assert ("east" in words) == (threshold == 7)
    words = refusal(
        kind="logit",
        by=None,
        formula="ill ~ area",
        coefficients={"Intercept": 0.1, "area[T.nrth]": 0.1},
    )
    assert f"Coefficients whose levels {threshold} or more records have" in words


@pytest.mark.parametrize("threshold", [7, 25])
def test_values_that_are_no_level_are_counted_by_the_threshold(people_of_two_areas, threshold):
    people_of_two_areas = people_of_two_areas.assign(area=["east"] * 15 + ["north"] * 185)
    columns = [
        {"name": "area", "levels": ["north", "south"]},
        {"name": "ill", "levels": ["no", "yes"]},
    ]
    with pytest.raises(InputError) as caught:
        chaffinch.check(
            {**DOCUMENT, "columns": columns}, people_of_two_areas, threshold=threshold, **ASK
        )
    assert (
        f"in {14 if threshold == 7 else '<25'} of {203 if threshold == 7 else 200} records"
        in str(caught.value)
    )
    with pytest.raises(InputError) as caught:
        chaffinch.check(
            {**DOCUMENT, "columns": columns, "outputs": [{**TABLE, "where": "area == 'nrth'"}]},
            people_of_two_areas,
            threshold=threshold,
            **ASK,
        )
    assert (
        f"Levels are listed only where {threshold} or more records are known to have them"
        in str(caught.value)
    )


def test_the_rules_alone_and_some_outputs(people_of_two_areas):
    """The same findings as the whole check has, and one output is judged without those that are not asked for."""
    document = {**DOCUMENT, "outputs": [TABLE, {**TABLE, "name": "u", "where": "area == 'north'"}]}
    whole = chaffinch.check(document, people_of_two_areas, **ASK)
    quick = chaffinch.check(document, people_of_two_areas, rules_only=True)
    assert quick.rules == whole.rules
    assert {row.output: row.rules for row in quick.summary} == {
        row.output: row.rules for row in whole.summary
    }
    one = chaffinch.check(document, people_of_two_areas, rules_only=True, only=["u"])
    assert [row.output for row in one.summary] == ["u"]
    assert one.about.not_asked == ("t",)
    assert [
        row.output
        for row in chaffinch.check(
            document, people_of_two_areas, rules_only=True, exclude=["u"]
        ).summary
    ] == ["t"]


@pytest.fixture(scope="module")
def survival():
    """Patients of whom one lacks a score, three lack another, and 63 a weight; all that a label depends on is there."""
    rng = np.random.default_rng(3)
    n = 228
    data = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "status": rng.choice(["alive", "dead"], n, p=[0.4, 0.6]),
            "ecog": rng.choice([0.0, 1.0, 2.0], n),
            "karno": rng.choice([70.0, 80.0, 90.0], n),
            "age": rng.integers(45, 55, n),
            "weight": rng.integers(5, 15, n).astype(float),
        }
    )
    data.loc[13, "ecog"], data.loc[[5, 90, 100], "karno"] = np.nan, np.nan
    # In those with a weight, only women died: among them status follows from sex.
    data.loc[((data.sex == "m") & (data.status == "dead")) | (rng.random(n) < 0.1), "weight"] = (
        np.nan
    )
    return data


def _document(*entries):
    return {"format": "chaffinch-outputs", "version": 1, "outputs": list(entries)}


def test_tables_of_which_one_leaves_out_a_few_people_fail_together(survival):
    """Totals 228, 227 and 225: subtracting tells how many of those without a score died."""
    tables = []
    for name in ("sex", "ecog", "karno"):
        counts = pd.crosstab(survival[name], survival.status)
        tables.append(
            {
                "name": name,
                "kind": "table",
                "by": [name, "status"],
                "counts": counts.values.tolist(),
            }
        )
    assert [int(np.sum(one["counts"])) for one in tables] == [228, 227, 225]
    result = chaffinch.check(_document(*tables), survival, rules_only=True)
    assert all(one.consistent for one in result.outputs)
    assert {row.output: row.verdict for row in result.summary} == dict.fromkeys(
        ("sex", "ecog", "karno"), "fail"
    )
    assert {frozenset(one.names) for one in result.rules if one.status == "fail"} == {
        frozenset({"sex", "ecog"}),
        frozenset({"sex", "karno"}),
    }
    assert [one.left_out for one in result.outputs] == [0, "<10", "<10"]
    assert any(
        "fewer than 10 in 'ecog', fewer than 10 in 'karno'" in sentence
        for sentence in result.verdict.sentences
    )
    assert not result.passed


def test_an_output_with_many_missing_values_takes_no_records_from_the_others(survival):
    """Each output has the records that the program which made it had, so a right logit is not one of perfect prediction, either."""
    smf = pytest.importorskip("statsmodels.formula.api")
    dead = survival.assign(dead=(survival.status == "dead") * 1)
    fits = {
        "weight": smf.ols("weight ~ age", survival).fit(),
        "death": smf.logit("dead ~ C(sex)", dead).fit(disp=0),
    }
    assert fits["weight"].nobs < 170
    assert fits["death"].nobs == 228
    models = [
        {
            "name": name,
            "kind": kind,
            "formula": formula,
            "n": int(fits[name].nobs),
            "coefficients": {k: f"{v:.4f}" for k, v in fits[name].params.items()},
        }
        for name, kind, formula in (
            ("weight", "ols", "weight ~ age"),
            ("death", "logit", "dead ~ C(sex)"),
        )
    ]
    tables = [
        {
            "name": f"table {k}",
            "kind": "table",
            "by": [name, "status"],
            "counts": pd.crosstab(survival[name], survival.status).values.tolist(),
        }
        for k, name in enumerate(["sex", "ecog", "karno"] * 4)
    ]
    result = chaffinch.check(_document(*models, *tables), dead, rules_only=True)
    assert {one.name: one.consistent for one in result.outputs} == {
        one["name"]: True for one in (*models, *tables)
    }
    assert not [one for one in result.rules if "predict" in one.sentence and one.status != "pass"]
    assert result.verdict.word == "rules only"
    assert (
        next(one.left_out for one in result.outputs if one.name == "weight")
        == round((228 - fits["weight"].nobs) / 10) * 10
    )


def test_an_attack_is_on_people_with_all_values_and_says_so(survival):
    entries = [
        {"name": "s", "kind": "table", "by": ["sex", "status"]},
        {"name": "w", "kind": "table", "by": ["weight"]},
    ]
    ask = {**ASK, "keys": ["sex"], "sensitive": ["status"]}
    result = chaffinch.check(_document(*entries), survival, **ask)
    assert result.left_out == round(survival.weight.isna().mean(), 2)
    assert result.records == 230
    gone = survival.assign(weight=[10.0] * 12 + [np.nan] * 216)
    result = chaffinch.check(_document(*entries), gone, **ask)
    assert result.verdict.word == "nothing measured"
    assert {row.verdict for row in result.summary} == {"not assessed"}


def test_what_is_recorded_and_written_has_the_records_of_each_output(survival, tmp_path):
    entries = [
        {"name": "s", "kind": "table", "by": ["sex"]},
        {"name": "w", "kind": "mean", "of": "weight", "n": True},
    ]
    result = chaffinch.check(
        _document(*entries), survival, rules_only=True, released=tmp_path / "out.json", record=True
    )
    assert result.passed
    first, second = (
        one["output"] for one in json.loads((tmp_path / "out.json").read_text())["outputs"]
    )
    assert first["counts"] == survival.sex.value_counts().sort_index().tolist()
    assert second["n"] == survival.weight.notna().sum()


def test_a_key_that_is_in_no_output_does_not_stop_the_check(people_of_two_areas):
    """Keys of a project are those of its data; a date of birth has more values than any grid of levels, and is in no output."""
    data = people_of_two_areas.assign(
        date_of_birth=[
            f"19{k % 90 + 10}-{k % 12 + 1:02d}-{k % 28 + 1:02d} {k}"
            for k in range(len(people_of_two_areas))
        ]
    )
    with_dob = chaffinch.check(DOCUMENT, data, **{**ASK, "keys": ["area", "date_of_birth"]})
    said = "The key 'date_of_birth' is in no output, so no output can tell anything with it: it was left out of the attack."
    assert said in with_dob.verdict.sentences
    without = chaffinch.check(DOCUMENT, data, **ASK)
    assert with_dob.all == without.all
    assert with_dob.settings.keys == ("area",)
    nothing = chaffinch.check(DOCUMENT, data, **{**ASK, "keys": ["date_of_birth"]})
    assert nothing.verdict.word == "nothing measured"
    assert nothing.rules.worst == "pass"
    assert not nothing.passed


@pytest.mark.parametrize("columns", [[], [{"name": "sex", "levels": ["f", "m"]}]])
def test_a_filter_on_a_column_that_no_other_output_uses_is_the_data_s(survival, tmp_path, columns):
    some = survival[survival.age >= 50].sex.value_counts().sort_index()
    entry = {
        "name": "t",
        "kind": "table",
        "by": ["sex"],
        "where": "age >= 50",
        "counts": some.tolist(),
    }
    document = {**_document(entry), **({"columns": columns} if columns else {})}
    (tmp_path / "t.csv").write_text(
        "sex,n\n" + "".join(f"{sex},{count}\n" for sex, count in some.items())
    )
    (tmp_path / "outputs.toml").write_text('"t.csv" = { where = "age >= 50" }\n')
    for outputs in (document, tmp_path):
        result = chaffinch.check(outputs, survival, rules_only=True)
        assert [(row.verdict, row.why) for row in result.summary] == [("pass", ())]
        assert result.outputs[0].consistent


def test_what_is_delivered_is_said(people_of_two_areas, tmp_path):
    secrets = tmp_path / "c.confidential.json"
    options = {name: value for name, value in ASK.items() if name not in ("seed", "workers")}
    result, lines = run_check(
        DOCUMENT,
        people_of_two_areas,
        CheckJob.from_options(**options, confidential=secrets),
        RunOptions(seed=1, threads=1),
        Destinations(json=tmp_path / "c.json", html=tmp_path / "c.html"),
    )
    assert json.loads((tmp_path / "c.json").read_text()) == result.to_dict()
    assert [line.split()[0] for line in lines] == ["Wrote"] * 3
    assert lines[-1] == f"Wrote {secrets}: confidential."
    assert json.loads(secrets.read_text()) == json.loads(json.dumps(result.confidential()))
    assert json.loads(secrets.read_text())["format"] == "chaffinch-check-confidential"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    with pytest.raises(chaffinch.errors.FileError, match="it is another output"):
        check_destinations(
            DOCUMENT, None, CheckJob(), Destinations(json=tmp_path / "x", html=tmp_path / "x")
        )


def test_a_result_says_what_made_it(people_of_two_areas):
    result = chaffinch.check(DOCUMENT, people_of_two_areas, rules_only=True)
    assert result.run.versions["chaffinch"] == chaffinch.__version__
    assert result.run.command == ""


def test_outputs_are_recorded_as_published_or_as_computed(people_of_two_areas, tmp_path):
    counts = pd.crosstab(people_of_two_areas["area"], people_of_two_areas["ill"])
    known = tmp_path / "released.json"
    rounded = {
        "base": 100,
        "counts": (counts / 100).round().mul(100).astype(int).to_numpy().tolist(),
    }
    document = {
        **DOCUMENT,
        "outputs": [{**TABLE, **rounded}, {**TABLE, "name": "u", "by": ["ill"], "base": 100}],
    }
    assert chaffinch.check(
        document, people_of_two_areas, released=known, record=True, **ASK
    ).about.recorded
    published, computed = read_released(known).entries
    assert published["counts"] == rounded["counts"]
    assert computed["counts"] == (counts.sum() / 100).round().mul(100).astype(int).tolist()
    failing = {
        **DOCUMENT,
        "outputs": [
            {**TABLE, "name": "v", "by": ["area"]},
            {**TABLE, "name": "w", "where": "area == 'none'"},
        ],
    }
    before = known.read_text()
    with pytest.raises(InputError):
        chaffinch.check(failing, people_of_two_areas, released=known, record=True, **ASK)
    assert known.read_text() == before


def test_places_that_cannot_be_written_to(tmp_path):
    folder, file = tmp_path / "acro", tmp_path / "outputs.toml"
    shutil.copytree(ACRO, folder)
    file.write_text("")
    for outputs, back, json_file, error, words in (
        (file, None, file, FileError, "outputs.toml"),
        (file, tmp_path / "back", None, InputError, "SPEC is a file"),
        (DOCUMENT, tmp_path / "back", None, InputError, "SPEC is a file"),
        (folder, file, None, FileError, "it exists"),
        (folder, folder / "inside", None, FileError, "lies in the ACRO folder"),
        (folder, folder, None, None, ""),
        (folder, tmp_path / "back", tmp_path / "c.json", None, ""),
    ):
        job = CheckJob(delivery=DeliverySettings(acro_write_back=back))
        with pytest.raises(error, match=words) if error else nullcontext():
            check_destinations(outputs, None, job, Destinations(json=json_file))
    recipes = recipes_of([{**TABLE, "by": ["x"]}], OutputDomain((OutputColumn("x", (0, 1)),)))
    for released in (None, recipes):
        with pytest.raises(InputError, match="--record needs --released FILE"):
            SourceSettings(record=True, released=released)


PEOPLE = pd.DataFrame(
    {
        "x": ["a"] * 60 + ["b"] * 50 + ["=c"] * 40,
        "y": (["u"] * 25 + ["v"] * 25) * 3,
        "z": ["one"] * 149 + ["rarest"],
    }
)
TWO_TABLES = {
    "format": "chaffinch-outputs",
    "version": 1,
    "outputs": [
        {"name": "A table, x by y!", "kind": "table", "by": ["x", "y"], "margins": True},
        {"name": "kinds of z", "kind": "table", "by": ["x"], "where": "z == 'one'", "n": True},
    ],
}


def test_a_document_and_a_table_for_each_output(tmp_path):
    folder = tmp_path / "mended"
    small = PEOPLE.drop(index=list(range(30)))
    result = chaffinch.check(TWO_TABLES, small, rules_only=True, mitigate=True, write=folder)
    assert not result.passed
    assert result.mitigation.passed
    left = [one.name for one in result.mitigated.outputs]
    slugs = {"A table, x by y!": "a-table-x-by-y", "kinds of z": "kinds-of-z"}
    assert sorted(path.name for path in folder.iterdir()) == [
        *(f"{k:02d}-{slugs[name]}.csv" for k, name in enumerate(left, 1)),
        "mitigated.json",
    ]
    document = json.loads((folder / "mitigated.json").read_text())
    assert "columns" not in document
    assert "rarest" not in (folder / "mitigated.json").read_text()
    again = chaffinch.check(
        document, small, rules_only=True
    )  # what was written, with its numbers, is checked once more
    assert again.passed
    assert all(one.consistent for one in again.outputs)


def test_nothing_is_written_where_nothing_was_mended_or_it_is_not_enough(tmp_path):
    fine = {**TWO_TABLES, "outputs": [{"name": "t", "kind": "table", "by": ["x"]}]}
    folder = tmp_path / "mended"
    chaffinch.check(fine, PEOPLE, rules_only=True, mitigate=True, write=folder)
    assert not folder.exists()
    lost = {
        **TWO_TABLES,
        "outputs": [{"name": "t", "kind": "table", "by": ["x"], "counts": [1, 2, 3]}],
    }
    chaffinch.check(lost, PEOPLE, rules_only=True, mitigate=True, write=folder)
    assert not folder.exists()


def test_what_does_not_pass_is_not_written(tmp_path):
    bad = {
        **TWO_TABLES,
        "outputs": [{"name": "t", "kind": "table", "by": ["x", "z"]}],
    }
    result = chaffinch.check(bad, PEOPLE, rules_only=True)
    assert not result.passed
    folder = tmp_path / "mended"
    line = write_mitigated(
        folder, replace(result, mitigated=result), TableCoder(chaffinch.read(PEOPLE))
    )
    assert line == f"Nothing was written to {folder}: the mitigated outputs do not pass."
    assert not folder.exists()


def test_a_folder_that_exists_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(FileError, match="it exists"):
        chaffinch.check(
            TWO_TABLES,
            "no such file.csv",
            rules_only=True,
            mitigate=True,
            write=tmp_path,
        )
    with pytest.raises(InputError, match="add --mitigate"):
        chaffinch.check(TWO_TABLES, PEOPLE, rules_only=True, write=tmp_path / "new")


def test_rows_of_a_table_and_of_other_outputs():
    fields = OutputDomain((OutputColumn("x", ("a", "=b")), OutputColumn("v", (1, 2, 3))))
    entries = [
        {"name": "t", "kind": "table", "by": ["x"], "margins": True, "counts": [12, "?", 30]},
        {"name": "q", "kind": "quantiles", "of": "v", "at": [0.25, 0.5], "values": [1, 2], "n": 30},
    ]
    table, quantiles = recipes_of(entries, fields).outputs
    frame = fields.with_rows(30)
    assert list(table_of_output(table, frame)) == [
        ["x", "counts"],
        ["a", 12],
        ["'=b", "x"],
        ["All", 30],
    ]
    rows = list(table_of_output(quantiles, frame))
    assert rows[0] == ["what", "name", "number"]
    assert rows[-1] == ["n", "", 30]
    assert [row[2] for row in rows[1:-1]] == [1, 2]
