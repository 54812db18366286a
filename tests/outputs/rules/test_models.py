"""What lies behind coefficients: groups and patterns, on small designs worked by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.formula import read_formula
from chaffinch.outputs.rules import Policy, check_entries
from chaffinch.outputs.rules.models import patterns_of

SMALL, PATTERNS, EQUAL = (
    "small group behind a coefficient",
    "covariate patterns",
    "perfect prediction",
)
DOF = "residual degrees of freedom"


def cross(people, few=2, many=30, ages=(20,)):
    """A by B, half of each cell with each label; one cell of `few`."""
    groups = []
    for a, b in product(("a1", "a2", "a3"), ("b1", "b2")):
        size = few if (a, b) == ("a3", "b2") else many
        groups += [
            (1, {"A": a, "B": b, "Y": "yes" if k % 2 else "no", "AGE": ages[k // 2 % len(ages)]})
            for k in range(size)
        ]
    return people(*groups)


def test_a_saturated_logit_with_a_cell_of_two(judged, one, people_by_cell):
    """The case that passes ACRO with 353 degrees of freedom: 12 parameters, 12 cells, one of them with two people."""
    fields = OutputDomain(
        (
            OutputColumn("A", tuple("pqrs")),
            OutputColumn("B", tuple("xyz")),
            OutputColumn("Y", ("no", "yes")),
        )
    )
    sizes = np.full(12, 33)
    sizes[-1] = 2
    cells = np.repeat(np.arange(12), sizes)
    codes = np.stack([cells // 3, cells % 3, np.arange(len(cells)) % 2], axis=1).astype(np.int32)
    entry = {"name": "o1", "kind": "logit", "formula": "Y ~ C(A)*C(B)", "success": "yes"}
    report = check_entries([entry], fields, codes, Policy())
    assert len(codes) - 12 == 353
    assert one(report, DOF).status == "pass"
    assert (
        one(report, PATTERNS).status,
        one(report, PATTERNS).cells,
        one(report, PATTERNS).total,
    ) == ("fail", 1, 12)
    small = one(report, SMALL)
    assert (small.status, small.where) == ("fail", ("C(A)[s]:C(B)[z]",))
    assert "C(A):C(B)" in small.sentence
    assert "[s]" not in str(report.to_dict())
    assert report.worst == "fail"
    assert all(each.statbarn == "CorrelationCoefficients" for each in report)


def test_the_same_without_the_small_cell(judged, people_by_cell):
    codes = cross(people_by_cell, few=30)
    assert (
        judged(codes, {"kind": "logit", "formula": "Y ~ C(A)*C(B)", "success": "yes"}).worst
        == "pass"
    )


def test_main_effects_do_not_tell_the_cell_apart(judged, one, people_by_cell):
    codes = cross(people_by_cell)
    report = judged(codes, {"kind": "logit", "formula": "Y ~ A + B", "success": "yes"})
    assert report.worst == "pass"
    assert "far fewer" in one(report, PATTERNS).sentence  # four parameters, six patterns
    near = judged(
        codes,
        {"kind": "logit", "formula": "Y ~ A + B", "success": "yes"},
        policy=Policy(saturation=0.6),
    )
    assert one(near, PATTERNS).status == "fail"


def test_a_number_beside_hides_nothing(judged, one, people_by_cell):
    codes = cross(people_by_cell, ages=tuple(range(20, 60)))
    report = judged(codes, {"kind": "logit", "formula": "Y ~ AGE + C(A)*C(B)", "success": "yes"})
    assert one(report, SMALL).status == "fail"
    assert one(report, PATTERNS).status == "fail"  # saturated in its levels


def test_patterns_have_a_threshold_of_their_own(judged, one, people_by_cell):
    codes = cross(people_by_cell, few=14)  # seven with each label
    entry = {"kind": "ols", "formula": "PAY ~ C(A)*C(B)"}
    for least, status in ((14, "pass"), (15, "fail")):
        report = judged(codes, entry, policy=Policy(pattern_threshold=least))
        assert (one(report, PATTERNS).status, one(report, SMALL).status) == (status, "pass")


def test_slopes_within_small_groups(judged, one, people_by_cell):
    codes = cross(people_by_cell, ages=tuple(range(20, 60)))
    report = judged(codes, {"kind": "logit", "formula": "Y ~ C(A):C(B):AGE", "success": "yes"})
    assert "C(A)[a3]:C(B)[b2]" in one(report, SMALL).where
    assert (
        one(
            judged(codes, {"kind": "logit", "formula": "Y ~ C(A):AGE", "success": "yes"}), SMALL
        ).status
        == "pass"
    )


@pytest.mark.parametrize("reference", ["a1", "a2"])
def test_a_small_reference_level_counts_too(judged, one, people_by_cell, reference):
    codes = people_by_cell(
        (3, {"A": "a1"}),
        (3, {"A": "a1", "Y": "yes"}),
        *((20, {"A": a, "Y": y}) for a in ("a2", "a3") for y in ("no", "yes")),
    )
    entry = {"kind": "logit", "formula": f"Y ~ C(A, Treatment('{reference}'))", "success": "yes"}
    assert one(judged(codes, entry), SMALL).where == (f"C(A, Treatment('{reference}'))[a1]",)


def test_numbers_that_are_groups(judged, one, people_by_cell):
    # A number of two values, one of which few people have; and one that few have at all.
    codes = people_by_cell(
        (40, {"PAY": 0, "AGE": 30}),
        (40, {"PAY": 0, "AGE": 31, "Y": "yes"}),
        (4, {"PAY": 1, "AGE": 32}),
    )
    report = judged(codes, {"kind": "logit", "formula": "Y ~ AGE + PAY", "success": "yes"})
    assert one(report, SMALL).where == ("PAY",)
    assert (
        one(judged(codes, {"kind": "logit", "formula": "Y ~ AGE", "success": "yes"}), SMALL).status
        == "pass"
    )
    two = judged(codes, {"kind": "logit", "formula": "Y ~ PAY", "success": "yes"})
    assert one(two, PATTERNS).status == "fail"  # two parameters, two patterns, four people


def test_filters_count(judged, one, people_by_cell):
    codes = cross(people_by_cell)
    entry = {"kind": "logit", "formula": "Y ~ C(A)*C(B)", "success": "yes", "where": "A != 'a3'"}
    assert judged(codes, entry).worst == "pass"
    few = {
        "kind": "logit",
        "formula": "Y ~ AGE",
        "success": "yes",
        "where": "A == 'a3' and B == 'b2'",
        "n": 2,
    }
    report = judged(codes, few)
    assert one(report, DOF).status == "fail"
    assert one(report, "threshold").where == ("n",)


def test_equal_labels(judged, one, people_by_cell):
    codes = people_by_cell(
        (30, {"A": "a1"}),
        (30, {"A": "a2"}),
        (30, {"A": "a2", "Y": "yes"}),
        (20, {"A": "a3", "Y": "yes"}),
    )
    logit = {"kind": "logit", "formula": "Y ~ C(A)", "success": "yes"}
    found = one(judged(codes, logit), EQUAL)
    assert (found.status, found.where) == ("fail", ("C(A)[a1]", "C(A)[a3]"))
    assert (
        one(judged(codes, logit, policy=Policy(zeros_are_disclosive=False)), EQUAL).status
        == "review"
    )
    number = {"kind": "ols", "formula": "PAY ~ C(A)"}
    assert one(judged(codes, number), EQUAL).status == "review"


def test_a_saturated_model_is_a_table_of_its_label(judged, one, people_by_cell):
    # Thirty people in each group, but only three of a2 say yes: a table of A by Y would fail.
    codes = people_by_cell(
        *((15, {"A": a, "Y": y}) for a in ("a1", "a3") for y in ("no", "yes")),
        (27, {"A": "a2"}),
        (3, {"A": "a2", "Y": "yes"}),
    )
    found = one(
        judged(codes, {"kind": "probit", "formula": "Y ~ C(A)", "success": "yes"}), PATTERNS
    )
    assert (found.status, found.where) == ("fail", ("A = a2",))
    assert (
        one(
            judged(codes, {"kind": "logit", "formula": "Y ~ C(A) + AGE", "success": "yes"}), SMALL
        ).status
        == "pass"
    )


def test_multinomial_parameters(judged, one, people_by_cell):
    codes = people_by_cell(
        *((4, {"A": a, "AGE": age}) for a in ("a1", "a2", "a3") for age in (20, 30))
    )
    entry = {"kind": "multinomial", "formula": "A ~ AGE"}
    # 24 people; 2 x 2 parameters.
    assert one(judged(codes, entry, policy=Policy(residual_dof=20)), DOF).status == "pass"
    assert one(judged(codes, entry, policy=Policy(residual_dof=21)), DOF).status == "fail"


def test_correlations(judged, one, people_by_cell):
    codes = people_by_cell(*((1, {"AGE": age, "PAY": age % 3}) for age in range(11)))
    assert one(judged(codes, {"kind": "correlation", "of": ["AGE", "PAY"]}), DOF).status == "fail"
    assert (
        judged(
            codes, {"kind": "correlation", "of": ["AGE", "PAY"]}, policy=Policy(residual_dof=9)
        ).worst
        == "pass"
    )


@pytest.mark.parametrize(
    "right",
    [
        "A",
        "A + B",
        "A*B",
        "A:B",
        "0 + A",
        "A + AGE",
        "A*AGE",
        "AGE + I(AGE ** 2)",
        "I(AGE * 0) + B",
        "B:AGE + A",
    ],
)
def test_patterns_are_distinct_rows_of_patsys_design(people_fields, right):
    """patsy builds the design; numpy counts its rows and its rank."""
    import pandas as pd
    import patsy

    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(0, size, 200) for size in (3, 2, 2, 4, 5)], axis=1).astype(
        np.int32
    )
    frame = pd.DataFrame(
        {f.name: np.array(f.levels, dtype=object)[codes[:, k]] for k, f in enumerate(people_fields)}
    ).infer_objects()
    design = np.asarray(patsy.dmatrix(right, frame))
    rows, counts = np.unique(design, axis=0, return_counts=True)
    found = patterns_of(read_formula(f"PAY ~ {right}", people_fields), people_fields, codes)
    assert found.parameters == np.linalg.matrix_rank(rows)
    assert sorted(found.counts) == sorted(counts)


# A few people who are the whole fit.

DOMINANCE, LEVERAGE = "dominance in a regression", "leverage"


def paid(people, *rows):
    return people(*((1, {"AGE": age, "PAY": pay, **levels}) for age, pay, levels in rows))


def spread(n=60):
    """People of 20 to 79 with pay that rises with age, and a little beside."""
    return [(20 + k, 5 + k // 4 + (7 * k) % 5, {"A": "a1" if k % 3 else "a2"}) for k in range(n)]


def test_one_large_label_dominates_a_linear_regression(judged, one, people_by_cell):
    # 60 people have 5 to 23 each; one more with 1,000 has about half of the sum, and nearly all squared residuals.
    entry = {"kind": "ols", "formula": "PAY ~ AGE"}
    assert one(judged(paid(people_by_cell, *spread()), entry), DOMINANCE).status == "pass"
    report = judged(paid(people_by_cell, *spread(), (50, 1000, {})), entry)
    assert one(report, DOMINANCE).status == "fail"
    assert "squared residuals" in one(report, DOMINANCE).sentence
    assert "1000" not in one(report, DOMINANCE).sentence
    few = paid(people_by_cell, *((20 + k, 1, {}) for k in range(30)), (50, 1000, {}))
    words = one(judged(few, entry), DOMINANCE).sentence
    assert "the label's sum and of the score equations of 2 of 2 coefficients" in words
    assert "less than 10% of the largest" in words
    # The side of the fit that a label lies on does not say how large it is.
    assert (
        one(judged(few, {"kind": "quantile-regression", "formula": "PAY ~ AGE"}), DOMINANCE).status
        == "pass"
    )
    assert one(judged(few, entry, policy=Policy(nk_k=1.0, p_ratio=0.0)), DOMINANCE).status == "pass"


def test_a_group_whose_label_one_person_dominates(judged, one, people_by_cell):
    """A regression on groups is a table of means: of a2's twelve people eleven have 1 and one has 300; of all people nobody dominates."""
    rows = (
        [(30, 40 + k % 7, {}) for k in range(40)]
        + [(30, 1, {"A": "a2"})] * 11
        + [(30, 300, {"A": "a2"})]
    )
    found = one(
        judged(paid(people_by_cell, *rows), {"kind": "ols", "formula": "PAY ~ C(A)"}), DOMINANCE
    )
    assert (found.status, found.where) == ("fail", ("C(A)[T.a2]", "the residuals"))


