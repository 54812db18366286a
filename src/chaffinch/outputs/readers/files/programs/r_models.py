"""Models as R prints them: `summary()` of lm, glm and coxph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from ...coefficient_names import split_outside
from ..coefficient_grid import Row, coefficients_of
from ..numbers import (
    NUMBER,
    PrintedText,
    group_of,
    labels_over,
    line_where,
    named_cells,
    parse_count,
    sign_of,
    words_in,
)
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
from ..survival_grid import survival_label

_BLANK = re.compile(r"\s*$")
_HEADS = re.compile(
    r"(?<!\S)(?:Estimate|Std\. Error|coef|exp\(coef\)|se\(coef\)|robust se|df|[tz]|[tz] value|Pr\(>\|[tz]\|\))(?!\S)"
)
_ERRORS = ("Std. Error", "se(coef)")
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


def read_r_models(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each `summary()` in some lines."""
    starts = [k for k, line in enumerate(lines) if line.strip() == "Call:"]
    for start, stop in pairwise([*starts, len(lines)]):
        function, _ = call_of(lines[start:stop])
        last = _LAST.get(function)
        ends = [k for k in range(start, stop) if last is not None and last.match(lines[k].strip())]
        # No end, or of an intercept alone: up to the last line that says something of a fit.
        end = (ends or [k for k in range(start, stop) if lines[k].strip()])[-1]
        parse = partial(_parse_model, lines[start : end + 1], start + 1)
        yield Match(range(start + 1, end + 2), "R", parse)


