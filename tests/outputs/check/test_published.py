"""Published numbers beside those of the data: each output by itself."""

import numpy as np
import pytest

from chaffinch._base.errors import InputError, MissingExtraError
from chaffinch.outputs.check.assess import compare_published
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.kinds.table import TableSpec


def test_each_output_is_compared_by_itself(fields, people):
    codes = people(200, 1)
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
def test_what_cannot_be_compared_is_not_vouched_for(fields, people, monkeypatch, error, words):
    codes, real = people(200, 1), TableSpec.recomputed
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
    fields = Fields(
        tuple(
            Field(name, tuple(sorted(int(one) for one in table[name].unique()))) for name in table
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


def test_an_output_of_fewer_people_is_asked_about_not_called_wrong(fields, people):
    """188 of 189 records may be a subset that the output does not name; other numbers of all records, more people or small counts are wrong."""
    codes = people(189, 1)
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


def test_no_rule_vouches_for_an_output_of_some_of_the_records(check, fields, people):
    codes = people(189, 1)
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
