"""Models (`summary()` of lm, glm and coxph), tables (`table()`, `xtabs()`, `addmargins()`, `prop.table()`; also counts as pandas prints them) and tests as R prints them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, takewhile
from typing import Any

from ...coefficient_names import split_outside
from ..coefficient_grid import Row, coefficients_of
from ..numbers import (
    NUMBER,
    P_VALUE,
    PrintedText,
    group_of,
    same_position,
    sign_of,
    whole,
    words_in,
)
from ..parsed import UNNAMED, Cell, ParsedFit, ParsedTable, ParsedTest
from ..printed_grid import PrintedGrid, axis_names, parse_table
from ..protocol import (
    READERS,
    Annotation,
    LineError,
    Match,
    OpenQuestionError,
    TextReader,
    fit_keys,
)

# Models.

_ROW = re.compile(
    rf"(?P<name>\S.*?)\s+(?P<numbers>(?:(?:{NUMBER}|NA|NaN|-?Inf)\s+){{3,4}})(?P<p>{P_VALUE}|NA|NaN)\s*(?:\*+|\.)?\s*"
)
_FAMILIES = {
    ("binomial", "logit"): "logit",
    ("binomial", "probit"): "probit",
    ("poisson", "log"): "poisson",
    ("gaussian", "identity"): "ols",
}
_OWN_LINKS = {
    "binomial": "logit",
    "poisson": "log",
    "gaussian": "identity",
    "Gamma": "inverse",
    "inverse.gaussian": "1/mu^2",
}
_GLM_FAMILIES = {
    "gaussian": "gaussian",
    "binomial": "binomial",
    "poisson": "poisson",
    "Gamma": "gamma",
    "inverse.gaussian": "inverse-gaussian",
}
_LINKS = {"1/mu^2": "inverse-squared"}
_LAST = {
    "lm": re.compile(r"F-statistic:"),
    "glm": re.compile(r"Number of Fisher Scoring iterations"),
    "coxph": re.compile(r"Score \(logrank\) test"),
}


def read_r_models(lines: Sequence[str]) -> list[Match]:
    """Return a match for each `summary()` in some lines."""
    starts = [k for k, line in enumerate(lines) if line.strip() == "Call:"]
    matches = []
    for start, stop in pairwise([*starts, len(lines)]):
        function, _ = _call(lines[start:stop])
        last = _LAST.get(function)
        ends = [k for k in range(start, stop) if last is not None and last.match(lines[k].strip())]
        # No end, or of an intercept alone: up to the last line that says something of a fit.
        end = (ends or [k for k in range(start, stop) if lines[k].strip()])[-1]
        parse = partial(_parse_model, lines[start : end + 1], start + 1)
        matches.append(Match(range(start + 1, end + 2), "R", parse))
    return matches


def _call(body: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The function and the arguments of the call after the first line."""
    call = " ".join(line.strip() for line in body[1 : _call_end(body)])
    return call.split("(")[0].split("::")[-1], arguments(call)


def _call_end(body: Sequence[str]) -> int:
    """The line after a call."""
    return next((k for k in range(1, len(body)) if not body[k].strip()), len(body))


def arguments(call: str) -> dict[str, str]:
    """Return the arguments of a call of R, by name, or by place where they have none.

    Examples
    --------
    >>> arguments("glm(formula = y ~ f(a, b), family = binomial(link = 'probit'), data = d)")["family"]
    "binomial(link = 'probit')"
    """
    named: dict[str, str] = {}
    inside = call[call.find("(") + 1 : call.rfind(")")]
    for number, part in enumerate(split_outside(inside, ",")):
        match = re.match(r"\s*([\w.]+)\s*=(?!=)\s*", part)
        named[match[1] if match else str(number)] = part[match.end() if match else 0 :].strip()
    return named


def _parse_model(body: Sequence[str], first: int, annotation: Annotation) -> ParsedFit:
    function, keys = _call(body)
    if function not in _LAST:
        raise OpenQuestionError(
            f"R: a model by {function or 'a call that is cut off'}.",
            "Models of this kind are not read: describe it in a file of outputs.",
        )
    formulas = (keys.get("formula"), keys.get("0"))
    formula = next((text for text in formulas if text and "~" in text), None)
    text = "\n".join(body)
    deleted = re.search(r"\((\d+) observations? deleted due to missingness\)", text)
    fit = ParsedFit(
        "ols",
        None if formula is None else formula.split("~")[0].strip(),
        formula,
        **_coefficients(body, first, cox=function == "coxph"),
        extremes=any(re.search(r"\bMin\s.*\bMax\b", line) for line in body),
        unresolved_reason=_unresolved_reason(keys, annotation),
        left_out=int(deleted[1]) if deleted else None,
    )
    fit = {"lm": _lm, "glm": _glm, "coxph": _cox}[function](fit, text, keys, first)
    return replace(fit, **fit_keys(annotation))


