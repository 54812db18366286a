"""Outputs of ACRO directories: what is read of each kind, held against the records that ACRO was run on and against its own files."""

import csv
import math

import pandas as pd
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds import KINDS
from chaffinch.outputs.numbers import compare_numbers, printed_interval
from chaffinch.outputs.readers.acro.recipes import columns_of_acro, recipes_of_acro
from chaffinch.outputs.records import codes_of_table

CENSUS = OutputDomain(
    (
        OutputColumn("AREAP", (57, 58, 59, 60)),
        OutputColumn("ETHGROUP", (1, 2, 3, 8)),
        OutputColumn("SEX", (1, 2)),
        OutputColumn("AGE", tuple(range(96))),
        OutputColumn("TENURE", (0, 1)),
        OutputColumn("INCOME", tuple(range(0, 1_000_001, 1000))),
    )
)


@pytest.fixture(scope="module")
def codes(cmc_table, read):
    return codes_of_table(cmc_table, read.fields).codes


def test_every_output_that_is_read_is_what_its_records_give(read, codes):
    outputs = tuple(
        KINDS[output.entry["kind"]].spec.model_validate(dict(output.entry))
        for output in read.outputs
    )
    found = compare_numbers(Outputs(read.fields, outputs, len(codes)), codes)
    assert len(found) == 40
    assert [one.name for one in found if not one.within] == []


def test_recipes_computed_on_all_records_give_the_published_numbers(read, codes):
    recipes = read.recipes()
    for entry, recipe in zip(recipes.entries(codes), recipes.outputs, strict=True):
        for key in ("coefficients", "standard_errors", "loglik", "at_risk", "events"):
            if key in recipe.published:
                assert entry[key] == recipe.published[key], recipe.name


def test_every_result_is_read_or_skipped_with_a_reason(read, cmc):
    assert {output.uid for output in read.outputs} | {one.uid for one in read.skipped} == set(
        cmc.uids
    )
    assert not {output.uid for output in read.outputs} & {one.uid for one in read.skipped}
    reasons = {one.uid: one.reason for one in read.skipped}
    assert "expression" not in reasons  # a comparison: two groups of its column
    assert "filter that its command does not show" in reasons["hidden filter"]
    assert reasons["strange filter"] == "filter not understood: give a recipe"
    assert "image" in reasons["output_25"]
    assert "recipe" in reasons["output_25"]
    assert "custom" in reasons["output_33"]
    assert "withheld" in reasons["all withheld"]
    assert "its n is needed" in reasons["values in a list"]
    assert len(reasons) == 6


def test_statuses_are_kept(read, cmc):
    assert all(output.status == cmc[output.uid].status for output in read.outputs)
    assert all(one.status == cmc[one.uid].status for one in read.skipped)


def test_filters_are_translated(read):
    found = {output.uid: output.entry.get("where") for output in read.outputs}
    assert found["filtered columns"] == "wife_age > 30"
    assert found["sums"] == "(wife_age >= 20) and (area != 'west side')"
    assert found["extremes"] == "(wife_age > 30) and (area in ['north', 'south'])"
    assert found["olsr filtered"] == "20 <= wife_age <= 40"
    assert found["subset"] == "wife_age < 45"
    assert found["reference"] == "area in ['north', 'south', 'east']"
    assert found["olsr"] is None


def test_a_recipe_may_be_given(cmc, fields):
    histogram = {"kind": "histogram", "of": "wife_age", "edges": [16, 30, 49]}
    found = recipes_of_acro(cmc, fields, given={"output_25": histogram})
    (output,) = found.outputs_of("output_25")
    assert output.entry == {**histogram, "name": "output_25"}
    assert output.status == "pass"
    assert (output.by_recipe, output.replaced) == (True, False)
    assert "output_25" not in {one.uid for one in found.skipped}
    assert not any(one.by_recipe for one in found.outputs if one.uid != "output_25")


def test_a_recipe_for_a_result_that_can_be_read_is_refused_unless_it_is_meant(cmc, fields):
    table = {"kind": "table", "by": ["wife_education"]}
    for given in ({"counts": table}, {"output_25": table, "counts": table}):
        with pytest.raises(
            InputError,
            match=r"Result 'counts' can be read.*replace_readable=True.*--replace-readable",
        ):
            recipes_of_acro(cmc, fields, given=given)
    found = recipes_of_acro(cmc, fields, given={"counts": table}, replace_readable=True)
    (output,) = found.outputs_of("counts")
    assert output.entry == {**table, "name": "counts"}
    assert (output.by_recipe, output.replaced) == (True, True)


def test_a_recipe_for_no_result_is_an_error(cmc, fields):
    with pytest.raises(InputError, match="Unknown ACRO result 'output_52'"):
        recipes_of_acro(
            cmc, fields, given={"output_52": {"kind": "table", "by": ["wife_education"]}}
        )


def test_without_the_table_the_number_of_records_is_a_note(cmc, fields):
    found = recipes_of_acro(cmc, fields, rows=1473)
    assert "not made of all records" in found.outputs_of("hidden filter")[0].notes[0]
    assert found.outputs_of("cut off")[0].notes == ()
    assert "cut off" in recipes_of_acro(cmc, fields).outputs_of("cut off")[0].notes[0]


def test_columns_are_those_that_the_results_are_about(cmc, cmc_table):
    assert columns_of_acro(cmc, cmc_table.columns) == [
        "wife_age",
        "wife_education",
        "num_children",
        "media_exposure",
        "contraceptive_method",
        "uses",
        "area",
    ]