def call_of(body: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The function and the arguments of the call after the first line."""
    call = " ".join(line.strip() for line in body[1 : _call_end(body)])
    return call.split("(")[0].split("::")[-1], arguments(call)


def _call_end(body: Sequence[str]) -> int:
    """The line after a call."""
    return line_where(body, 1, _BLANK.match)


def arguments(call: str) -> dict[str, str]:
    """Return the arguments of a call of R, by name, or by place where they have none.

    Examples
    --------
    >>> arguments("glm(formula = y ~ f(a, b), family = binomial(link = 'probit'), data = d)")["family"]
    "binomial(link = 'probit')"
    """
    named: dict[str, str] = {}
    inside = call[call.find("(") + 1 : call.rfind(")")]
    for number, argument in enumerate(split_outside(inside, ",")):
        match = re.match(r"\s*([\w.]+)\s*=(?!=)\s*", argument)
        named[match[1] if match else str(number)] = argument[match.end() if match else 0 :].strip()
    return named


def _parse_model(body: Sequence[str], first: int, annotation: Annotation) -> ParsedFit:
    function, keys = call_of(body)
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
        **_coefficients(body, first),
        extremes=any(re.search(r"\bMin\s.*\bMax\b", line) for line in body),
        unresolved_reason=unresolved_reason(keys, annotation),
        left_out=int(deleted[1]) if deleted else None,
    )
    fit = {"lm": _lm, "glm": _glm, "coxph": _cox}[function](fit, text, keys, first)
    return replace(fit, **fit_keys(annotation))


def unresolved_reason(keys: Mapping[str, str], annotation: Annotation) -> str:
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


def _coefficients(body: Sequence[str], first: int) -> dict[str, Any]:
    """Estimates and standard errors by name, from the table whose header names both."""
    last = first + len(body) - 1
    heads = ((k, _HEADS.findall(body[k])) for k in range(_call_end(body), len(body)))
    start, names = next(((k, names) for k, names in heads if set(names) & set(_ERRORS)), (0, []))
    if not names:
        raise LineError(
            last,
            "the summary ends before its table of coefficients: the file is cut, or it is no summary().",
        )
    error_column = next(k for k, name in enumerate(names) if name in _ERRORS)
    rows: list[Row] = []
    numbers: list[PrintedText] = []
    for line, text in enumerate(body[start + 1 :], first + start + 1):
        if not text.strip() or text.startswith("---"):
            break
        name, cells = named_cells(text, line, len(names))
        if not name or len(cells) < len(names):
            raise LineError(
                line,
                "a row of coefficients must have a name, its estimate, its standard error, a statistic and a p-value.",
            )
        rows.append((name, cells[0], cells[error_column]))
        numbers += cells[:-1]
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


def _cut_error(text: str, first: int, what: str) -> LineError:
    last = first + text.count("\n")
    return LineError(last, f"the summary ends before {what}: the file is cut.")


def _count_in(text: str, pattern: str, first: int, what: str) -> int:
    """The count that a pattern has in a summary; LineError where it does not stand there."""
    match = re.search(pattern, text)
    if match is None:
        raise _cut_error(text, first, what)
    return parse_count(group_of(match, 1, first))


def _lm(fit: ParsedFit, text: str, keys: Mapping[str, str], first: int) -> ParsedFit:
    pattern = r"Residual standard error:\s*\S+\s+on\s+([\d,.]+)\s+degrees? of freedom"
    dof = _count_in(text, pattern, first, "its residual degrees of freedom")
    return replace(fit, dof=dof, n=dof + len(fit.coefficients))


def _glm(fit: ParsedFit, text: str, keys: Mapping[str, str], first: int) -> ParsedFit:
    family = re.search(r"\(Dispersion parameter for ([\w. ()]+?) family taken to be", text)
    null, residual = (
        re.search(rf"{name} deviance:\s*\S+\s+on\s+(\d+)\s+degrees? of freedom", text)
        for name in ("Null", "Residual")
    )
    if family is None or null is None or residual is None:
        raise _cut_error(text, first, "its family and degrees of freedom")
    written = re.search(r"link\s*=\s*[\"']?([\w./^]+)", keys.get("family", ""))
    name = family[1].strip()
    link = written[1] if written else _OWN_LINKS.get(name, "")
    kind = _FAMILIES.get((name, link), "glm")
    if kind == "glm" and name not in _GLM_FAMILIES:
        raise OpenQuestionError(
            f"R: a generalised linear model of family {name}.",
            "Models of this family are not read: describe it in a file of outputs.",
        )
    dof = parse_count(group_of(residual, 1, first))
    n = dof + len(fit.coefficients)
    if kind != "glm":
        # Probit's standard errors are those of the expected information, which our probit has not.
        return replace(fit, kind=kind, dof=dof, n=n, robust=kind == "probit")
    ours = _LINKS.get(link, link) or None
    return replace(fit, kind=kind, dof=dof, n=n, robust=True, family=_GLM_FAMILIES[name], link=ours)


def _cox(fit: ParsedFit, text: str, keys: Mapping[str, str], first: int) -> ParsedFit:
    fit = replace(fit, kind="cox", n=_count_in(text, r"\bn=\s*(\d+)", first, "its n"))
    label = survival_label(fit.label)
    if label is None or re.search(r"\b(strata|cluster|frailty|tt)\(", fit.formula or ""):
        reason = "its label, strata or clusters are written in R's own words: describe it in a file of outputs"
        return replace(fit, unresolved_reason=fit.unresolved_reason or reason)
    ties = "breslow" if "breslow" in keys.get("ties", keys.get("method", "")) else "efron"
    extra: dict[str, Any] = {**label.keys, "ties": ties}
    formula = f"{label.time} ~ {(fit.formula or '~').split('~', 1)[1].strip()}"
    return replace(fit, label=label.time, formula=formula, extra=extra)


READERS.register(TextReader("r models", "summary() of lm, glm and coxph in R", read_r_models))


# Mixed models of lme4.

_MIXED = re.compile(r"(Generalized l|L)inear mixed model fit by (REML|maximum likelihood)\b.*")
_FIXED = re.compile(r"(?i)\s*fixed effects:\s*")
_RANDOM = re.compile(r"\+?\s*\(\s*1\s*\|\s*([\w.]+)\s*\)")
_REMARK = re.compile(
    r"optimizer \(|Model failed to converge|Model is nearly|boundary \(sing| - Rescale"
)
_BLOCK_END = re.compile(rf"{_BLANK.pattern}|{_REMARK.pattern}")
_VARIANCE = re.compile(rf"\s*(\S+)\s+(?:\(Intercept\)\s+)?({NUMBER})\s+{NUMBER}\s*")


def read_r_mixed(lines: Sequence[str]) -> Iterator[Match]:
    """Give a match for each printed model of lmer in some lines, or its summary."""
    starts = [k for k, line in enumerate(lines) if _MIXED.fullmatch(line.strip())]
    for start, stop in pairwise([*starts, len(lines)]):
        head = line_where(lines, start, _FIXED.fullmatch, stop - 1)
        end = line_where(lines, head + 1, _BLOCK_END.match, stop)
        if lines[end + 1 : end + 2] == ["Correlation of Fixed Effects:"]:
            n_effects = end - head - 2
            end = line_where(lines, end + 1, _BLOCK_END.match, min(stop, end + 2 + n_effects))
        end = line_where(lines, end, lambda line: not _REMARK.match(line), stop)
        parse = partial(_parse_mixed, lines[start : end + 1], start + 1)
        yield Match(range(start + 1, end + 1), "R", parse)


def _parse_mixed(body: Sequence[str], first: int, annotation: Annotation) -> ParsedFit:
    text = "\n".join(body)
    body = ["" if _REMARK.match(line) else line for line in body]
    written = re.search(r"^Formula:\s*(.*(?:\n\s+\S.*)*?)\n\s*Data:", text, re.MULTILINE)
    records = re.search(
        r"Number of obs:\s*(\d+), groups:\s*([\w.]+), (\d+)\s*$", text, re.MULTILINE
    )
    formula = " ".join(written[1].split()) if written else ""
    group = _RANDOM.search(formula)
    if written is None or not re.search(r"\nFixed effects:\n", text, re.IGNORECASE):
        raise _cut_error(text, first, "its fixed effects")
    if body[0].startswith("Gen") or records is None or group is None or formula.count("|") > 1:
        raise OpenQuestionError(
            "R: a mixed model.",
            "Linear ones with a random intercept of one group are read: describe it in a file of outputs.",
        )
    label, _, terms = formula.partition("~")
    fixed = _RANDOM.sub("", terms).strip().removeprefix("+").strip() or "1"
    keys = {"group": group[1], "reml": "REML" in body[0]}
    variances = {
        match[1]: group_of(match, 2, number)
        for number, line in enumerate(body, first)
        if (match := _VARIANCE.fullmatch(line))
    }
    if "Variance" in text:
        names = {"group_variance": group[1], "residual_variance": "Residual"}
        keys |= {key: variances[name] for key, name in names.items() if name in variances}
    is_summary = "Std. Error" in text
    data = re.findall(r"^\s*(Data|Weights|Offset|Subset): (.*)", text, re.MULTILINE)
    calls = {name.lower(): argument for name, argument in data} | {"formula": formula}
    has_converged = "failed to converge" not in text
    fit = ParsedFit(
        "mixed",
        label.strip(),
        f"{label.strip()} ~ {fixed}",
        **(_coefficients if is_summary else _fixed_effects)(body, first),
        n=parse_count(group_of(records, 1, first)),
        extremes=is_summary and bool(re.search(r"\bMin\s.*\bMax\b", text)),
        extra=keys,
        unresolved_reason=unresolved_reason(calls, annotation) if has_converged else UNCONVERGED,
    )
    return replace(fit, **fit_keys(annotation))


def _fixed_effects(body: Sequence[str], first: int) -> dict[str, Any]:
    """Estimates as lmer prints them: names over numbers that end where these do, in as many lines as they need."""
    start = body.index("Fixed Effects:") + 1
    rows: list[Row] = []
    for k in range(start, len(body) - 1, 2):
        numbers = words_in(body[k + 1], first + k + 1)
        names = labels_over(body[k], numbers)
        if names is None:
            raise LineError(first + k, "a fixed effect has no name over it.")
        rows += [(name, number, "") for name, number in zip(names, numbers, strict=True)]
    if not rows:
        raise LineError(first + start, "the model ends before its fixed effects: the file is cut.")
    fault = "a fixed effect is no number, or a name stands there twice."
    return coefficients_of(rows, ".", fault, absent=("",))


READERS.register(TextReader("r mixed models", "lmer() of lme4 in R", read_r_mixed))