def _unresolved_reason(keys: Mapping[str, str], annotation: Annotation) -> str:
    """Why the call does not say which records the model is of, or how they count."""
    if "weights" in keys:
        return "it is weighted"
    if "offset" in keys or "offset(" in keys.get("formula", ""):
        return "it has an offset"
    if annotation.where is None and ("subset" in keys or re.search(r"[\[(]", keys.get("data", ""))):
        return (
            'it is of some of the records, which ones R says in its own words: write where = "..."'
        )
    return ""


def _coefficients(body: Sequence[str], first: int, *, cox: bool) -> dict[str, Any]:
    """Estimates and standard errors by name."""
    head = r"\bcoef\s+exp\(coef\)\s+se\(coef\)" if cox else r"\bEstimate\s+Std\. Error\b"
    last = first + len(body) - 1
    start = next((k for k in range(_call_end(body), len(body)) if re.search(head, body[k])), None)
    if start is None:
        raise LineError(
            last,
            "the summary ends before its table of coefficients: the file is cut, or it is no summary().",
        )
    rows: list[Row] = []
    numbers: list[PrintedText] = []
    for line, text in enumerate(body[start + 1 :], first + start + 1):
        if not text.strip() or text.startswith("---"):
            break
        match = _ROW.fullmatch(text.strip())
        names = match["name"].split() if match else []
        cells = words_in(text, line)[len(names) :][: len(match["numbers"].split())] if match else []
        if match is None or len(cells) != (4 if cox else 3):
            raise LineError(
                line,
                "a row of coefficients must have a name, its estimate, its standard error, a statistic and a p-value.",
            )
        rows.append((match["name"], cells[0], cells[2 if cox else 1]))
        numbers += cells
    else:
        raise LineError(
            last, "the table of coefficients is cut off: the file ends in the middle of a summary."
        )
    sign = sign_of(numbers)
    if sign.mixed:
        raise LineError(max(sign.mixed), f"its decimal sign is not that of line {min(sign.mixed)}.")
    fault = "a coefficient or its standard error is no number, or a name stands there twice."
    # What is not estimable R leaves out of the fit.
    estimable = (row for row in rows if row[1] not in ("NA", "NaN"))
    return coefficients_of(estimable, sign.sign or ".", fault)


def _cut(text: str, first: int, what: str) -> LineError:
    last = first + text.count("\n")
    return LineError(last, f"the summary ends before {what}: the file is cut.")


def _lm(fit: ParsedFit, text: str, keys: Mapping[str, str], first: int) -> ParsedFit:
    match = re.search(
        r"Residual standard error:\s*\S+\s+on\s+([\d,.]+)\s+degrees? of freedom", text
    )
    if match is None:
        raise _cut(text, first, "its residual degrees of freedom")
    dof = whole(group_of(match, 1, first))
    return replace(fit, dof=dof, n=dof + len(fit.coefficients))


def _glm(fit: ParsedFit, text: str, keys: Mapping[str, str], first: int) -> ParsedFit:
    family = re.search(r"\(Dispersion parameter for ([\w. ()]+?) family taken to be", text)
    null, residual = (
        re.search(rf"{name} deviance:\s*\S+\s+on\s+(\d+)\s+degrees? of freedom", text)
        for name in ("Null", "Residual")
    )
    if family is None or null is None or residual is None:
        raise _cut(text, first, "its family and degrees of freedom")
    written = re.search(r"link\s*=\s*[\"']?([\w./^]+)", keys.get("family", ""))
    name = family[1].strip()
    link = written[1] if written else _OWN_LINKS.get(name, "")
    kind = _FAMILIES.get((name, link), "glm")
    if kind == "glm" and name not in _GLM_FAMILIES:
        raise OpenQuestionError(
            f"R: a generalised linear model of family {name}.",
            "Models of this family are not read: describe it in a file of outputs.",
        )
    dof = whole(group_of(residual, 1, first))
    n = dof + len(fit.coefficients)
    if kind != "glm":
        # Probit's standard errors are those of the expected information, which our probit has not.
        return replace(fit, kind=kind, dof=dof, n=n, robust=kind == "probit")
    ours = _LINKS.get(link, link) or None
    return replace(fit, kind=kind, dof=dof, n=n, robust=True, family=_GLM_FAMILIES[name], link=ours)


