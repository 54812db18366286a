"""Tables of coefficients: one model in rows (`broom`, SPSS), or models side by side (`esttab`, `texreg`, `modelsummary`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .grids import CellGrid
from .numbers import PrintedText, is_number, number_text, parse_count
from .parsed import ParsedFit
from .printed_grid import decimal_sign
from .protocol import (
    Annotation,
    LineError,
    Match,
    OpenQuestionError,
    check_lines,
    fit_keys,
    unreadable_match,
)

_ESTIMATE = ("estimate", "coef", "coef.", "coefficient", "b", "beta", "coeff")
_ERROR = (
    "std.error",
    "std. error",
    "std error",
    "std. err.",
    "se",
    "std err",
    "std.err.",
    "standard error",
    "stderr",
)
_N = re.compile(
    r"n|num\.? ?obs\.?|observations|no\. observations|number of obs(ervations)?|nobs|obs\.?",
    re.IGNORECASE,
)
_R2 = re.compile(r"r(\^2|2|²|-squared|-sq\.?)|r\^?\{?2\}?", re.IGNORECASE)
_ADJUSTED = re.compile(r"adj(usted|\.)? ?r.*|r(\^2|2|²) adj\.?|r2_a|r2 adj\.?", re.IGNORECASE)
_FIT = re.compile(
    r"(within |pseudo |mcfadden )?r.?(\^2|2|²|-squared|sq).*|adj.*r.*|aic|bic|log[ .-]?lik.*|ll|f( statistic)?|f-statistic|rmse|sigma|deviance|"
    r"chi2|df.*|p(-value)?|std\.errors|null deviance|.*pseudo r2|aicc|wald.*|num\. groups.*|var:.*",
    re.IGNORECASE,
)
_INTERCEPTS = ("(intercept)", "_cons", "constant", "(constant)", "intercept", "const")

Row = tuple[str, PrintedText, str]
"""A coefficient as it stands: its name, its estimate, its standard error."""


def coefficients_of(
    rows: Iterable[Row], sign: str, fault: str, *, absent: Sequence[str] = ()
) -> dict[str, Any]:
    """Return estimates and standard errors by name, as a fit has them; LineError with the rule where a row breaks it. `absent` stand for errors that there are not."""
    estimates, errors = dict[str, str](), dict[str, str]()
    for name, estimate, error in rows:
        number, spread = number_text(estimate, sign), number_text(error, sign)
        is_lost = number is None or (spread is None and error not in absent)
        if number is None or is_lost or not name or name in estimates:
            raise LineError(estimate.position.line, fault)
        estimates[name] = number
        errors |= {} if spread is None else {name: spread}
    return {"coefficients": estimates, "standard_errors": errors}


def _tall_head(block: CellGrid) -> int | None:
    """Which of the first rows names estimates and standard errors."""
    heads = ({cell.lower() for cell in row} for row in block.rows[:3])
    has_both = (cells.intersection(_ESTIMATE) and cells.intersection(_ERROR) for cells in heads)
    return next((k for k, has in enumerate(has_both) if has), None)


def _is_glance(block: CellGrid) -> bool:
    return {"df.residual", "nobs"} <= {cell.lower() for cell in block.rows[0]}


def is_coefficients(block: CellGrid) -> bool:
    """Return whether a table is one of coefficients."""
    return (
        _tall_head(block) is not None
        or _is_glance(block)
        or _is_modelsummary(block)
        or _is_side_by_side(block)
    )


def _is_modelsummary(block: CellGrid) -> bool:
    return [cell.lower() for cell in block.rows[0][:3]] == ["part", "term", "statistic"]


def _of_modelsummary(block: CellGrid) -> CellGrid:
    """A file of modelsummary as a table in which what belongs to a coefficient stands below it, without a name."""
    rows = [(PrintedText("", *block.rows[0][0].position), *block.rows[0][3:])]
    for section, term, statistic, *cells in block.rows[1:]:
        below = section == "estimates" and statistic not in ("", "estimate")
        rows.append((PrintedText("", *term.position) if below else term, *cells))
    errors = {row[2] for row in block.rows[1:] if row[0] == "estimates"} == {
        "estimate",
        "std.error",
    }
    notes = ["Standard errors in parentheses"] if errors else []
    return CellGrid(tuple(rows), block.sheet, (*block.titles, *notes))


def _is_side_by_side(block: CellGrid) -> bool:
    """Whether models stand side by side: numbers in brackets below others, and a row that counts observations."""
    names = [row[0] for row in block.rows]
    return any(
        re.match(r"[(\[]\s*[-+\u2212.\d]", cell) for row in block.rows for cell in row[1:]
    ) and any(name.lower() in _INTERCEPTS or _N.fullmatch(name) for name in names)


def coefficient_matches(block: CellGrid, program: str) -> list[Match]:
    """Return a match for each model of a table."""
    lines = range(block.lines[0], block.lines[-1] + 1)
    if _is_modelsummary(block):
        block, program = _of_modelsummary(block), "R (modelsummary)"
    head = _tall_head(block)
    if head is not None:
        models = _tall_models(block, head)
        return [Match(lines, program, partial(_tall_fit, block, head, rows)) for rows in models]
    if _is_glance(block):
        return [Match(lines, program, partial(_parse_glance, block))]
    try:
        columns = _columns(block)
    except LineError as fault:
        return [unreadable_match(lines, program, fault)]
    return [
        Match(range(model.line, lines[-1] + 1), program, partial(_column_fit, model))
        for model in columns
    ]


def _tall_models(block: CellGrid, head: int) -> list[list[Row]]:
    """The models of a table with a row for each coefficient, by the column `model` where there is one."""
    cells = [cell.lower() for cell in block.rows[head]]
    estimate, error = (
        next(k for k, cell in enumerate(cells) if cell in titles) for titles in (_ESTIMATE, _ERROR)
    )
    names = [
        k for k in range(estimate) if cells[k] not in ("model", "group", "effect", "component")
    ]
    # Without another column, `model` names the coefficients.
    model = cells.index("model") if "model" in cells and names else None
    names = names or [k for k in range(estimate) if cells[k] == "model"]
    models: dict[str, list[Row]] = {}
    title = ""
    for row in block.rows[head + 1 :]:
        if model is not None:  # a model is named in its first row, or in all
            title = row[model] or title
        if row[estimate]:
            name = next((row[k] for k in reversed(names) if row[k]), "")
            models.setdefault(title, []).append((name, row[estimate], row[error]))
    return list(models.values())


def _tall_fit(block: CellGrid, head: int, rows: list[Row], annotation: Annotation) -> ParsedFit:
    numbers = (text for _, *texts in rows for text in texts)
    sign = decimal_sign(numbers, annotation, "coefficients.")
    known_rows = (row for row in rows if row[1] != "NA")
    fault = "a coefficient must have a name of its own, an estimate and a standard error."
    numbers_by_name = coefficients_of(known_rows, sign, fault, absent=("", "NA", "."))
    estimates = numbers_by_name["coefficients"]
    titles = (re.search(r"Dependent Variable:\s*([\w.]+)", title) for title in block.titles)
    label = next((title[1] for title in titles if title), None)
    keys = fit_keys(annotation)
    if label is not None and "beta" in {cell.lower() for cell in block.rows[head]}:
        keys = {"kind": "ols", **keys}
    if "kind" not in keys:
        ratios = ("(Intercept)" in estimates or "_cons" in estimates) and not any(
            text.startswith(("-", "\u2212")) for _, text, _ in rows
        )
        raise OpenQuestionError(
            f"coefficients of one model, {len(estimates)} of them, with standard errors{'; they may be ratios (exponentiated)' if ratios else ''}.",
            "Of which kind of model, of which formula and of how many people?",
            {"kind": "ols", "formula": "LABEL ~ ...", "n": 1000}
            | ({"exponentiated": True} if ratios else {}),
        )
    return ParsedFit(**{"label": label, **numbers_by_name, **keys})


def _parse_glance(block: CellGrid, annotation: Annotation) -> ParsedFit:
    """One row of statistics of a fit."""
    cells = [cell.lower() for cell in block.rows[0]]
    if len(block.rows) != 2:
        raise LineError(
            block.lines[0],
            "statistics of several fits stand in one table: write one file for each.",
        )
    keys = fit_keys(annotation)
    if {"r.squared", "sigma"} <= set(cells):
        keys = {"kind": "ols", **keys}
    if "kind" not in keys:
        raise OpenQuestionError(
            "statistics of a fit, without coefficients.",
            "Of which kind of model?",
            {"kind": "logit", "formula": "LABEL ~ ..."},
        )
    row = dict(zip(cells, block.rows[1], strict=True))
    try:
        sizes = {"n": parse_count(row["nobs"]), "dof": parse_count(row["df.residual"])}
    except ValueError:
        raise LineError(block.lines[1], "nobs and df.residual must be whole numbers.") from None
    return ParsedFit(**{**sizes, **keys})


@dataclass(frozen=True)
class _ModelColumn:
    """One of several models side by side: its title and label, its coefficients with what stands in brackets below them, its statistics, and the words around the table."""

    line: int
    title: str
    label: str | None
    rows: tuple[Row, ...] = field(repr=False)
    statistics: dict[str, str] = field(repr=False)
    notes: str


def _columns(block: CellGrid) -> list[_ModelColumn]:
    """The models of a table in which they stand side by side."""
    has_numbers = (bool(row[0]) and any(map(is_number, row[1:])) for row in block.rows)
    first = next((k for k, has in enumerate(has_numbers) if has), len(block.rows))
    alone = (row[0] for row in block.rows if row[0] and not any(row[1:]))
    notes = " ".join((*block.titles, *alone)).lower()
    models = []
    for k in range(1, block.width):
        rows, statistics = _column(block, first, k)
        if rows:
            heads = [row[k] for row in block.rows[:first] if row[k]]
            named = (
                word
                for word in reversed(heads)
                if re.fullmatch(r"[^\W\d][\w.]*", word)
                and not re.match(r"(?i)model|ols|logit|est\d", word)
            )
            line, title = block.lines[first], " ".join(heads)
            models.append(_ModelColumn(line, title, next(named, None), rows, statistics, notes))
    if not models:
        raise LineError(block.lines[0], "a table of models has no coefficients.")
    return models


def _column(block: CellGrid, first: int, k: int) -> tuple[tuple[Row, ...], dict[str, str]]:
    """The coefficients of one model, and the statistics at its end."""
    cells, brackets, statistics = dict[str, PrintedText](), dict[str, str](), dict[str, str]()
    last = ""
    for row in block.rows[first:]:
        name, cell, line = row[0], row[k], row[k].position.line
        if not name and cell and not last:
            raise LineError(line, "a number stands below no coefficient.")
        if not name:
            brackets |= {last: cell} if cell else {}
        elif _N.fullmatch(name) or _FIT.fullmatch(name):
            statistics |= {name: cell} if cell else {}
            last = ""
        else:
            last = name
            is_plain = is_number(re.sub(r"\s*\(.*\)\s*$", "", cell))
            check_lines(
                (name in cells and cell, line, "a coefficient stands there twice."),
                (cell and not is_plain, line, "a coefficient is no number."),
            )
            cells |= {name: cell} if cell else {}
    rows = []
    for term, cell in cells.items():
        match = re.fullmatch(r"(.*?)\s*(\([^()]*\))?\s*", cell)
        number, inside = (match[1], match[2] or "") if match else (cell, "")
        estimate = PrintedText(number, *cell.position)
        bracket = brackets.get(term) or PrintedText(inside, *cell.position)
        # Where others have something in brackets below them, a row without is a statistic of the fit.
        if brackets and term not in brackets and "(" not in cell:
            statistics[term] = cell
        else:
            rows.append((term, estimate, bracket))
    return tuple(rows), statistics


def _column_fit(model: _ModelColumn, annotation: Annotation) -> ParsedFit:
    sign = decimal_sign((row[1] for row in model.rows), annotation, "coefficients.")
    for _, estimate, bracket in model.rows:
        line = estimate.position.line
        is_odd = number_text(bracket, sign) is None and not _RANGE.match(bracket)
        check_lines(
            (number_text(estimate, sign) is None, line, "a coefficient is no number."),
            (bracket and is_odd, line + 1, "what stands in brackets is no number."),
        )
    brackets = [bracket for *_, bracket in model.rows]
    numbers = coefficients_of(model.rows, sign, "a coefficient is no number.", absent=brackets)
    if "standard errors in" not in model.notes:
        numbers["standard_errors"] = {}
    statistics = model.statistics
    n = next((parse_count(text) for name, text in statistics.items() if _N.fullmatch(name)), None)
    is_linear = any(map(_R2.fullmatch, statistics)) and any(map(_ADJUSTED.fullmatch, statistics))
    keys = fit_keys(annotation)
    if is_linear or re.search(r"(?i)\bols\b", model.title):
        keys = {"kind": "ols", **keys}
    elif re.search(r"(?i)\blogit\b", model.title):
        keys = {"kind": "logit", **keys}
    if "kind" not in keys:
        raise OpenQuestionError(
            f"one of several models side by side, {len(model.rows)} coefficients.",
            "Of which kind of model, and of which formula?",
            {"kind": "ols", "formula": "LABEL ~ ..."},
        )
    return ParsedFit(**{"label": model.label, "n": n, **numbers, **keys})


_RANGE = re.compile(r"[(\[].*[,;].*[)\]]")
"""An interval in brackets."""
