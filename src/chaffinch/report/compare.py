"""Two reports of tables with the same columns: which comes nearer to the original, and can they be told apart?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.errors import InputError, listed
from ..risk.attribution.attack import Attack
from ..risk.attribution.result import RiskResult
from ..stats.result import Result
from ..synth.account import SynthesisAccount
from ..utility.association import Association
from ..utility.jensen_shannon import JensenShannon
from ..utility.metric import METRICS, Metric
from ..utility.result import UtilityResult
from ..utility.verdict import metrics_of
from .comparison import ColumnChange, Comparison, MeasureRow, PairChange, SettingRow
from .heatmap import Matrices
from .risk import risk_about
from .two_promises import promise_notes, promise_rows
from .words import number, shown

__all__ = ["Comparison", "compare"]

Data = Mapping[str, Any]
FORMATS = ("chaffinch-utility", "chaffinch-risk", "chaffinch-report")
MOST = 20
DECISIVE = frozenset(
    ("norm", "bins", "missing", "noise_correction", "alpha", "beta", "formula", "family", "label", "task", "score", "scores", "encoding",
     "models", "model", "labels", "null", "overlap", "test_share", "tested_on", "widths", "width", "codes", "values", "rows", "svm_rows",
     "base")
)  # fmt: skip
"""Settings that decide what a number is a number of; others say how sure it is, or what was found on the way."""


def compare(a: Data, b: Data) -> Comparison:
    """Return two reports side by side: the JSON of `chaffinch utility`, `risk` or `release`, of tables with the same columns.

    Values whose intervals overlap cannot be told apart. Numbers made with other settings, other levels or another label are
    shown, but neither is called better. Promises of privacy stand side by side, with a note where they are different ones.

    Raises
    ------
    InputError
        If one of the two is something else, or their columns differ.
    """
    first, second = _study(a, "A"), _study(b, "B")
    one, other = first["utility"], second["utility"]
    accounts = SynthesisAccount.from_dict(a.get("synthesis")), SynthesisAccount.from_dict(b.get("synthesis"))
    _check_columns(first, second)
    settings = tuple(_settings(one, other))
    levels = _other_levels(first, second)
    apart = {row.id for row in settings if row.matters}
    rows = tuple(_measures(one, other, apart, bool(levels)))
    return Comparison(
        (_name(first, a), _name(second, b)), rows, _columns(one, other), _pairs(one, other), settings,
        (*_notes(first, second, levels), *_unmatched(first, second)), tuple(_attacks(first, second)),
        promise_rows(*accounts), tuple(promise_notes(*accounts)),
    )  # fmt: skip


# Reading.


def _study(data: Any, which: str) -> dict[str, Any]:
    """Return the study in a report, or the study itself."""
    step = "Give the JSON of chaffinch utility or chaffinch risk, or report.json of chaffinch release."
    if not isinstance(data, Mapping):
        raise InputError(f"{which} must be a report as JSON. Got a {type(data).__name__}. {step}")
    if data.get("format") not in FORMATS:
        got = f"format '{shown(data['format'])}'" if "format" in data else "data without a format"
        raise InputError(f"{which} must be of format {' or '.join(FORMATS)}. Got {got}. {step}")
    if data.get("version") != 1:
        raise InputError(
            f"{which} is of version {shown(data.get('version'))}; this Chaffinch reads version 1. Measure again, or update."
        )
    if data["format"] == "chaffinch-utility":
        return {"about": data.get("about") or {}, "utility": UtilityResult.from_dict(data)}
    frame = {"format": "chaffinch-utility", "version": 1}
    if data["format"] == "chaffinch-risk":
        risk = RiskResult.from_dict(data)
        return {"about": risk_about(risk), "risk": risk, "utility": UtilityResult.from_dict(frame)}
    result = UtilityResult.from_dict({**(data.get("utility") or {}), **frame})
    risk = RiskResult.from_dict({**(data.get("risk") or {}), "format": "chaffinch-risk", "version": 1})
    return {"about": data.get("about") or {}, "risk": risk if data.get("risk") else None, "utility": result}


def _of_columns(study: Data) -> dict[str, Data]:
    return {str(c.get("name")): c for c in (study.get("about") or {}).get("columns") or ()}


def _check_columns(first: Data, second: Data) -> None:
    one, other = _of_columns(first), _of_columns(second)
    if any(study.get("risk") and not listed_ for study, listed_ in ((first, one), (second, other))):
        return  # A study of risk alone lists no columns.
    only = [
        f"only in {side}: {listed(shown(name, 40) for name in mine if name not in theirs)}"
        for side, mine, theirs in (("A", one, other), ("B", other, one))
        if set(mine) - set(theirs)
    ]
    if only:
        raise InputError(f"Reports can be compared when their tables have the same columns. Got {'; '.join(only)}.")


def _other_levels(first: Data, second: Data) -> list[str]:
    """Return columns that were compared on other kinds or other numbers of levels."""
    one, other = _of_columns(first), _of_columns(second)
    shared = [name for name in one if name in other]
    return [name for name in shared if any(one[name].get(key) != other[name].get(key) for key in ("kind", "levels"))]


def _name(study: Data, data: Data) -> str:
    about = study.get("about") or {}
    named = (about.get("synthetic") or {}).get("name") or "synthetic table"
    title = data.get("title")
    date = (data.get("run") or {}).get("date")
    return shown(named) + (f" ({shown(title)})" if title else "") + (f", {shown(date)}" if date else "")


def _notes(first: Data, second: Data, levels: Sequence[str]) -> Iterator[str]:
    if levels:
        yield (
            f"{listed(shown(name, 40) for name in levels)}: compared on other kinds or numbers of levels in A than in B, so the numbers of "
            "the two reports are not comparable. Measure both with the same schema."
        )
    for key, what in (("original", "originals"), ("holdout", "holdouts")):
        one, other = ((study.get("about") or {}).get(key) or {} for study in (first, second))
        if (one.get("name"), one.get("rows")) != (other.get("name"), other.get("rows")):
            yield f"The {what} differ: {_told(one)} in A, {_told(other)} in B."


def _told(table: Data) -> str:
    if not table:
        return "none"
    return f"{shown(table.get('name', 'unnamed'))} with about {number(table.get('rows'))} rows"


# Measures.


def _measures(one: UtilityResult, other: UtilityResult, apart: set[str], other_levels: bool) -> Iterator[MeasureRow]:
    names = [metric.name for result in (one, other) for metric in metrics_of(result.results)]
    for metric in (METRICS[name] for name in dict.fromkeys(names)):
        row = _row(metric, one.results.get(metric.name), other.results.get(metric.name))
        why = row.why or ("other levels" if other_levels else "other settings" if metric.id in apart else "")
        yield replace(row, better=None, why=why) if why else row


def _row(metric: Metric, a: Result | None, b: Result | None) -> MeasureRow:
    values = [None if result is None else result.value for result in (a, b)]
    intervals = [result.interval if result is not None and result.interval else None for result in (a, b)]
    missing = [
        f"not measured in {side}" if result is None else f"not applicable in {side}: {shown(result.reason, 200)}"
        for side, result, value in zip("AB", (a, b), values, strict=True)
        if value is None
    ]
    return MeasureRow(
        id=metric.id,
        measure=metric.title,
        direction=metric.kind.direction,
        a=values[0],
        b=values[1],
        interval_a=intervals[0],
        interval_b=intervals[1],
        difference=_less(values[1], values[0]),
        better=None if missing else _better(values, intervals, metric.kind.direction),
        why="; ".join(missing),
    )


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _better(values: Sequence[Any], intervals: Sequence[Any], direction: str) -> str:
    """Return which of two values is better, or that their intervals overlap."""
    if values[0] == values[1]:
        return "equal"
    ends = [i if i else [v, v] for v, i in zip(values, intervals, strict=True)]
    if any(intervals) and max(ends[0][0], ends[1][0]) <= min(ends[0][1], ends[1][1]):
        return "cannot be told apart"
    return "A" if (values[0] > values[1]) == (direction == "higher is better") else "B"


# Settings.


def _settings(one: UtilityResult, other: UtilityResult) -> Iterator[SettingRow]:
    for metric in metrics_of(one.results):
        a, b = one[metric.name], other.results.get(metric.name)
        if a.value is None or b is None or b.value is None:
            continue
        mine, theirs = _flat(a), _flat(b)
        for key in dict.fromkeys([*mine, *theirs]):
            if mine.get(key) != theirs.get(key):
                matters = key.split(".")[0] in DECISIVE
                yield SettingRow(metric.id, metric.title, key, mine.get(key), theirs.get(key), matters)


def _flat(result: Result) -> dict[str, Any]:
    """Return the settings of a result with dotted keys."""
    out = {key: getattr(result, key) for key in result.decisive}
    waiting = list(result.settings.items())
    while waiting:
        key, value = waiting.pop(0)
        if isinstance(value, Mapping):
            waiting = [(f"{key}.{inner}", v) for inner, v in value.items()] + waiting
        else:
            out[str(key)] = value
    return out


# Columns and pairs.


def _columns(one: UtilityResult, other: UtilityResult) -> tuple[ColumnChange, ...]:
    mine, theirs = (
        distances.per_column if isinstance(distances := result.results.get("jensen_shannon"), JensenShannon) else {}
        for result in (one, other)
    )
    rows = [
        ColumnChange(name, value, theirs[name], theirs[name] - value)
        for name, value in mine.items()
        if name in theirs and theirs[name] != value
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.change))[:MOST])


def _pairs(first: UtilityResult, second: UtilityResult) -> tuple[PairChange, ...]:
    """Return pairs whose phi_k is nearer to the original's in one table than in the other."""
    relations = [result.results.get("phi_k") for result in (first, second)]
    known = [Matrices(phi, most=1_000_000) for phi in relations if isinstance(phi, Association)]
    if len(known) < 2:
        return ()
    one, other = known
    place = {name: i for i, name in enumerate(other.names)}
    shared = [name for name in one.names if name in place]
    mine = [i for i, name in enumerate(one.names) if name in place]
    theirs = [place[name] for name in shared]
    off = [np.abs(m.difference[np.ix_(at, at)]) for m, at in ((one, mine), (other, theirs))]
    change = np.nan_to_num(np.tril(off[1] - off[0], -1))
    out = []
    for at in np.argsort(-np.abs(change), axis=None, kind="stable")[:MOST]:
        i, j = divmod(int(at), len(shared))
        if change[i, j]:
            out.append(PairChange((shared[j], shared[i]), float(off[0][i, j]), float(off[1][i, j]), float(change[i, j])))
    return tuple(out)


