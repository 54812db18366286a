"""ACRO's regressions as outputs: the formula from the command, or put together again from the coefficients' names.

    C(AREAP)[T.58], C(AREAP)[T.59], AGE, C(AREAP)[T.58]:AGE     ->     C(AREAP) + AGE + C(AREAP):AGE

Which level is the reference follows from the one that has no coefficient.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...._base.errors import InputError
from ...._base.results import without_none
from ...domain import Field, Fields
from ...filters import Filter, read_filter
from .commands import Call, filters_of, referred_column, where_of
from .read import AcroResult, UnclearError
from .summaries import Summary, read_summary
from .tables import ReadOutput

KINDS = {
    "ols": "ols",
    "olsr": "ols",
    "logit": "logit",
    "logitr": "logit",
    "probit": "probit",
    "probitr": "probit",
}
CONSTANT, INTERCEPT = "const", "Intercept"
UNCONVERGED = "its fit did not converge: its coefficients are not those of the data"

_INSIDE = re.compile(
    r"C\(\s*(?:Q\(\s*(['\"])(?P<quoted>.+?)\1\s*\)|(?P<name>[^\W\d]\w*))\s*(?:,.*)?\)"
)
_QUOTED = re.compile(r"Q\(\s*(['\"])(?P<quoted>.+)\1\s*\)")


def regression_outputs(
    result: AcroResult, fields: Fields, call: Call | None, check: Callable[[dict[str, Any]], None]
) -> list[ReadOutput]:
    """Return the output in a regression; UnclearError, with the reason, where it cannot be told."""
    try:
        summary = read_summary([file.rows or () for file in result.tables])
    except InputError as error:
        raise UnclearError(str(error)) from None
    kind = KINDS[result.method]
    where = where_of([] if call is None else _filters(call))
    subset = read_filter(where.get("where"), fields, output=result.uid)
    if not summary.converged:
        return [_unconverged({"name": result.uid, "kind": kind, **where}, summary, call, fields)]
    numbers = without_none({"n": summary.n, "loglik": summary.loglik})
    shared = {"name": result.uid, "kind": kind, **where, **numbers}
    notes: list[str] = []
    if kind == "probit":
        notes.append("its standard errors, from the observed information, are not used")
    elif not summary.plain_errors:
        notes.append("its robust standard errors are not used")
    errors = {} if notes else summary.standard_errors
    written = call.constant("formula") if call is not None else None
    faults: list[InputError] = []
    if isinstance(written, str):
        entry = _entry(shared, written, summary.coefficients, errors, {})
        try:
            check(entry)
            return [ReadOutput(entry, tuple(notes), summary.n)]
        except (
            InputError
        ) as error:  # levels in another order, or numbers that were words: their names tell
            faults.append(error)
    try:
        formula, names = rebuilt_formula(
            _label(summary, call, fields), list(summary.coefficients), fields, subset
        )
        entry = _entry(shared, formula, summary.coefficients, errors, names)
        check(entry)
    except InputError as error:
        faults.append(error)
        raise faults[0] from None
    notes.append("its formula is put together from the names of its coefficients")
    return [ReadOutput(entry, tuple(notes), summary.n)]


def _unconverged(
    shared: dict[str, Any], summary: Summary, call: Call | None, fields: Fields
) -> ReadOutput:
    """A fit that did not converge: what it is a fit of, which the rules can be asked about, without its numbers.

    Its formula must be written in its command: coefficients that are no numbers have no names here, and a design without them is a smaller one.
    """
    from ...document import recipes_of

    entry = {**shared, "formula": call.constant("formula") if call is not None else None}
    entry |= {} if summary.n is None else {"n": True}
    try:
        recipes_of([entry], fields)
    except InputError:
        raise UnclearError(f"{UNCONVERGED}: give a recipe") from None
    return ReadOutput(entry, (), summary.n, UNCONVERGED)


def _entry(
    shared: dict[str, Any],
    formula: str,
    coefficients: dict[str, str],
    errors: dict[str, str],
    names: dict[str, str],
) -> dict[str, Any]:
    names = {CONSTANT: INTERCEPT} | names
    entry = {
        **shared,
        "formula": formula,
        "coefficients": {names.get(k, k): text for k, text in coefficients.items()},
    }
    return entry | (
        {"standard_errors": {names.get(k, k): text for k, text in errors.items()}} if errors else {}
    )


def _filters(call: Call) -> list[str]:
    if call.argument("drop_cols") is not None:
        raise UnclearError("columns were dropped from its design: give a recipe")
    filters = filters_of(
        [call.arguments[key] for key in ("data", "exog") if key in call.arguments], call
    )
    label = call.argument("endog")
    if label is not None:
        filters += referred_column(label, call)[1]
    subset = call.argument("subset")
    if subset is not None:  # a condition, as one in brackets
        filters += filters_of([ast.Subscript(ast.Name("data"), subset)], call)
    return list(dict.fromkeys(filters))


def _label(summary: Summary, call: Call | None, fields: Fields) -> str:
    """The label as a formula writes it."""
    name: str | None = summary.label
    if (
        name not in fields.names
        and call is not None
        and (node := call.argument("endog")) is not None
    ):
        name = referred_column(node, call)[0] or name
    if not name:
        raise UnclearError("its dependent variable has no name: give a recipe")
    return _quoted(name) if name in fields.names else name


def _quoted(name: str) -> str:
    if re.fullmatch(r"[^\W\d]\w*", name):
        return name
    if "'" in name or "\\" in name:
        raise UnclearError(f"the name of column '{name}' cannot stand in a formula")
    return f"Q('{name}')"


@dataclass(frozen=True)
class _Part:
    """A factor of a coefficient's name: as it was written, its column, and its level; `all` where every level has a coefficient."""

    text: str
    column: str | None
    level: str | None
    whole: bool


