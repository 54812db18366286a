"""Logs of Stata: `regress`, `logit`, `probit`, `poisson`, `tabulate`, `summarize`, `correlate`, `oneway` and `sts list`, each after the line of its command (". regress y x")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from ..coefficient_grid import Row, coefficients_of
from ..numbers import NUMBER, PrintedText, group_of, line_where, number_text, parse_count, words_in
from ..parsed import Cell, ParsedFit, ParsedOutput, ParsedSummary, ParsedTable, ParsedTest
from ..printed_grid import PrintedGrid, parse_correlation, parse_table
from ..protocol import (
    READERS,
    Annotation,
    LineError,
    Match,
    OpenQuestionError,
    TextReader,
    fit_keys,
    unreadable_match,
)
from ..survival_grid import ParsedSurvival, parse_survival
from ..variance_grid import parse_variance

_COMMAND = re.compile(r"\. (?P<command>\S.*)")
_KINDS = {
    "regress": "ols",
    "reg": "ols",
    "logit": "logit",
    "logistic": "logit",
    "probit": "probit",
    "poisson": "poisson",
}
_CORRELATIONS = ("correlate", "corr", "cor", "pwcorr")
_TABLES = ("tabulate", "tab", "tabul", "ta", "tab1", "tab2")
_SUMMARIES = ("summarize", "sum", "summ", "su")
_SILENT = re.compile(
    r"(use|sysuse|import|insheet|describe|log|set|clear|version|label|generate|gen|replace|drop|keep|rename|encode|recode|sort|gsort|quietly|qui|cd|do|local|global|"
    r"estimates store|eststo|est|exit|capture|cap|\*|//|xtset|svyset|preserve|restore|egen|destring|tostring|merge|append|save)\b.*|\*.*|//.*"
)
_HEAD = re.compile(
    r"\s*(?P<label>\S*)\s*\|\s*(?P<what>Coef\.|Coefficient|Odds ratio|Odds Ratio|IRR)\s+(?P<robust>.*?)[Ss]td\. [Ee]rr\..*"
)


class _TableRow(NamedTuple):
    """A line with a bar: its number in the file, what stands before the bar, and the words after it."""

    line: int
    label: str
    cells: list[PrintedText]


@dataclass(frozen=True)
class _Command:
    """A command with its output: the lines from `first` on."""

    text: str
    body: Sequence[str]
    first: int

    @property
    def verb(self) -> str:
        """What it does."""
        return (self.text.split(",")[0].split() or [""])[0]

    @property
    def options(self) -> str:
        """What stands after its first comma, and that."""
        return self.text[len(self.text.split(",")[0]) :]

    @property
    def variables(self) -> list[str]:
        """The words between its verb and its if, in, weights or options."""
        return re.split(r",|\bif\b|\bin\b|\[", self.text)[0].split()[1:]

    def unresolved_reason(self, annotation: Annotation) -> str:
        """Return why it does not say in our words which records it is of, or how they count."""
        head = self.text.split(",")[0]
        if "[" in head:
            return "it is weighted"
        if annotation.where is None and re.search(r"\b(if|in)\b", head):
            return 'it is of some of the records, which ones Stata says in its own words: write where = "..."'
        return ""

    def rows(self, start: int = 0) -> list[_TableRow]:
        """Return the lines with a bar, from one of its lines on."""
        lines = enumerate(self.body[start:], self.first + start)
        parts = ((number, *line.partition("|")) for number, line in lines)
        return [
            _TableRow(
                number,
                label.strip(),
                words_in(f"{' ' * len(label)} {numbers.replace('|', ' ')}", number),
            )
            for number, label, bar, numbers in parts
            if bar
        ]

    def check_records(self, annotation: Annotation, understood: str, keys: dict[str, str]) -> None:
        """Raise OpenQuestionError where it does not say in our words which records it is of, or how they count."""
        if reason := self.unresolved_reason(annotation):
            raise OpenQuestionError(
                f"Stata: {understood}", f"{reason[0].upper()}{reason[1:]}.", keys
            )

    def cut_error(self, fault: str) -> LineError:
        """Return the error for output that ends too early."""
        return LineError(self.first + len(self.body) - 1, fault)


def read_stata_logs(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each command whose output is read or should be; lines without a command before them are left."""
    starts = [k for k, line in enumerate(lines) if _COMMAND.fullmatch(line.rstrip())]
    for start, stop in pairwise([*starts, len(lines)]):
        # A long command goes on in lines that begin with >.
        end = line_where(lines, start + 1, lambda line: not line.startswith("> "), stop)
        text = " ".join(line[2:].strip() for line in lines[start:end])
        last = max(k for k in range(start, stop) if lines[k].strip())
        body, span = lines[start : last + 1], range(start + 1, last + 2)
        if not _SILENT.fullmatch(text) and any(re.search(r"\d", line) for line in body[1:]):
            parse = partial(_parse, _Command(text, body, start + 1))
            yield Match(span, "Stata", parse)
        elif text.split()[0] in (*_KINDS, *_TABLES, *_SUMMARIES):
            fault = LineError(start + 1, "the command has no output: the log is cut.")
            yield unreadable_match(span, "Stata", fault)


