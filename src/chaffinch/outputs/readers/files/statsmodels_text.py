"""Models as statsmodels prints them: `print(result.summary())` of OLS, Logit, Probit and Poisson."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .crossed import OpenQuestionError
from .numbers import NUMBER, number_text, whole
from .printed import ParsedFit
from .protocol import READERS, Annotation, LineError, Match, ParsedOutput, TextReader, fit_keys

_TITLE = re.compile(r"[\w ]*Regression Results")
_DOUBLE = re.compile(r"\s*={20,}\s*")
_HEAD = re.compile(r"\s*coef\s+std err\b.*")
_ROW = re.compile(
    rf"(?P<name>\S.*?)\s+(?P<numbers>(?:(?:{NUMBER}|nan|-?inf)\s+){{5}}(?:{NUMBER}|nan|-?inf))\s*"
)
_FACT = re.compile(r"([A-Z][\w.() -]*?|converged):\s+(\S+(?: \S+)*)(?=\s{2,}|\s*$)")
_KINDS = {"OLS": "ols", "Logit": "logit", "Probit": "probit", "Poisson": "poisson"}


def read_statsmodels_text(lines: Sequence[str]) -> list[Match]:
    """Return a piece for each summary in some lines: from its title to its last double line, and its notes."""
    starts = [
        k
        for k, line in enumerate(lines)
        if _TITLE.fullmatch(line.strip()) and k + 1 < len(lines) and _DOUBLE.fullmatch(lines[k + 1])
    ]
    pieces = []
    for number, start in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else len(lines)
        ends = [k for k in range(start, stop) if _DOUBLE.fullmatch(lines[k])]
        end = ends[-1]
        if len(ends) < 3:  # cut: all that is there
            end = max(k for k in range(start, stop) if lines[k].strip())
        after = end + 1
        while after < stop and (
            not lines[after].strip() or re.match(r"Notes:|Warnings:|\[\d\] ", lines[after])
        ):
            after += 1
        body = list(lines[start : end + 1])
        pieces.append(
            Match(range(start + 1, after + 1), "statsmodels", partial(_facts, body, start + 1))
        )
    return pieces


def _facts(body: Sequence[str], first: int, given: Annotation) -> ParsedOutput:
    heads = [k for k, line in enumerate(body) if _HEAD.fullmatch(line)]
    facts = {
        key.strip(): value
        for line in body[: heads[0] if heads else len(body)]
        for key, value in _FACT.findall(line)
    }
    rows, closed = dict[str, tuple[str, str]](), False
    for k in range(heads[0] + 1, len(body)) if heads else ():
        if _DOUBLE.fullmatch(body[k]):
            closed = True
            break
        if re.fullmatch(r"\s*-+\s*", body[k]) or not body[k].strip():
            continue
        match = _ROW.fullmatch(body[k].strip())
        cells = match["numbers"].split() if match else []
        estimate, error = (number_text(cell) for cell in cells[:2]) if match else (None, None)
        if match is None or estimate is None or error is None or match["name"] in rows:
            raise LineError(
                first + k,
                "a row of coefficients must have a name of its own, an estimate, its standard error and four more numbers.",
            )
        rows[match["name"]] = (estimate, error)
    if not closed or not rows:
        raise LineError(
            first + len(body) - 1,
            "the summary ends before the end of its table of coefficients: the file is cut.",
        )
    model = facts.get("Model", "")
    if model not in _KINDS:
        raise OpenQuestionError(
            f"statsmodels: a model of {model or 'a kind that is not said'}.",
            "Models of this kind are not read: describe it in a file of outputs.",
            {},
        )
    if "No. Observations" not in facts or "Dep. Variable" not in facts:
        raise LineError(
            first, "the summary does not say its dependent variable and No. Observations."
        )
    kind = _KINDS[model]
    fit = ParsedFit(
        kind,
        facts["Dep. Variable"],
        coefficients={name: estimate for name, (estimate, _) in rows.items()},
        standard_errors={name: error for name, (_, error) in rows.items()},
        n=whole(facts["No. Observations"]),
        dof=whole(facts["Df Residuals"]) if "Df Residuals" in facts else None,
        loglik=number_text(facts.get("Log-Likelihood", "")),
        robust=kind == "probit" or facts.get("Covariance Type", "nonrobust") != "nonrobust",
        unsaid=""
        if facts.get("converged", "True") == "True"
        else "its fit did not converge: its coefficients are not those of the data",
    )
    return replace(fit, **fit_keys(given))


READERS.register(
    TextReader(
        "statsmodels text",
        "summary() of OLS, Logit, Probit and Poisson in statsmodels",
        read_statsmodels_text,
    )
)
