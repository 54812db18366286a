"""Models as R prints them: `summary()` of lm, glm and coxph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .companion import Help
from .crossed import OpenQuestionError
from .found import Facts, LineError
from .numbers import number_text, sign_of
from .pieces import NUMBER, P_VALUE, READERS, Piece, TextReader, fit_keys, whole
from .printed_fit import PrintedFit

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


def read_r_models(lines: Sequence[str]) -> list[Piece]:
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
        pieces.append(Piece(range(start + 1, ends[-1] + 2), "R", partial(_facts, body, start + 1)))
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


def _facts(body: Sequence[str], first: int, given: Help) -> Facts:
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
    fit = PrintedFit(
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


def _unsaid(keys: dict[str, str], given: Help) -> str:
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


def _lm(fit: PrintedFit, text: str, keys: dict[str, str], first: int, size: int) -> PrintedFit:
    match = re.search(
        r"Residual standard error:\s*\S+\s+on\s+([\d,.]+)\s+degrees? of freedom", text
    )
    if match is None:
        raise _cut(first, size, "its residual degrees of freedom")
    dof = whole(match[1])
    return replace(fit, dof=dof, n=dof + len(fit.coefficients))


def _glm(fit: PrintedFit, text: str, keys: dict[str, str], first: int, size: int) -> PrintedFit:
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


def _cox(fit: PrintedFit, text: str, keys: dict[str, str], first: int, size: int) -> PrintedFit:
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
