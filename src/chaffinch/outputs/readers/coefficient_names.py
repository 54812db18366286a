"""Names of coefficients and formulas, as programs write them, in the words of files of outputs; and a formula put together again from the names of its coefficients.

    factor(area)58, 58.area     ->     C(area)[T.58]
    C(area)[T.58], C(area)[T.59], age, C(area)[T.58]:age     ->     C(area) + age + C(area):age

Which level is the reference follows from the one that has no coefficient.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.errors import InputError
from ..domain import OutputColumn, OutputDomain
from ..filters import Filter
from .acro.read import UnclearError

CONSTANT, INTERCEPT = "const", "Intercept"
_CONSTANTS = ("(Intercept)", "_cons", CONSTANT, "Constant", "(Constant)", INTERCEPT)
_FACTOR = re.compile(r"\b(?:as\.)?(?:factor|ordered)\(\s*`?([\w.]+)`?\s*\)")
_PRINTED_TERMS = {
    rf"{_FACTOR.pattern}\s*(\S.*?)\s*": r"C(\1)[T.\2]",
    r"(\d+)b?\.(\w+)": r"C(\2)[T.\1]",
    r"c\.(\w+)": r"\1",
}
"""What R and Stata print for a factor, and what patsy does."""
_INSIDE = re.compile(
    r"C\(\s*(?:Q\(\s*(['\"])(?P<quoted>.+?)\1\s*\)|(?P<name>[^\W\d]\w*))\s*(?:,.*)?\)"
)
_QUOTED = re.compile(r"Q\(\s*(['\"])(?P<quoted>.+)\1\s*\)")


def split_outside(text: str, sign: str) -> list[str]:
    """Return the parts of a text between signs that stand in no brackets.

    Examples
    --------
    >>> split_outside("f(a, b), link = 'x'", ",")
    ['f(a, b)', " link = 'x'"]
    """
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"" and depth:
            quote = letter
        elif letter == sign and depth == 0:
            parts.append("")
            continue
        else:
            depth += (letter in "([{") - (letter in ")]}")
        parts[-1] += letter
    return parts


# As R and Stata write them.


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
    parts = re.split(r":|(?<=\w)#(?=[\w.])| × ", name)
    return ":".join(_patsy_part(factor.strip(), columns) for factor in parts)


def _patsy_part(factor: str, columns: Mapping[str, tuple[str, ...]]) -> str:
    for pattern, term in _PRINTED_TERMS.items():
        if match := re.fullmatch(pattern, factor):
            return match.expand(term)
    for column, levels in columns.items():
        level = factor.removeprefix(column).strip(" =")
        if factor.startswith(column) and level in levels:
            return f"{column}[T.{level}]"
    return factor.replace("^", "**")


def label_column(label: str | None, success: Any) -> tuple[str | None, Any]:
    """Return the label's column, and the level that counts as 1 where it is written as a comparison (y == 1)."""
    if label is None:
        return None, success
    match = re.fullmatch(r"I?\(?\s*([\w.]+)\s*==\s*(['\"]?)([^'\"()]+)\2\s*\)?", label.strip())
    if match is None:
        return label.strip(), success
    level = match[3].strip()
    return match[1], int(level) if not match[2] and level.isdigit() else level


def labelled_formula(formula: str, label: str | None) -> str:
    """Return a formula of R as files of outputs have it, with the label's column."""
    _, sign, terms = patsy_formula(formula).partition("~")
    return patsy_formula(formula) if label is None or not sign else f"{label} ~ {terms.strip()}"


# As patsy writes them.


def column_term(name: str) -> str:
    """Return a column as a formula names it; UnclearError where it cannot."""
    if re.fullmatch(r"[^\W\d]\w*", name):
        return name
    if "'" in name or "\\" in name:
        raise UnclearError(f"the name of column '{name}' cannot stand in a formula")
    return f"Q('{name}')"


@dataclass(frozen=True)
class _Factor:
    """A factor of a coefficient's name: as it was written, its column, and its level; `has_all_levels` where every level has a coefficient."""

    text: str
    column: str | None
    level: str | None
    has_all_levels: bool


