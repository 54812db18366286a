"""The whole assessment, with controls: outputs that tell nothing, outputs that tell too much, and what mitigation gains."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from chaffinch.errors import InputError, MissingExtraError
from chaffinch.outputs.check import CheckInputs, CheckSettings, check_recipes
from chaffinch.outputs.check.assess import compare_published
from chaffinch.outputs.check.assessment import DatasetEnsemble, prior_datasets
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.table import TableSpec

JOINT = {"name": "joint", "kind": "table", "by": ["a", "b", "c", "y"]}
MARGIN = {
    "name": "margin",
    "kind": "table",
    "by": ["a", "b", "c"],
    "groups": {"a": {"low": ["a0", "a1"], "high": ["a2", "a3", "a4"]}},
}
PLAIN = {"name": "plain", "kind": "table", "by": ["y"]}


def marginal(found, convention="matched_rows"):
    return next(one.marginal for one in found.all.measures if one.convention == convention)


def test_small_cells_of_three_keys_are_found_and_mitigation_lowers_the_risk(checked):
    bare = checked(JOINT)
    assert bare.verdict.word == "excess found"
    assert bare.rules.worst == "fail"
    assert not bare.passed
    suppressed = checked({**JOINT, "threshold": 10, "suppressed_zeros": True})
    coarse = checked({**JOINT, "by": ["a", "b", "y"]}, keys=("a", "b"), key_sizes=(1, 2))
    before = checked(JOINT, keys=("a", "b"), key_sizes=(1, 2))
    assert marginal(suppressed).value < 0.5 * marginal(bare).value
    assert marginal(coarse).value <= marginal(before).value + 0.02
    assert marginal(bare).low > 0.2


def test_the_risk_is_that_of_the_output_not_of_the_start(checked):
    found = checked(JOINT)
    measure = found.all.measures[0]
    assert measure.original.value > measure.prior.value + 0.2
    assert measure.beyond_prior.low > 0.0
    assert found.all.reached == 1.0


def test_which_output_did_it(checked):
    found = checked(PLAIN, JOINT, MARGIN, leave_one_out="always")
    assert [stage.outputs for stage in found.cumulative] == [
        ("plain",),
        ("plain", "joint"),
        ("plain", "joint", "margin"),
    ]
    added = {step.name: step.added[0] for step in found.cumulative[1:]}
    assert added["joint"].low > 0.0
    assert abs(added["margin"].value) < 0.1
    without = {stage.name: stage.measures[0].marginal.value for stage in found.without}
    assert without["without joint"] < 0.3 * min(without["without plain"], without["without margin"])


def test_released_outputs_come_first(checked):
    found = checked(JOINT, released=[MARGIN, PLAIN])
    assert [stage.name for stage in found.cumulative] == ["released already", "joint"]
    assert [(one.name, one.released) for one in found.outputs] == [
        ("margin", True),
        ("plain", True),
        ("joint", False),
    ]
    assert found.cumulative[1].added[0].low > 0.0
    assert found.cumulative[0].added == ()


@pytest.mark.parametrize("released", [(), ("ruled",)])
def test_steps_and_leaving_one_out_are_over_outputs_that_are_searched_for(
    checked, rules_only, released
):
    """Nothing can be evolved from an output that only the rules look at: alone it is no step, and nothing is left without the other."""
    one, two = rules_only("ruled"), rules_only("ruled too")
    new = [JOINT, two] if released else [one, JOINT, two]
    result = checked(*new, released=[one] if released else (), leave_one_out="always")
    assert [(stage.name, stage.outputs) for stage in result.cumulative] == [("joint", ("joint",))]
    assert result.without == ()
    assert {output.name for output in result.outputs} == {"ruled", "joint", "ruled too"}
    result = checked(*new, PLAIN, released=[one] if released else (), leave_one_out="always")
    assert [stage.outputs for stage in result.cumulative] == [("joint",), ("joint", "plain")]
    assert [(stage.name, stage.outputs) for stage in result.without] == [
        ("without joint", ("plain",)),
        ("without plain", ("joint",)),
    ]


def test_nothing_to_search_for_is_said(checked, rules_only):
    found = checked(rules_only("ruled"), keys=("a",), maker=None)
    assert (found.verdict.word, found.all, found.passed) == ("nothing measured", None, False)
    assert [(row.verdict in ("review", "fail"), row.marginal) for row in found.summary] == [
        (True, None)
    ]
    assert "rules only: this kind has no equations" in found.summary[0].why
    assert found.to_dict()["outputs"][0]["rules_only"] == "this kind has no equations"


def test_published_numbers_that_are_not_the_datas(checked, fields, people_whose_y_follows):
    counts = np.bincount(people_whose_y_follows(240, 1)[:, 4], minlength=3).tolist()
    right = {**PLAIN, "by": ["y"], "counts": counts}
    fine = checked(right, MARGIN, cumulative=False)
    assert fine.outputs[0].consistent is True
    assert fine.outputs[1].consistent is None
    wrong = checked(
        {**right, "counts": [counts[0] + 1, counts[1] - 1, counts[2]]}, MARGIN, cumulative=False
    )
    assert wrong.verdict.text == "outputs inconsistent"
    assert not wrong.passed


def test_two_tables_that_differ_by_one_person_are_flagged(
    check, fields, maker, people_whose_y_follows
):
    codes = people_whose_y_follows(400, 5)
    codes[:, 3] = 0
    codes[0, 3] = 1  # one person alone has d1
    entries = [
        {"name": "all", "kind": "table", "by": ["a", "y"]},
        {"name": "most", "kind": "table", "by": ["a", "y"], "where": "d == 'd0'"},
    ]
    found = check(
        recipes_of(entries, fields),
        codes,
        keys=["a"],
        sensitive=["y"],
        syntheses=2,
        seed=1,
        maker=maker,
    )
    assert any(one.rule == "differencing" and one.status == "fail" for one in found.rules.findings)
    assert not found.passed


def unsearched(spec, *, copies, seed, progress=None):
    """An ensemble that no search has touched, for what does not depend on it."""
    return DatasetEnsemble(
        prior_datasets(spec.fields, spec.n_rows(), copies=copies, seed=seed), (False,) * copies
    )


def test_a_saturated_logit_with_a_cell_of_two_is_flagged(check, fields, people_whose_y_follows):
    codes = people_whose_y_follows(400, 6)
    few = np.flatnonzero((codes[:, 0] == 4) & (codes[:, 2] == 2))
    codes = np.delete(codes, few[2:], axis=0)
    codes[few[:2], 4] = [0, 1]
    # Both of them must be behind the outputs of each fold: few are held out, and by this seed others.
    entry = {
        "name": "logit",
        "kind": "logit",
        "formula": "y ~ C(a) * C(c)",
        "success": "y1",
        "decimals": 4,
    }
    found = check(
        recipes_of([entry], fields),
        codes,
        keys=["a", "c"],
        sensitive=["y"],
        syntheses=2,
        holdout_share=0.1,
        seed=1,
        maker=unsearched,
    )
    failed = [one for one in found.rules.findings if one.status == "fail"]
    assert failed
    assert all(one.output == "logit" for one in failed)


def test_repeated_splits_and_small_holdouts(checked):
    found = checked(PLAIN, MARGIN, repeat_splits=2, holdout_share=0.2, cumulative=False)
    assert found.verdict.word == "no excess found"
    assert "detectable" in found.verdict.text


def test_settings_change_nothing_but_speed(checked):
    one, two = (checked(JOINT, workers=workers).to_dict() for workers in (1, 2))
    one.pop("run"), two.pop("run")
    assert one == two


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keys": ("a", "zz")}, "zz"),
        ({"keys": ()}, "needs keys"),
        ({"syntheses": 1}, "at least 2"),
        ({"holdout_share": 0.9}, "at most 0.5"),
    ],
)
def test_questions_that_cannot_be_asked(checked, options, words):
    with pytest.raises(InputError, match=words):
        checked(JOINT, **options)


def test_margins_that_only_the_new_outputs_know_are_used(check, fields, people_whose_y_follows):
    """What was released describes columns without weights: those of the file that is checked must not be lost."""
    weighted = OutputDomain(
        tuple(replace(one, weights=(0.7, 0.2, 0.1)) if one.name == "y" else one for one in fields)
    )
    seen = []

    def maker(spec, *, copies, seed, progress=None):
        seen.append({field.name: field.weights for field in spec.fields})
        datasets = tuple(spec.fields.start(spec.n_rows(), seed=k) for k in range(copies))
        return DatasetEnsemble(datasets, (True,) * copies)

    asked = {
        "keys": ["a"],
        "sensitive": ["y"],
        "syntheses": 2,
        "cumulative": False,
        "seed": 1,
    }
    old, new = (
        recipes_of([{**PLAIN, "name": "old"}], fields),
        {"name": "new", "kind": "table", "by": ["a", "y"]},
    )
    check(
        recipes_of([new], weighted),
        people_whose_y_follows(100, 1),
        released=old,
        start="published",
        maker=maker,
        **asked,
    )
    assert len(seen) == 2
    for each in seen:
        assert each["y"] == (0.7, 0.2, 0.1)
        assert sum(each["a"]) == 50.0  # the table of the fold tells it


def test_datasets_start_from_margins_as_numbers(check, fields, people_whose_y_follows):
    """A mean of 'b' by 'y' tells no margin: those of all people, or of the fold, are passed on, unless only published ones or none are to be known."""
    codes, seen = people_whose_y_follows(100, 1), []

    def maker(spec, *, copies, seed, progress=None):
        seen.append({field.name: field.weights for field in spec.fields})
        return DatasetEnsemble(
            tuple(spec.fields.start(spec.n_rows(), seed=k) for k in range(copies)),
            (True,) * copies,
        )

    numbers = OutputDomain(
        tuple(replace(one, levels=(0, 1, 2, 3)) if one.name == "b" else one for one in fields)
    )
    mean = {"name": "m", "kind": "mean", "of": "b", "by": ["y"]}
    asked = {
        "keys": ["b"],
        "sensitive": ["y"],
        "syntheses": 2,
        "seed": 1,
        "maker": maker,
    }
    found = check(recipes_of([mean], numbers), codes, **asked)
    assert (found.settings.start, found.resolved.margins.assumed) == ("margins", ("b", "y"))
    assert "the attacker was assumed to know it of 'b', 'y'" in " ".join(found.verdict.sentences)
    everybody = {
        name: tuple(np.bincount(codes[:, fields.position(name)], minlength=size))
        for name, size in (("b", 4), ("y", 3))
    }
    assert seen == [everybody] * 2
    assert all(
        one.prior_marginal.value == 0.0
        for one in found.all.measures
        if np.isfinite(one.prior.value)
    )
    seen.clear()
    assert check(
        recipes_of([mean], numbers), codes, start="fold", **asked
    ).resolved.margins.assumed == ("b", "y")
    for name, counts in everybody.items():
        folds = np.array([each[name] for each in seen])
        assert folds.sum(axis=1).tolist() == [50.0, 50.0]
        assert tuple(folds.sum(axis=0)) == counts
    seen.clear()
    uniform = check(recipes_of([mean], numbers), codes, start="uniform", **asked)
    assert seen == [{"b": None, "y": None}] * 2
    assert uniform.resolved.margins.names == ()
    assert all(
        one.prior_marginal.value == 0.0
        for one in uniform.all.measures
        if np.isfinite(one.prior.value)
    )
    with pytest.raises(
        InputError, match="A start from published margins needs the margin of a column"
    ):
        check(recipes_of([mean], numbers), codes, start="published", **asked)


def test_a_recipe_that_fails_on_a_fold_says_where(check, fields, maker, people_whose_y_follows):
    codes = people_whose_y_follows(100, 7)
    codes[codes[:, 0] == 4, 0] = 0
    codes[0, 0] = 4  # one person: in one of the folds the level has nobody
    entry = {
        "name": "logit",
        "kind": "logit",
        "formula": "y ~ C(a)",
        "success": "y1",
        "decimals": 4,
    }
    asked = {
        "keys": ["a"],
        "sensitive": ["y"],
        "syntheses": 2,
        "seed": 1,
        "maker": maker,
    }
    found = check(recipes_of([entry], fields), codes, **asked)
    (output,) = found.outputs
    assert re.search(r"logit.*fold.*a level of column 'a'", output.unmeasured)
    assert (found.verdict.word, found.verdict.unmeasured, found.passed) == (
        "nothing measured",
        ("logit",),
        False,
    )
    assert found.rules.about("logit")
    told = json.dumps(found.to_dict())
    assert "a4" not in told  # one person has it


def test_an_output_that_a_fold_cannot_give_stops_no_other(
    check, fields, maker, people_whose_y_follows
):
    """The others are measured as if it were not there, and its rules are asked."""
    codes = people_whose_y_follows(100, 7)
    codes[codes[:, 0] == 4, 0] = 0
    codes[0, 0] = 4
    logit = {
        "name": "logit",
        "kind": "logit",
        "formula": "y ~ C(a)",
        "success": "y1",
        "decimals": 4,
    }
    tables = [
        {**PLAIN, "name": "one", "by": ["a", "b", "c", "y"]},
        {**PLAIN, "name": "two", "by": ["b", "y"]},
    ]
    asked = {
        "keys": ["a", "b", "c"],
        "sensitive": ["y"],
        "syntheses": 2,
        "seed": 1,
        "maker": maker,
    }
    found = check(recipes_of([tables[0], logit, tables[1]], fields), codes, **asked)
    alone = check(recipes_of(tables, fields), codes, **asked)
    assert np.isfinite(marginal(found).value)
    assert found.all == alone.all
    assert [stage.outputs for stage in found.cumulative] == [("one",), ("one", "two")]
    assert {row.output: row.verdict for row in found.summary}["logit"] in ("not assessed", "fail")
    assert {one.rule for one in found.rules.about("logit")} >= {
        "residual degrees of freedom",
        "covariate patterns",
    }
    assert found.verdict.unmeasured == ("logit",)
    assert "not all outputs assessed" in found.verdict.text
    assert not found.passed


def test_the_rules_alone_take_no_keys_and_no_folds(check, fields, people_whose_y_follows):
    """Thirty people are too few for folds, and there is no maker."""
    recipes = recipes_of([PLAIN, {**PLAIN, "name": "counted", "counts": [1, 2, 3]}], fields)
    found = check(recipes, people_whose_y_follows(30, 1), rules_only=True)
    assert (found.all, found.cumulative, found.settings.rules_only) == (None, (), True)
    assert found.verdict.word == "outputs inconsistent"
    assert {row.output: row.verdict for row in found.summary} == {
        "counted": "fail",
        "plain": found.rules.status("plain"),
    }
    whole = check(
        recipes, people_whose_y_follows(300, 1), keys=["a"], sensitive=["y"], rules_only=True
    )
    assert whole.settings.keys == ("a",)
    assert {one.output for one in whole.rules} == {"plain", "counted"}
    fine = check(recipes.only(["plain"]), people_whose_y_follows(300, 1), rules_only=True)
    assert (fine.verdict.text, fine.passed, fine.failed) == ("rules only", True, False)
    with pytest.raises(InputError, match=r"A check needs keys.*--rules-only"):
        check(recipes, people_whose_y_follows(30, 1))


def test_only_the_rules_are_asked_of_what_is_uncertain(
    check, fields, maker, people_whose_y_follows
):
    recipes = recipes_of([PLAIN, {**PLAIN, "name": "unclear", "by": ["a", "y"]}], fields)
    settings = CheckSettings(keys=["a"], sensitive=["y"], syntheses=2)
    inputs = CheckInputs(
        recipes,
        people_whose_y_follows(100, 7),
        settings,
        seed=1,
        maker=maker,
        uncertain={"unclear": "its fit did not converge"},
    )
    found = check_recipes(inputs)
    assert found.all.outputs == ("plain",)
    assert [one.unmeasured for one in found.outputs] == ["", "its fit did not converge"]
    assert found.rules.about("unclear")
    assert not found.passed


@pytest.mark.slow
def test_a_null_output_covers_zero_at_its_rate(check, fields, people_whose_y_follows, maker):
    """Counts rounded to thousands say nothing of 160 people. Of 60 exact 95 % intervals fewer than 50 cover zero with a chance of 0.02 %."""
    recipes = recipes_of(
        [{"name": "rounded", "kind": "table", "by": list("abcdy"), "base": 1000}], fields
    )
    covered = 0
    for seed in range(60):
        found = check(
            recipes,
            people_whose_y_follows(160, 100 + seed),
            keys=list("abcd"),
            sensitive=["y"],
            key_sizes=(3, 4),
            syntheses=8,
            seed=seed,
            maker=maker,
            cumulative=False,
        )
        covered += all(one.marginal.low <= 0.0 <= one.marginal.high for one in found.all.measures)
    assert covered >= 50


def test_each_output_is_compared_by_itself(fields, people_whose_y_follows):
    codes = people_whose_y_follows(200, 1)
    right = np.bincount(codes[:, 4], minlength=3).tolist()
    wrong = [right[0] - 1, right[1] + 1, right[2]]
    entries = [
        {"name": "right", "kind": "table", "by": ["y"], "counts": right},
        {"name": "wrong", "kind": "table", "by": ["y"], "counts": wrong},
        {"name": "bare", "kind": "table", "by": ["a"]},
    ]
    found = compare_published(recipes_of(entries, fields), codes)
    assert (found.differing, found.unseen) == (("wrong",), {})
    assert (found.consistent("right"), found.consistent("wrong")) == (True, False)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InputError("it has too many cells"), "too many cells"),
        (MissingExtraError("A refit", "statsmodels"), "not compared"),
    ],
)
def test_what_cannot_be_compared_is_not_vouched_for(
    fields, people_whose_y_follows, monkeypatch, error, words
):
    codes, real = people_whose_y_follows(200, 1), TableSpec.recomputed
    entries = [
        {"name": name, "kind": "table", "by": [by], "counts": np.bincount(codes[:, place]).tolist()}
        for name, by, place in (("one", "y", 4), ("two", "a", 0))
    ]

    def recomputed(self, sample):
        if self.name == "one":
            raise error
        return real(self, sample)

    monkeypatch.setattr(TableSpec, "recomputed", recomputed)
    found = compare_published(recipes_of(entries, fields), codes)
    assert found.differing == ()
    assert (found.consistent("one"), found.consistent("two")) == (None, True)
    assert words in found.unseen["one"]


@pytest.mark.parametrize(("change", "same"), [(1.0, True), (1.0002, False)])
def test_standard_errors_that_r_prints_are_those_of_the_data(change, same):
    """summary(glm(low ~ age + lwt + race + smoke + ptl + ht + ui, binomial)) of 189 births in R; see tests/outputs/test_statistics.py."""
    births = pytest.importorskip("statsmodels.genmod.tests.results.results_glm").Lbw()
    table = births.exog.drop(columns="const").assign(low=births.endog).astype(int)
    names = ["age", "lwt", "race_black", "race_other", "smoke", "ptl", "ht", "ui"]
    fields = OutputDomain(
        tuple(
            OutputColumn(name, tuple(sorted(int(one) for one in table[name].unique())))
            for name in table
        )
    )
    errors = dict(zip([*names, "Intercept"], births.bse, strict=True))
    entry = {
        "name": "low",
        "kind": "logit",
        "formula": f"low ~ {' + '.join(names)}",
        "n": 189,
        "coefficients": {
            name: f"{value:.6f}"
            for name, value in zip([*names, "Intercept"], births.params, strict=True)
        },
        "standard_errors": {name: f"{value * change:.6f}" for name, value in errors.items()},
    }
    codes = fields.codes({name: table[name].tolist() for name in fields.names})
    assert compare_published(recipes_of([entry], fields), codes).consistent("low") is same


def test_an_output_of_fewer_people_is_asked_about_not_called_wrong(fields, people_whose_y_follows):
    """188 of 189 records may be a subset that the output does not name; other numbers of all records, more people or small counts are wrong."""
    codes = people_whose_y_follows(189, 1)
    kept = codes[np.argmax(codes[:, 4] == 0) + 1 :] if codes[0, 4] == 0 else codes[1:]
    whole, some = (np.bincount(part[:, 4], minlength=3).tolist() for part in (codes, kept))
    moved = [whole[0] - 1, whole[1] + 1, whole[2]]
    entries = [
        {"name": name, "kind": "table", "by": ["y"], "counts": counts}
        for name, counts in (
            ("some", some),
            ("moved", moved),
            ("more", [whole[0] + 1, *whole[1:]]),
            ("small", [3, *whole[1:]]),
        )
    ]
    found = compare_published(recipes_of(entries, fields), codes)
    assert found.others == ("some",)
    assert found.differing == ("moved", "more", "small")
    assert found.unseen["some"].startswith(
        f"Its n is {sum(some)} of about 190 records with its columns: a subset?"
    )
    assert "Fewer than 10 people are between the two" in found.unseen["some"]
    half = [count // 2 for count in whole]
    found = compare_published(
        recipes_of([{"name": "half", "kind": "table", "by": ["y"], "counts": half}], fields), codes
    )
    assert "between the two" not in found.unseen["half"]


def test_no_rule_vouches_for_an_output_of_some_of_the_records(
    check, fields, people_whose_y_follows
):
    codes = people_whose_y_follows(189, 1)
    half = [count // 2 for count in np.bincount(codes[:, 4], minlength=3).tolist()]
    found = check(
        recipes_of([{"name": "half", "kind": "table", "by": ["y"], "counts": half}], fields),
        codes,
        rules_only=True,
    )
    assert found.verdict.text == "rules only; not all outputs assessed; not all rules assessed"
    assert [(row.output, row.rules, row.verdict) for row in found.summary] == [
        ("half", "not assessed", "not assessed")
    ]
    assert not found.passed
