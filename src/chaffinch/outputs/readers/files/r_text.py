"""Models (`summary()` of lm, glm and coxph), tables (`table()`, `xtabs()`, `addmargins()`, `prop.table()`; also counts as pandas prints them) and tests as R prints them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from .crossed import OpenQuestionError, PrintedGrid, parse_table
from .numbers import NUMBER, P_VALUE, number_text, sign_of, whole
from .printed import UNNAMED, ParsedFit, ParsedTable, ParsedTest
from .protocol import READERS, Annotation, LineError, Match, ParsedOutput, TextReader, fit_keys

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
_READ = ("lm", "glm", "coxph")
_LAST = {
    "lm": re.compile(r"F-statistic:"),
    "glm": re.compile(r"Number of Fisher Scoring iterations"),
    "coxph": re.compile(r"Score \(logrank\) test"),
}


def read_r_models(lines: Sequence[str]) -> list[Match]:
    """Return a piece for each `summary()` in some lines."""
    starts = [k for k, line in enumerate(lines) if line.strip() == "Call:"]
    pieces = []
    for k, start in enumerate(starts):
        stop = starts[k + 1] if k + 1 < len(starts) else len(lines)
        call, _ = _call(lines[start:stop], 0)
        last = _LAST.get(call.split("(")[0].split("::")[-1])
        ends = [
            at for at in range(start, stop) if last is not None and last.match(lines[at].strip())
        ]
        if (
            not ends
        ):  # no end, or of an intercept alone: up to the last line that says something of a fit
            ends = [at for at in range(start, stop) if lines[at].strip()]
        body = list(lines[start : ends[-1] + 1])
        pieces.append(
            Match(range(start + 1, ends[-1] + 2), "R", partial(_model_facts, body, start + 1))
        )
    return pieces


def _call(lines: Sequence[str], start: int) -> tuple[str, int]:
    """The call after a line, in one, and the line after it."""
    at = start + 1
    parts = []
    while at < len(lines) and lines[at].strip():
        parts.append(lines[at].strip())
        at += 1
    return " ".join(parts), at


def arguments(call: str) -> dict[str, str]:
    """Return the arguments of a call of R, by name, or by place where they have none.

    Examples
    --------
    >>> arguments("glm(formula = y ~ f(a, b), family = binomial(link = 'probit'), data = d)")["family"]
    "binomial(link = 'probit')"
    """
    inside = call[call.find("(") + 1 : call.rfind(")")]
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(inside):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(inside[start:place])
            start = place + 1
    parts.append(inside[start:])
    named: dict[str, str] = {}
    for number, part in enumerate(parts):
        match = re.match(r"\s*([\w.]+)\s*=(?!=)\s*", part)
        named[match[1] if match else str(number)] = (part[match.end() :] if match else part).strip()
    return named


def _model_facts(body: Sequence[str], first: int, given: Annotation) -> ParsedOutput:
    call, after = _call(body, 0)
    function, keys = call.split("(")[0].split("::")[-1], arguments(call)
    if function not in _READ:
        raise OpenQuestionError(
            f"R: a model by {function or 'a call that is cut off'}.",
            "Models of this kind are not read: describe it in a file of outputs.",
            {},
        )
    formula = next(
        (text for text in (keys.get("formula"), keys.get("0")) if text and "~" in text), None
    )
    rows, errors = _coefficients(body, after, first, cox=function == "coxph")
    fit = ParsedFit(
        kind="ols",
        label=None if formula is None else formula.split("~")[0].strip(),
        formula=formula,
        coefficients=rows,
        standard_errors=errors,
        extremes=any(re.search(r"\bMin\s.*\bMax\b", line) for line in body),
        unsaid=_unsaid(keys, given),
    )
    text = "\n".join(body)
    fit = {"lm": _lm, "glm": _glm, "coxph": _cox}[function](fit, text, keys, first, len(body))
    gone = re.search(r"\((\d+) observations? deleted due to missingness\)", text)
    return replace(fit, left_out=int(gone[1]) if gone else None, **fit_keys(given))


def _unsaid(keys: dict[str, str], given: Annotation) -> str:
    """Why the call does not say which records the model is of, or how they count."""
    if "weights" in keys:
        return "it is weighted"
    if "offset" in keys or "offset(" in keys.get("formula", ""):
        return "it has an offset"
    if given.where is None and ("subset" in keys or re.search(r"[\[(]", keys.get("data", ""))):
        return (
            'it is of some of the records, which ones R says in its own words: write where = "..."'
        )
    return ""


def _coefficients(
    body: Sequence[str], start: int, first: int, *, cox: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """Estimates and standard errors by name."""
    heads = [
        k
        for k in range(start, len(body))
        if re.search(
            r"\bEstimate\s+Std\. Error\b" if not cox else r"\bcoef\s+exp\(coef\)\s+se\(coef\)",
            body[k],
        )
    ]
    if not heads:
        raise LineError(
            first + len(body) - 1,
            "the summary ends before its table of coefficients: the file is cut, or it is no summary().",
        )
    rows: list[tuple[int, str, list[str]]] = []
    for at in range(heads[0] + 1, len(body)):
        line = body[at].rstrip()
        if not line.strip() or line.startswith("---"):
            break
        match = _ROW.fullmatch(line.strip())
        if match is None or len(match["numbers"].split()) != (4 if cox else 3):
            raise LineError(
                first + at,
                "a row of coefficients must have a name, its estimate, its standard error, a statistic and a p-value.",
            )
        rows.append((first + at, match["name"], match["numbers"].split()))
    else:
        raise LineError(
            first + len(body) - 1,
            "the table of coefficients is cut off: the file ends in the middle of a summary.",
        )
    sign = sign_of((line, number) for line, _, numbers in rows for number in numbers)
    if sign.mixed:
        raise LineError(max(sign.mixed), f"its decimal sign is not that of line {min(sign.mixed)}.")
    estimates, errors = dict[str, str](), dict[str, str]()
    for number, name, numbers in rows:
        if numbers[0] in ("NA", "NaN"):
            continue  # not estimable: R leaves it out of the fit
        estimate, error = (
            number_text(one, sign.sign or ".") for one in (numbers[0], numbers[2 if cox else 1])
        )
        if estimate is None or error is None or name in estimates:
            raise LineError(
                number,
                "a coefficient or its standard error is no number, or a name stands there twice.",
            )
        estimates[name], errors[name] = estimate, error
    return estimates, errors


def _cut(first: int, size: int, what: str) -> LineError:
    return LineError(first + size - 1, f"the summary ends before {what}: the file is cut.")


def _lm(fit: ParsedFit, text: str, keys: dict[str, str], first: int, size: int) -> ParsedFit:
    match = re.search(
        r"Residual standard error:\s*\S+\s+on\s+([\d,.]+)\s+degrees? of freedom", text
    )
    if match is None:
        raise _cut(first, size, "its residual degrees of freedom")
    dof = whole(match[1])
    return replace(fit, dof=dof, n=dof + len(fit.coefficients))


def _glm(fit: ParsedFit, text: str, keys: dict[str, str], first: int, size: int) -> ParsedFit:
    family = re.search(r"\(Dispersion parameter for ([\w. ()]+?) family taken to be", text)
    null = re.search(r"Null deviance:\s*\S+\s+on\s+(\d+)\s+degrees? of freedom", text)
    residual = re.search(r"Residual deviance:\s*\S+\s+on\s+(\d+)\s+degrees? of freedom", text)
    if family is None or null is None or residual is None:
        raise _cut(first, size, "its family and degrees of freedom")
    link = re.search(r"link\s*=\s*[\"']?([\w./^]+)", keys.get("family", ""))
    name = family[1].strip()
    own = link[1] if link else _OWN_LINKS.get(name, "")
    kind = _FAMILIES.get((name, own), "glm")
    dof = int(residual[1])
    known = {"Gamma": "gamma", "inverse.gaussian": "inverse-gaussian"}.get(name, name)
    if kind == "glm" and known not in (
        "gaussian",
        "binomial",
        "poisson",
        "gamma",
        "inverse-gaussian",
    ):
        raise OpenQuestionError(
            f"R: a generalised linear model of family {name}.",
            "Models of this family are not read: describe it in a file of outputs.",
            {},
        )
    links = {"1/mu^2": "inverse-squared"}
    # Probit's standard errors are those of the expected information, which our probit has not.
    return replace(
        fit,
        kind=kind,
        dof=dof,
        n=dof + len(fit.coefficients),
        robust=kind in ("probit", "glm"),
        family=known if kind == "glm" else None,
        link=links.get(own, own) or None if kind == "glm" else None,
    )


def _cox(fit: ParsedFit, text: str, keys: dict[str, str], first: int, size: int) -> ParsedFit:
    match = re.search(r"\bn=\s*(\d+)", text)
    if match is None:
        raise _cut(first, size, "its n")
    label = re.fullmatch(
        r"Surv\(\s*([\w.]+)\s*,\s*([\w.]+)(?:\s*==\s*([\w.\"']+))?\s*\)", fit.label or ""
    )
    unsaid = fit.unsaid
    if label is None or re.search(r"\b(strata|cluster|frailty|tt)\(", fit.formula or ""):
        unsaid = (
            unsaid
            or "its label, strata or clusters are written in R's own words: describe it in a file of outputs"
        )
        return replace(fit, kind="cox", n=int(match[1]), unsaid=unsaid)
    level = label[3]
    extra = {
        "event": label[2],
        "ties": "breslow" if "breslow" in keys.get("ties", keys.get("method", "")) else "efron",
    }
    extra |= {"level": int(level) if level.isdigit() else level.strip("\"'")} if level else {}
    formula = f"{label[1]} ~ {(fit.formula or '~').split('~', 1)[1].strip()}"
    return replace(fit, kind="cox", n=int(match[1]), label=label[1], formula=formula, extra=extra)


READERS.register(TextReader("r models", "summary() of lm, glm and coxph in R", read_r_models))


# Tables.

_TOKEN = re.compile(r"\S+")
_CELL = re.compile(rf"{NUMBER}|<\s?\d+|NA")
_SERIES_END = re.compile(r"(?:Name: (?P<name>.+), )?dtype: u?int\d+")
_LAYER = re.compile(r", , (?:(?P<name>.+?) = )?(?P<level>.*\S)\s*")


@dataclass(frozen=True)
class _Block:
    """A table of two columns in some lines (from 1): names, labels, cells."""

    lines: range
    row_name: str | None
    column_name: str | None
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...] = field(repr=False)
    row_lines: tuple[int, ...] = ()
    program: str = "R"
    either_way: bool = False  # Two lines of two numbers: labels over counts, as R prints them, or labels beside counts, as pandas does
    said: bool = False  # Whether it says that these are counts


def read_r_tables(lines: Sequence[str]) -> list[Match]:
    """Return a piece for each table in some lines."""
    pieces: list[Match] = []
    at = 0
    while at < len(lines):
        layer = _LAYER.fullmatch(lines[at].rstrip())
        if layer is not None:
            piece, at = _layers(lines, at)
            pieces.append(piece)
            continue
        block = _series(lines, at) or _two(lines, at) or _one(lines, at)
        if block is None:
            at += 1
            continue
        at = block.lines[-1]
        pieces.append(Match(block.lines, block.program, partial(_block_facts, block)))
    return pieces


def _block_facts(block: _Block, given: Annotation) -> ParsedOutput:
    if block.either_way:
        raise OpenQuestionError(
            "two lines of two numbers.",
            "Labels may stand over their counts, as R prints a table, or beside them, as pandas prints value_counts(). Write it as CSV, or describe it in a file of outputs.",
            {},
        )
    if (
        block.program == "R"
        and given.kind is None
        and (len(block.columns) == 1 or (not block.columns and block.row_name is None))
    ):
        raise OpenQuestionError(
            "R: numbers below labels.",
            "R prints values by name, and columns of records, in this form, too. Are they counts of people?",
            {
                "kind": "table",
                "by": [block.row_name or "COLUMN", *(["COLUMN"] if block.columns else [])],
            },
        )
    whole = all("." not in cell for row in block.cells for cell in row)
    return parse_table(
        PrintedGrid(
            block.row_name,
            block.column_name,
            block.rows,
            block.columns,
            block.cells,
            block.row_lines,
            counts=(block.said or None) if block.program != "R" else True if whole else None,
            said=block.said,
        ),
        given,
    )


def _tokens(line: str) -> list[tuple[int, str]]:
    """Words with the places at which they end."""
    return [(match.end(), match.group()) for match in _TOKEN.finditer(line)]


def _numbers(line: str) -> list[tuple[int, str]]:
    """The numbers at the end of a line, with the places at which they end."""
    numbers: list[tuple[int, str]] = []
    for end, word in reversed(_tokens(line)):
        if not _CELL.fullmatch(word):
            break
        numbers.insert(0, (end, word))
    return numbers


def _two(lines: Sequence[str], at: int) -> _Block | None:
    """A table of two columns that begins at a line: the name of the columns, the name of the rows with the columns' labels, then rows."""
    if at + 2 >= len(lines) or ":" in lines[at] or "|" in lines[at]:
        return None
    top, head = lines[at].rstrip("\n"), lines[at + 1].rstrip()
    indented = top.startswith(" ") and len(top.split()) <= 1
    if not indented or not head.strip() or (not top.strip() and not top):
        return None
    left = len(top) - len(top.lstrip()) if top.strip() else len(head) - len(head.lstrip())
    first = _numbers(lines[at + 2])
    width = _width(lines[at + 2], first, left)
    if not width:
        return None
    first = first[-width:]
    labels = _labels(head[left:], [end - left for end, _ in first]) if len(head) > left else None
    if labels is None:
        return None
    rows, cells, row_lines, k = [], [], [], at + 2
    while k < len(lines) and lines[k].strip():
        numbers = _numbers(lines[k])[-width:]
        if len(numbers) < width or [end for end, _ in numbers] != [end for end, _ in first]:
            break
        rows.append(lines[k][:left].strip())
        cells.append(tuple(word for _, word in numbers))
        row_lines.append(k + 1)
        k += 1
    row_name = head[:left].strip() or None
    if row_name is not None and _CELL.fullmatch(row_name):
        return None  # the number of a row: records, not a table
    block = _Block(
        range(at + 1, k + 1),
        row_name,
        top.strip() or None,
        tuple(labels),
        tuple(rows),
        tuple(cells),
        tuple(row_lines),
    )
    more = _two(lines, k) if k < len(lines) and lines[k].strip() else None
    if (
        more is not None and more.rows == block.rows and more.column_name == block.column_name
    ):  # a wide table, folded
        joined = tuple((*one, *other) for one, other in zip(block.cells, more.cells, strict=True))
        return _Block(
            range(at + 1, more.lines[-1] + 1),
            row_name,
            block.column_name,
            (*block.columns, *more.columns),
            block.rows,
            joined,
            block.row_lines,
        )
    if k < len(lines) and lines[k].strip() and _numbers(lines[k]) and more is None:
        return _Block(
            range(at + 1, k + 2),
            row_name,
            block.column_name,
            block.columns,
            (*block.rows, ""),
            (*block.cells, ("",) * width),
            (*block.row_lines, k + 1),
        )
    return block


