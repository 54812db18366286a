"""Tests from scipy.stats: the statistic, its degrees of freedom and the p-value of a result, with full precision.

A result knows its numbers and not what was compared: columns are named by whoever reads it, and so is what scipy does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, Unpack

from ..._base.checks import check_name
from ..._base.errors import InputError
from ..._base.results import without_none

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

    of: str | list[str]
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
    >>> entry = scipy_test(ttest_ind([1.0, 2.0, 4.0], [2.0, 6.0], equal_var=True), name="t", of="age", by=["sex"], welch=False)
    >>> entry["kind"], entry["dof"], entry["welch"]
    ('t-test', 3.0, False)
    """
    for key in keys:
        check_name("key", key, ScipyKeys.__annotations__)
    found, of, by = _kind(result, name, kind), keys.get("of"), keys.get("by")
    entry: dict[str, Any] = {"name": name, "kind": found}
    if found == "correlation":
        if not isinstance(of, list) or len(of) != 2:
            raise InputError(
                f"Output '{name}' is Pearson's correlation of two columns. Name them: of=[..., ...]."
            )
        return {**entry, "of": of, "value": float(result.statistic), **_beside(keys)}
    if found in ("chi-square", "fisher"):
        if not by or len(by) != 2:
            raise InputError(f"Output '{name}' is a test of two columns. Name them: by=[..., ...].")
    elif not isinstance(of, str):
        raise InputError(f"Output '{name}' is a test of a column ({found}). Name it: of=...")
    numbers: dict[str, Any] = {
        "statistic": float(result.statistic),
        "p_value": float(result.pvalue),
    }
    more = {key: keys.get(key) for key in ("of", "by", "groups", "paired", "mu", "alternative")}
    more |= _TESTS[found](result, name, numbers, keys) if found in _TESTS else {}
    return {**entry, **without_none(more), **numbers, **_beside(keys)}


def _beside(keys: ScipyKeys) -> dict[str, Any]:
    return without_none({"where": keys.get("where"), "n": keys.get("n")})


def _kind(result: Any, name: str, kind: str | None) -> str:
    cls = type(result).__name__
    if cls not in KINDS_OF:
        raise InputError(
            f"Output '{name}' is a {cls}, which is no result that is read. Results: {', '.join(KINDS_OF)}."
        )
    kinds = KINDS_OF[cls]
    if kind is None and len(kinds) > 1:
        raise InputError(
            f"Output '{name}' is a {cls}, which several tests of scipy return. Say which it is: kind=\"{kinds[0]}\" for fisher_exact."
        )
    check_name("kind", kind, kinds, prefix=f"Output '{name}' is a {cls}. ", optional=True)
    found = kind or kinds[0]
    if found in ("spearman", "kendall"):
        raise InputError(f"Output '{name}': there is no kind of output for rank correlations yet.")
    return found


def _t_test(result: Any, name: str, numbers: dict[str, Any], said: ScipyKeys) -> dict[str, Any]:
    """Degrees of freedom that are not whole are Welch's; whole ones are of a pooled test, of pairs or of one sample, unless groups are of one size and spread."""
    from scipy.stats import t as student

    numbers["dof"] = dof = float(result.df)
    if said.get("by") and said.get("welch") is None:
        guess = (
            "they are not whole, as Welch's are"
            if abs(dof - round(dof)) > SAME
            else "they are whole, as those of a pooled test are"
        )
        raise InputError(
            f"Output '{name}' is a t test between groups of '{said['by'][0]}'. Of its degrees of freedom {guess}; say it: welch=True or welch=False (equal_var=True)."
        )
    if said.get("welch") is not True and abs(dof - round(dof)) > SAME:
        raise InputError(
            f"Output '{name}': its degrees of freedom are not whole, so it is Welch's test between two groups: by=[...], welch=True."
        )
    t = numbers["statistic"]
    wanted = {
        "two-sided": 2.0 * student.sf(abs(t), dof),
        "less": student.cdf(t, dof),
        "greater": student.sf(t, dof),
    }
    alternative = said.get("alternative", "two-sided")
    if abs(float(wanted[alternative]) - numbers["p_value"]) > SAME:
        raise InputError(
            f"Output '{name}': its p-value is not that of alternative=\"{alternative}\". Say which it is."
        )
    return {"welch": said.get("welch")}


def _chi_square(result: Any, name: str, numbers: dict[str, Any], said: ScipyKeys) -> dict[str, Any]:
    """In tables of two by two scipy makes Yates's correction unless told otherwise."""
    numbers["dof"] = int(result.dof)
    if int(result.dof) == 1 and said.get("correction") is None:
        raise InputError(
            f"Output '{name}' is a chi-square test of a table of two by two. Scipy makes Yates's correction there unless told otherwise: say correction=True or correction=False."
        )
    return {"correction": said.get("correction") or None}


def _fisher(result: Any, name: str, numbers: dict[str, Any], said: ScipyKeys) -> dict[str, Any]:
    """The statistic is the odds ratio of the counts."""
    numbers["odds_ratio"] = numbers.pop("statistic")
    return {"conditional": False}


def _wilcoxon(result: Any, name: str, numbers: dict[str, Any], said: ScipyKeys) -> dict[str, Any]:
    """Two-sided, scipy prints the smaller sum of ranks; otherwise that of positive differences."""
    if said.get("correction") is None:
        raise InputError(
            f"Output '{name}' is Wilcoxon's test, which scipy makes without a correction unless told otherwise: say correction=False or correction=True."
        )
    if said.get("alternative", "two-sided") == "two-sided":
        numbers["smaller"] = numbers.pop("statistic")
    return {"correction": said.get("correction")}


def _mann_whitney(
    result: Any, name: str, numbers: dict[str, Any], said: ScipyKeys
) -> dict[str, Any]:
    """Scipy corrects for continuity unless told otherwise, as the kind does."""
    return {"correction": said.get("correction")}


_TESTS = {
    "t-test": _t_test,
    "chi-square": _chi_square,
    "fisher": _fisher,
    "wilcoxon": _wilcoxon,
    "mann-whitney": _mann_whitney,
}