def _parse(command: _Command, annotation: Annotation) -> ParsedOutput:
    names = command.variables[:1] if command.verb == "sts" else []
    form = _FORMS.get(" ".join([command.verb, *names]))
    if form is None:
        raise OpenQuestionError(
            f"Stata: the output of '{command.verb}'.",
            "Output of this command is not read: describe it in a file of outputs.",
        )
    if form.refused and re.search(rf"\b({form.refused})\b", command.options):
        raise OpenQuestionError(f"Stata: {form.understood}.", form.advice)
    return form.parse(command, annotation)


def _whole_name(short: str, names: Sequence[str]) -> str:
    """A name that Stata printed in short: wife_educ~n.

    Examples
    --------
    >>> _whole_name("wife_educ~n", ["wife_age", "i.wife_education"])
    'wife_education'
    """
    head, sign, tail = short.partition("~")
    parts = (factor for name in names for factor in re.split(r"#+", name))
    plain = dict.fromkeys(re.sub(r"^(i|c|b\d+|ib\d+)\.", "", factor) for factor in parts)
    fits = [name for name in plain if name.startswith(head) and name.endswith(tail)]
    return fits[0] if sign and len(fits) == 1 else short


def _fit(command: _Command, annotation: Annotation) -> ParsedFit:
    names, options, text = command.variables, command.options, "\n".join(command.body)
    n_records = re.search(r"Number of obs\s*=\s*([\d,]+)", text)
    heads = ((k, _HEAD.fullmatch(line.rstrip())) for k, line in enumerate(command.body))
    start, head = next(((k, head) for k, head in heads if head), (0, None))
    if n_records is None or head is None:
        raise command.cut_error(
            "the output of the model ends before its table of coefficients: the log is cut."
        )
    rows = _rows(command, start)
    fault = "a coefficient or its standard error is no number, or a name stands there twice."
    numbers = coefficients_of(rows, ".", fault, absent=(".",))
    loglik = re.search(rf"^Log (?:pseudo)?likelihood\s*=\s*({NUMBER})", text, re.MULTILINE)
    n, kind = parse_count(group_of(n_records, 1, command.first)), _KINDS[command.verb]
    dof = re.search(r"^\s*Residual \|\s*\S+\s+([\d,]+)", text, re.MULTILINE)
    is_robust = bool(head["robust"].strip() or re.search(r"\b(vce|robust|cluster|r)\b", options))
    has_offset = re.search(r"\b(offset|exposure)\(", options)
    has_constant = not re.search(r"\bnoc(ons(tant)?)?\b", options)
    label = names[0] if names else None
    fit = ParsedFit(
        kind,
        label,
        _formula(label, names[1:]) if label is not None and has_constant else None,
        **numbers,
        n=n,
        dof=parse_count(group_of(dof, 1, command.first))
        if dof
        else n - len(numbers["coefficients"]),
        loglik=number_text(group_of(loglik, 1, command.first))
        if loglik and kind != "ols"
        else None,
        robust=is_robust or kind == "probit",
        exponentiated=head["what"] in ("Odds ratio", "Odds Ratio", "IRR"),
        unresolved_reason="it has an offset"
        if has_offset
        else command.unresolved_reason(annotation),
    )
    return replace(fit, **fit_keys(annotation))