def _width(line: str, numbers: list[tuple[int, str]], left: int) -> int:
    """How many of the numbers at the end of a row are cells: those right of its labels."""
    return sum(1 for end, word in numbers if end - len(word) >= left)


def _labels(head: str, ends: Sequence[int]) -> list[str] | None:
    """The labels over columns that end at some places; None where they do not fit."""
    starts = [0, *ends]
    labels = [head[one:other].strip() for one, other in pairwise(starts)]
    return labels if all(labels) and len(head) <= ends[-1] else None


def _series(lines: Sequence[str], at: int) -> _Block | None:
    """Counts as pandas prints a series, `value_counts()` first of all: its name, labels each beside a number, then the type of these."""
    end = at + 1
    while (
        end < len(lines)
        and re.fullmatch(r"\S.*\s\d+", lines[end].rstrip())
        and not _SERIES_END.fullmatch(lines[end].strip())
    ):
        end += 1
    last = _SERIES_END.fullmatch(lines[end].strip()) if at + 1 < end < len(lines) else None
    name = lines[at].strip()
    if last is None or re.search(r"\s", name):
        return None
    parts = [line.rstrip().rsplit(None, 1) for line in lines[at + 1 : end]]
    said = (last["name"] or "").strip().lower() in ("count", "size", "n")
    row_name = name or (None if said else last["name"])
    rows, cells = (
        tuple(label.strip() for label, _ in parts),
        tuple((number,) for _, number in parts),
    )
    return _Block(
        range(at + 1, end + 2),
        row_name,
        None,
        (),
        rows,
        cells,
        tuple(range(at + 2, end + 1)),
        program="pandas",
        said=said,
    )


