"""Outputs of ACRO directories: what is read of each kind, held against the records that ACRO was run on and against its own files."""

import csv
import math

import pandas as pd
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Spec
from chaffinch.outputs.fields import Field, Fields
from chaffinch.outputs.kinds import KINDS
from chaffinch.outputs.precision import printed
from chaffinch.outputs.readers.acro.read import AcroDirectory, AcroFile, AcroResult
from chaffinch.outputs.readers.acro.recipes import columns_of_acro, recipes_of_acro
from chaffinch.outputs.records import codes_of_table
from chaffinch.outputs.refit import compared

CENSUS = Fields(
    (
        Field("AREAP", (57, 58, 59, 60)),
        Field("ETHGROUP", (1, 2, 3, 8)),
        Field("SEX", (1, 2)),
        Field("AGE", tuple(range(96))),
        Field("TENURE", (0, 1)),
        Field("INCOME", tuple(range(0, 1_000_001, 1000))),
    )
)


@pytest.fixture(scope="module")
def table(frame):
    return chaffinch.read(frame)


@pytest.fixture(scope="module")
def read(cmc, table):
    return recipes_of_acro(cmc, table)


@pytest.fixture(scope="module")
def codes(table, read):
    return codes_of_table(table, read.fields).codes


def test_every_output_that_is_read_is_what_its_records_give(read, codes):
    outputs = tuple(KINDS[output.entry["kind"]].spec.model_validate(dict(output.entry)) for output in read.outputs)
    found = compared(Spec(read.fields, outputs, len(codes)), codes)
    assert len(found) == 39
    assert [one.name for one in found if not one.within] == []


def test_recipes_computed_on_all_records_give_the_published_numbers(read, codes):
    recipes = read.recipes()
    for entry, recipe in zip(recipes.entries(codes), recipes.every, strict=True):
        for key in ("coefficients", "standard_errors", "loglik", "at_risk", "events"):
            if key in recipe.published:
                assert entry[key] == recipe.published[key], recipe.name


def test_every_result_is_read_or_skipped_with_a_reason(read, cmc):
    assert {output.uid for output in read.outputs} | {one.uid for one in read.skipped} == set(cmc.uids)
    assert not {output.uid for output in read.outputs} & {one.uid for one in read.skipped}
    reasons = {one.uid: one.reason for one in read.skipped}
    assert "expression, not of a column" in reasons["expression"]
    assert "filter that its command does not show" in reasons["hidden filter"]
    assert reasons["strange filter"] == "filter not understood: give a recipe"
    assert "image" in reasons["output_25"]
    assert "recipe" in reasons["output_25"]
    assert "custom" in reasons["output_33"]
    assert "withheld" in reasons["all withheld"]
    assert "its n is needed" in reasons["values in a list"]
    assert len(reasons) == 7


def test_statuses_are_kept(read, cmc):
    assert all(output.status == cmc[output.uid].status for output in read.outputs)
    assert all(one.status == cmc[one.uid].status for one in read.skipped)


def entries(read, uid):
    return {output.name.removeprefix(uid).lstrip(":, "): output.entry for output in read.of(uid)}


def test_several_functions_have_their_own_class_and_name(read):
    found = {output.name: output.statbarn for output in read.of("five functions")}
    assert found == {
        "five functions: mean": "LinearAggregations",
        "five functions: std": "Shape",
        "five functions: count": "Frequencies",
        "five functions: sum": "LinearAggregations",
        "five functions: median": "Position",
    }
    assert entries(read, "five functions")["median"]["n"]["4|1"] == 402


def test_means_have_full_precision(read, frame):
    (entry,) = (output.entry for output in read.of("means with totals") if output.name == "means with totals")
    assert "decimals" not in entry
    north = frame[(frame.area == "north") & (frame.wife_education == 4)].num_children
    assert entry["values"]["4|north"] * len(north) == pytest.approx(north.sum(), abs=1e-9)


def test_totals_of_means_are_outputs_of_their_own(read, frame):
    found = entries(read, "means with totals")
    assert set(found) == {"", "by area", "by wife_education", "in all"}
    assert found["in all"]["value"] == pytest.approx(frame.num_children.mean())
    assert found["by area"]["by"] == ["area"]