def _rows(command: _Command, start: int) -> list[Row]:
    """The coefficients in the lines after the head of their table."""
    rows, names, variable = list[Row](), command.variables, ""
    end = line_where(command.body, start + 1, re.compile(r"\s*-+\s*").fullmatch)
    for number, line in enumerate(command.body[start + 1 : end], command.first + start + 1):
        name, bar, numbers = (text.strip() for text in line.partition("|"))
        if not bar or re.search(r"\((base|omitted|empty)\)", numbers):
            continue
        if not numbers:
            variable = _whole_name(name, names)
            continue
        cells = words_in(line.replace("|", " "), number)[-len(numbers.split()) :]
        if len(cells) < 4:
            raise LineError(
                number,
                "a row of coefficients must have an estimate, its standard error, a statistic and a p-value.",
            )
        is_level = variable and re.fullmatch(r"\d+", name)
        name = f"{name}.{variable}" if is_level else _whole_name(name, names)
        rows.append((name, cells[0], cells[1]))
    if end == len(command.body) or not rows:
        raise command.cut_error(
            "the table of coefficients is cut off: the log ends in the middle of it."
        )
    return rows


def _formula(label: str, terms_of_command: Sequence[str]) -> str | None:
    """The formula of a list of variables; None where it has words that are not known here, as ranges of variables are.

    Examples
    --------
    >>> _formula("y", ["age", "i.sex", "c.age#i.sex"])
    'y ~ age + C(sex) + age:C(sex)'
    """
    terms = []
    for word in terms_of_command:
        matches = [
            re.fullmatch(r"(?:(i\.)|c\.)?([^\W\d]\w*)", factor) for factor in re.split(r"#+", word)
        ]
        factors = [f"C({match[2]})" if match[1] else match[2] for match in matches if match]
        if len(factors) < len(matches):
            return None
        terms.append(("*" if "##" in word else ":").join(factors))
    return f"{label} ~ {' + '.join(terms) or '1'}"


def _table(command: _Command, annotation: Annotation) -> ParsedTable:
    weight = _WEIGHT.search(command.text)
    if weight:
        annotation = annotation.model_copy(update={"kind": "weighted-table", "variable": weight[1]})
        command = replace(command, text=_WEIGHT.sub("", command.text))
    command.check_records(annotation, "a table of counts.", {"kind": "table", "where": "..."})
    body, first = command.body, command.first
    bars = [k for k, line in enumerate(body) if re.fullmatch(r"\s*-+\+[-+]+\s*", line)]
    if not bars:
        raise command.cut_error("the table ends before its rows: the log is cut.")
    head = body[bars[0] - 1]
    rows = command.rows(bars[0] + 1)
    total = next((k for k, row in enumerate(rows) if row.label == "Total"), None)
    if total is None:
        raise command.cut_error("the table has no row of totals: the log is cut.")
    rows = rows[: total + 1]
    _check_below(command, rows[-1].line + 1 - first)
    one_way = bool(re.search(r"\bFreq\.\s+Percent", head))
    columns = [] if one_way else head.split("|", 1)[1].replace("|", " ").split()
    cells = tuple(tuple(row.cells[:1] if one_way else row.cells) for row in rows)
    if any(len(row) != max(len(columns), 1) for row in cells):
        raise LineError(
            first + bars[0] + 1,
            "a row has another number of cells than the table has columns: labels with blanks, or a table that is folded.",
        )
    row_name, column_name, *_ = (*command.variables, None, None)
    labels = tuple((row.label,) for row in rows)
    grid = PrintedGrid(
        (row_name,),
        None if one_way else column_name,
        labels,
        tuple(columns),
        cells,
        counts=True,
    )
    return parse_table(grid, annotation)