def _cox(fit: ParsedFit, text: str, keys: Mapping[str, str], first: int) -> ParsedFit:
    match = re.search(r"\bn=\s*(\d+)", text)
    if match is None:
        raise _cut(text, first, "its n")
    fit = replace(fit, kind="cox", n=whole(group_of(match, 1, first)))
    label = re.fullmatch(
        r"Surv\(\s*([\w.]+)\s*,\s*([\w.]+)(?:\s*==\s*([\w.\"']+))?\s*\)", fit.label or ""
    )
    if label is None or re.search(r"\b(strata|cluster|frailty|tt)\(", fit.formula or ""):
        reason = "its label, strata or clusters are written in R's own words: describe it in a file of outputs"
        return replace(fit, unresolved_reason=fit.unresolved_reason or reason)
    time, event, level = label.groups()
    ties = "breslow" if "breslow" in keys.get("ties", keys.get("method", "")) else "efron"
    extra: dict[str, Any] = {"event": event, "ties": ties}
    if level:
        extra["level"] = int(level) if level.isdigit() else level.strip("\"'")
    formula = f"{time} ~ {(fit.formula or '~').split('~', 1)[1].strip()}"
    return replace(fit, label=time, formula=formula, extra=extra)


READERS.register(TextReader("r models", "summary() of lm, glm and coxph in R", read_r_models))


# Tables.

_CELL = re.compile(rf"{NUMBER}|<\s?\d+|NA")
_SERIES_END = re.compile(r"(?:Name: (?P<name>.+), )?dtype: u?int\d+")
_LAYER = re.compile(r", , (?:(?P<name>.+?) = )?(?P<level>.*\S)\s*")


@dataclass(frozen=True)
class _Block:
    """A table in some lines (from 1). `either_way`: labels over counts, as R prints them, or labels beside counts, as pandas does."""

    lines: range
    grid: PrintedGrid
    program: str = "R"
    either_way: bool = False


def read_r_tables(lines: Sequence[str]) -> list[Match]:
    """Return a match for each table in some lines."""
    matches: list[Match] = []
    start = 0
    while start < len(lines):
        if _LAYER.fullmatch(lines[start].rstrip()):
            match = _layers(lines, start)
            matches.append(match)
            start = match.lines[-1]
            continue
        block = _series(lines, start) or _two(lines, start) or _one(lines, start)
        if block is None:
            start += 1
            continue
        matches.append(Match(block.lines, block.program, partial(_parse_block, block)))
        start = block.lines[-1]
    return matches


def _parse_block(block: _Block, annotation: Annotation) -> ParsedTable:
    grid = block.grid
    if block.either_way:
        raise OpenQuestionError(
            "two lines of two numbers.",
            "Labels may stand over their counts, as R prints a table, or beside them, as pandas prints value_counts(). Write it as CSV, or describe it in a file of outputs.",
        )
    (row_name,) = grid.row_names
    if block.program != "R":
        return parse_table(grid, annotation)
    if annotation.kind is None and (
        len(grid.columns) == 1 or (not grid.columns and row_name is None)
    ):
        raise OpenQuestionError(
            "R: numbers below labels.",
            "R prints values by name, and columns of records, in this form, too. Are they counts of people?",
            {"kind": "table", "by": [row_name or "COLUMN", *(["COLUMN"] if grid.columns else [])]},
        )
    is_whole = all("." not in cell for row in grid.cells for cell in row)
    return parse_table(replace(grid, counts=is_whole or None), annotation)


def _numbers(lines: Sequence[str], k: int) -> list[PrintedText]:
    """The numbers at the end of a line."""
    words = reversed(words_in(lines[k], k + 1))
    return list(takewhile(_CELL.fullmatch, words))[::-1]


def _end(word: PrintedText) -> int:
    """After how many characters of its line a word ends."""
    return word.position.column - 1 + len(word)


