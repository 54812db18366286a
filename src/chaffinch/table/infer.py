"""What each column is, decided from the counts of all of its values, and the role that it may have,
by its name. Deterministic: no row is sampled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .._base.masking import THRESHOLD
from .formats import Labels
from .profile import FULL_PRECISION, Profile
from .schema import NUMERIC_KINDS, Column, Role
from .text import Spelling
from .types import PER_SECOND, is_nested, is_numeric, type_name, value_type

CODED_LEVELS = 10
"""Whole numbers with at most this many distinct values are taken for codes of categories."""

TEXT_LEVELS = 20
"""Text with more distinct values than this is free text if most of its records have a rare
value.
"""

_ID_TOKENS = {"id", "ids", "uuid", "guid", "pid", "hid", "ssn", "identifier", "serial", "key"}
_ID_NAME = re.compile(
    r"(person|patient|household|hh|subject|case|record|respondent|family|customer|client|user|row|member|account|serial)s?"
    r"(id|ids|no|nr|num|number|key|code)"
)

_GROUP_NAME = re.compile(
    r"(person|patient|household|hh|subject|respondent|family|customer|client|user|member|pid|hid|account)"
)
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


def looks_like_id(name: str) -> bool:
    """Return whether a column's name says that it identifies something.

    Examples
    --------
    >>> [looks_like_id(name) for name in ("person_id", "recordNumber", "number_children", "education_num")]
    [True, True, False, False]
    """
    tokens = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    return bool(_ID_TOKENS & set(tokens)) or _ID_NAME.fullmatch("".join(tokens)) is not None


def infer_column(
    name: str,
    profile: Profile,
    spelling: Spelling,
    labels: Labels,
    *,
    rare_below: int,
    threshold: int = THRESHOLD,
    keep: bool = False,
) -> Column:
    """Return what a column is, with the reason in words; no value that fewer records than the
    threshold share is in it.

    `keep`: it is to be modelled, so that it is no identifier and no free text.
    """
    return _Inference(name, profile, spelling, labels, rare_below, threshold, keep).decide()


@dataclass(frozen=True)
class _Inference:
    name: str
    profile: Profile
    spelling: Spelling
    labels: Labels
    rare_below: int
    threshold: int
    keep: bool = False

    @property
    def kind(self) -> pa.DataType:
        return self.profile.kind

    def decide(self) -> Column:
        profile, inner = self.profile, value_type(self.kind)
        if is_nested(self.kind):
            return self._column(
                "text", f"values of type {type_name(self.kind)} cannot be modelled: dropped"
            )
        if not profile.n_present:
            return self._column("categorical", "every value is missing")
        if pa.types.is_boolean(inner):
            return self._column("boolean", "true or false", levels=(False, True))
        if is_numeric(inner) and not pa.types.is_dictionary(self.kind):
            return self._numeric()
        return self._text()

    def _column(self, kind: str, reason: str, **more: object) -> Column:
        profile = self.profile
        reason = f"{self.spelling.why}: {reason}" if self.spelling.why else reason
        missing = tuple(code for code in profile.missing if profile.n_missing.get(code))
        role = "identifier" if kind == "identifier" else "other"
        spelled = "nan" if profile.n_nan and not profile.n_null else self.spelling.format
        return Column(
            self.name,
            kind,  # type: ignore[arg-type]
            role,  # type: ignore[arg-type]
            type_name(self.kind) if not is_nested(self.kind) else "string",
            title=self.labels.title,
            nullable=profile.n_null + profile.n_nan > 0,
            missing=missing,
            labels=tuple(self.labels.values.items()),
            ordered=bool(pa.types.is_dictionary(self.kind) and self.kind.ordered),
            format=spelled,
            reason=reason,
            **more,  # type: ignore[arg-type]
        )

    def _numeric(self) -> Column:
        profile, n = self.profile, self.profile.n_present
        values, _ = profile.numbers.result()
        distinct = len(values)
        at_least = "" if profile.numbers.exact else "more than "
        amount = f"{at_least}{distinct:,} distinct"
        if pa.types.is_timestamp(self.kind) or pa.types.is_date(self.kind):
            step = self._step()
            kind = "date" if pa.types.is_date(self.kind) else "datetime"
            return self._column(kind, f"{amount} {kind}s", step=step)
        if pa.types.is_time(self.kind):
            return self._column("integer", f"{amount} times of day", step=self._step())
        integral = profile.n_fraction == 0 and profile.largest < 2.0**53
        if (
            not pa.types.is_integer(self.kind)
            and not pa.types.is_temporal(self.kind)
            and not integral
        ):
            decimals = decimals_of(profile)
            shown = "full precision" if decimals is None else f"{decimals} decimals"
            return self._column("float", f"{amount} numbers, {shown}", decimals=decimals)
        if self.labels.values and distinct <= max(CODED_LEVELS, 2 * len(self.labels.values)):
            return self._column("categorical", f"{amount} codes, with value labels")
        if distinct <= CODED_LEVELS and (distinct * 5 <= n or distinct == 1):
            return self._column(
                "categorical", f"{amount} whole numbers: taken as codes of categories"
            )
        if not self.keep and (id_like := self._identifier(distinct, n)):
            return self._column("identifier", id_like)
        step = self._step() if pa.types.is_duration(self.kind) else 1
        return self._column("integer", f"{amount} whole numbers{self._odd_one_out()}", step=step)

    def _odd_one_out(self) -> str:
        """Return a hint where a single negative number stands among many that are not: often a
        missing code.
        """
        values, counts = self.profile.numbers.result()
        if len(values) > 2 and values[0] < 0 <= values[1] and counts[0] >= self.threshold:
            return f"; {values[0]:g} alone is negative: if it means missing, write missing = [{values[0]:g}]"
        return ""

    def _identifier(self, distinct: int, n: int) -> str:
        """Return why the column is an identifier, or an empty string if it is none."""
        named = looks_like_id(self.name)
        values, _ = self.profile.numbers.result()
        if distinct == n and self.profile.n_rows == n and n >= 20 and self.profile.numbers.exact:
            dense = bool(len(values)) and float(values[-1]) - float(values[0]) < 2 * n
            if named or (dense and not self.profile.word_counts):
                return "every value is different: identifies rows; never synthesised"
        if named and (not self.profile.numbers.exact or (distinct > 20 and distinct * 20 >= n)):
            if distinct == n:
                return "every value is different: identifies rows; never synthesised"
            return _repeats(self.name)
        return ""

    def _text(self) -> Column:
        profile, n = self.profile, self.profile.n_present
        distinct = len(profile.word_counts)
        if self.keep:
            return self._column("categorical", f"{distinct:,} distinct values")
        if profile.too_many_words:
            if looks_like_id(self.name):
                return self._column(
                    "identifier", "over a million distinct values and a name that identifies"
                )
            return self._column("text", "over a million distinct values: free text, dropped")
        counts = np.array(list(profile.word_counts.values()), dtype=np.int64)
        if distinct > TEXT_LEVELS and looks_like_id(self.name) and distinct * 20 >= n:
            reason = (
                "every value is different: identifies rows; never synthesised"
                if distinct == n
                else _repeats(self.name)
            )
            return self._column("identifier", reason)
        pooled = int(counts[counts < self.rare_below].sum())
        if distinct > TEXT_LEVELS and 2 * pooled > n:
            if distinct == n and not any(" " in str(word) for word in profile.word_counts):
                return self._column(
                    "identifier", "every value is different, and one word each: identifies rows"
                )
            return self._column("text", "most values are rare: free text, dropped")
        return self._column("categorical", f"{distinct:,} distinct values")

    def _step(self) -> int:
        """Return the largest natural step (day, hour, minute, second) that nearly all times are
        multiples of.
        """
        if pa.types.is_date32(self.kind):
            return 1
        second = 1000 if pa.types.is_date64(self.kind) else PER_SECOND[self.kind.unit]
        values, counts = self.profile.numbers.result()
        for step in (
            86_400 * second,
            3_600 * second,
            60 * second,
            second,
            second // 1000,
            second // 10**6,
        ):
            if step >= 1 and counts[values % step != 0].sum() < min(
                THRESHOLD, self.profile.n_present / 2
            ):
                return step
        return 1


def decimals_of(profile: Profile) -> int | None:
    """Return the decimals that all but fewer than ten records need; None for full precision."""
    for d in range(FULL_PRECISION):
        if profile.decimals[d + 1 :].sum() < min(THRESHOLD, profile.n_present / 2):
            return d
    return None


def _repeats(name: str) -> str:
    tokens = "".join(re.findall(r"[a-z]+", name.lower()))
    whose = group[0] if (group := _GROUP_NAME.search(tokens)) else "unit"
    whose = {"hh": "household", "hid": "household", "pid": "person"}.get(whose, whose)
    return (
        f"values repeat: several rows belong to one {whose}, so rows are not independent, and measures of risk and "
        "worth that count rows are too sure of themselves"
    )


@dataclass(frozen=True)
class Suggestion:
    """A role that a column may have, and why."""

    role: Role
    reason: str


def suggested_role(column: Column) -> Suggestion | None:
    """Return the role that a column's name suggests, or the evidence that it identifies somebody;
    None where nothing does.

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
    """Whether a column of this kind can have a role: weights are numbers, and what is predicted has
    few classes or is a number.
    """
    if role == "weight":
        return column.kind in ("integer", "float")
    if role == "label":
        return (
            column.kind in NUMERIC_KINDS or column.codec is None or column.codec.size <= FEW_CLASSES
        )
    return column.modelled