def _check_below(command: _Command, start: int) -> None:
    """Raise for numbers below a table; tests say no more than the table."""
    tests = r"chi2|Cram|Fisher|gamma|Kendall|Pr\s*=|ASE"
    for number, line in enumerate(command.body[start:], command.first + start):
        if re.search(r"\d", line) and not re.search(tests, line):
            raise LineError(
                number,
                "more stands below the table than is read: run tabulate once for each table.",
            )


_WEIGHT = re.compile(r"\[\s*(?:fw|fweight|iw|iweight)\s*=\s*([^\W\d]\w*)\s*\]")
"""Weights that a table sums up: of others Stata makes numbers that are no sums."""


def _correlation(command: _Command, annotation: Annotation) -> ParsedTest:
    """The lower half of a matrix of correlations, with the number of people where all pairs have the same."""
    command.check_records(annotation, "correlations.", {"kind": "correlation", "where": "..."})
    rows = command.rows()[1:]
    if len(rows) < 2 or [len(row.cells) for row in rows] != [*range(1, len(rows) + 1)]:
        raise command.cut_error(
            "the correlations end before their last row, or are folded: the log is cut."
        )
    names = [_whole_name(row.label, command.variables) for row in rows]
    blank = PrintedText("", command.first)
    cells = tuple((*row.cells, *[blank] * (len(names) - len(row.cells))) for row in rows)
    labels = tuple((name,) for name in names)
    grid = PrintedGrid((None,), None, labels, tuple(names), cells)
    n_records = re.search(r"\(obs=([\d,]+)\)", "\n".join(command.body))
    n = parse_count(group_of(n_records, 1, command.first)) if n_records else None
    keys = {"kind": "correlation", "n": annotation.n or n}
    return parse_correlation(grid, annotation.model_copy(update=keys))


def _variance(command: _Command, annotation: Annotation) -> ParsedTest:
    command.check_records(annotation, "an analysis of variance.", {"where": "..."})
    rows = []
    for k, line in enumerate(command.body):
        if match := re.match(r"\s*(Between groups|Within groups)\s", line):
            cells = words_in(" " * match.end() + line[match.end() :], command.first + k)
            rows.append((match[1], cells))
    if [len(cells) for _, cells in rows] != [5, 3]:
        raise command.cut_error("the analysis of variance ends before its rows: the log is cut.")
    (_, between), (_, within) = rows
    blank = PrintedText("", command.first)
    names = ("SS", "df", "MS", "F", "Prob > F")
    labels = tuple((label,) for label, _ in rows)
    sources = (tuple(between), (*within, blank, blank))
    variable, by, *_ = (*command.variables, None, None)
    return parse_variance(
        PrintedGrid((None,), None, labels, names, sources), annotation, variable=variable, by=by
    )


def _survival(command: _Command, annotation: Annotation) -> ParsedSurvival:
    text = "\n".join(command.body)
    event = re.search(r"(?im)failure _d:\s*(\w+)(?:\s*==\s*(\w+))?\s*$", text)
    time = re.search(r"(?im)analysis time _t:\s*(\w+)\s*$", text)
    by = re.search(r"\bby\((\w+)\)", command.options)
    labels, rows, stratum = list[tuple[str, ...]](), list[tuple[PrintedText, ...]](), ""
    rules = [k for k, line in enumerate(command.body) if re.fullmatch(r"\s*-{20,}\s*", line)]
    if not rules:
        raise command.cut_error("the survival table ends before its rows: the log is cut.")
    for number, line in enumerate(command.body[rules[0] + 1 :], command.first + rules[0] + 1):
        cells = words_in(line, number)
        if len(cells) > 4 and re.match(r"[\d.]", cells[0]):
            clock, at_risk, events, _, function, *_ = cells
            labels.append((clock,))
            rows.append((at_risk, events, function, PrintedText(stratum, number)))
        elif by and cells and not line.lstrip().startswith("--"):
            label = line.strip().partition("=")[2] or line.strip()
            stratum = f"{by[1]}={label.strip()}"
        elif cells and not line.lstrip().startswith("--"):
            raise LineError(number, "a row of the survival table must have a time and numbers.")
    columns = ("n.risk", "n.event", "survival", "strata")
    grid = PrintedGrid(("time",), None, tuple(labels), columns, tuple(rows))
    level = f" == {event[2]}" if event and event[2] else ""
    formula = f"Surv({time[1]}, {event[1]}{level}) ~ 1" if time and event else None
    reason = command.unresolved_reason(annotation)
    if not rows:
        raise command.cut_error("the survival table has no rows: the log is cut.")
    return parse_survival(grid, annotation, formula, reason)


