"""Verdicts in words: what each number means for someone who wants to work with the synthetic table.

A word says how much of the way a measure goes from a table of independent columns, which keeps no relation, to the best that can
be had: the holdout's value where there is one; else that of the original's own records drawn with replacement, which keep all
relations and have the noise of drawing alone; else what identical tables score. That share is `kept`,

    kept = (independent - value) / (independent - best), held to 0 ... 1,

and the word is `close` from 0.9, `fair` from 0.6, `weak` from 0.2, `lost` below. Some numbers have no such scale and go by rules of
their own:

- Jensen-Shannon distance and 1-way tables: independent columns keep these by construction. A mean distance up to 0.05 is close, up to
  0.1 fair, up to 0.2 weak (1-way tables: 0.03, 0.07, 0.15); a value as good as the best that can be had is close.
- pMSE ratio: 1 is a fresh sample. Up to 3 is close, up to 10 fair (Raab, Nowok and Dibben 2021 advise to stay below these), up to 30
  weak; a value no better than that of independent columns is lost.
- A regression's results: the overlap of confidence intervals has no lower end, so a share of the way would mean little. From 0.9 is close, from
  0.6 fair, from 0.2 weak; as good as the holdout is close, no better than independent columns lost.
- Where independent columns come as near as the best that can be had, there is nothing to keep: a value as good as either, or whose
  interval reaches so far, is close, any other lost.
- Where no table of independent columns was measured, limits of the measure's own; mu and G have none, and get no word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .measures import MEASURES, Measure, measures_of
from .words import is_number, number

__all__ = ["RULES", "THRESHOLDS", "WORDS", "kept_share", "verdict"]

WORDS = ("close", "fair", "weak", "lost")
NOT_APPLICABLE = "not applicable"
THRESHOLDS = (0.9, 0.6, 0.2)

RULES = (
    "Words say how much of the way the synthetic table goes from independent columns (nothing kept) to the best that can be had: the "
    "holdout's value where there is one, else that of the original's own records drawn with replacement. Close: 90 % or more; fair: 60 % or more; weak: 20 % or more; lost: "
    "less. They describe nearness to the original, nothing else.",
    "Independent columns keep single columns by construction, so these go by limits of their own: Jensen-Shannon distance up to 0.05 is "
    "close, 0.1 fair, 0.2 weak; distance of 1-way tables up to 0.03, 0.07, 0.15; as good as the best that can be had is close.",
    "The pMSE ratio of a fresh sample is 1: up to 3 is close, up to 10 fair, up to 30 weak; no better than independent columns is lost.",
    "The overlap of a regression's confidence intervals has no lower end: from 0.9 is close, from 0.6 fair, from 0.2 weak; as good as the holdout "
    "is close, no better than independent columns is lost.",
    "Where no table of independent columns was measured, words go by limits of each measure: "
    + "; ".join(
        f"{m.name}: {', '.join(number(limit) for limit in m.limits)} away from identical tables"
        for m in MEASURES
        if m.limits and m.scaled
    )
    + ".",
)
"""The rules above in sentences for readers, a footnote of every report."""


def verdict(study: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row for each measure that a study has: its number, its references, a word and a sentence.

    Parameters
    ----------
    study
        Plain data as `chaffinch utility --json` writes them.

    Examples
    --------
    >>> mu = {"value": 0.002, "identical": 0.0, "direction": "lower is better", "references": {"marginals": 0.02}}
    >>> [(row["id"], row["kept"], row["word"]) for row in verdict({"mu": mu})]
    [('mu', 0.9, 'close')]
    """
    return [_row(measure, data) for measure, data in measures_of(study)]


def kept_share(value: float, marginals: float, best: float) -> float | None:
    """Return how much of the way from `marginals` to `best` a value goes, 0 to 1; None where the two are equal.

    Examples
    --------
    >>> kept_share(0.25, 1.0, 0.0), kept_share(2.0, 1.0, 0.0), kept_share(0.9, 0.5, 1.0)
    (0.75, 0.0, 0.8)
    """
    if marginals == best:
        return None
    return round(min(max((marginals - value) / (marginals - best), 0.0), 1.0), 12)