def _two(lines: Sequence[str], start: int) -> _Block | None:
    """A table of two columns that begins at a line: the name of the columns, the name of the rows with the columns' labels, then rows."""
    if start + 2 >= len(lines) or ":" in lines[start] or "|" in lines[start]:
        return None
    top, head = lines[start].rstrip("\n"), lines[start + 1].rstrip()
    if not top.startswith(" ") or len(top.split()) > 1 or not head.strip():
        return None
    named = top if top.strip() else head
    left = len(named) - len(named.lstrip())
    # Cells are the numbers right of the labels.
    ends = [_end(word) for word in _numbers(lines, start + 2) if word.position.column > left]
    width = len(ends)
    labels = _labels(head[left:], [end - left for end in ends]) if len(head) > left else None
    row_name = head[:left].strip() or None
    if not width or labels is None:
        return None
    rows, cells, last = list[str](), list[tuple[PrintedText, ...]](), start + 2
    while last < len(lines) and lines[last].strip():
        numbers = _numbers(lines, last)[-width:]
        if [_end(word) for word in numbers] != ends:
            break
        rows.append(lines[last][:left].strip())
        cells.append(tuple(numbers))
        last += 1
    if row_name is not None and _CELL.fullmatch(row_name):
        return None  # the number of a row: records, not a table
    goes_on = last < len(lines) and bool(lines[last].strip())
    more = _two(lines, last) if goes_on else None
    if more is None and goes_on and _numbers(lines, last):  # a row that is out of line
        rows.append("")
        cells.append((PrintedText("", last + 1),) * width)
        last += 1
    grid = _grid((row_name, top.strip() or None), rows, labels, cells)
    if more is not None and (more.grid.rows, more.grid.column_name) == (rows, grid.column_name):
        # A wide table, folded.
        joined = (row + other for row, other in zip(cells, more.grid.cells, strict=True))
        grid = replace(grid, columns=grid.columns + more.grid.columns, cells=tuple(joined))
        last = more.lines[-1]
    return _Block(range(start + 1, last + 1), grid)


def _grid(
    names: tuple[str | None, str | None],
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[tuple[PrintedText, ...]],
    *,
    is_stated: bool = False,
) -> PrintedGrid:
    row_name, column_name = names
    labels = tuple((row,) for row in rows)
    return PrintedGrid(
        (row_name,),
        column_name,
        labels,
        tuple(columns),
        tuple(cells),
        counts=is_stated or None,
        is_stated=is_stated,
    )


def _labels(head: str, ends: Sequence[int]) -> list[str] | None:
    """The labels over columns that end at some places; None where they do not fit."""
    labels = [head[start:end].strip() for start, end in pairwise([0, *ends])]
    return labels if ends and all(labels) and len(head) <= ends[-1] else None


def _series(lines: Sequence[str], start: int) -> _Block | None:
    """Counts as pandas prints a series, `value_counts()` first of all: its name, labels each beside a number, then the type of these."""
    end = start + 1
    while (
        end < len(lines)
        and re.fullmatch(r"\S.*\s\d+", lines[end].rstrip())
        and not _SERIES_END.fullmatch(lines[end].strip())
    ):
        end += 1
    last = _SERIES_END.fullmatch(lines[end].strip()) if start + 1 < end < len(lines) else None
    name = lines[start].strip()
    if last is None or re.search(r"\s", name):
        return None
    is_stated = (last["name"] or "").strip().lower() in ("count", "size", "n")
    row_name = name or (None if is_stated else last["name"])
    rows = [line.rstrip().rsplit(None, 1)[0].strip() for line in lines[start + 1 : end]]
    cells = [(words_in(lines[k], k + 1)[-1],) for k in range(start + 1, end)]
    grid = _grid((row_name, None), rows, (), cells, is_stated=is_stated)
    return _Block(range(start + 1, end + 2), grid, program="pandas")


def _one(lines: Sequence[str], start: int) -> _Block | None:
    """A table of one column: its name, its labels, its counts below them, each ending at the same place."""
    if start + 2 >= len(lines):
        return None
    name, labels, counts = (line.rstrip() for line in lines[start : start + 3])
    numbers = _numbers(lines, start + 2)
    if (
        " " in name.strip()
        or ":" in name
        or name.startswith(" ")
        or len(numbers) != len(counts.split())
        or not all(re.fullmatch(r"\d+", word) for word in numbers)
    ):
        return None
    after = lines[start + 3].strip() if start + 3 < len(lines) else ""
    words = _labels(labels, [_end(word) for word in numbers])
    if words is None or len(words) < 2 or (after and not name):
        return None
    # R ends its lines with a blank; where an editor cut it off nothing tells the two apart.
    either_way = (
        not lines[start + 1].endswith(" ")
        and len(words) == 2
        and all(re.fullmatch(r"\S+\s+\d+", line) for line in (labels, counts))
    )
    grid = _grid((name or None, None), words, (), [(word,) for word in numbers])
    return _Block(range(start + 1, start + 4), grid, either_way=either_way)


