"""A fitted model as printed, whatever program printed it: what it says of columns, and what the rules say without records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...._base.errors import InputError
from ...._base.results import without_none
from ...domain import Fields
from ...filters import read_filter
from ...kinds import KINDS
from ...rules.counts import degrees_of_freedom
from ...rules.findings import Finding, finding
from ...rules.policy import Policy
from ..acro.regressions import coefficient_columns, rebuilt_formula
from .printed_table import unlooked

INTERCEPT = "Intercept"
NEEDS_RECORDS = (
    "Who is behind each coefficient does not show in the file: small groups, covariate patterns and perfect prediction can be looked at with "
    "the records alone. Name them: --data."
)
_FACTOR = re.compile(r"\b(?:as\.)?(?:factor|ordered)\(\s*`?([\w.]+)`?\s*\)")
_CONSTANTS = ("(Intercept)", "_cons", "const", "Constant", "(Constant)", INTERCEPT)


def n_rule(name: str, kind: str, n: int, policy: Policy) -> Finding:
    """Return whether fewer people than the threshold are behind an output that says how many they are."""
    where = ["n"] if 0 < n < policy.threshold else []
    good = f"It is of {policy.threshold} people or more."
    return finding(
        name,
        kind,
        "threshold",
        where,
        of=1,
        good=good,
        bad=f"It is of fewer than {policy.threshold} people.",
    )


def patsy_formula(formula: str) -> str:
    """Return a formula of R as files of outputs have it.

    Examples
    --------
    >>> patsy_formula("y ~ factor(area) + I(age^2) + `a b`")
    "y ~ C(area) + I(age**2) + Q('a b')"
    """
    text = re.sub(r"\s+", " ", _FACTOR.sub(lambda match: f"C({match[1]})", formula)).strip()
    return re.sub(r"`([^`']+)`", r"Q('\1')", text).replace("^", "**")


def patsy_name(name: str, columns: Mapping[str, tuple[str, ...]]) -> str:
    """Return a coefficient's name as patsy prints it; `columns` are the levels of columns of words, by name.

    Examples
    --------
    >>> words = {"area": ("north", "south")}
    >>> [patsy_name(name, words) for name in ("(Intercept)", "factor(sex)2:age", "areasouth", "2.sex", "_cons")]
    ['Intercept', 'C(sex)[T.2]:age', 'area[T.south]', 'C(sex)[T.2]', 'Intercept']
    """
    if name in _CONSTANTS:
        return INTERCEPT
    return ":".join(
        _patsy_part(part.strip(), columns) for part in re.split(r":|(?<=\w)#(?=[\w.])| × ", name)
    )


def _patsy_part(part: str, columns: Mapping[str, tuple[str, ...]]) -> str:
    if match := re.fullmatch(rf"{_FACTOR.pattern}\s*(\S.*)", part):
        return f"C({match[1]})[T.{match[2].strip()}]"
    if match := re.fullmatch(r"(\d+)b?\.(\w+)", part):
        return f"C({match[2]})[T.{match[1]}]"
    if match := re.fullmatch(r"c\.(\w+)", part):
        return match[1]
    for column, levels in columns.items():
        if part.startswith(column) and part[len(column) :].strip(" =") in levels:
            return f"{column}[T.{part[len(column) :].strip(' =')}]"
    return part.replace("^", "**")


@dataclass(frozen=True)
class PrintedFit:
    """A model: its coefficients and standard errors by the names that the program gave them, as printed.

    `formula` is that of the program, None where it is not printed; `label` the dependent variable. `n` and `dof` (residual) are None where the file
    does not tell. `extremes`: whether the least and largest residual are shown. `robust`: whether standard errors are not the usual ones.
    `exponentiated`: whether coefficients are odds ratios and the like. `columns` renames: from what is printed to what the data have. `unsaid`: why the
    records behind it cannot be told, if so. `extra` are keys that its kind alone has. `left_out`: how many records were left
    out, where the file says so.
    """

    kind: str
    label: str | None = None
    formula: str | None = None
    coefficients: Mapping[str, str] = field(default_factory=dict, repr=False)
    standard_errors: Mapping[str, str] = field(default_factory=dict, repr=False)
    n: int | None = None
    dof: int | None = None
    loglik: str | None = None
    success: Any = None
    family: str | None = None
    link: str | None = None
    where: str | None = None
    extremes: bool = False
    robust: bool = False
    exponentiated: bool = False
    columns: Mapping[str, str] = field(default_factory=dict, repr=False)
    unsaid: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    left_out: int | None = None

    @property
    def understood(self) -> str:
        """What was understood, in a sentence."""
        what = KINDS[self.kind].sentence if self.kind in KINDS else self.kind
        of = f" of '{self.label}'" if self.label else ""
        terms = (
            f", {len(self.coefficients)} coefficients"
            if self.coefficients
            else ", without coefficients"
        )
        ratios = " as ratios (exponentiated)" if self.exponentiated else ""
        n = (
            ", with n"
            if self.n is not None
            else ", with residual degrees of freedom"
            if self.dof is not None
            else ", without n"
        )
        errors = (
            ", without standard errors"
            if self.coefficients and (self.robust or not self.standard_errors)
            else ""
        )
        formula = "" if self.formula else "; its formula is not printed"
        return f"{self.kind}: {what}{of}{terms}{ratios}{errors}{n}{formula}."

    def beside(self, name: str, policy: Policy) -> list[Finding]:
        """Return that the least and the largest residual are those of single people, and that few were left out, where these are shown."""
        few = []
        if self.left_out is not None and 0 < self.left_out < policy.threshold:
            words = f"It says how many records were left out for missing values: fewer than {policy.threshold}."
            few = [
                finding(
                    name,
                    self.kind,
                    "records left out",
                    ["left out"],
                    of=1,
                    good="",
                    bad=words,
                    status="review",
                )
            ]
        if not self.extremes:
            return few
        words = "The least and the largest residual are shown: each is that of one person."
        return [
            *few,
            finding(
                name,
                self.kind,
                "extremes of residuals",
                ["least", "largest"],
                of=2,
                good="",
                bad=words,
                status="review",
            ),
        ]

    def findings(self, name: str, policy: Policy) -> list[Finding]:
        """Return what n and degrees of freedom say; that the rest needs the records."""
        findings = [] if self.n is None else [n_rule(name, self.kind, self.n, policy)]
        dof = (
            self.dof
            if self.dof is not None or self.n is None or not self.coefficients
            else self.n - len(self.coefficients)
        )
        rule = "residual degrees of freedom"
        if dof is None:
            findings.append(
                unlooked(
                    name,
                    self.kind,
                    rule,
                    "The file does not say how many people the model was fitted to. Write n = ...",
                )
            )
        else:
            findings.append(degrees_of_freedom(name, self.kind, dof, policy))
        return [
            *findings,
            unlooked(name, self.kind, "small group behind a coefficient", NEEDS_RECORDS),
            *self.beside(name, policy),
        ]

    def entries(self, name: str, fields: Fields) -> list[dict[str, Any]]:
        """Return the model's entry; its formula is put together from the names of coefficients where the printed one is absent or has others."""
        from ...document import recipes_of

        if self.unsaid:
            raise InputError(self.unsaid)
        words = {one.name: one.labels for one in fields if not one.numeric}
        names = {
            mine: patsy_name(self.columns.get(mine, mine), words) for mine in self.coefficients
        }
        label, success = _label(self.columns.get(self.label or "", self.label), self.success)
        entry: dict[str, Any] = {
            "name": name,
            "kind": self.kind,
            **without_none({"where": self.where, "n": self.n, "success": success}),
        }
        entry |= dict(self.extra)
        entry |= (
            without_none({"family": self.family, "link": self.link}) if self.kind == "glm" else {}
        )
        if not self.coefficients:
            if self.formula is None:
                raise InputError(
                    'it has no coefficients, and no formula: write formula = "LABEL ~ ..."'
                )
            return [
                {
                    **entry,
                    "formula": _with_label(patsy_formula(self.formula), label),
                    **({"n": True} if self.n is not None else {}),
                }
            ]
        numbers: dict[str, Any] = {
            "coefficients": {names[mine]: text for mine, text in self.coefficients.items()}
        }
        if self.standard_errors and not self.robust:
            numbers["standard_errors"] = {
                names[mine]: text for mine, text in self.standard_errors.items() if mine in names
            }
        if self.loglik is not None:
            numbers["loglik"] = self.loglik
        if (
            self.exponentiated
        ):  # ratios are not what an entry holds: what lies behind them is looked at all the same
            numbers = {}
        faults: list[InputError] = []
        if self.formula is not None:
            written = {
                **entry,
                **numbers,
                "formula": _with_label(patsy_formula(self.formula), label),
            }
            try:
                recipes_of([_recipe(written)], fields)
                return [_recipe(written)]
            except InputError as error:
                if self.extra:
                    raise
                faults.append(error)
        if label is None:
            raise InputError('it does not say what it is a model of: write formula = "LABEL ~ ..."')
        try:
            formula, renamed = rebuilt_formula(
                label, list(names.values()), fields, read_filter(self.where, fields, output=name)
            )
        except InputError as error:
            raise (faults or [error])[0] from None
        for key in ("coefficients", "standard_errors"):
            if key in numbers:
                numbers[key] = {
                    renamed.get(mine, mine): text for mine, text in numbers[key].items()
                }
        return [_recipe({**entry, **numbers, "formula": formula})]

    @property
    def people(self) -> int | None:
        """Its n."""
        return self.n

    @property
    def variables(self) -> list[str]:
        """The names that stand in its formula or its coefficients."""
        text = (
            patsy_formula(self.formula)
            if self.formula
            else " ".join(coefficient_columns([patsy_name(one, {}) for one in self.coefficients]))
        )
        return [
            *re.findall(
                r"[^\W\d][\w.]*",
                f"{text} {self.label or ''} {self.where or ''} {self.extra.get('event', '')}",
            ),
            *self.columns.values(),
        ]


def _recipe(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry that may be without numbers: n is then announced."""
    return entry if "coefficients" in entry or "n" not in entry else {**entry, "n": True}


def _label(label: str | None, success: Any) -> tuple[str | None, Any]:
    """The label's column, and the level that counts as 1 where it is written as a comparison (y == 1)."""
    if label is None:
        return None, success
    match = re.fullmatch(r"I?\(?\s*([\w.]+)\s*==\s*(['\"]?)([^'\"()]+)\2\s*\)?", label.strip())
    if match is None:
        return label.strip(), success
    level: Any = match[3].strip()
    return match[1], int(level) if not match[2] and level.isdigit() else level


def _with_label(formula: str, label: str | None) -> str:
    return (
        formula
        if label is None or "~" not in formula
        else f"{label} ~ {formula.split('~', 1)[1].strip()}"
    )