def _row(measure: Measure, data: Mapping[str, Any]) -> dict[str, Any]:
    references = _references(measure, data)
    head: dict[str, Any] = {
        "section": "utility",
        "id": measure.id,
        "measure": measure.name,
        "question": measure.question,
        "value": data.get("value"),
        "interval": data.get("interval"),
        "direction": data.get("direction") or "lower is better",
        "identical": data["identical"] if is_number(data.get("identical")) else 0.0,
        **references,
    }
    held = (head["holdout"], head["resample"], head["identical"])
    head["best"] = next(reference for reference in held if reference is not None)
    if not is_number(head["value"]):
        reason = str(data.get("not_applicable") or "no value was given").rstrip(".")
        sentence = f"Not applicable: {reason}."
        return {**head, "value": None, "interval": None, "kept": None, "word": NOT_APPLICABLE, "sentence": sentence}
    kept, place, tail = _judged(measure, head)
    if place is None:
        sentence = f"{measure.name} is {number(head['value'])}. {tail}"
        return {**head, "kept": None, "word": NOT_APPLICABLE, "sentence": sentence}
    sentence = f"{measure.say(place, head['value'])} {tail}".strip()
    return {**head, "kept": kept, "word": WORDS[place], "sentence": sentence}


def _references(measure: Measure, data: Mapping[str, Any]) -> dict[str, float | None]:
    given = data.get("references") or {}
    sides = ("marginals", "resample", "holdout")
    out = {side: given.get(side) if is_number(given.get(side)) else None for side in sides}
    if measure.id == "learning" and out["marginals"] is None:
        out["marginals"] = _learning_of_marginals(data.get("rows") or ())
    return out


def _learning_of_marginals(rows: Any) -> float | None:
    """Return what models lose that learn from independent columns: their rows stand in the learning table itself."""
    score = {(row.get("model"), row.get("trained_on")): row.get("score") for row in rows}
    gaps = [
        score[model, "original"] - score[model, "marginals"]
        for model, side in score
        if side == "marginals" and is_number(score[model, side]) and is_number(score.get((model, "original")))
    ]
    return sum(gaps) / len(gaps) if gaps else None


def _judged(measure: Measure, row: Mapping[str, Any]) -> tuple[float | None, int | None, str]:
    """Return what is kept, the place of the word, and what else the sentence says."""
    value, marginals, best = row["value"], row["marginals"], row["best"]
    no_worse = _comparer(row["direction"])
    as_best = (row["holdout"] is not None or row["resample"] is not None) and no_worse(value, best)
    held = "Real records that were not used come no nearer." if as_best and row["holdout"] is not None else ""
    related = measure.group != "columns" and marginals is not None
    if related and measure.scaled and no_worse(marginals, best):
        reached = no_worse(value, best) or no_worse(value, marginals) or _reaches(row["interval"], best)
        return None, 0 if reached else 3, "Independent columns come as near, so there is little here to keep."
    if related and no_worse(marginals, value):
        return 0.0 if measure.scaled else None, 3, "That is no better than independent columns."
    if related and measure.scaled:
        kept = kept_share(value, marginals, best)
        return kept, sum((kept or 0.0) < limit for limit in THRESHOLDS), held
    if measure.limits is None:
        return None, None, "No table of independent columns was measured beside it, so there is no scale for a word."
    if as_best:
        return None, 0, held
    away = row["identical"] - value if row["direction"] == "higher is better" else value - row["identical"]
    return None, sum(away > limit for limit in measure.limits), ""


def _comparer(direction: str) -> Any:
    higher = direction == "higher is better"
    return lambda one, other: one >= other if higher else one <= other


def _reaches(interval: Any, best: float) -> bool:
    return bool(interval) and all(map(is_number, interval)) and interval[0] <= best <= interval[1]
