"""Models as R prints them: `summary()` of lm, glm and coxph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from ...coefficient_names import split_outside
from ..coefficient_grid import Row, coefficients_of
from ..numbers import (
    NUMBER,
    P_VALUE,
    PrintedText,
    group_of,
    sign_of,
    whole,
    words_in,
)
from ..parsed import ParsedFit
from ..protocol import (
    READERS,
    Annotation,
    LineError,
    Match,
    OpenQuestionError,
    TextReader,
    fit_keys,
)

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