def test_totals_of_counts(read):
    assert entries(read, "counts with totals")[""]["margins"] is True
    assert entries(read, "counts with totals")[""]["cells"]["All|All"] == 1473
    assert set(entries(read, "two by two")) == {"", "by area and uses", "by wife_education and media_exposure"}


def test_suppressed_counts_are_intervals(read):
    entry = entries(read, "suppressed")[""]
    assert entry["cells"]["1|2"] == "x"
    assert (entry["threshold"], entry["suppressed_zeros"]) == (10, True)  # ACRO turns zeros into missing numbers, too
    output = KINDS["table"].spec.model_validate(dict(entry))
    (equations,) = Spec(read.fields, (output,), 1473).problem().outputs
    assert (equations.lo.min(), equations.hi[1]) == (0, 9)


def test_totals_of_suppressed_and_rounded_tables_are_left_out(read):
    for uid in ("suppressed with totals", "rounded", "rounded sums"):
        (output,) = read.of(uid)
        assert "margins" not in output.entry
        assert any("totals" in note for note in output.notes)
    # The total of rounded cells is 330, where 334 records would round to 335.
    assert sum(n for key, n in entries(read, "rounded")[""]["cells"].items() if key.startswith("2|")) == 330


def test_suppression_that_did_not_happen_is_said(read):
    (output,) = read.of("suppressed with totals")
    assert "it is marked as suppressed, yet shows counts below the threshold" in output.notes


def test_rounding_is_an_interval(read):
    assert entries(read, "rounded")[""]["base"] == 5
    assert entries(read, "rounded sums")[""]["decimals"] == -1
    assert "taken as rounded to 10" in " ".join(read.of("rounded sums")[0].notes)


def test_shares_are_percentages_of_rows(read):
    entry = entries(read, "shares")[""]
    assert entry["percentages"] == "rows"
    assert sum(share for key, share in entry["values"].items() if key.startswith("1|")) == pytest.approx(100)


def test_bands_are_groups(read):
    groups = entries(read, "bands")[""]["groups"]["wife_age"]
    assert groups == {"(15, 25]": [16, 25], "(25, 35]": [26, 35], "(35, 50]": [36, 49]}


def test_filters_are_translated(read):
    found = {output.uid: output.entry.get("where") for output in read.outputs}
    assert found["filtered columns"] == "wife_age > 30"
    assert found["sums"] == "(wife_age >= 20) and (area != 'west side')"
    assert found["extremes"] == "(wife_age > 30) and (area in ['north', 'south'])"
    assert found["olsr filtered"] == "20 <= wife_age <= 40"
    assert found["subset"] == "wife_age < 45"
    assert found["reference"] == "area in ['north', 'south', 'east']"
    assert found["olsr"] is None


def test_formulas_come_from_the_command_or_from_the_coefficients(read):
    found = {output.uid: output.entry.get("formula") for output in read.outputs}
    assert found["reference"] == "uses ~ wife_age + C(area, Treatment('south'))"
    assert found["probit"] == "uses ~ wife_age + num_children"
    assert found["no constant"] == "uses ~ 0 + wife_age + num_children"
    assert found["logitr cut off"] == "uses ~ C(wife_education) + wife_age"
    assert any("put together" in note for note in read.of("logitr cut off")[0].notes)
    assert read.of("olsr")[0].notes == ()


def test_large_coefficients_keep_four_digits(read):
    assert entries(read, "large numbers")[""]["coefficients"] == {"Intercept": "2.639e+04", "num_children": "1884.1025"}


def test_standard_errors_of_a_probit_are_left_out(read):
    assert "standard_errors" not in entries(read, "probitr")[""]
    assert "observed information" in read.of("probitr")[0].notes[0]
    assert "standard_errors" in entries(read, "olsr")[""]


def test_survival_is_counts(read):
    entry = entries(read, "survival")[""]
    assert (entry["kind"], entry["time"], entry["event"], entry["level"]) == ("kaplan-meier", "wife_age", "uses", 1)
    assert entry["at_risk"][0] == 1473


def test_a_recipe_may_be_given(cmc, fields):
    histogram = {"kind": "histogram", "of": "wife_age", "edges": [16, 30, 49]}
    found = recipes_of_acro(cmc, fields, given={"output_25": histogram})
    (output,) = found.of("output_25")
    assert output.entry == {**histogram, "name": "output_25"}
    assert output.status == "pass"
    assert (output.by_recipe, output.replaced) == (True, False)
    assert "output_25" not in {one.uid for one in found.skipped}
    assert not any(one.by_recipe for one in found.outputs if one.uid != "output_25")