def _one(lines: Sequence[str], at: int) -> _Block | None:
    """A table of one column: its name, its labels, its counts below them, each ending at the same place."""
    if at + 2 >= len(lines):
        return None
    name, labels, counts = (lines[at + k].rstrip() for k in range(3))
    numbers = _numbers(counts)
    if (
        " " in name.strip()
        or ":" in name
        or not numbers
        or len(numbers) != len(_tokens(counts))
        or not all(re.fullmatch(r"\d+", word) for _, word in numbers)
    ):
        return None
    after = lines[at + 3].strip() if at + 3 < len(lines) else ""
    words = _labels(labels, [end for end, _ in numbers])
    if (
        words is None
        or (after and not name.strip())
        or len(words) < 2
        or (name and name.startswith(" "))
    ):
        return None
    cells = tuple((word,) for _, word in numbers)
    # R ends its lines with a blank; where an editor cut it off nothing tells the two apart.
    either_way = (
        not lines[at + 1].endswith(" ")
        and len(words) == 2
        and re.fullmatch(r"\S+\s+\d+", labels) is not None
        and re.fullmatch(r"\S+\s+\d+", counts) is not None
    )
    return _Block(
        range(at + 1, at + 4),
        name.strip() or None,
        None,
        (),
        tuple(words),
        cells,
        (at + 3,) * len(cells),
        either_way=either_way,
    )