def test_the_example_is_read_as_printed(census):
    """Every number equals the one in the CSV, within what was printed of it."""
    found = recipes_of_acro(census, CENSUS)
    assert [one.uid for one in found.skipped] == ["output_6", "output_7"]
    assert "image" in found.skipped[0].reason
    assert "time and event" in found.skipped[1].reason
    assert [output.name for output in found.outputs] == [
        "output_0",
        "output_1",
        "output_2",
        "output_3",
        "output_4: mean",
        "output_4: std",
        "output_5",
    ]
    for uid in ("output_0", "output_1", "output_5"):
        (output,) = found.outputs_of(uid)
        with open(census.folder / f"{uid}_1.csv", newline="") as handle:
            rows = list(csv.reader(handle))[1:]
        for row in rows:
            name = {"const": "Intercept"}.get(row[0], row[0])
            for key, text, most in (("coefficients", row[1], 4), ("standard_errors", row[2], 3)):
                interval = printed_interval(output.entry[key][name])
                assert interval.middle == pytest.approx(float(text), rel=1e-12, abs=1e-12)
                size = math.floor(math.log10(abs(float(text))))
                half = 0.5 * 10.0**-most if size < 4 else 0.5 * 10.0 ** (size - most + 1)
                assert interval.half == pytest.approx(half)
        assert output.entry["n"] == 3000
    assert (
        found.outputs_of("output_0")[0].entry["formula"]
        == "TENURE ~ AGE + C(AREAP) + C(ETHGROUP) + C(SEX)"
    )
    assert found.outputs_of("output_1")[0].entry["formula"] == "TENURE ~ AGE + SEX"
    assert found.outputs_of("output_2")[0].entry["cells"]["57|8"] == 3
    with open(census.folder / "output_4_0.csv", newline="") as handle:
        rows = list(csv.reader(handle))
    for place, (output, sex) in enumerate([(0, "1"), (0, "2"), (1, "1"), (1, "2")], 1):
        values = found.outputs_of("output_4")[output].entry["values"]
        assert [values[f"{row[0]}|{sex}"] for row in rows[3:]] == [
            float(row[place]) for row in rows[3:]
        ]


@pytest.mark.parametrize(
    "what",
    [
        {"command": "s.crosstab(df[df.a == 'w'].a, df.b)"},
        {"command": "s.crosstab(df[df.secrett == 1].a, df.b)"},
        {"rows": (("a", "0", "1"), ("w", "3", "4"))},
    ],
)
def test_reasons_name_no_level_that_only_the_data_have(tmp_path, what, one):
    fields = OutputDomain((OutputColumn("a", ("x", "secret")), OutputColumn("b", (0, 1))))
    assert "secret'" not in one(tmp_path, fields=fields, **what).skipped[0].reason
    assert "secret," not in one(tmp_path, fields=fields, **what).skipped[0].reason


def test_missing_values_of_the_data_are_counted_out(cmc, frame):
    """An output of all complete records is one of all, if its column has missing values."""
    data = pd.concat([frame, frame.assign(wife_education=pd.NA).head(20)]).astype(
        {"wife_education": "Int64"}
    )
    found = recipes_of_acro(cmc, chaffinch.read(data.reset_index(drop=True)))
    assert found.outputs_of("counts")
    assert found.outputs_of("olsr")
    assert "of all complete records" in {one.uid: one.reason for one in found.skipped}["probit"]


def test_survival_is_counts(read, entries):
    entry = entries(read, "survival")[""]
    assert (entry["kind"], entry["time"], entry["event"], entry["level"]) == (
        "kaplan-meier",
        "wife_age",
        "uses",
        1,
    )
    assert entry["at_risk"][0] == 1473


TIMES = (
    ("Time", "Surv prob", "Surv prob SE", "num at risk", "num events"),
    ("1", "0.9", "0.1", "30", "3.0"),
)
SURVIVAL = {
    "method": "surv func",
    "independent": ("num at risk",),
    "summary": "KaplanMeier : \n",
    "rows": TIMES,
}


def test_a_survival_table_is_read(tmp_path, one):
    (output,) = one(
        tmp_path, **SURVIVAL, command="s.surv_func(df.c[df.a == 'x'], df.b, output='table')"
    ).outputs
    assert output.entry == {
        "name": "t",
        "kind": "kaplan-meier",
        "time": "c",
        "event": "b",
        "level": 1,
        "times": [1.0],
        "at_risk": [30],
        "events": [3],
        "where": "a == 'x'",
    }
    assert output.statbarn == "HazardSurvivalTables"


def test_an_event_that_is_a_comparison_is_a_level(tmp_path, one):
    (output,) = one(
        tmp_path, **SURVIVAL, command="s.surv_func(df.c, (df.a == 'x').astype(int), output='table')"
    ).outputs
    assert (output.entry["event"], output.entry["level"]) == ("a", "x")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"command": "s.surv_func("}, "cut off"),
        (
            {"command": "s.surv_func(time, status, output='table')"},
            "which columns are time and event",
        ),
        (
            {"command": "s.surv_func(df.c, df.q, output='table')"},
            "which columns are time and event",
        ),
        ({"command": "s.surv_func(df.c, df.b, 'table', entry=df.e)"}, "entry times"),
        ({"command": "s.surv_func(df.c, df.b, 'table', freq_weights=df.e)"}, "weights"),
        ({"command": "s.surv_func(df.c, df.a, 'table')"}, "no level 1"),
        (
            {"command": "s.surv_func(df.c, df.b, 'table')", "rows": (("Time", "n"), ("1", "2"))},
            "times, numbers at risk",
        ),
    ],
)
def test_survival_that_cannot_be_told_is_skipped_with_the_reason(tmp_path, what, words, one):
    found = one(tmp_path, **{**SURVIVAL, **what})
    assert found.outputs == ()
    assert words in found.skipped[0].reason