# Attacks.


def _attack_rows(study: Data) -> dict[tuple[Any, ...], Attack]:
    risk: RiskResult | None = study.get("risk")
    attacks = () if risk is None else risk.attacks
    return {(attack.measure, tuple(sorted(attack.keys)), attack.sensitive): attack for attack in attacks}


def _attacks(first: Data, second: Data) -> Iterator[dict[str, Any]]:
    """Yield the attacks that both reports have, farthest apart first: lower is safer."""
    one, other = _attack_rows(first), _attack_rows(second)
    apart = _attack_settings(first) != _attack_settings(second)
    rows = [_attack_row(one[key], other[key], apart) for key in one if key in other]
    yield from sorted(rows, key=lambda row: -abs(row["difference"] or 0.0))


def _attack_row(a: Attack, b: Attack, apart: bool) -> dict[str, Any]:
    intervals = [list(attack.interval) if attack.interval else None for attack in (a, b)]
    missing = [
        f"not applicable in {side}: {shown(attack.reason or 'no value', 200)}"
        for side, attack in zip("AB", (a, b), strict=True)
        if attack.value is None
    ]
    other = "other convention" if a.convention != b.convention else "other settings" if apart else ""
    why = "; ".join(missing) or other
    return {
        "measure": a.measure,
        "name": a.attacker.title,
        "keys": list(a.keys),
        "sensitive": a.sensitive,
        "A": a.value,
        "B": b.value,
        "interval_A": intervals[0],
        "interval_B": intervals[1],
        "difference": _less(b.value, a.value),
        "excess_A": a.excess,
        "excess_B": b.excess,
        "safer": None if why else _better([a.value, b.value], intervals, "lower is safer"),
        "why": why,
    }


def _attack_settings(study: Data) -> dict[str, Any]:
    """Return the settings that decide what the numbers of attacks are numbers of."""
    risk: RiskResult | None = study.get("risk")
    settings = {} if risk is None else risk.about.settings
    return {key: settings.get(key) for key in ("numeric", "tolerance", "missing", "tau", "svm_rows")}


def _unmatched(first: Data, second: Data) -> Iterator[str]:
    one, other = _attack_rows(first), _attack_rows(second)
    for side, mine, theirs in (("A", one, other), ("B", other, one)):
        only = len(mine.keys() - theirs.keys())
        if only:
            yield f"{only:,} attacks are in {side} only."