def _layers(lines: Sequence[str], at: int) -> tuple[Match, int]:
    """The tables of a third column's levels, one after the other, and the line after them."""
    start, blocks, fault = at, list[tuple[str | None, str, _Block]](), 0
    while at < len(lines):
        layer = _LAYER.fullmatch(lines[at].rstrip())
        if layer is None:
            break
        k = at + 1
        while k < len(lines) and lines[k].strip() == "" and not lines[k].startswith(" "):
            k += 1
        block = _two(lines, k)
        if block is None:
            fault = at + 1
            at = min(k + 1, len(lines))
            break
        blocks.append((layer["name"], layer["level"], block))
        at = block.lines[-1]
        while at < len(lines) and not lines[at].strip():
            at += 1
    end = max(at, start + 1)
    return Match(
        range(start + 1, end + 1), "R", partial(_layered, blocks, fault or start + 1, bool(fault))
    ), end


def _layered(
    blocks: Sequence[tuple[str | None, str, _Block]], line: int, cut: bool, given: Annotation
) -> ParsedOutput:
    if cut or not blocks:
        raise LineError(line, "a layer of the table has no rows: the file is cut.")
    names, _, first = blocks[0]
    if any((one.rows, one.columns) != (first.rows, first.columns) for _, _, one in blocks):
        raise LineError(
            blocks[-1][2].lines[0], "the layers of the table have different rows or columns."
        )
    if given.by is not None and len(given.by) != 3:
        raise LineError(
            line,
            f"the table crosses 3 columns, and outputs.toml names {len(given.by)}: by = [...].",
        )
    by = tuple(
        given.by
        or (first.row_name or UNNAMED[0], first.column_name or UNNAMED[1], names or UNNAMED[2])
    )
    cells: dict[tuple[str, ...], Any] = {}
    for _, level, block in blocks:
        plain = parse_table(
            PrintedGrid(
                "r", "c", block.rows, block.columns, block.cells, block.row_lines, counts=True
            ),
            given.model_copy(update={"by": None, "totals": False}),
        )
        if not isinstance(plain, ParsedTable) or plain.percentages:
            raise OpenQuestionError("R: a table of three columns.", "Its numbers are no counts.")
        cells |= {(*key, level): cell for key, cell in plain.cells.items()}
    labels = (tuple(first.rows), tuple(first.columns), tuple(level for _, level, _ in blocks))
    return ParsedTable(
        by,
        labels,
        cells,
        False,
        None,
        given.threshold,
        given.base,
        given.where,
        bool(given.kind),
        bool(given.kind),
    )


