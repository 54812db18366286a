"""Models as statsmodels prints them: `print(result.summary())` of OLS, Logit, Probit and Poisson."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from ..coefficient_grid import Row, coefficients_of
from ..numbers import PrintedText, group_of, line_where, named_cells, number_text, parse_count
from ..parsed import UNCONVERGED, ParsedFit
from ..protocol import (
    READERS,
    Annotation,
    LineError,
    Match,
    OpenQuestionError,
    TextReader,
    fit_keys,
)

_TITLE = re.compile(r"[\w ]*Regression Results")
_DOUBLE = re.compile(r"\s*={20,}\s*")
_HEAD = re.compile(r"\s*coef\s+std err\b.*")
N_CELLS = 6
"""A row has an estimate, its standard error, a statistic, a p-value and an interval."""
_NOTE = re.compile(r"\s*$|Notes:|Warnings:|\[\d\] ")
_FACT = re.compile(r"([A-Z][\w.() -]*?|converged):\s+(\S+(?: \S+)*)(?=\s{2,}|\s*$)")
_KINDS = {"OLS": "ols", "Logit": "logit", "Probit": "probit", "Poisson": "poisson"}


def read_statsmodels_text(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each summary in some lines: from its title to its last double line, and its notes."""
    starts = [
        k
        for k, (line, below) in enumerate(pairwise(lines))
        if _TITLE.fullmatch(line.strip()) and _DOUBLE.fullmatch(below)
    ]
    for start, stop in pairwise([*starts, len(lines)]):
        is_mixed = lines[start].strip().startswith("Mixed Linear Model")
        ends = [k for k in range(start, stop) if _DOUBLE.fullmatch(lines[k])]
        if len(ends) < (2 if is_mixed else 3):  # cut: all that is there
            ends = [k for k in range(start, stop) if lines[k].strip()]
        after = line_where(lines, ends[-1] + 1, lambda line: not _NOTE.match(line), stop)
        parse = partial(
            _parse_mixed if is_mixed else _parse, lines[start : ends[-1] + 1], start + 1
        )
        yield Match(range(start + 1, after + 1), "statsmodels", parse)


def _facts(lines: Sequence[str], first: int, pattern: re.Pattern[str]) -> dict[str, PrintedText]:
    """What stands above the coefficients, by name."""
    return {
        match[1].strip(): group_of(match, 2, number)
        for number, line in enumerate(lines, first)
        for match in pattern.finditer(line)
    }


def _parse(body: Sequence[str], first: int, annotation: Annotation) -> ParsedFit:
    heads = (k for k, line in enumerate(body) if _HEAD.fullmatch(line))
    start = next(heads, len(body))
    facts = _facts(body[:start], first, _FACT)
    rows, end = list[Row](), line_where(body, start + 1, _DOUBLE.fullmatch)
    fault = "a row of coefficients must have a name of its own, an estimate, its standard error and four more numbers."
    for number, line in enumerate(body[start + 1 : end], first + start + 1):
        if line.strip().strip("-"):
            name, cells = named_cells(line, number, N_CELLS)
            if len(cells) < N_CELLS:
                raise LineError(number, fault)
            rows.append((name, cells[0], cells[1]))
    numbers = coefficients_of(rows, ".", fault)
    if end >= len(body) or not rows:
        raise LineError(
            first + len(body) - 1,
            "the summary ends before the end of its table of coefficients: the file is cut.",
        )
    model = facts.get("Model", "")
    if model not in _KINDS:
        raise OpenQuestionError(
            f"statsmodels: a model of {model or 'a kind that is not said'}.",
            "Models of this kind are not read: describe it in a file of outputs.",
        )
    if not {"No. Observations", "Dep. Variable"} <= set(facts):
        raise LineError(
            first, "the summary does not say its dependent variable and No. Observations."
        )
    kind = _KINDS[model]
    has_converged = facts.get("converged", "True") == "True"
    fit = ParsedFit(
        kind,
        facts["Dep. Variable"],
        **numbers,
        n=parse_count(facts["No. Observations"]),
        dof=parse_count(facts["Df Residuals"]) if "Df Residuals" in facts else None,
        loglik=number_text(facts.get("Log-Likelihood", "")),
        robust=kind == "probit" or facts.get("Covariance Type", "nonrobust") != "nonrobust",
        unresolved_reason="" if has_converged else UNCONVERGED,
    )
    return replace(fit, **fit_keys(annotation))


# Mixed models: `summary()` of MixedLM.

_MIXED_FACT = re.compile(r"([A-Z][\w.() -]*?):\s+(\S+)(?=\s|$)")


def _parse_mixed(body: Sequence[str], first: int, annotation: Annotation) -> ParsedFit:
    rules = [k for k, line in enumerate(body) if re.fullmatch(r"\s*-{20,}\s*", line)]
    if len(rules) < 2 or not _DOUBLE.fullmatch(body[-1]):
        raise LineError(
            first + len(body) - 1,
            "the summary ends before the end of its table of coefficients: the file is cut.",
        )
    facts = _facts(body[: rules[0]], first, _MIXED_FACT)
    rows, variances = list[Row](), list[tuple[str, PrintedText]]()
    for number, line in enumerate(body[rules[1] + 1 : -1], first + rules[1] + 1):
        name, cells = named_cells(line, number, N_CELLS)
        if len(cells) == N_CELLS:
            rows.append((name, cells[0], cells[1]))
        elif cells and name.endswith(" Var"):
            variances.append((name.removesuffix(" Var"), cells[0]))
        else:
            raise LineError(number, "a row of the mixed model must have a name and its numbers.")
    if len(variances) != 1:
        raise OpenQuestionError(
            "statsmodels: a mixed model.",
            "Those with a random intercept of one group are read: describe it in a file of outputs.",
        )
    ((group, variance_text),) = variances
    (group,) = annotation.by or ["" if group == "Group" else annotation.columns.get(group, group)]
    has_converged = facts.get("Converged") == "Yes"
    unnamed_group = "the file does not say its groups: write by = [...]"
    fit = ParsedFit(
        "mixed",
        facts["Dependent Variable"],
        **coefficients_of(rows, ".", "a coefficient is no number, or a name stands there twice."),
        n=parse_count(facts["No. Observations"]),
        extra={
            "group": group,
            "reml": facts["Method"] == "REML",
            "group_variance": variance_text,
            "residual_variance": number_text(facts["Scale"]),
        },
        smallest_group=parse_count(facts["Min. group size"]),
        unresolved_reason=UNCONVERGED if not has_converged else "" if group else unnamed_group,
    )
    return replace(fit, **fit_keys(annotation))


READERS.register(
    TextReader(
        "statsmodels text",
        "summary() of OLS, Logit, Probit, Poisson and MixedLM in statsmodels",
        read_statsmodels_text,
    )
)
