"""What a frontier is asked: the attack, the purposes, the limits, and how long to search. Nothing heavy is imported here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..._base.checks import check_name
from ..._base.errors import InputError, join_names
from ..._base.masking import THRESHOLD
from ..._base.options import MEASURE, PRIVACY, RUN, Declared, Option
from ...risk.settings import AttackerNames, Limits, Resamples, RiskSettings
from ...table.settings import (
    KeyColumns,
    LabelColumn,
    Reading,
    Roles,
    SensitiveColumns,
    Threshold,
)
from ...utility.settings import Formula

if TYPE_CHECKING:
    from ...table import Schema

Choosing = Literal["data", "public", "private", "none"]
"""What chooses: figures taken from the original, a public rule, a private selection, or nobody."""

HEADLINE = ("tvd_2", "phi_k", "tvd_3", "pmse")
"""The measures of worth where no purpose is named."""

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def minutes(text: str) -> float:
    """Return a time in seconds: 90s, 10min, 1h; a plain number is seconds.

    Examples
    --------
    >>> minutes("10min"), minutes("90s"), minutes("1.5h"), minutes("30")
    (600.0, 90.0, 5400.0, 30.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)?\s*", text)
    if match is None:
        raise InputError(f"A time is a number with {join_names(UNITS)}, as 10min. Got '{text}'.")
    return float(match[1]) * UNITS[match[2] or "s"]


def budgets_in(text: str) -> tuple[float | None, ...]:
    """Return budgets of guarantees, None for no guarantee.

    Examples
    --------
    >>> budgets_in("none,10,3")
    (None, 10.0, 3.0)
    """
    budgets: list[float | None] = []
    for word in text.split(","):
        try:
            budgets.append(None if word.strip() == "none" else float(word))
        except ValueError:
            raise InputError(
                f"An epsilon must be a number above 0, or none. Got '{word}'. Write --epsilons none,10,3,1."
            ) from None
    return tuple(dict.fromkeys(budgets))