READERS.register(TextReader("r tables", "table(), xtabs() and prop.table() in R", read_r_tables))


# Tests.

_DATA = re.compile(r"data:\s+(\S.*)")
_RESULT = re.compile(
    rf"(?:(?P<what>[\w-]+(?: chi-squared)?) = (?P<statistic>{NUMBER}), (?:df = (?P<dof>{NUMBER}), )?)?p-value (?:= )?(?P<p>{P_VALUE})"
)
_INTERVAL = re.compile(
    rf"(?P<level>[\d.]+) percent confidence interval:\s+(?P<low>{NUMBER}|-Inf)\s+(?P<high>{NUMBER}|Inf)"
)
_ALTERNATIVE = re.compile(r"alternative hypothesis: .*\b(less than|greater than|not equal to)\b")
_TWO = re.compile(
    r"(?:table|xtabs)\(~?\s*([\w.$]+)\s*[,+]\s*([\w.$]+)(?:\s*,.*)?\)|([\w.$]+) and ([\w.$]+)"
)
_SIDES = {"less than": "less", "greater than": "greater", "not equal to": "two-sided"}


def read_r_tests(lines: Sequence[str]) -> list[Match]:
    """Return a piece for each test in some lines: from its title to the end of its block."""
    pieces = []
    for at, line in enumerate(lines):
        if not _DATA.fullmatch(line.rstrip()):
            continue
        title = next((k for k in range(at - 1, -1, -1) if lines[k].strip()), at)
        end = at + 1
        while end < len(lines) and lines[end].strip() and not _DATA.fullmatch(lines[end].rstrip()):
            end += 1
        body = list(lines[at:end])
        pieces.append(
            Match(
                range(title + 1, end + 1),
                "R",
                partial(_test_facts, lines[title].strip(), body, at + 1),
            )
        )
    return pieces