def _parts(name: str) -> list[_Part]:
    """Return the factors of a coefficient's name, cut at colons that are in no brackets or quotes."""
    pieces, depth, quote, start = [], 0, "", 0
    for place, sign in enumerate(name):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"" and depth:
            quote = sign
        elif sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif sign == ":" and depth == 0:
            pieces.append(name[start:place])
            start = place + 1
    pieces.append(name[start:])
    return [_part(piece) for piece in pieces]


def _part(piece: str) -> _Part:
    bracket = re.fullmatch(r"(?P<text>.*[^\[])\[(?P<whole>T\.)?(?P<level>.*)\]", piece, re.DOTALL)
    text = bracket["text"] if bracket else piece
    inside = _INSIDE.fullmatch(text) or _QUOTED.fullmatch(text)
    column = (inside.groupdict().get("name") or inside["quoted"]) if inside else text
    if bracket is None:
        return _Part(text, None if inside and text.startswith("C(") else column, None, False)
    return _Part(text, column, bracket["level"], bracket["whole"] is None)


def coefficient_columns(names: Sequence[str]) -> list[str]:
    """Return the columns that coefficients' names are of; what is no plain column is returned as it stands.

    Examples
    --------
    >>> coefficient_columns(["Intercept", "C(AREA)[T.58]", "AGE:C(SEX)[T.2]"])
    ['AREA', 'AGE', 'SEX']
    """
    parts = [part for name in names if name not in (INTERCEPT, CONSTANT) for part in _parts(name)]
    return list(dict.fromkeys(part.column or part.text for part in parts))


def formula_words(formula: str) -> list[str]:
    """Return all names in a formula, those in quotes too: among them are its columns."""
    return re.findall(r"[^\W\d]\w*", formula) + [
        quoted[1] for quoted in re.findall(r"(['\"])(.+?)\1", formula)
    ]


def rebuilt_formula(
    label: str, names: Sequence[str], fields: Fields, subset: Filter
) -> tuple[str, dict[str, str]]:
    """Return the formula that gives coefficients of these names, as patsy prints them (or `const`), and the names that it gives them.

    Levels that the filter leaves out need no coefficient.

    Examples
    --------
    >>> fields = Fields((Field("y", (0, 1)), Field("area", (57, 58)), Field("age", (1, 2))))
    >>> rebuilt_formula("y", ["const", "area[T.57]", "age"], fields, Filter((), (2, 2, 2)))
    ('y ~ C(area, Treatment(58)) + age', {'area[T.57]': 'C(area, Treatment(58))[T.57]'})
    """
    split = {name: _parts(name) for name in names if name not in (INTERCEPT, CONSTANT)}
    every = [part for parts in split.values() for part in parts]
    levels: dict[str, set[str]] = {part.text: set() for part in every}
    for part in every:
        if part.level is not None and not part.whole:
            levels[part.text].add(part.level)
    texts: dict[str, str] = {}
    for part in every:
        if part.text not in texts:
            texts[part.text] = _factor(part, levels[part.text], fields, subset)
    terms: list[str] = []
    renamed: dict[str, str] = {}
    for name, parts in split.items():
        terms.append(":".join(texts[part.text] for part in parts))
        new = ":".join(texts[part.text] + _bracket(part, fields) for part in parts)
        if new != name:
            renamed[name] = new
    constant = [] if {INTERCEPT, CONSTANT} & set(names) else ["0"]
    terms = list(dict.fromkeys([*constant, *terms])) or ["1"]
    return f"{label} ~ {' + '.join(terms)}", renamed


def _factor(part: _Part, levels: set[str], fields: Fields, subset: Filter) -> str:
    """A factor as our formula writes it."""
    if part.column is None or part.column not in fields.names:
        if part.level is None and part.column is None:
            return part.text
        if re.fullmatch(r"[^\W\d][\w ]*", part.column or ""):
            raise UnclearError(
                f"its variable '{part.column}' is no column of the data: give a recipe"
            )
        return part.text
    field = fields[part.column]
    if part.level is None:
        return part.text if part.text.startswith(("C(", "Q(")) else _quoted(part.column)
    plain = part.text if "(" in part.text else _quoted(part.column)
    if "," in part.text and part.text.startswith("C("):
        return part.text
    present = [code for code, ok in enumerate(subset.levels(fields.position(part.column))) if ok]
    named = {_code(field, level) for level in levels}
    left = [code for code in present if code not in named]
    inside = plain[2:-1] if plain.startswith("C(") else plain
    if levels and len(left) == 1 and left[0] != present[0]:
        level = field.levels[left[0]]
        return f"C({inside}, Treatment({level!r}))"
    if field.numeric and not plain.startswith("C("):
        return f"C({inside})"
    return plain


def _code(field: Field, level: str) -> int:
    try:
        return field.code(level)
    except InputError:
        raise UnclearError(
            f"its coefficients have the level '{level}', which column '{field.name}' does not have in the data"
        ) from None


def _bracket(part: _Part, fields: Fields) -> str:
    if part.level is None:
        return ""
    level = part.level
    if part.column in fields.names:
        field = fields[str(part.column)]
        level = field.labels[_code(field, level)]
    return f"[{'' if part.whole else 'T.'}{level}]"