def test_a_recipe_for_a_result_that_can_be_read_is_refused_unless_it_is_meant(cmc, fields):
    table = {"kind": "table", "by": ["wife_education"]}
    for given in ({"counts": table}, {"output_25": table, "counts": table}):
        with pytest.raises(InputError, match=r"Result 'counts' can be read.*replace_readable=True.*--replace-readable"):
            recipes_of_acro(cmc, fields, given=given)
    found = recipes_of_acro(cmc, fields, given={"counts": table}, replace_readable=True)
    (output,) = found.of("counts")
    assert output.entry == {**table, "name": "counts"}
    assert (output.by_recipe, output.replaced) == (True, True)


def test_a_recipe_for_no_result_is_an_error(cmc, fields):
    with pytest.raises(InputError, match="Unknown ACRO result 'output_52'"):
        recipes_of_acro(cmc, fields, given={"output_52": {"kind": "table", "by": ["wife_education"]}})


def test_without_the_table_the_number_of_records_is_a_note(cmc, fields):
    found = recipes_of_acro(cmc, fields, rows=1473)
    assert "not made of all records" in found.of("hidden filter")[0].notes[0]
    assert found.of("cut off")[0].notes == ()
    assert "cut off" in recipes_of_acro(cmc, fields).of("cut off")[0].notes[0]


def test_columns_are_those_that_the_results_are_about(cmc, table):
    assert columns_of_acro(cmc, table.columns) == [
        "wife_age", "wife_education", "num_children", "media_exposure", "contraceptive_method", "uses", "area",
    ]  # fmt: skip


def test_the_example_is_read_as_printed(census):
    """Every number equals the one in the CSV, within what was printed of it."""
    found = recipes_of_acro(census, CENSUS)
    assert [one.uid for one in found.skipped] == ["output_6", "output_7"]
    assert "image" in found.skipped[0].reason
    assert "time and event" in found.skipped[1].reason
    assert [output.name for output in found.outputs] == [
        "output_0", "output_1", "output_2", "output_3", "output_4: mean", "output_4: std", "output_5",
    ]  # fmt: skip
    for uid in ("output_0", "output_1", "output_5"):
        (output,) = found.of(uid)
        with open(census.folder / f"{uid}_1.csv", newline="") as handle:
            rows = list(csv.reader(handle))[1:]
        for row in rows:
            name = {"const": "Intercept"}.get(row[0], row[0])
            for key, text, most in (("coefficients", row[1], 4), ("standard_errors", row[2], 3)):
                interval = printed(output.entry[key][name])
                assert interval.middle == pytest.approx(float(text), rel=1e-12, abs=1e-12)
                size = math.floor(math.log10(abs(float(text))))
                half = 0.5 * 10.0**-most if size < 4 else 0.5 * 10.0 ** (size - most + 1)
                assert interval.half == pytest.approx(half)
        assert output.entry["n"] == 3000
    assert found.of("output_0")[0].entry["formula"] == "TENURE ~ AGE + C(AREAP) + C(ETHGROUP) + C(SEX)"
    assert found.of("output_1")[0].entry["formula"] == "TENURE ~ AGE + SEX"
    assert found.of("output_2")[0].entry["cells"]["57|8"] == 3
    with open(census.folder / "output_4_0.csv", newline="") as handle:
        rows = list(csv.reader(handle))
    for place, (output, sex) in enumerate([(0, "1"), (0, "2"), (1, "1"), (1, "2")], 1):
        values = found.of("output_4")[output].entry["values"]
        assert [values[f"{row[0]}|{sex}"] for row in rows[3:]] == [float(row[place]) for row in rows[3:]]


def result(**what):
    usual = {
        "uid": "t", "status": "pass", "type": "table", "method": "crosstab", "summary": "FrequencyTable : \n",
        "command": "s.crosstab(df.a, df.b)", "independent": ("a", "b"),
    }  # fmt: skip
    rows = what.pop("rows", (("a", "0", "1"), ("x", "3", "4"), ("y", "5", "6")))
    return AcroResult(**{**usual, "files": (AcroFile("t_0.csv", "", tuple(map(tuple, rows))),), **what})