def _test_facts(title: str, body: Sequence[str], first: int, given: Annotation) -> ParsedOutput:
    match = _DATA.fullmatch(body[0].rstrip())
    data = match[1] if match else ""
    text = "\n".join(body)
    if len(body) < 2:
        raise LineError(first, "the test ends before its result: the file is cut.")
    result = _RESULT.search(text)
    if result is None:
        raise LineError(first + 1, "a test must have its statistic and a p-value in this line.")
    for words, read in _KINDS.items():
        if words in title:
            return read(title, text, data, result, given)
    raise OpenQuestionError(
        f"R: {title}.", "Tests of this kind are not read: describe it in a file of outputs.", {}
    )


def _column(text: str) -> str:
    return text.split("$")[-1]


def _pair(data: str, given: Annotation) -> tuple[str, ...]:
    """The two columns of a test on a table."""
    match = _TWO.fullmatch(data)
    return tuple(given.by or ([_column(part) for part in match.groups() if part] if match else []))


def _by(data: str, given: Annotation) -> tuple[str | None, tuple[str, ...]]:
    """The number and the groups of a test by groups."""
    match = re.fullmatch(r"([\w.$]+) by ([\w.$]+)", data)
    of = given.of or (_column(match[1]) if match else None)
    return of, tuple(given.by or ([_column(match[2])] if match else []))


def _sided(text: str) -> dict[str, str]:
    match = _ALTERNATIVE.search(text)
    side = _SIDES[match[1]] if match else "two-sided"
    return {} if side == "two-sided" else {"alternative": side}


