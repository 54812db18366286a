"""Logs of Stata: `regress`, `logit`, `probit`, `poisson`, `tabulate` and `summarize`, each after the line of its command (". regress y x")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .crossed import OpenQuestionError, PrintedGrid, parse_table
from .numbers import NUMBER, number_text, whole
from .printed import ParsedFit, ParsedSummary
from .protocol import READERS, Annotation, LineError, Match, ParsedOutput, TextReader, fit_keys

_COMMAND = re.compile(r"\. (?P<command>\S.*)")
_KINDS = {
    "regress": "ols",
    "reg": "ols",
    "logit": "logit",
    "logistic": "logit",
    "probit": "probit",
    "poisson": "poisson",
}
_TABLES = ("tabulate", "tab", "tabul", "ta", "tab1", "tab2")
_SUMMARIES = ("summarize", "sum", "summ", "su")
_SILENT = re.compile(
    r"(use|sysuse|import|insheet|describe|log|set|clear|version|label|generate|gen|replace|drop|keep|rename|encode|recode|sort|gsort|quietly|qui|cd|do|local|global|"
    r"estimates store|eststo|est|exit|capture|cap|\*|//|xtset|svyset|preserve|restore|egen|destring|tostring|merge|append|save)\b.*|\*.*|//.*"
)
_HEAD = re.compile(
    r"\s*(?P<label>\S*)\s*\|\s*(?P<what>Coef\.|Coefficient|Odds ratio|Odds Ratio|IRR)\s+(?P<robust>.*?)[Ss]td\. [Ee]rr\..*"
)


def read_stata_logs(lines: Sequence[str]) -> list[Match]:
    """Return a piece for each command whose output is read or should be; lines without a command before them are left."""
    at = [k for k, line in enumerate(lines) if _COMMAND.fullmatch(line.rstrip())]
    if not at:
        return []
    pieces = []
    for k, start in enumerate(at):
        stop = at[k + 1] if k + 1 < len(at) else len(lines)
        command = _joined(lines, start, stop)
        body = list(lines[start:stop])
        while body and not body[-1].strip():
            body.pop()
        if _SILENT.fullmatch(command) or not any(re.search(r"\d", line) for line in body[1:]):
            if _KINDS.get(command.split()[0]) or command.split()[0] in (*_TABLES, *_SUMMARIES):
                pieces.append(
                    Match(
                        range(start + 1, start + len(body) + 1), "Stata", partial(_cut, start + 1)
                    )
                )
            continue
        pieces.append(
            Match(
                range(start + 1, start + len(body) + 1),
                "Stata",
                partial(_facts, command, body, start + 1),
            )
        )
    return pieces


def _cut(line: int, given: Annotation) -> ParsedOutput:
    raise LineError(line, "the command has no output: the log is cut.")


def _joined(lines: Sequence[str], start: int, stop: int) -> str:
    """A command with the lines that it goes on in ("> ...")."""
    words = [lines[start][2:].strip()]
    for line in lines[start + 1 : stop]:
        if not line.startswith("> "):
            break
        words.append(line[2:].strip())
    return " ".join(words)


def _facts(command: str, body: Sequence[str], first: int, given: Annotation) -> ParsedOutput:
    verb = (command.split(",")[0].split() or [""])[0]
    if verb in _KINDS:
        return _model(command, body, first, given)
    if verb in _TABLES:
        return _table(command, body, first, given)
    if verb in _SUMMARIES:
        return _summary(command, body, first, given)
    raise OpenQuestionError(
        f"Stata: the output of '{verb}'.",
        "Output of this command is not read: describe it in a file of outputs.",
    )


def _variables(command: str) -> list[str]:
    """The words of a command between its verb and its if, in, weights or options."""
    plain = re.split(r",|\bif\b|\bin\b|\[", command)[0]
    return plain.split()[1:]


def _filtered(command: str, given: Annotation) -> str:
    """Why a command does not say in our words which records it is of, or how they count."""
    if "[" in command.split(",")[0]:
        return "it is weighted"
    if given.where is None and re.search(r"\b(if|in)\b", command.split(",")[0]):
        return 'it is of some of the records, which ones Stata says in its own words: write where = "..."'
    return ""


def _whole_name(short: str, names: Sequence[str]) -> str:
    """A name that Stata printed in short: wife_educ~n.

    Examples
    --------
    >>> _whole_name("wife_educ~n", ["wife_age", "i.wife_education"])
    'wife_education'
    """
    plain = [
        re.sub(r"^(i|c|b\d+|ib\d+)\.", "", name) for word in names for name in re.split(r"#+", word)
    ]
    if "~" not in short:
        return short
    head, tail = short.split("~", 1)
    fits = [name for name in dict.fromkeys(plain) if name.startswith(head) and name.endswith(tail)]
    return fits[0] if len(fits) == 1 else short


def _model(command: str, body: Sequence[str], first: int, given: Annotation) -> ParsedOutput:
    names, options = _variables(command), command.split(",", 1)[1] if "," in command else ""
    text = "\n".join(body)
    obs = re.search(r"Number of obs\s*=\s*([\d,]+)", text)
    heads = [k for k, line in enumerate(body) if _HEAD.fullmatch(line.rstrip())]
    if obs is None or not heads:
        raise LineError(
            first + len(body) - 1,
            "the output of the model ends before its table of coefficients: the log is cut.",
        )
    head = _HEAD.fullmatch(body[heads[0]].rstrip())
    assert head is not None
    rows, closed, variable = list[tuple[int, str, str, str]](), False, ""
    for k in range(heads[0] + 1, len(body)):
        line = body[k]
        if re.fullmatch(r"-+", line.strip()):
            closed = True
            break
        if re.fullmatch(r"-+\+-+", line.strip()) or "|" not in line:
            continue
        name, numbers = (part.strip() for part in line.split("|", 1))
        if not numbers:
            variable = _whole_name(name, names) if name else ""
            continue
        cells = numbers.split()
        if re.search(r"\((base|omitted|empty)\)", numbers):
            continue
        if len(cells) < 4:
            raise LineError(
                first + k,
                "a row of coefficients must have an estimate, its standard error, a statistic and a p-value.",
            )
        named = (
            f"{name}.{variable}"
            if variable and re.fullmatch(r"\d+", name)
            else name
            if name == "_cons"
            else _whole_name(name, names)
        )
        rows.append((first + k, named, cells[0], cells[1]))
    if not closed or not rows:
        raise LineError(
            first + len(body) - 1,
            "the table of coefficients is cut off: the log ends in the middle of it.",
        )
    estimates, errors = dict[str, str](), dict[str, str]()
    for at, name, estimate, error in rows:
        number, spread = number_text(estimate), number_text(error)
        if number is None or (spread is None and error != ".") or name in estimates:
            raise LineError(
                at,
                "a coefficient or its standard error is no number, or a name stands there twice.",
            )
        estimates[name] = number
        errors |= {} if spread is None else {name: spread}
    loglik = re.search(rf"^Log (?:pseudo)?likelihood\s*=\s*({NUMBER})", text, re.MULTILINE)
    n, kind = whole(obs[1]), _KINDS[command.split()[0]]
    dof = re.search(r"^\s*Residual \|\s*\S+\s+([\d,]+)", text, re.MULTILINE)
    ratios = head["what"] in ("Odds ratio", "Odds Ratio", "IRR")
    robust = (
        bool(head["robust"].strip())
        or kind == "probit"
        or bool(re.search(r"\b(vce|robust|cluster|r)\b", options))
    )
    label = names[0] if names else None
    unsaid = (
        "it has an offset"
        if re.search(r"\b(offset|exposure)\(", options)
        else _filtered(command, given)
    )
    formula = (
        _formula(label, names[1:])
        if label is not None and not re.search(r"\bnoc(ons(tant)?)?\b", options)
        else None
    )
    fit = ParsedFit(
        kind,
        label,
        formula,
        estimates,
        errors,
        n,
        whole(dof[1]) if dof else n - len(estimates),
        number_text(loglik[1]) if loglik and kind != "ols" else None,
        robust=robust,
        exponentiated=ratios,
        unsaid=unsaid,
    )
    return replace(fit, **fit_keys(given))


def _formula(label: str, words: Sequence[str]) -> str | None:
    """The formula of a list of variables; None where it has words that are not known here, as ranges of variables are.

    Examples
    --------
    >>> _formula("y", ["age", "i.sex", "c.age#i.sex"])
    'y ~ age + C(sex) + age:C(sex)'
    """
    terms = []
    for word in words:
        parts = []
        for part in re.split(r"#+", word):
            if match := re.fullmatch(r"(?:i\.)([^\W\d]\w*)", part):
                parts.append(f"C({match[1]})")
            elif match := re.fullmatch(r"(?:c\.)?([^\W\d]\w*)", part):
                parts.append(match[1])
            else:
                return None
        terms.append(("*" if "##" in word else ":").join(parts))
    return f"{label} ~ {' + '.join(terms) or '1'}"


def _table(command: str, body: Sequence[str], first: int, given: Annotation) -> ParsedOutput:
    if re.search(r",.*\b(row|col|column|cell|nofreq|summarize|sum)\b", command):
        raise OpenQuestionError(
            "Stata: a table with percentages or means beside counts.",
            "Give it with counts alone, or describe it in a file of outputs.",
        )
    names = _variables(command)
    if unsaid := _filtered(command, given):
        raise OpenQuestionError(
            "Stata: a table of counts.",
            f"{unsaid[0].upper()}{unsaid[1:]}.",
            {"kind": "table", "where": "..."},
        )
    bars = [k for k, line in enumerate(body) if re.fullmatch(r"\s*-+\+[-+]+\s*", line)]
    if not bars:
        raise LineError(first + len(body) - 1, "the table ends before its rows: the log is cut.")
    rows, labels, lines, done = [], [], [], False
    for k in range(bars[0] + 1, len(body)):
        if "|" not in body[k]:
            if not re.fullmatch(r"\s*-+\+[-+]+\s*", body[k]) and body[k].strip() and done:
                break
            continue
        label, numbers = body[k].split("|", 1)
        rows.append(re.sub(r"\|", " ", numbers).split())
        labels.append(label.strip())
        lines.append(first + k)
        if label.strip() == "Total":
            done = True
            _check_rest(body, k + 1, first)
            break
    if not done:
        raise LineError(first + len(body) - 1, "the table has no row of totals: the log is cut.")
    one_way = bool(re.search(r"\bFreq\.\s+Percent", body[bars[0] - 1]))
    if one_way:
        cells = [row[:1] for row in rows]
        columns: list[str] = []
    else:
        columns = re.sub(r"\|", " ", body[bars[0] - 1].split("|", 1)[1]).split()
        cells = rows
    if any(len(row) != max(len(columns), 1) for row in cells):
        raise LineError(
            lines[0],
            "a row has another number of cells than the table has columns: labels with blanks, or a table that is folded.",
        )
    row_name = names[0] if names else None
    column_name = names[1] if len(names) > 1 and not one_way else None
    return parse_table(
        PrintedGrid(row_name, column_name, labels, columns, cells, lines, True), given
    )


def _check_rest(body: Sequence[str], start: int, first: int) -> None:
    """Raise for numbers below a table, tests on it apart."""
    for k in range(start, len(body)):
        if re.search(r"\d", body[k]) and not re.search(
            r"chi2|Cram|Fisher|gamma|Kendall|Pr\s*=|ASE", body[k]
        ):
            raise LineError(
                first + k,
                "more stands below the table than is read: run tabulate once for each table.",
            )


def _summary(command: str, body: Sequence[str], first: int, given: Annotation) -> ParsedOutput:
    """A summary of one or more variables; several are one output each, which a table of several columns cannot be."""
    names = _variables(command)
    if re.search(r",.*\bd(etail)?\b", command):
        raise OpenQuestionError(
            "Stata: a detailed summary.",
            "It lists single values, and is not read: describe it in a file of outputs.",
        )
    rows = [
        (first + k, line)
        for k, line in enumerate(body)
        if "|" in line and "Obs" not in line and not re.fullmatch(r"[\s+-]*", line.replace("|", ""))
    ]
    if not rows:
        raise LineError(first + len(body) - 1, "the summary has no rows: the log is cut.")
    if len(rows) > 1:
        raise OpenQuestionError(
            "Stata: a summary of several variables.",
            "Summarise them one by one: each is an output of its own.",
        )
    line, text = rows[0]
    name, numbers = text.split("|", 1)
    cells = numbers.split()
    if len(cells) != 5:
        raise LineError(line, "a summary must have Obs, Mean, Std. dev., Min and Max.")
    plain = [number_text(cell) for cell in cells]
    if any(cell is None for cell in plain):
        raise LineError(line, "a cell of the summary is no number.")
    statistics: dict[str, dict[tuple[str, ...], str]] = dict(
        zip(("n", "mean", "sd", "min", "max"), ({(): str(cell)} for cell in plain), strict=True)
    )
    if unsaid := _filtered(command, given):
        raise OpenQuestionError(
            "Stata: a summary.", f"{unsaid[0].upper()}{unsaid[1:]}.", {"where": "..."}
        )
    of = given.of or _whole_name(name.strip(), names)
    return ParsedSummary(given.columns.get(of, of), (), ((),), statistics, given.where)


READERS.register(
    TextReader(
        "stata logs",
        "logs of Stata: regress, logit, probit, poisson, tabulate, summarize",
        read_stata_logs,
    )
)