SMALL = Fields((Field("a", ("x", "y")), Field("b", (0, 1)), Field("c", tuple(range(10)))))


def one(tmp_path, config=None, fields=SMALL, **what):
    return recipes_of_acro(AcroDirectory(tmp_path, "1.0.2", config or {}, (result(**what),)), fields)


def test_a_small_table_is_read(tmp_path):
    (output,) = one(tmp_path).outputs
    assert output.entry == {
        "name": "t", "kind": "table", "by": ["a", "b"], "cells": {"x|0": 3, "x|1": 4, "y|0": 5, "y|1": 6},
    }  # fmt: skip


MEANS = {"summary": "Mean : \n", "dependent": "c", "command": "s.crosstab(df.a, df.b, values=df.c, aggfunc='mean')"}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"summary": "pass"}, "which statistic it is"),
        ({"summary": "ModeCalculation : \n"}, "a table of modes is not supported"),
        ({"independent": ()}, "one table with the variables"),
        ({"independent": ("a", "z")}, "'z' is no column of the data"),
        ({"summary": "Mean : \n"}, "did not note which variable"),
        ({"rows": (("a", "0", "7"), ("x", "3", "4"), ("y", "5", "6"))}, "'7' in its table is no level of column 'b'"),
        ({"rows": (("a", "False", "True"), ("x", "3", "4"))}, "is no level of column 'b'"),
        ({"rows": (("q", "0", "1"), ("x", "3", "4"))}, "does not have the variables"),
        ({"rows": (("a", "0", "1"), ("x", "3"))}, "not equally long"),
        ({"rows": (("a", "0", "1"), ("x", "3", "4"), ("x", "5", "6"))}, "two cells for the same levels"),
        ({"rows": (("a", "0", "1"),)}, "has no cells"),
        ({"rows": (("a", "0", "1"), ("x", "3", "many"))}, "is no number"),
        ({"rows": (("a", "0", "1"), ("x", "3.5", "4"))}, "neither counts nor shares"),
        ({"command": "s.crosstab(df.a, df.b.shift())"}, "an expression"),
        ({"command": "s.crosstab(df.a, df.z)"}, "an expression"),
        ({"command": "s.crosstab(df[df.zz > 1].a, df.b)"}, "Unknown column 'zz'"),
        ({**MEANS, "rows": (("a", "0", "1"), ("x", "", ""))}, "every number of it is withheld"),
        ({"method": "melt"}, "'melt' are not supported"),
        (
            {**MEANS, "command": "s.crosstab(df.a, df.b, values=df.c, aggfunc='mean', normalize=True)"},
            "shares of anything",
        ),
        (
            {**MEANS, "method": "pivot_table", "command": "s.pivot_table(df, 'c', 'a', 'b', fill_value=0)"},
            "were filled with a value",
        ),
    ],
)
def test_tables_that_cannot_be_told_are_skipped_with_the_reason(tmp_path, what, words):
    found = one(tmp_path, **what)
    assert found.outputs == ()
    assert words in found.skipped[0].reason


def test_a_withheld_count_beside_other_functions_says_nothing(tmp_path):
    """ACRO leaves out the records of a cell that fails any check: its count may be large, and one person dominate its mean."""
    rows = (("", "mean", "mean", "count", "count"), ("b", "0", "1", "0", "1"), ("a", "", "", "", ""))
    both = {**MEANS, "summary": "Mean : \nFrequencyTable : \n", "properties": {"mitigation": "suppress"}}
    found = one(tmp_path, **both, rows=(*rows, ("x", "1.5", "", "20", ""), ("y", "2.5", "3", "30", "40")))
    mean, count = (output.entry for output in found.outputs)
    assert count["cells"]["x|1"] == "?"
    assert "threshold" not in count
    assert mean["values"]["x|1"] == "x"


def test_missing_counts_without_suppression_are_empty_cells(tmp_path):
    (output,) = one(tmp_path, rows=(("a", "0", "1"), ("x", "3", ""), ("y", "5.0", "6"))).outputs
    assert output.entry["cells"]["x|1"] == 0


def test_the_threshold_comes_from_the_configuration(tmp_path):
    rows = (("a", "0", "1"), ("x", "30", ""), ("y", "50.0", "60"))
    config = {"safe_threshold": 5, "zeros_are_disclosive": False}
    (output,) = one(tmp_path, config, properties={"mitigation": "suppress"}, rows=rows).outputs
    assert output.entry["cells"]["x|1"] == "x"
    assert (output.entry["threshold"], output.entry["suppressed_zeros"]) == (5, False)


