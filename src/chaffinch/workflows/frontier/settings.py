"""What a frontier is asked: the attack, the purposes, the limits, and how long to search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, get_args

from ..._base.checks import check_at_least, check_between, check_name
from ..._base.errors import InputError, listed
from ..._base.masking import THRESHOLD
from ...report.frontier_result import Limits
from ...risk import RiskSettings
from ...table import Schema
from ...table.formula import formula_of

Choosing = Literal["data", "public", "private", "none"]
CHOICES = get_args(Choosing)
"""What chooses: figures taken from the original, a public rule, a private selection, or nobody."""

HEADLINE = ("tvd_2", "phi_k", "tvd_3", "pmse")
"""The measures of worth where no purpose is named."""

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, kw_only=True)
class FrontierSettings:
    """What is searched, for whom, and how long.

    Parameters
    ----------
    keys, sensitive
        What an outsider knows of a person and wants: the attack.
    label, formula, tables
        The purposes: a label to learn, a regression to fit, tables to publish (sets of columns). Without any, the headline measures.
    worth
        The purpose that settings are chosen by: "accuracy", "regression", "tables" or a headline measure; the first there is unless named.
    limits
        What may be given away.
    epsilons
        Budgets of promises to try, None for no promise.
    choose
        How the release is chosen: by the figures of the search ("data"), which no promise covers and which epsilons are therefore refused with; by a rule
        that looks at no figure ("public"); by a private selection that is charged ("private"); or not at all ("none").
    seconds, evaluations
        How long to search: a time, or a number of settings. The same number and seed give the same result.
    attackers, resamples
        The battery of the search: see `RiskSettings`.
    share
        The share of people who are set aside to confirm the choice.
    shadows
        Fits for the membership attack, where `max_auc` asks for it.
    explain
        Whether to measure which setting moves what between the choice and its neighbours: a few evaluations more.
    """

    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    label: str | None = None
    formula: str | None = None
    tables: tuple[tuple[str, ...], ...] = ()
    worth: str | None = None
    limits: Limits = field(default_factory=Limits)
    epsilons: tuple[float | None, ...] = (None,)
    choose: Choosing | None = None
    seconds: float | None = None
    evaluations: int | None = None
    attackers: tuple[str, ...] | None = None
    resamples: int = 200
    share: float = 0.5
    shadows: int = 60
    explain: bool = True
    threshold: int = THRESHOLD

    def __post_init__(self) -> None:
        if self.seconds is not None and self.evaluations is not None:
            raise InputError(
                "A search has a budget of time or a number of evaluations. Got both: leave out one."
            )
        if self.seconds is not None and not (isfinite(self.seconds) and self.seconds > 0):
            raise InputError(
                f"The budget must be a time above zero, as 10min. Got {self.seconds:g} s."
            )
        check_at_least("evaluations", self.evaluations, 1, optional=True)
        check_between("share", self.share, 0.1, 0.9)
        if not self.epsilons:
            raise InputError("Name at least one epsilon, or none for no promise.")
        for epsilon in self.epsilons:
            if epsilon is not None and not (isfinite(epsilon) and epsilon > 0):
                raise InputError(f"An epsilon must be a number above 0, or none. Got {epsilon:g}.")
        check_name("worth", self.worth, self.worths, optional=True)
        self._check_choice()
        _ = self.attack

    def _check_choice(self) -> None:
        check_name("way to choose", self.choose, CHOICES, optional=True)
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
        own = [
            name
            for name, given in (
                ("accuracy", self.label),
                ("regression", self.formula),
                ("tables", self.tables),
            )
            if given
        ]
        every = own or list(HEADLINE)
        first = [self.worth] if self.worth in every else []
        return (
            tuple(dict.fromkeys([*first, *every])) if self.worth is None or first else tuple(every)
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
            "share": self.share,
            "shadows": self.shadows,
            "threshold": self.threshold,
        }


def minutes(text: str) -> float:
    """Return a time in seconds: 90s, 10min, 1h; a plain number is seconds.

    Examples
    --------
    >>> minutes("10min"), minutes("90s"), minutes("1.5h"), minutes("30")
    (600.0, 90.0, 5400.0, 30.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)?\s*", text)
    if match is None:
        raise InputError(f"A time is a number with {listed(UNITS)}, as 10min. Got '{text}'.")
    return float(match[1]) * UNITS[match[2] or "s"]