def _factors(name: str) -> list[_Factor]:
    """The factors of a coefficient's name, cut at colons that are in no brackets or quotes."""
    factors = []
    for piece in split_outside(name, ":"):
        bracket = re.fullmatch(
            r"(?P<text>.*[^\[])\[(?P<reference>T\.)?(?P<level>.*)\]", piece, re.DOTALL
        )
        text = bracket["text"] if bracket else piece
        inside = _INSIDE.fullmatch(text) or _QUOTED.fullmatch(text)
        column = (inside.groupdict().get("name") or inside["quoted"]) if inside else text
        is_coded = bracket is None and inside is not None and text.startswith("C(")
        has_all_levels = bracket is not None and bracket["reference"] is None
        level = bracket["level"] if bracket else None
        factors.append(_Factor(text, None if is_coded else column, level, has_all_levels))
    return factors


def coefficient_columns(names: Sequence[str]) -> list[str]:
    """Return the columns that coefficients' names are of; what is no plain column is returned as it stands.

    Examples
    --------
    >>> coefficient_columns(["Intercept", "C(AREA)[T.58]", "AGE:C(SEX)[T.2]"])
    ['AREA', 'AGE', 'SEX']
    """
    terms = (_factors(name) for name in names if name not in (INTERCEPT, CONSTANT))
    return list(dict.fromkeys(factor.column or factor.text for term in terms for factor in term))


def rebuilt_formula(
    label: str, names: Sequence[str], fields: OutputDomain, subset: Filter
) -> tuple[str, dict[str, str]]:
    """Return the formula that gives coefficients of these names, as patsy prints them (or `const`), and the names that it gives them.

    Levels that the filter leaves out need no coefficient.

    Examples
    --------
    >>> fields = OutputDomain((OutputColumn("y", (0, 1)), OutputColumn("area", (57, 58)), OutputColumn("age", (1, 2))))
    >>> rebuilt_formula("y", ["const", "area[T.57]", "age"], fields, Filter((), (2, 2, 2)))
    ('y ~ C(area, Treatment(58)) + age', {'area[T.57]': 'C(area, Treatment(58))[T.57]'})
    """
    split = {name: _factors(name) for name in names if name not in (INTERCEPT, CONSTANT)}
    levels: dict[str, set[str]] = {}
    for factor in (factor for factors in split.values() for factor in factors):
        named = levels.setdefault(factor.text, set())
        named |= {factor.level} if factor.level is not None and not factor.has_all_levels else set()
    texts: dict[str, str] = {}
    terms = [] if {INTERCEPT, CONSTANT} & set(names) else ["0"]
    renamed: dict[str, str] = {}
    for name, factors in split.items():
        for factor in factors:
            if factor.text not in texts:
                texts[factor.text] = _factor_text(factor, levels[factor.text], fields, subset)
        terms.append(":".join(texts[factor.text] for factor in factors))
        new = ":".join(texts[factor.text] + _bracket(factor, fields) for factor in factors)
        renamed |= {name: new} if new != name else {}
    return f"{label} ~ {' + '.join(dict.fromkeys(terms)) or '1'}", renamed


def _factor_text(factor: _Factor, levels: set[str], fields: OutputDomain, subset: Filter) -> str:
    """A factor as our formula writes it."""
    text, column = factor.text, factor.column
    if column not in fields.names:
        if column is not None and re.fullmatch(r"[^\W\d][\w ]*", column):
            raise UnclearError(f"its variable '{column}' is no column of the data: give a recipe")
        return text
    field = fields[str(column)]
    if factor.level is None:
        return text if text.startswith(("C(", "Q(")) else column_term(field.name)
    if text.startswith("C(") and "," in text:
        return text
    plain = text if "(" in text else column_term(field.name)
    inside = plain[2:-1] if plain.startswith("C(") else plain
    present = np.flatnonzero(subset.levels(fields.position(field.name))).tolist()
    named = {_code(field, level) for level in sorted(levels)}
    unnamed = [code for code in present if code not in named]
    if levels and len(unnamed) == 1 and unnamed[0] != present[0]:
        return f"C({inside}, Treatment({field.levels[unnamed[0]]!r}))"
    return f"C({inside})" if field.numeric and not plain.startswith("C(") else plain


def _code(field: OutputColumn, level: str) -> int:
    try:
        return field.code(level)
    except InputError:
        raise UnclearError(
            f"its coefficients have the level '{level}', which column '{field.name}' does not have in the data"
        ) from None


def _bracket(factor: _Factor, fields: OutputDomain) -> str:
    """The level of a factor as our formula prints it."""
    level = factor.level
    if level is None:
        return ""
    if factor.column in fields.names:
        field = fields[str(factor.column)]
        level = field.labels[_code(field, level)]
    return f"[{'' if factor.has_all_levels else 'T.'}{level}]"