def _layers(lines: Sequence[str], start: int) -> Match:
    """The tables of a third column's levels, one after the other."""
    layers: list[tuple[str | None, str, PrintedGrid]] = []
    fault: int | None = None
    end = start
    while end < len(lines) and (layer := _LAYER.fullmatch(lines[end].rstrip())):
        head = end + 1
        while head < len(lines) and lines[head] == "":
            head += 1
        block = _two(lines, head)
        if block is None:
            fault, end = end + 1, min(head + 1, len(lines))
            break
        layers.append((layer["name"], layer["level"], block.grid))
        end = block.lines[-1]
        while end < len(lines) and not lines[end].strip():
            end += 1
    parse = partial(_parse_layers, layers, fault, start + 1)
    return Match(range(start + 1, max(end, start + 1) + 1), "R", parse)


def _parse_layers(
    layers: Sequence[tuple[str | None, str, PrintedGrid]],
    fault: int | None,
    start: int,
    annotation: Annotation,
) -> ParsedTable:
    if fault is not None:
        raise LineError(fault, "a layer of the table has no rows: the file is cut.")
    name, _, first = layers[0]
    if any((grid.rows, grid.columns) != (first.rows, first.columns) for _, _, grid in layers):
        raise LineError(
            layers[-1][2].lines[0] - 2, "the layers of the table have different rows or columns."
        )
    axes = zip((*first.row_names, first.column_name, name), UNNAMED, strict=True)
    by = axis_names([axis or unnamed for axis, unnamed in axes], annotation, start)
    cells: dict[Cell, Any] = {}
    for _, level, grid in layers:
        layer = replace(grid, row_names=("r",), column_name="c", counts=True, is_stated=True)
        plain = parse_table(layer, annotation.model_copy(update={"by": None, "totals": False}))
        if plain.percentages:
            raise OpenQuestionError("R: a table of three columns.", "Its numbers are no counts.")
        cells |= {(*key, level): cell for key, cell in plain.cells.items()}
    return ParsedTable(
        by,
        (tuple(first.rows), first.columns, tuple(level for _, level, _ in layers)),
        cells,
        threshold=annotation.threshold,
        base=annotation.base,
        where=annotation.where,
        is_stated=bool(annotation.kind),
        is_confirmed=bool(annotation.kind),
    )


READERS.register(TextReader("r tables", "table(), xtabs() and prop.table() in R", read_r_tables))


# Tests.

_DATA = re.compile(r"data:\s+(\S.*)")
_RESULT = re.compile(
    rf"(?:(?P<what>[\w-]+(?: chi-squared)?) = (?P<statistic>{NUMBER}), (?:df = (?P<dof>{NUMBER}), )?)?p-value (?:= )?(?P<p_value>{P_VALUE})"
)
_INTERVAL = re.compile(
    rf"(?P<level>[\d.]+) percent confidence interval:\s+(?P<low>{NUMBER}|-Inf)\s+(?P<high>{NUMBER}|Inf)"
)
_ALTERNATIVE = re.compile(r"alternative hypothesis: .*\b(less|greater) than\b")
_TWO = re.compile(
    r"(?:table|xtabs)\(~?\s*([\w.$]+)\s*[,+]\s*([\w.$]+)(?:\s*,.*)?\)|([\w.$]+) and ([\w.$]+)"
)
_GROUPED = re.compile(r"([\w.$]+) by ([\w.$]+)")
_TEST_KINDS = {
    "Chi-squared test": "chi-square",
    "Fisher's Exact Test": "fisher",
    "t-test": "t-test",
    "Kruskal-Wallis": "kruskal-wallis",
    "Wilcoxon": "mann-whitney",
}
"""What the title of a test has in it, and the kind that it is."""
_TWO_SAMPLES = {"t-test": "Two Sample", "mann-whitney": "rank sum"}


