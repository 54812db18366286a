"""Roles that columns may have, by their names: suggested with a reason, never assumed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .schema import NUMERIC_KINDS, Column, Role

FEW_CLASSES = 20
"""The most levels of what a learner is asked to predict."""

_WORDS: dict[Role, tuple[str, str]] = {
    "weight": (
        r"fnlwgt|pwgtp|finalwt|(survey|sample|sampling|design|final|person|household|hh|respondent|calibrat\w*)(weights?|wgt|wt)|(pweight|hweight|wgt|wt)\d*|hochrechnungsfaktor|ponderation",
        "its name is that of survey weights",
    ),
    "label": (
        r"target|label|outcome|class|y|response|ziel|zielvariable|churn",
        "its name is that of what is predicted",
    ),
    "sensitive": (
        r".*(income|salary|wage|earning|einkommen|gehalt|lohn|salaire|revenu|ingreso|diagnos|disease|illness|krankheit|maladie|hiv|cancer|medication|drug|religio|politic|"
        r"party|vote|sexual|orientation|criminal|conviction|debt|schulden|disab|pregnan|mental|depress|suicid).*|icd\d*|capitalgain|capitalloss",
        "people keep such things to themselves",
    ),
    "key": (
        r"age|alter|edad|sex|gender|geschlecht|sexe|sexo|birth.*|dob|geburt.*|zip.*|postcode|postalcode|plz|city|town|ort|region|county|district|bezirk|state|land|country|nationality|"
        r"nativecountry|staatsangehoerigkeit|race|ethnic\w*|marital\w*|familienstand|relationship|education\w*|bildung|occupation|beruf|job|profession|employer|school|.*age",
        "others often know it of a person",
    ),
}


@dataclass(frozen=True)
class Suggestion:
    """A role that a column may have, and why."""

    role: Role
    reason: str


def suggested_role(column: Column) -> Suggestion | None:
    """Return the role that a column's name suggests, or the evidence that it identifies somebody; None where nothing does.

    Examples
    --------
    >>> [suggested_role(Column(name, "integer")).role for name in ("age", "annual_income", "fnlwgt")], suggested_role(Column("x1", "integer"))
    (['key', 'sensitive', 'weight'], None)
    """
    if column.evidence is not None:
        return Suggestion("identifier", f"it looks like {column.evidence}")
    word = "".join(re.findall("[a-z0-9]+", column.name.lower()))
    for role, (pattern, reason) in _WORDS.items():
        if re.fullmatch(pattern, word) and _can_be(role, column):
            return Suggestion(role, reason)
    return None


def _can_be(role: Role, column: Column) -> bool:
    """Whether a column of this kind can have a role: weights are numbers, and what is predicted has few classes or is a number."""
    if role == "weight":
        return column.kind in ("integer", "float")
    if role == "label":
        return (
            column.kind in NUMERIC_KINDS or column.codec is None or column.codec.size <= FEW_CLASSES
        )
    return column.modelled