def _test_numbers(result: re.Match[str], *, dof: bool = True) -> dict[str, Any]:
    """The statistic, its degrees of freedom and the p-value, as printed."""
    p = result["p"].replace(" ", "")
    numbers: dict[str, Any] = {"statistic": result["statistic"]} if result["statistic"] else {}
    if dof and result["dof"]:
        numbers["dof"] = result["dof"] if "." in result["dof"] else int(result["dof"])
    return numbers | {"p_value": p}


def _chi_square(
    title: str, text: str, data: str, result: re.Match[str], given: Annotation
) -> ParsedTest:
    if "given probabilities" in title:
        raise OpenQuestionError(
            f"R: {title}.", "Tests of this kind are not read: describe it in a file of outputs.", {}
        )
    correction = {"correction": True} if "Yates" in title else {}
    return ParsedTest(
        "chi-square",
        title,
        _test_numbers(result) | correction,
        _pair(data, given),
        n=given.n,
        where=given.where,
    )


def _fisher(
    title: str, text: str, data: str, result: re.Match[str], given: Annotation
) -> ParsedTest:
    ratio = re.search(rf"odds ratio\s+({NUMBER})\s*$", text)
    numbers = (
        _test_numbers(result)
        | ({"conditional": True, "odds_ratio": _vouched(ratio[1])} if ratio else {})
        | _sided(text)
    )
    return ParsedTest("fisher", title, numbers, _pair(data, given), n=given.n, where=given.where)


def _vouched(ratio: str) -> str:
    """An odds ratio with the digits that R vouches for: it searches for it (or its inverse, above 1) with a tolerance of 1.2e-4.

    Examples
    --------
    >>> _vouched("1.016303"), _vouched("25.53"), _vouched("0.325")
    ('1.016', '26', '0.325')
    """
    value = float(ratio)
    decimals = max(0, math.floor(-math.log10(2.5e-4 * max(1.0, value**2))))
    return ratio if len(ratio.partition(".")[2]) <= decimals else f"{value:.{decimals}f}"


def _t_test(
    title: str, text: str, data: str, result: re.Match[str], given: Annotation
) -> ParsedTest:
    of, by = _by(data, given)
    numbers: dict[str, Any] = _test_numbers(result) | _sided(text)
    if "Two Sample" not in title:
        why = "it is of one sample or paired: describe it in a file of outputs"
        return ParsedTest(
            "t-test", title, numbers, by, of, n=given.n, where=given.where, unsaid=why
        )
    numbers["welch"] = "Welch" in title
    if (interval := _INTERVAL.search(text)) and "alternative" not in numbers:
        numbers |= {
            "low": interval["low"],
            "high": interval["high"],
            "level": float(interval["level"]) / 100,
        }
    if means := re.search(rf"mean in group .*\s+({NUMBER})\s+({NUMBER})\s*$", text):
        numbers["means"] = [means[1], means[2]]
    return ParsedTest("t-test", title, numbers, by, of, n=given.n, where=given.where)


def _kruskal(
    title: str, text: str, data: str, result: re.Match[str], given: Annotation
) -> ParsedTest:
    of, by = _by(data, given)
    return ParsedTest(
        "kruskal-wallis", title, _test_numbers(result), by, of, n=given.n, where=given.where
    )


def _wilcoxon(
    title: str, text: str, data: str, result: re.Match[str], given: Annotation
) -> ParsedTest:
    of, by = _by(data, given)
    numbers = (
        _test_numbers(result) | {"correction": "continuity correction" in title} | _sided(text)
    )
    if "exact" in title:
        numbers.pop("p_value")
    unsaid = (
        ""
        if "rank sum" in title
        else "it is of one sample or paired: describe it in a file of outputs"
    )
    return ParsedTest(
        "mann-whitney", title, numbers, by, of, n=given.n, where=given.where, unsaid=unsaid
    )


_KINDS = {
    "Chi-squared test": _chi_square,
    "Fisher's Exact Test": _fisher,
    "t-test": _t_test,
    "Kruskal-Wallis": _kruskal,
    "Wilcoxon": _wilcoxon,
}
"""What the title of a test has in it, and how it is read."""

READERS.register(
    TextReader(
        "r tests",
        "t.test(), chisq.test(), fisher.test(), kruskal.test() and wilcox.test() in R",
        read_r_tests,
    )
)
