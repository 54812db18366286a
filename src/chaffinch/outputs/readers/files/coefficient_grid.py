"""Tables of coefficients: one model in rows (`broom`, SPSS), or models side by side (`esttab`, `texreg`, `modelsummary`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from .crossed import OpenQuestionError
from .grids import CellGrid, text_grid
from .numbers import is_number, is_remark, number_text, sign_of, whole
from .printed import ParsedFit
from .protocol import (
    READERS,
    Annotation,
    LineError,
    Match,
    ParsedOutput,
    TextReader,
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


@dataclass(frozen=True)
class _Model:
    """One model of a table: estimates and what stands in brackets below them, with the lines, and the statistics at its end."""

    title: str
    label: str | None
    estimates: Mapping[str, tuple[int, str]] = field(repr=False)
    brackets: Mapping[str, str] = field(repr=False)
    ends: Mapping[str, str] = field(repr=False)
    line: int


def _low(row: Sequence[str]) -> list[str]:
    return [cell.lower() for cell in row]


def _tall_head(block: CellGrid) -> int | None:
    """Which of the first rows names estimates and standard errors."""
    for k, row in enumerate(block.rows[:3]):
        cells = _low(row)
        if any(cell in _ESTIMATE for cell in cells) and any(cell in _ERROR for cell in cells):
            return k
    return None


def _glance(block: CellGrid) -> bool:
    cells = _low(block.rows[0])
    return "df.residual" in cells and "nobs" in cells


def is_coefficients(block: CellGrid) -> bool:
    """Return whether a table is one of coefficients."""
    return (
        _tall_head(block) is not None
        or _glance(block)
        or _is_modelsummary(block)
        or _side_by_side(block)
    )


def _is_modelsummary(block: CellGrid) -> bool:
    return [cell.lower() for cell in block.rows[0][:3]] == ["part", "term", "statistic"]


def _of_modelsummary(block: CellGrid) -> CellGrid:
    """A file of modelsummary as a table in which what belongs to a coefficient stands below it, without a name."""
    rows = [("", *block.rows[0][3:])]
    for part, term, statistic, *cells in block.rows[1:]:
        below = part == "estimates" and statistic not in ("", "estimate")
        rows.append(("" if below else term, *cells))
    errors = {row[2] for row in block.rows[1:] if row[0] == "estimates"} == {
        "estimate",
        "std.error",
    }
    return CellGrid(
        tuple(rows),
        block.lines,
        block.sheet,
        (*block.titles, *(["Standard errors in parentheses"] if errors else [])),
    )


def _side_by_side(block: CellGrid) -> bool:
    """Whether models stand side by side: numbers in brackets below others, and a row that counts observations."""
    names = [row[0] for row in block.rows]
    bracketed = any(
        re.match(r"[(\[]\s*[-+\u2212.\d]", cell) for row in block.rows for cell in row[1:]
    )
    constant = any(
        name.lower() in ("(intercept)", "_cons", "constant", "(constant)", "intercept", "const")
        for name in names
    )
    return bracketed and (constant or any(_N.fullmatch(name) for name in names))


def coefficient_pieces(block: CellGrid, program: str) -> list[Match]:
    """Return a piece for each model of a table."""
    lines = range(block.lines[0], block.lines[-1] + 1)
    if _is_modelsummary(block):
        block, program = _of_modelsummary(block), "R (modelsummary)"
    head = _tall_head(block)
    if head is not None:
        tables = _tall(block, head)
        return [Match(lines, program, partial(_one_model, table)) for table in tables]
    if _glance(block):
        return [Match(lines, program, partial(_glanced, block))]
    try:
        models = _models(block)
    except LineError as fault:
        return [unreadable_match(lines, program, fault)]
    return [
        Match(range(model.line, lines[-1] + 1), program, partial(_beside_others, model, block))
        for model in models
    ]


@dataclass(frozen=True)
class _Tall:
    rows: tuple[tuple[int, str, str, str], ...] = field(
        repr=False
    )  # line, name, estimate, standard error
    statistics: tuple[str, ...]
    titles: tuple[str, ...]
    estimates_positive: bool


def _tall(block: CellGrid, head: int) -> list[_Tall]:
    """The models of a table with a row for each coefficient, by the column `model` where there is one."""
    cells = _low(block.rows[head])
    estimate = next(k for k, cell in enumerate(cells) if cell in _ESTIMATE)
    error = next(k for k, cell in enumerate(cells) if cell in _ERROR)
    names = [
        k for k in range(estimate) if cells[k] not in ("model", "group", "effect", "component")
    ]
    model = (
        cells.index("model") if "model" in cells and names else None
    )  # without another column it names the coefficients
    names = names or [k for k in range(estimate) if cells[k] == "model"]
    models: dict[str, list[tuple[int, str, str, str]]] = {}
    title = ""
    for row, line in zip(block.rows[head + 1 :], block.lines[head + 1 :], strict=True):
        title = (
            (row[model] or title) if model is not None else ""
        )  # a model is named in its first row, or in all
        if not row[estimate]:
            continue
        name = next((row[k] for k in reversed(names) if row[k]), "")
        models.setdefault(title, []).append((line, name, row[estimate], row[error]))
    statistics = tuple(cells)
    return [
        _Tall(
            tuple(rows),
            statistics,
            block.titles,
            all(not text.startswith(("-", "\u2212")) for _, _, text, _ in rows),
        )
        for rows in models.values()
    ]


def _texts(cells: Sequence[tuple[int, str]], given: Annotation) -> str:
    sign = sign_of(cells)
    if given.decimal is None and sign.mixed:
        raise LineError(
            max(sign.mixed),
            f"its decimal sign is not that of line {min(sign.mixed)}. Write all numbers of the file the same way.",
        )
    if given.decimal is None and sign.sign is None:
        raise OpenQuestionError(
            "coefficients.",
            f"In line {sign.line} a comma may be a decimal sign or stand for thousands.",
            {"decimal": ","},
        )
    return given.decimal or sign.sign or "."


def _one_model(table: _Tall, given: Annotation) -> ParsedOutput:
    sign = _texts([(line, text) for line, _, *texts in table.rows for text in texts], given)
    estimates, errors = dict[str, str](), dict[str, str]()
    for line, name, estimate, error in table.rows:
        if estimate in ("NA", ""):
            continue
        number, spread = number_text(estimate, sign), number_text(error, sign)
        if (
            number is None
            or (spread is None and error not in ("", "NA", "."))
            or not name
            or name in estimates
        ):
            raise LineError(
                line, "a coefficient must have a name of its own, an estimate and a standard error."
            )
        estimates[name] = number
        errors |= {name: spread} if spread is not None else {}
    label = next(
        (
            match[1]
            for title in table.titles
            if (match := re.search(r"Dependent Variable:\s*([\w.]+)", title))
        ),
        None,
    )
    fit = ParsedFit("ols", label, coefficients=estimates, standard_errors=errors)
    known = {
        **({"kind": "ols"} if label is not None and "beta" in table.statistics else {}),
        **fit_keys(given),
    }
    ratios = table.estimates_positive and any(
        name in estimates for name in ("(Intercept)", "_cons")
    )
    if "kind" not in known:
        raise OpenQuestionError(
            f"coefficients of one model, {len(estimates)} of them, with standard errors{'; they may be ratios (exponentiated)' if ratios else ''}.",
            "Of which kind of model, of which formula and of how many people?",
            {"kind": "ols", "formula": "LABEL ~ ...", "n": 1000}
            | ({"exponentiated": True} if ratios else {}),
        )
    return replace(fit, **known)


def _glanced(block: CellGrid, given: Annotation) -> ParsedOutput:
    """One row of statistics of a fit."""
    cells = _low(block.rows[0])
    if len(block.rows) != 2:
        raise LineError(
            block.lines[0],
            "statistics of several fits stand in one table: write one file for each.",
        )
    row = dict(zip(cells, block.rows[1], strict=True))
    kind = "ols" if "r.squared" in cells and "sigma" in cells else None
    known = {**({"kind": kind} if kind else {}), **fit_keys(given)}
    if "kind" not in known:
        raise OpenQuestionError(
            "statistics of a fit, without coefficients.",
            "Of which kind of model?",
            {"kind": "logit", "formula": "LABEL ~ ..."},
        )
    try:
        fit = ParsedFit("ols", n=whole(row["nobs"]), dof=whole(row["df.residual"]))
    except ValueError:
        raise LineError(block.lines[1], "nobs and df.residual must be whole numbers.") from None
    return replace(fit, **known)


def _models(block: CellGrid) -> list[_Model]:
    """The models of a table in which they stand side by side."""
    first = next(
        (
            k
            for k, row in enumerate(block.rows)
            if row[0] and any(is_number(cell) for cell in row[1:])
        ),
        None,
    )
    if first is None:
        raise LineError(block.lines[0], "a table of models has no coefficients.")
    heads = [row for row in block.rows[:first] if any(row[1:])]
    models = []
    for k in range(1, block.width):
        estimates, brackets, ends = dict[str, tuple[int, str]](), dict[str, str](), dict[str, str]()
        last = ""
        for row, line in zip(block.rows[first:], block.lines[first:], strict=True):
            name, cell = row[0], row[k]
            if not name:
                if cell and last:
                    brackets[last] = cell
                elif cell:
                    raise LineError(line, "a number stands below no coefficient.")
                continue
            if _N.fullmatch(name) or _FIT.fullmatch(name):
                if cell:
                    ends[name] = cell
                last = ""
            elif cell:
                if name in estimates:
                    raise LineError(line, "a coefficient stands there twice.")
                if not is_number(re.sub(r"\s*\(.*\)\s*$", "", cell)):
                    raise LineError(line, "a coefficient is no number.")
                estimates[name], last = (line, cell), name
            else:
                last = name
        # Where others have something in brackets below them, a row without is a statistic of the fit.
        ends |= {
            name: text
            for name, (_, text) in estimates.items()
            if brackets and name not in brackets and "(" not in text
        }
        estimates = {name: one for name, one in estimates.items() if name not in ends}
        if not estimates:
            continue
        words = [row[k] for row in heads if row[k]]
        label = next(
            (
                word
                for word in reversed(words)
                if re.fullmatch(r"[^\W\d][\w.]*", word)
                and not re.match(r"(?i)model|ols|logit|est\d", word)
            ),
            None,
        )
        models.append(_Model(" ".join(words), label, estimates, brackets, ends, block.lines[first]))
    if not models:
        raise LineError(block.lines[0], "a table of models has no coefficients.")
    return models


def _beside_others(model: _Model, block: CellGrid, given: Annotation) -> ParsedOutput:
    notes = " ".join(
        (*block.titles, *(row[0] for row in block.rows if row[0] and not any(row[1:])))
    ).lower()
    cells = [(line, text) for line, text in model.estimates.values()]
    sign = _texts(cells, given)
    estimates, errors = dict[str, str](), dict[str, str]()
    for name, (line, cell) in model.estimates.items():
        own = re.fullmatch(r"(.*?)\s*(\([^()]*\))?\s*", cell)
        number = number_text(own[1] if own else cell, sign)
        if number is None:
            raise LineError(line, "a coefficient is no number.")
        estimates[name] = number
        below = model.brackets.get(name) or (own[2] if own and own[2] else "")
        spread = number_text(below, sign) if below else None
        if below and spread is None and not re.match(r"[(\[].*[,;].*[)\]]", below):
            raise LineError(line + 1, "what stands in brackets is no number.")
        errors |= {name: spread} if spread is not None else {}
    said = "standard errors in" in notes
    n = next((whole(text) for name, text in model.ends.items() if _N.fullmatch(name)), None)
    linear = any(_R2.fullmatch(name) for name in model.ends) and any(
        _ADJUSTED.fullmatch(name) for name in model.ends
    )
    kind = (
        "ols"
        if linear or re.search(r"(?i)\bols\b", model.title)
        else "logit"
        if re.search(r"(?i)\blogit\b", model.title)
        else None
    )
    known = {**({"kind": kind} if kind else {}), **fit_keys(given)}
    if "kind" not in known:
        raise OpenQuestionError(
            f"one of several models side by side, {len(estimates)} coefficients.",
            "Of which kind of model, and of which formula?",
            {"kind": "ols", "formula": "LABEL ~ ..."},
        )
    fit = ParsedFit(
        "ols", model.label, coefficients=estimates, standard_errors=errors if said else {}, n=n
    )
    return replace(fit, **known)


_DOUBLE = re.compile(r"\s*={8,}\s*")


def read_drawn(lines: Sequence[str]) -> list[Match]:
    """Return a piece for each model of each drawn table of coefficients."""
    bars = [k for k, line in enumerate(lines) if _DOUBLE.fullmatch(line)]
    pieces: list[Match] = []
    k = 0
    while k < len(bars):
        start = bars[k]
        if k + 1 == len(bars):
            body = lines[start + 1 :]
            if (
                any(re.search(r"\d", line) for line in body)
                and not _is_statsmodels(body)
                and is_coefficients(text_grid(body, start + 2))
            ):

                def cut(given: Annotation, line: int = len(lines)) -> ParsedOutput:
                    raise LineError(
                        line, "the table has no double line at its end: the file is cut."
                    )

                pieces.append(Match(range(start + 1, len(lines) + 1), "text", cut))
            break
        end = bars[k + 1]
        block = text_grid(lines[start + 1 : end], start + 2)
        if block.rows and not _is_statsmodels(lines[start + 1 : end]) and is_coefficients(block):
            after = end + 1
            notes = []
            while after < len(lines) and lines[after].strip() and not is_remark(lines[after]):
                notes.append(lines[after].strip())
                after += 1
            block = replace(block, titles=tuple(notes))
            pieces += [
                replace(one, lines=range(start + 1, after + 1))
                for one in coefficient_pieces(block, "text")
            ]
            k += 1
        k += 1
    return pieces


def _is_statsmodels(lines: Sequence[str]) -> bool:
    """Whether lines are of a summary of statsmodels, which has a reader of its own."""
    return any(re.match(r"\s*coef\s+std err\b", line) for line in lines)


READERS.register(
    TextReader("drawn tables", "tables of screenreg (texreg) and the like", read_drawn)
)
