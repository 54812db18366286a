"""What a study of attacks holds: each attack between its references, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._base.html import html_table
from ..._base.masking import SHOWN_FROM, about
from ...stats.excess import NO_HOLDOUT, Excess
from ...stats.family import Family
from .attackers import LEARNERS
from .guess import By

__all__ = ["Attack", "RiskStudy", "mean_of"]

FEW = f"It is about fewer than {SHOWN_FROM} people, so its value does not leave."


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One attack with one set of keys on one sensitive column, between its references.

    All values are shares, 0 to 1, and lower is safer.

    Parameters
    ----------
    value, interval
        Of the original's people, attacked from the synthetic table; mean over tables where there are several.
    guess, guess_by
        What somebody without keys scores on the same people, counted as the attack counts: with the one best "value" for all, or where
        the attack draws with a "draw" from their distribution (`guess.py`). None where nobody counts.
    holdout, original, marginals_only, label_only
        The same attack on the holdout's people; and on the original's people from the original itself, from independent columns, and
        from a table in which the sensitive columns know the label alone.
    excess
        How much more the attack tells about members, with its interval and p-value; None without a holdout.
    """

    measure: str
    convention: str
    keys: tuple[str, ...]
    sensitive: str
    value: float | None
    interval: tuple[float, float] | None = None
    guess: float | None
    guess_by: By
    holdout: float | None = None
    original: float | None = None
    marginals_only: float | None = None
    label_only: float | None = None
    excess: Excess | None = None
    excess_interval: tuple[float, float] | None = None
    p_family: float | None = None
    lower_bound: float | None = None
    n_records: int = 0
    n_matched: int | None = None
    why_not: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the attack as plain data; counts of people are masked."""
        found = self.excess
        reason = self.why_not or (NO_HOLDOUT if found is None else found.why_not)
        people = self.n_matched if self.measure in ("cap", "tcap") else None
        if self.measure == "disco" and self.value is not None:
            people = round(self.value * self.n_records)
        if people is not None and 0 < people < SHOWN_FROM:  # a ratio over a handful of people tells their number
            about_few = self.measure in ("cap", "tcap")  # the guess is about the same people; DiSCO's is about all
            hidden = replace(
                self, value=None, interval=None, guess=None if about_few else self.guess, excess=None,
                excess_interval=None, n_matched=None, holdout=None,
            )  # fmt: skip
            return {**hidden.to_dict(), "n_matched": about(self.n_matched or 0), "reason": FEW}
        return {
            "measure": self.measure,
            "convention": self.convention,
            "keys": list(self.keys),
            "sensitive": self.sensitive,
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "direction": "lower is safer",
            "guess": self.guess,
            "guess_by": self.guess_by,
            "holdout": self.holdout,
            "original": self.original,
            "marginals_only": self.marginals_only,
            "label_only": self.label_only,
            "excess": None if found is None else found.value,
            "excess_interval": None if self.excess_interval is None else list(self.excess_interval),
            "p_value": None if found is None else found.p_value,
            "p_family": self.p_family,
            "lower_bound": self.lower_bound,
            "detectable": None if found is None else found.detectable,
            "n_records": about(self.n_records),
            "n_matched": None if self.n_matched is None else about(self.n_matched),
            "reason": reason or None,
        }


@dataclass(frozen=True, kw_only=True)
class RiskStudy:
    """What attacks on a synthetic table found.

    `attacks`, and `together` (one p-value and bounds for all of them); `exposure`, what may leave of who is exposed; and
    `confidential`, what may not: the risk of each record and the classes that carry it, for `inside()`.
    """

    attacks: tuple[Attack, ...]
    together: Family | None
    about: Mapping[str, Any]
    exposure: Mapping[str, Any] = field(default_factory=dict)
    confidential: Mapping[str, Any] = field(default_factory=dict, repr=False)
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def lower_bound(self) -> float | None:
        """The simultaneous lower bound of the largest excess; None without a holdout."""
        return None if self.together is None else self.together.lower_bound

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data: `chaffinch-risk`, version 1."""
        return {
            "format": "chaffinch-risk",
            "version": 1,
            "about": dict(self.about),
            "attacks": [attack.to_dict() for attack in self.attacks],
            "family": _family(self.together),
            "by_measure": list(self._by_measure()),
            "by_attacker": list(self._by_attacker()),
            **self.exposure,
            "run": {"seconds": {step: round(s, 3) for step, s in self.seconds.items()}} if self.seconds else {},
        }

    def inside(self) -> dict[str, Any]:
        """Return what is for the steward's eyes alone."""
        return {"confidential": True, "format": "chaffinch-inside", "version": 1, **self.confidential}

    def _by_measure(self) -> list[dict[str, Any]]:
        """Return mean and maximum over key sets for each sensitive column and measure."""
        out = []
        for sensitive, measure in dict.fromkeys((a.sensitive, a.measure) for a in self.attacks):
            held = [a for a in self.attacks if (a.sensitive, a.measure) == (sensitive, measure) and a.value is not None]
            if not held:
                continue
            top = max(held, key=lambda a: a.value or 0.0)
            values = [a.value for a in held if a.value is not None]
            excesses = [a.excess.value for a in held if a.excess is not None and a.excess.value is not None]
            out.append(
                {
                    "sensitive": sensitive,
                    "measure": measure,
                    "key_sets": len(held),
                    "mean": float(np.mean(values)),
                    "maximum": top.value,
                    "maximum_keys": list(top.keys),
                    "mean_excess": float(np.mean(excesses)) if excesses else None,
                    "maximum_excess": max(excesses, default=None),
                }
            )
        return out

    def _by_attacker(self) -> list[dict[str, Any]]:
        """Return mean and maximum over attackers that say a value (the vote and those that learn), by keys and sensitive."""
        guessing = {"gcap_vote", *LEARNERS}
        out = []
        for sensitive, keys in dict.fromkeys((a.sensitive, a.keys) for a in self.attacks):
            held = [
                a
                for a in self.attacks
                if (a.sensitive, a.keys) == (sensitive, keys) and a.measure in guessing and a.value is not None
            ]
            if len(held) > 1:
                out.append(
                    {
                        "sensitive": sensitive,
                        "keys": list(keys),
                        "attackers": [a.measure for a in held],
                        **{side: mean_of([getattr(a, side) for a in held]) for side in _SIDES},
                        "maximum": max(a.value or 0.0 for a in held),
                        "maximum_attacker": max(held, key=lambda a: a.value or 0.0).measure,
                    }
                )
        return out

    def __repr__(self) -> str:
        bound = "no holdout" if self.lower_bound is None else f"some excess above {self.lower_bound:.3g}"
        return f"RiskStudy({len(self.attacks)} attacks, {bound})"

    def _repr_html_(self) -> str:
        head = ["measure", "keys", "sensitive", "value", "guess", "holdout", "original", "excess", "p"]
        rows = []
        for a in self.attacks:
            found = a.excess
            shown = (a.value, a.guess, a.holdout, a.original, found and found.value, found and found.p_value)
            cells = ["" if v is None else f"{v:.3g}" for v in shown]
            rows.append([a.measure, ", ".join(a.keys), a.sensitive, *cells])
        return html_table(head, rows)


_SIDES = ("value", "guess", "holdout", "original", "marginals_only", "label_only")


def mean_of(values: Sequence[float | None]) -> float | None:
    held = [value for value in values if value is not None]
    return float(np.mean(held)) if len(held) == len(values) and held else None


def _family(together: Family | None) -> dict[str, Any]:
    return {"p_value": None, "lower_bound": None, "reason": NO_HOLDOUT} if together is None else together.to_dict()