def test_a_level_called_all_is_no_total(tmp_path):
    fields = Fields((Field("a", ("x", "All")), Field("b", (0, 1))))
    (output,) = one(tmp_path, fields=fields, rows=(("a", "0", "1"), ("x", "3", "4"), ("All", "5", "6"))).outputs
    assert output.entry["cells"]["All|0"] == 5
    assert "margins" not in output.entry


def test_totals_may_have_another_name(tmp_path):
    rows = (("a", "0", "1", "Sum"), ("x", "3", "4", "7"), ("Sum", "3", "4", "7"))
    (output,) = one(tmp_path, rows=rows, command="s.crosstab(df.a, df.b, margins=True, margins_name='Sum')").outputs
    assert output.entry["cells"]["x|All"] == 7


def test_levels_written_as_floats_are_the_same_levels(tmp_path):
    (output,) = one(tmp_path, rows=(("a", "0.0", "1.0"), ("x", "3", "4"))).outputs
    assert set(output.entry["cells"]) == {"x|0", "x|1"}


TIMES = (("Time", "Surv prob", "Surv prob SE", "num at risk", "num events"), ("1", "0.9", "0.1", "30", "3.0"))
SURVIVAL = {"method": "surv func", "independent": ("num at risk",), "summary": "KaplanMeier : \n", "rows": TIMES}


def test_a_survival_table_is_read(tmp_path):
    (output,) = one(tmp_path, **SURVIVAL, command="s.surv_func(df.c[df.a == 'x'], df.b, output='table')").outputs
    assert output.entry == {
        "name": "t", "kind": "kaplan-meier", "time": "c", "event": "b", "level": 1, "times": [1.0], "at_risk": [30],
        "events": [3], "where": "a == 'x'",
    }  # fmt: skip
    assert output.statbarn == "HazardSurvivalTables"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"command": "s.surv_func("}, "cut off"),
        ({"command": "s.surv_func(time, status, output='table')"}, "which columns are time and event"),
        ({"command": "s.surv_func(df.c, df.q, output='table')"}, "which columns are time and event"),
        ({"command": "s.surv_func(df.c, df.b, 'table', entry=df.e)"}, "entry times"),
        ({"command": "s.surv_func(df.c, df.b, 'table', freq_weights=df.e)"}, "weights"),
        ({"command": "s.surv_func(df.c, df.a, 'table')"}, "no level 1"),
        (
            {"command": "s.surv_func(df.c, df.b, 'table')", "rows": (("Time", "n"), ("1", "2"))},
            "times, numbers at risk",
        ),
    ],
)
def test_survival_that_cannot_be_told_is_skipped_with_the_reason(tmp_path, what, words):
    found = one(tmp_path, **{**SURVIVAL, **what})
    assert found.outputs == ()
    assert words in found.skipped[0].reason


@pytest.mark.parametrize(
    "what",
    [
        {"command": "s.crosstab(df[df.a == 'w'].a, df.b)"},
        {"command": "s.crosstab(df[df.secrett == 1].a, df.b)"},
        {"rows": (("a", "0", "1"), ("w", "3", "4"))},
    ],
)
def test_reasons_name_no_level_that_only_the_data_have(tmp_path, what):
    fields = Fields((Field("a", ("x", "secret")), Field("b", (0, 1))))
    assert "secret'" not in one(tmp_path, fields=fields, **what).skipped[0].reason
    assert "secret," not in one(tmp_path, fields=fields, **what).skipped[0].reason


def test_a_missing_coefficient_is_not_named(tmp_path):
    fields = Fields((Field("b", (0, 1)), Field("a", ("u", "v", "secret"))))
    (skipped,) = regression(tmp_path, ["Intercept", "a[T.v]"], fields=fields).skipped
    assert "secret" not in skipped.reason