@dataclass(frozen=True, kw_only=True)
class FrontierSettings(Declared):
    """What is searched, for whom, and how long.

    The purposes are a label to learn, a regression to fit, and tables to publish; without any, the headline measures. A choice by the figures of the search ("data") is covered by no
    guarantee of privacy, and epsilons are therefore refused with it. The same number of evaluations and seed give the same result.
    """

    keys: KeyColumns
    sensitive: SensitiveColumns
    label: LabelColumn = None
    formula: Formula = None
    tables: Annotated[
        tuple[tuple[str, ...], ...],
        Option("A purpose: tables that are wanted, as A,B;C,D,E.", panel=MEASURE),
    ] = ()
    worth: Annotated[
        str | None,
        Option(
            "Purpose to choose by, of several: accuracy, regression, tables, or tvd_2, phi_k, tvd_3, pmse.",
            panel=MEASURE,
        ),
    ] = None
    limits: Limits = field(default_factory=Limits)
    epsilons: Annotated[
        tuple[float | None, ...],
        Option(
            "Budgets of guarantees to try, as none,10,3,1; they need a schema that declares the domain.",
            panel=PRIVACY,
            metavar="BUDGETS",
            read=budgets_in,
            write=lambda budgets: ",".join(
                "none" if budget is None else f"{budget:g}" for budget in budgets
            ),
        ),
    ] = (None,)
    choose: Annotated[
        Choosing | None,
        Option(
            "With epsilons: public (largest epsilon, defaults; no figure is looked at), private (charged), or none (release nothing).",
            panel=PRIVACY,
        ),
    ] = None
    budget: Annotated[
        float | None,
        Option(
            "Time to search, as 10min, 90s or 1h.",
            basic=True,
            panel=RUN,
            gt=0,
            metavar="TIME",
            unit="seconds",
            read=minutes,
            write=lambda seconds: f"{seconds:g}s",
        ),
    ] = None
    evaluations: Annotated[
        int | None,
        Option(
            "Settings to try: same number and seed, same files. Default: 24 without a budget.",
            panel=RUN,
            ge=1,
        ),
    ] = None
    attackers: AttackerNames = None
    resamples: Resamples = 200
    confirm_share: Annotated[
        float,
        Option(
            "Share of people who are set aside to confirm the choice.",
            panel=MEASURE,
            ge=0.1,
            le=0.9,
        ),
    ] = 0.5
    shadows: Annotated[
        int, Option("Fits for the membership attack that max_auc asks for.", panel=MEASURE, ge=2)
    ] = 60
    explain: Annotated[
        bool,
        Option(
            "Which setting moves what near the choice: measured unless turned off.",
            flag="--no-explain",
        ),
    ] = True
    reading: Reading = field(default_factory=Reading)
    roles: Roles = field(default_factory=Roles)
    threshold: Threshold = THRESHOLD

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilons", tuple(self.epsilons))
        if self.budget is not None and self.evaluations is not None:
            raise InputError(
                "A search has a budget of time or a number of evaluations. Got both: leave out one."
            )
        if not self.epsilons:
            raise InputError("Name at least one epsilon, or none for no promise.")
        for epsilon in self.epsilons:
            if epsilon is not None and not (isfinite(epsilon) and epsilon > 0):
                raise InputError(f"An epsilon must be a number above 0, or none. Got {epsilon:g}.")
        check_name("worth", self.worth, self.worths, optional=True)
        self._check_choice()
        _ = self.attack

    def _check_choice(self) -> None:
        if not self.private:
            if self.choose in ("public", "private"):
                raise InputError(
                    f"--choose {self.choose} is about promises of privacy: name --epsilons too, or leave it out."
                )
            return
        if self.choose is None:
            raise InputError(
                "A frontier's figures are taken from the original, and no promise of privacy covers a choice by them. With --epsilons say how to choose: "
                "--choose public (the largest epsilon named, with the method's own defaults: no figure is looked at), --choose private (charged to the budget), or "
                "--choose none (draw the frontier and release nothing)."
            )
        if self.choose == "data":
            raise InputError(
                "A choice by figures of the original voids a promise of privacy: leave out --epsilons, or choose public, private or none."
            )
        if self.choose in ("public", "private") and None in self.epsilons:
            raise InputError(
                f"--choose {self.choose} spends the largest epsilon that is named, and 'none' is no epsilon: leave it out."
            )

    @property
    def private(self) -> bool:
        """Whether a promise is among what is tried."""
        return any(epsilon is not None for epsilon in self.epsilons)

    @property
    def worths(self) -> tuple[str, ...]:
        """The purposes by name, the one that settings are chosen by first."""
        purposes = [
            name
            for name, given in (
                ("accuracy", self.label),
                ("regression", self.formula),
                ("tables", self.tables),
            )
            if given
        ]
        names = purposes or list(HEADLINE)
        first = [self.worth] if self.worth in names else []
        return (
            tuple(dict.fromkeys([*first, *names])) if self.worth is None or first else tuple(names)
        )

    @property
    def attack(self) -> RiskSettings:
        """The battery of the search."""
        return self.attack_without(())

    def attack_without(self, dropped: Sequence[str]) -> RiskSettings:
        """Return the battery for a table that lacks some columns: nobody attacks with a key that was not released, or one that is not in it."""
        keys = tuple(name for name in self.keys if name not in dropped)
        sensitive = tuple(name for name in self.sensitive if name not in dropped)
        return RiskSettings(
            keys=keys,
            sensitive=sensitive,
            label=self.label,
            attackers=self.attackers,
            resamples=self.resamples,
            threshold=self.threshold,
        )

    def check(self, schema: Schema) -> None:
        """Raise unless the schema has the columns that are named, and the purposes make sense."""
        self.attack.check(schema)
        from ...table.formula import formula_of

        if self.formula is not None:
            formula_of(self.formula, schema)
        for name in {name for table in self.tables for name in table}:
            check_name("column of a table", name, schema.names)
        if self.label is not None and self.label in self.sensitive:
            raise InputError(
                f"Column '{self.label}' cannot be both the label and sensitive. Name another label."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return what figures of the search depend on, as plain data: a folder is resumed only where all of it is the same."""
        return {
            "keys": list(self.keys),
            "sensitive": list(self.sensitive),
            "label": self.label,
            "formula": self.formula,
            "tables": [list(t) for t in self.tables],
            "worths": sorted(self.worths),
            "max_auc": self.limits.max_auc is not None,
            "attackers": None if self.attackers is None else list(self.attackers),
            "resamples": self.resamples,
            "share": self.confirm_share,
            "shadows": self.shadows,
            "threshold": self.threshold,
        }