def test_leverage_of_one_person(judged, one, people_by_cell):
    # All are 20 or 21 but one of 99, whose leverage is nearly 1: the line passes through their point.
    rows = [(20 + k % 2, 10 + k % 5, {}) for k in range(40)]
    entry = {"kind": "ols", "formula": "PAY ~ AGE"}
    assert one(judged(paid(people_by_cell, *rows), entry), LEVERAGE).status == "pass"
    assert one(judged(paid(people_by_cell, *rows, (99, 30, {})), entry), LEVERAGE).status == "fail"


@pytest.mark.parametrize("kind", ["logit", "multinomial"])
def test_a_covariate_that_one_person_dominates(judged, one, people_by_cell, kind):
    rows = [(30, k % 3, {"Y": "yes" if k % 2 else "no"}) for k in range(60)]
    entry = {"kind": kind, "formula": "Y ~ PAY", **({"success": "yes"} if kind == "logit" else {})}
    assert one(judged(paid(people_by_cell, *rows), entry), DOMINANCE).status == "pass"
    assert (
        one(judged(paid(people_by_cell, *rows, (30, 1000, {"Y": "yes"})), entry), DOMINANCE).status
        == "fail"
    )


def test_a_label_of_two_numbers_is_one_of_classes(judged, one, people_by_cell):
    """Two of twelve in a2 have the event: a matter of counts, which other rules look at, and not of sums."""
    rows = [(30, k % 2, {}) for k in range(60)] + [(30, int(k < 2), {"A": "a2"}) for k in range(12)]
    assert (
        one(
            judged(paid(people_by_cell, *rows), {"kind": "ols", "formula": "PAY ~ C(A)"}), DOMINANCE
        ).status
        == "pass"
    )
