"""t tests: R's numbers, those of scipy on any records; derivatives; a dataset evolved from one; the rules on the groups behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

BY = {"of": "num_children", "by": ["media_exposure"]}
FIELDS = OutputDomain(
    (
        OutputColumn("g", ("a", "b", "c")),
        OutputColumn("x", tuple(range(12))),
        OutputColumn("y", tuple(range(12))),
    )
)
TWO = {"name": "t", "kind": "t-test", "of": "x", "by": ["g"], "groups": {"g": [["a"], ["b"]]}}

# R 4.2.2, d <- read.csv("examples/data/cmc.csv"); x <- d$num_children; m <- d$media_exposure; s <- d$standard_of_living
R = [
    # t.test(x[m==0], x[m==1])
    (
        {**BY, "welch": True},
        {
            "statistic": -4.50280803590,
            "dof": 120.785177061,
            "p_value": 1.55700832237e-05,
            "standard_error": 0.267357477682,
            "low": -1.73317355311,
            "high": -0.674545244808,
        },
    ),
    # t.test(x[m==0], x[m==1], var.equal=TRUE, mu=-1, alternative="less")
    (
        {**BY, "welch": False, "mu": -1.0, "alternative": "less"},
        {
            "statistic": -0.875934556404,
            "dof": 1471,
            "p_value": 0.190604310728,
            "standard_error": 0.232733595759,
        },
    ),
    # t.test(d$wife_age, mu=32)
    (
        {"of": "wife_age", "mu": 32.0},
        {
            "statistic": 2.51140871160,
            "dof": 1472,
            "p_value": 1.21314015966e-02,
            "standard_error": 0.214364588240,
            "low": 32.1178644731,
            "high": 32.9588497157,
        },
    ),
    # t.test(s, x, paired=TRUE)
    (
        {"of": "standard_of_living", "paired": "num_children"},
        {
            "statistic": -1.91492611289,
            "dof": 1472,
            "p_value": 5.56955584100e-02,
            "difference": -0.127630685675,
            "standard_error": 0.0666504492349,
            "low": -0.258370666287,
            "high": 3.10929493625e-03,
        },
    ),
]


@pytest.mark.parametrize(("entry", "wanted"), R, ids=["welch", "pooled", "one sample", "paired"])
def test_numbers_are_those_of_r(
    cmc: Any, agrees: Any, check: Any, entry: dict[str, Any], wanted: dict[str, Any]
) -> None:
    computed = agrees(cmc, {"kind": "t-test", **entry}, wanted)
    codes = cmc.codes()
    half = np.vstack([codes[: len(codes) // 2]] * 2 + [codes[:1]])
    assert check(computed, half) != []


def test_groups_are_those_of_pandas(cmc: Any, agrees: Any) -> None:
    groups = cmc.frame.groupby("media_exposure", observed=True)["num_children"]
    wanted = {
        "counts": groups.size().tolist(),
        "means": groups.mean().tolist(),
        "sds": groups.std().tolist(),
    }
    computed = agrees(cmc, {"kind": "t-test", **BY, "welch": True}, wanted)
    # Each part in its own kind's words, and printed as it was.
    names = [one.name for one in computed.problem().outputs]
    assert names == ["o0: counts", "o0: means", "o0: sds"]
    printed = {**computed.outputs[0].to_dict(), "means": ["3.17", "4.38"], "sds": ["2.3", "x"]}
    again = recipes_of([printed], computed.fields).computed(cmc.codes()).outputs[0].to_dict()
    assert (again["means"], again["sds"]) == (["3.17", "4.38"], ["2.3", "x"])


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["two-sided", "less", "greater"]))
@settings(deadline=None, max_examples=40)
def test_numbers_are_those_of_scipy(seed: int, welch: bool, alternative: str) -> None:
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [rng.integers(0, 3, 40), rng.integers(0, 12, 40), rng.integers(0, 12, 40)]
    ).astype(np.int32)
    first, second = (codes[codes[:, 0] == k, 1].astype(float) for k in (0, 1))
    recipe = recipes_of([{**TWO, "welch": welch, "alternative": alternative}], FIELDS)
    if min(len(first), len(second)) < 2:
        return
    computed = recipe.computed(codes)
    test = ttest_ind(first, second, equal_var=not welch, alternative=alternative)
    numbers = computed.outputs[0].to_dict()
    assert (numbers["statistic"], numbers["p_value"], numbers["dof"]) == pytest.approx(
        (test.statistic, test.pvalue, test.df)
    )
    for system in computed.problem(40).outputs:
        sums = system.contributions(codes).sum(axis=0) if hasattr(system, "contributions") else None
        if sums is not None:
            assert system.reported(sums)[0] == pytest.approx(
                0.5 * (system.lo + system.hi), abs=1e-6
            )  # type: ignore[union-attr,operator]


def test_derivatives(cmc: Any, agrees: Any, slopes_hold: Any) -> None:
    for entry, wanted in R:
        for system in agrees(cmc, {"kind": "t-test", **entry}, wanted).problem().outputs:
            if callable(getattr(system, "reported", None)):
                slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))


def test_a_dataset_evolves_from_a_test(evolved: Any) -> None:
    rng = np.random.default_rng(0)
    g = rng.integers(0, 3, 200)
    codes = np.column_stack(
        [g, np.clip(rng.poisson(3 + g), 0, 11), rng.integers(0, 12, 200)]
    ).astype(np.int32)
    entry = {
        **TWO,
        "welch": True,
        "digits": {"statistic": 2, "p_value": 3},
        "counts": True,
        "statistic": True,
        "p_value": True,
    }
    published = recipes_of([entry], FIELDS).computed(codes)
    copy = evolved(published, proposals=400_000)
    assert all(one.within for one in compare_numbers(published, copy.codes))


def test_rules_on_the_groups_behind_it() -> None:
    codes = np.array(
        [[0, k % 12, 1] for k in range(40)] + [[1, k % 12, 1] for k in range(4)] + [[2, 0, 0]] * 50,
        dtype=np.int32,
    )
    report = check_entries([{**TWO, "welch": True}], FIELDS, codes, Policy())
    found = {one.rule: (one.status, one.where) for one in report}
    assert {one.statbarn for one in report} == {"StatisticalHypothesisTests"}
    assert found["threshold"] == ("fail", ("b",))
    # The fifty records of the third group are no records of the test.
    few = check_entries(
        [{**TWO, "welch": True}], FIELDS, np.vstack([codes[:5], codes[40:]]), Policy()
    )
    assert {one.rule: one.status for one in few}["residual degrees of freedom"] == "fail"
    # Means bring the rules on means; degrees of freedom tell n, which another output may be subtracted from.
    codes = np.array(
        [[0, k % 12, 1] for k in range(40)]
        + [[1, k % 12, 1] for k in range(40)]
        + [[2, 0, 0]] * 50,
        dtype=np.int32,
    )
    with_means = check_entries([{**TWO, "welch": True, "means": True}], FIELDS, codes, Policy())
    assert "n-k dominance" in {one.rule for one in with_means}
    pooled, table = (
        {**TWO, "welch": False},
        {"name": "n", "kind": "table", "by": ["y"], "where": "g != 'c' and x > 0"},
    )
    assert any(
        one.rule == "differencing" and one.status == "fail"
        for one in check_entries([pooled, table], FIELDS, codes, Policy())
    )
    welch = {**TWO, "welch": True}
    assert not any(
        one.rule == "differencing" and one.status == "fail"
        for one in check_entries([welch, table], FIELDS, codes, Policy())
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "must say whether each group has a variance of its own"),
        ({"by": [], "groups": {}, "welch": True}, "only a test between two groups has `welch`"),
        ({"groups": {}, "welch": True}, "must be between two groups"),
        ({"paired": "y", "welch": True}, "has `by` and `paired`"),
        ({"by": [], "groups": {}, "paired": "x"}, "with itself"),
        ({"by": [], "groups": {}, "paired": "y", "means": True}, "cannot have means"),
        ({"welch": True, "alternative": "less", "low": True}, "read for two-sided tests only"),
        ({"welch": True, "of": "z"}, "Unknown column 'z'"),
    ],
)
def test_what_is_not_said_is_asked_for(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipes_of([{**TWO, **change}], FIELDS)


def test_records_without_a_test() -> None:
    codes = np.array([[0, 3, 1]] * 5 + [[1, 3, 1]] * 5, dtype=np.int32)
    with pytest.raises(InputError, match="a group has fewer than two records there"):
        recipes_of([{**TWO, "welch": True}], FIELDS).computed(codes)


ENTRY = {"kind": "anova", "of": "num_children", "by": ["wife_education"]}
# R 4.2.2: summary(aov(num_children ~ factor(wife_education), d))
R_ANOVA = {
    "dof_between": 3,
    "dof_within": 1469,
    "ss_between": 331.631152279,
    "ss_within": 7856.74087759,
    "ms_between": 110.543717426,
    "ms_within": 5.34836002559,
    "statistic": 20.6687128199,
    "p_value": 4.05683146047e-13,
}


def test_analyses_of_variance_are_those_of_r(
    cmc: Any, agrees: Any, check: Any, slopes_hold: Any
) -> None:
    groups = cmc.frame.groupby("wife_education", observed=True)["num_children"]
    more = {
        "counts": groups.size().tolist(),
        "means": groups.mean().tolist(),
        "sds": groups.std().tolist(),
    }
    share = R_ANOVA["ss_between"] / (R_ANOVA["ss_between"] + R_ANOVA["ss_within"])
    computed = agrees(cmc, ENTRY, {**R_ANOVA, **more, "eta_squared": share})
    assert check(computed, cmc.shuffled("num_children")) != []
    for system in computed.problem().outputs:
        if callable(getattr(system, "reported", None)):
            slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))


def test_degrees_of_freedom_are_a_number_of_records(cmc: Any, agrees: Any) -> None:
    where = "wife_age >= 30"
    computed = agrees(
        cmc,
        {**ENTRY, "where": where},
        {"dof_between": 3, "dof_within": len(cmc.frame.query(where)) - 4},
    )
    (table,) = computed.problem().outputs
    assert table.name == "o0: degrees of freedom"
    assert table.lo.tolist() == [len(cmc.frame.query(where))]


def test_groups_that_no_records_have_are_named(cmc: Any) -> None:
    spec = cmc.spec({**ENTRY, "statistic": 20.67, "means": [3.1, 3.2, 30.0, 2.9]})
    assert "has all its numbers" in str(contradictions(spec)[0])


def test_rules_and_what_cannot_be_computed() -> None:
    fields = OutputDomain((OutputColumn("g", ("a", "b", "c")), OutputColumn("x", tuple(range(5)))))
    codes = np.array(
        [[0, k % 5] for k in range(30)] + [[1, k % 5] for k in range(30)] + [[2, 4]] * 3,
        dtype=np.int32,
    )
    entry = {"name": "a", "kind": "anova", "of": "x", "by": ["g"]}
    found = {
        one.rule: (one.status, one.where) for one in check_entries([entry], fields, codes, Policy())
    }
    assert found["threshold"] == ("fail", ("c",))
    assert check_entries([entry], fields, codes[:60], Policy()).worst == "pass"
    # Counts that withhold the small group beside an n that gives it back.
    counts = {**entry, "counts": True, "threshold": 10, "dof_within": True}
    rules = {one.rule: one.status for one in check_entries([counts], fields, codes, Policy())}
    assert rules["suppression undone"] == "fail"
    with pytest.raises(InputError, match="are in one group, or do not differ within"):
        recipes_of([entry], fields).computed(codes[:30])


def test_some_number_is_needed() -> None:
    columns = [{"name": "g", "levels": ["a", "b"]}, {"name": "x", "from": 0, "to": 3}]
    head = {"format": "chaffinch-outputs", "version": 1, "rows": 9, "columns": columns}
    with pytest.raises(InputError, match=r"has no numbers\. It may have statistic"):
        Outputs.from_dict(
            {**head, "outputs": [{"name": "a", "kind": "anova", "of": "x", "by": ["g"]}]}
        ).problem()