def _summary(command: _Command, annotation: Annotation) -> ParsedSummary:
    """A summary of one or more variables; several are one output each, which a table of several columns cannot be."""
    rows = [row for row in command.rows() if "Obs" not in row.cells]
    if not rows:
        raise command.cut_error("the summary has no rows: the log is cut.")
    if len(rows) > 1:
        raise OpenQuestionError(
            "Stata: a summary of several variables.",
            "Summarise them one by one: each is an output of its own.",
        )
    ((line, name, cells),) = rows
    if len(cells) != 5:
        raise LineError(line, "a summary must have Obs, Mean, Std. dev., Min and Max.")
    numbers = [number for cell in cells if (number := number_text(cell)) is not None]
    if len(numbers) < len(cells):
        raise LineError(line, "a cell of the summary is no number.")
    names = ("n", "mean", "sd", "min", "max")
    statistics: dict[str, dict[Cell, str]] = {
        key: {(): number} for key, number in zip(names, numbers, strict=True)
    }
    command.check_records(annotation, "a summary.", {"where": "..."})
    variable = annotation.variable or _whole_name(name, command.variables)
    return ParsedSummary(
        annotation.columns.get(variable, variable), (), ((),), statistics, annotation.where
    )


class _Form(NamedTuple):
    """How the output of some commands is read, with options of which it is not: what it then is, and what to do."""

    parse: Callable[[_Command, Annotation], ParsedOutput]
    refused: str = ""
    understood: str = ""
    advice: str = ""


_FORMS = {
    **dict.fromkeys(_KINDS, _Form(_fit)),
    **dict.fromkeys(
        _TABLES,
        _Form(
            _table,
            "row|col|column|cell|nofreq|summarize|sum",
            "a table with percentages or means beside counts",
            "Give it with counts alone, or describe it in a file of outputs.",
        ),
    ),
    **dict.fromkeys(
        _SUMMARIES,
        _Form(
            _summary,
            "d(etail)?",
            "a detailed summary",
            "It lists single values, and is not read: describe it in a file of outputs.",
        ),
    ),
    **dict.fromkeys(
        _CORRELATIONS,
        _Form(
            _correlation,
            r"cov\w*|m\w*|sig|obs|star|print|bon\w*|sid\w*",
            "correlations with more beside them",
            "Give them alone, or describe it in a file of outputs.",
        ),
    ),
    "oneway": _Form(
        _variance,
        r"t\w*|su\w*|me\w*|st\w*|f\w*|o\w*|bon\w*|sch\w*|sid\w*",
        "an analysis of variance with more beside it",
        "Give it alone, or describe it in a file of outputs.",
    ),
    "sts list": _Form(
        _survival,
        r"fail\w*|cumh\w*|na|comp\w*|at|ent\w*|haz\w*|adj\w*",
        "a survival table of another form",
        "Give sts list alone, or describe it in a file of outputs.",
    ),
}
"""By what a command does."""


READERS.register(
    TextReader(
        "stata logs",
        "logs of Stata: regress, logit, probit, poisson, tabulate, summarize, correlate, oneway, sts list",
        read_stata_logs,
    )
)
