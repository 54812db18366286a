"""Published numbers beside those of the data: each output by itself."""

import numpy as np
import pytest

from chaffinch._base.errors import InputError, MissingExtraError
from chaffinch.outputs.check.published import compare_published
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.fields import Field, Fields
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
    ("error", "words"), [(InputError("it has too many cells"), "too many cells"), (MissingExtraError("A refit", "statsmodels"), "not compared")]
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
    fields = Fields(tuple(Field(name, tuple(sorted(int(one) for one in table[name].unique()))) for name in table))
    errors = dict(zip([*names, "Intercept"], births.bse, strict=True))
    entry = {
        "name": "low", "kind": "logit", "formula": f"low ~ {' + '.join(names)}", "n": 189,
        "coefficients": {name: f"{value:.6f}" for name, value in zip([*names, "Intercept"], births.params, strict=True)},
        "standard_errors": {name: f"{value * change:.6f}" for name, value in errors.items()},
    }  # fmt: skip
    codes = fields.codes({name: table[name].tolist() for name in fields.names})
    assert compare_published(recipes_of([entry], fields), codes).consistent("low") is same