def read_r_tests(lines: Sequence[str]) -> list[Match]:
    """Return a match for each test in some lines: from its title to the end of its block."""
    matches = []
    for start, line in enumerate(lines):
        data = _DATA.fullmatch(line.rstrip())
        if data is None:
            continue
        title = next((k for k in range(start - 1, -1, -1) if lines[k].strip()), start)
        end = start + 1
        while end < len(lines) and lines[end].strip() and not _DATA.fullmatch(lines[end].rstrip()):
            end += 1
        body = "\n".join(lines[start:end]) if end > start + 1 else ""
        parse = partial(_parse_test, lines[title].strip(), data[1], body, start + 1)
        matches.append(Match(range(title + 1, end + 1), "R", parse))
    return matches


def _parse_test(title: str, data: str, body: str, first: int, annotation: Annotation) -> ParsedTest:
    if not body:
        raise LineError(first, "the test ends before its result: the file is cut.")
    result = _RESULT.search(body)
    if result is None:
        raise LineError(first + 1, "a test must have its statistic and a p-value in this line.")
    kind = next((kind for words, kind in _TEST_KINDS.items() if words in title), None)
    if kind is None or (kind == "chi-square" and "given probabilities" in title):
        raise OpenQuestionError(
            f"R: {title}.", "Tests of this kind are not read: describe it in a file of outputs."
        )
    is_by_groups = kind not in ("chi-square", "fisher")
    match = (_GROUPED if is_by_groups else _TWO).fullmatch(data)
    columns = [part.split("$")[-1] for part in match.groups() if part] if match else []
    of = (annotation.of or next(iter(columns), None)) if is_by_groups else None
    is_one_sample = _TWO_SAMPLES.get(kind, "") not in title
    return ParsedTest(
        kind,
        title,
        _test_numbers(kind, title, body, result, first),
        tuple(annotation.by or columns[is_by_groups:]),
        of,
        annotation.n,
        annotation.where,
        "it is of one sample or paired: describe it in a file of outputs" if is_one_sample else "",
    )


def _test_numbers(
    kind: str, title: str, body: str, result: re.Match[str], first: int
) -> dict[str, Any]:
    """The statistic, its degrees of freedom and the p-value, as printed; and what a kind has beside these."""
    numbers: dict[str, Any] = {
        key: group_of(result, key, first) for key in ("statistic", "dof", "p_value") if result[key]
    }
    numbers["p_value"] = same_position(numbers["p_value"], result["p_value"].replace(" ", ""))
    if result["dof"] and "." not in result["dof"]:
        numbers["dof"] = whole(numbers["dof"])
    alternative = _ALTERNATIVE.search(body)
    if alternative and kind in ("fisher", "t-test", "mann-whitney"):
        numbers["alternative"] = alternative[1]
    if kind == "chi-square":
        numbers |= {"correction": True} if "Yates" in title else {}
    elif kind == "fisher":
        ratio = re.search(rf"odds ratio\s+({NUMBER})\s*$", body)
        numbers |= (
            {"conditional": True, "odds_ratio": _vouched(group_of(ratio, 1, first))}
            if ratio
            else {}
        )
    elif kind == "mann-whitney":
        numbers["correction"] = "continuity correction" in title
        if "exact" in title:
            del numbers["p_value"]
    elif kind == "t-test" and _TWO_SAMPLES[kind] in title:
        numbers["welch"] = "Welch" in title
        interval = _INTERVAL.search(body)
        if interval and not alternative:
            numbers |= {key: group_of(interval, key, first) for key in ("low", "high")}
            numbers["level"] = float(interval["level"]) / 100
        if means := re.search(rf"mean in group .*\s+({NUMBER})\s+({NUMBER})\s*$", body):
            numbers["means"] = [group_of(means, k, first) for k in (1, 2)]
    return numbers


def _vouched(ratio: str) -> str:
    """An odds ratio with the digits that R vouches for: it searches for it (or its inverse, above 1) with a tolerance of 1.2e-4.

    Examples
    --------
    >>> _vouched("1.016303"), _vouched("25.53"), _vouched("0.325")
    ('1.016', '26', '0.325')
    """
    value = float(ratio)
    decimals = max(0, math.floor(-math.log10(2.5e-4 * max(1.0, value**2))))
    is_whole = len(ratio.partition(".")[2]) <= decimals
    return ratio if is_whole else same_position(ratio, f"{value:.{decimals}f}")


READERS.register(
    TextReader(
        "r tests",
        "t.test(), chisq.test(), fisher.test(), kruskal.test() and wilcox.test() in R",
        read_r_tests,
    )
)