def regression(tmp_path, coefficients, *, fields, label="b", command="s.logitr(", head=(), method="logitr"):
    head = (("Dep. Variable:", label, "No. Observations:", "50"), ("Model:", "Logit", "", ""), *head)
    numbers = (("", "coef", "std err"), *((name, "0.1", "0.2") for name in coefficients))
    files = tuple(AcroFile(f"t_{k}.csv", "", tuple(rows)) for k, rows in enumerate((head, numbers)))
    made = AcroResult("t", "pass", "regression", method, files, command=command)
    return recipes_of_acro(AcroDirectory(tmp_path, "1.0.2", {}, (made,)), fields)


AREA = Field("area", (57, 58, 59))
PEOPLE = Fields(
    (Field("b", (0, 1)), AREA, Field("age", (1, 2, 3)), Field("my sex", ("f", "m")), Field("sex", ("f", "m")))
)


@pytest.mark.parametrize(
    ("coefficients", "formula"),
    [
        (["Intercept", "C(area)[T.58]", "C(area)[T.59]", "age"], "b ~ C(area) + age"),
        (["const", "C(area)[T.58.0]", "C(area)[T.59.0]"], "b ~ C(area)"),
        (["Intercept", "area[T.58]", "area[T.59]"], "b ~ C(area)"),
        (["Intercept", "area[T.57]", "area[T.58]"], "b ~ C(area, Treatment(59))"),
        (["Intercept", "sex[T.f]"], "b ~ C(sex, Treatment('m'))"),
        (["Intercept", "sex[T.m]", "age", "age:sex[T.m]"], "b ~ sex + age + age:sex"),
        (["sex[f]", "sex[m]", "age"], "b ~ 0 + sex + age"),
        (["Intercept", "Q('my sex')[T.m]"], "b ~ Q('my sex')"),
        (["Intercept", "I(age ** 2)"], "b ~ I(age ** 2)"),
        (["const"], "b ~ 1"),
    ],
)
def test_formulas_are_put_together_from_coefficients(tmp_path, coefficients, formula):
    found = regression(tmp_path, coefficients, fields=PEOPLE)
    assert found.skipped == ()
    assert found.outputs[0].entry["formula"] == formula


@pytest.mark.parametrize(
    ("coefficients", "more", "words"),
    [
        (["Intercept", "income"], {}, "'income' is no column of the data"),
        (["const", "x1"], {"method": "logit"}, "'x1' is no column of the data"),
        (["Intercept", "C(area)[T.61]"], {}, "level '61', which column 'area' does not have"),
        (["Intercept", "C(area)[T.58]"], {}, "has no coefficient for 'C(area)[T.…]', which its formula makes"),
        (["Intercept", "age"], {"head": (("converged:", "False", "", ""),)}, "did not converge"),
        (["Intercept", "age"], {"command": "s.logitr('b ~ age', df, drop_cols=['c'])"}, "were dropped"),
        (["Intercept", "age"], {"command": "s.logitr('b ~ age', df[mask])"}, "filter not understood: give a recipe"),
        (["Intercept", "age"], {"label": ""}, "no name"),
        (["Intercept", "age"], {"label": "sex"}, "say which of them counts as 1"),
    ],
)
def test_regressions_that_cannot_be_told_are_skipped_with_the_reason(tmp_path, coefficients, more, words):
    found = regression(tmp_path, coefficients, fields=PEOPLE, **more)
    assert found.outputs == ()
    assert words in found.skipped[0].reason


def test_robust_standard_errors_are_left_out(tmp_path):
    found = regression(tmp_path, ["Intercept", "age"], fields=PEOPLE, head=(("Covariance Type:", "HC1", "", ""),))
    assert "standard_errors" not in found.outputs[0].entry
    assert "robust" in found.outputs[0].notes[0]


def test_the_reference_of_a_filter_is_that_of_what_is_left(tmp_path):
    command = "s.logitr('b ~ C(area)', df[df.area > 57])"
    found = regression(tmp_path, ["Intercept", "C(area)[T.59]"], fields=PEOPLE, command=command)
    assert found.outputs[0].entry["where"] == "area > 57"


def test_missing_values_of_the_data_are_counted_out(cmc, frame):
    """An output of all complete records is one of all, if its column has missing values."""
    data = pd.concat([frame, frame.assign(wife_education=pd.NA).head(20)]).astype({"wife_education": "Int64"})
    found = recipes_of_acro(cmc, chaffinch.read(data.reset_index(drop=True)))
    assert found.of("counts")
    assert found.of("olsr")
    assert "of all complete records" in {one.uid: one.reason for one in found.skipped}["probit"]
