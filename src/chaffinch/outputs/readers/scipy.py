"""Tests from scipy.stats: the statistic, its degrees of freedom and the p-value of a result, with full precision.

A result knows its numbers and not what was compared: columns are named by whoever reads it, and so is what scipy does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, Unpack

from ..._base.checks import check_name
from ..._base.results import without_none
from .understood import refuse

KINDS_OF = {
    "TtestResult": ("t-test",),
    "F_onewayResult": ("anova",),
    "KruskalResult": ("kruskal-wallis",),
    "MannwhitneyuResult": ("mann-whitney",),
    "WilcoxonResult": ("wilcoxon",),
    "Chi2ContingencyResult": ("chi-square",),
    "PearsonRResult": ("correlation",),
    "SignificanceResult": ("fisher", "spearman", "kendall"),
}
"""The kinds that a class of results may be; where there are several, it is asked which."""
SAME = 1e-6


class ScipyKeys(TypedDict, total=False):
    """Keys of a specification that a result does not have."""

    variable: str | list[str]
    by: list[str]
    groups: Mapping[str, Any]
    paired: str
    welch: bool
    correction: bool
    mu: float
    alternative: Literal["two-sided", "less", "greater"]
    where: str
    n: int


def scipy_test(
    result: Any, *, name: str, kind: str | None = None, **keys: Unpack[ScipyKeys]
) -> dict[str, Any]:
    """Return a result of scipy.stats as an entry of a specification's outputs.

    Read are `ttest_ind`, `ttest_rel`, `ttest_1samp`, `f_oneway`, `kruskal`, `mannwhitneyu`, `wilcoxon`, `chi2_contingency`, `fisher_exact` and
    `pearsonr`. The keys are those of a specification. Nothing is taken of a result but its statistic, degrees of freedom and p-value.

    Raises
    ------
    InputError
        If the result does not say which test it is, or needs a word that only you know: with what was understood.

    Examples
    --------
    >>> from scipy.stats import ttest_ind
    >>> entry = scipy_test(ttest_ind([1.0, 2.0, 4.0], [2.0, 6.0], equal_var=True), name="t", variable="age", by=["sex"], welch=False)
    >>> entry["kind"], entry["dof"], entry["welch"]
    ('t-test', 3.0, False)
    """
    for key in keys:
        check_name("key", key, ScipyKeys.__annotations__)
    test, variable, by = _kind(result, name, kind), keys.get("variable"), keys.get("by")
    is_pair = isinstance(variable, list) and len(variable) == 2
    is_crossed = test in ("chi-square", "fisher")
    refuse(
        name,
        (
            test == "correlation" and not is_pair,
            "is Pearson's correlation of two columns. Name them: variable=[..., ...].",
        ),
        (
            is_crossed and len(by or ()) != 2,
            "is a test of two columns. Name them: by=[..., ...].",
        ),
        (
            test != "correlation" and not is_crossed and not isinstance(variable, str),
            f"is a test of a column ({test}). Name it: variable=...",
        ),
    )
    entry: dict[str, Any] = {"name": name, "kind": test, "of": variable}
    records = {"where": keys.get("where"), "n": keys.get("n")}
    if test == "correlation":
        return without_none({**entry, "value": float(result.statistic), **records})
    entry |= {key: keys.get(key) for key in ("by", "groups", "paired", "mu", "alternative")}
    numbers = {"statistic": float(result.statistic), "p_value": float(result.pvalue)}
    numbers |= _numbers(test, result, name, keys)
    if test == "fisher":  # the statistic is the odds ratio of the counts
        numbers["odds_ratio"] = numbers.pop("statistic")
    elif test == "wilcoxon" and keys.get("alternative", "two-sided") == "two-sided":
        # Two-sided, scipy prints the smaller sum of ranks; otherwise that of positive differences.
        numbers["smaller"] = numbers.pop("statistic")
    return without_none({**entry, **numbers, **records})


def _kind(result: Any, name: str, kind: str | None) -> str:
    cls = type(result).__name__
    kinds = KINDS_OF.get(cls, ("",))
    refuse(
        name,
        (
            cls not in KINDS_OF,
            f"is a {cls}, which is no result that is read. Results: {', '.join(KINDS_OF)}.",
        ),
        (
            kind is None and len(kinds) > 1,
            f'is a {cls}, which several tests of scipy return. Say which it is: kind="{kinds[0]}" for fisher_exact.',
        ),
    )
    check_name("kind", kind, kinds, prefix=f"Output '{name}' is a {cls}. ", optional=True)
    test = kind or kinds[0]
    is_rank = test in ("spearman", "kendall")
    refuse(name, (is_rank, ": there is no kind of output for rank correlations yet."))
    return test


def _numbers(test: str, result: Any, name: str, keys: ScipyKeys) -> dict[str, Any]:
    """What a test has beside its statistic and p-value; InputError for a word that is missing or does not fit these."""
    correction = keys.get("correction")
    is_unknown = correction is None
    refuse(
        name,
        (
            is_unknown and test == "chi-square" and int(result.dof) == 1,
            "is a chi-square test of a table of two by two. Scipy makes Yates's correction there unless told otherwise: say correction=True or correction=False.",
        ),
        (
            is_unknown and test == "wilcoxon",
            "is Wilcoxon's test, which scipy makes without a correction unless told otherwise: say correction=False or correction=True.",
        ),
    )
    if test == "t-test":
        _check_t_test(result, name, keys)
        return {"dof": float(result.df), "welch": keys.get("welch")}
    if test == "chi-square":
        return {"dof": int(result.dof), "correction": correction or None}
    # Of Mann and Whitney's test scipy corrects for continuity unless told otherwise, as the kind does.
    corrected = {"correction": correction} if test in ("wilcoxon", "mann-whitney") else {}
    return {"conditional": False} if test == "fisher" else corrected


def _check_t_test(result: Any, name: str, keys: ScipyKeys) -> None:
    """Degrees of freedom that are not whole are Welch's; whole ones are of a pooled test, of pairs or of one sample, unless groups are of one size and spread."""
    from scipy.stats import t as student

    by, dof, statistic = keys.get("by"), float(result.df), float(result.statistic)
    is_whole = abs(dof - round(dof)) <= SAME
    by_form = (
        "they are whole, as those of a pooled test are"
        if is_whole
        else "they are not whole, as Welch's are"
    )
    p_values = {
        "two-sided": 2.0 * student.sf(abs(statistic), dof),
        "less": student.cdf(statistic, dof),
        "greater": student.sf(statistic, dof),
    }
    alternative = keys.get("alternative", "two-sided")
    refuse(
        name,
        (
            by and keys.get("welch") is None,
            f"is a t test between groups of '{(by or [''])[0]}'. Of its degrees of freedom {by_form}; say it: welch=True or welch=False (equal_var=True).",
        ),
        (
            keys.get("welch") is not True and not is_whole,
            ": its degrees of freedom are not whole, so it is Welch's test between two groups: by=[...], welch=True.",
        ),
        (
            abs(float(p_values[alternative]) - float(result.pvalue)) > SAME,
            f': its p-value is not that of alternative="{alternative}". Say which it is.',
        ),
    )
