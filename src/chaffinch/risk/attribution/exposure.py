"""Who is exposed: the funnel from keys to a right answer, the spread of risk over people, and the classes that carry it.

`funnel` and `spread` may leave: they hold shares, and none of fewer people than the threshold. `exposed_records` is for the steward's eyes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.masking import THRESHOLD, masked_count
from ..._base.results import UNLESS_NONE, PlainData
from ...stats.intervals import wilson
from ...stats.rates import Scores
from ...stats.sampled import Records
from ...table.compare.classes import class_ids
from ...table.compare.values import CodedTables
from ...table.weights import effective_rows
from .attack_data import AttackData
from .cap import MEASURES
from .matching import Match, match, match_counts
from .tcap import all_conventions

STEPS = ("iS", "DiS", "DiSCO", "DiSDiO", "Dorig", "UiO", "UiOiS", "repU")
BINS = 10


@dataclass(frozen=True)
class Funnel:
    """The steps from keys that occur in the source to a right answer, as shares of the original's people; None of few people.

    iS: the keys occur in the source; DiS: and all rows with them have one value; DiSCO: and it is the person's; DiSDiO: and all people
    with the keys have it in the original too. Dorig: the last alone. UiO: the keys are one person's; UiOiS: and occur in the
    source; repU: as one row. `tcap` is TCAP under every convention.
    """

    sensitive: str = ""
    keys: tuple[str, ...] = ()
    iS: float | None = None  # noqa: N815  the literature's names
    DiS: float | None = None
    DiSCO: float | None = None
    DiSDiO: float | None = None
    Dorig: float | None = None
    UiO: float | None = None
    UiOiS: float | None = None
    repU: float | None = None  # noqa: N815
    tcap: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class RiskSpread:
    """How risk is spread over people: the ends of bins, and the share of people in each, None where few are."""

    sensitive: str = ""
    what: str = ""
    bins: tuple[float, ...] = ()
    shares: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class ExposedPeople:
    """How many people the source answers for, and rightly."""

    sensitive: str = ""
    people: int | str | None = None
    share: float | None = None


@dataclass(frozen=True)
class Memorisation(PlainData):
    """The share of synthetic rows, and of the holdout's, that equal a row of the original, values as they stand in the files.

    Where the tables are in files: of all rows in a slice of the space of rows (`records`: "sample"), with the interval of that.
    """

    rows_equal: float | None = field(default=None, metadata=UNLESS_NONE)
    holdout_rows_equal: float | None = field(default=None, metadata=UNLESS_NONE)
    records: Records | None = field(default=None, metadata=UNLESS_NONE)
    rows_equal_interval: tuple[float, float] | None = field(default=None, metadata=UNLESS_NONE)
    holdout_rows_equal_interval: tuple[float, float] | None = field(
        default=None, metadata=UNLESS_NONE
    )


def equal_rows(coded: CodedTables, released: str, *, slices: bool = False) -> Memorisation:
    """Return the shares of released rows, and of the holdout's, that equal a row of the original.

    `slices`: the tables are the rows of larger ones in one slice of the space of rows. Equal rows are chosen together, so the interval is
    Wilson's for as many trials as there are distinct rows, discounted for unequal numbers (Kish 1965).
    """
    present = [side for side in (released, "original", "holdout") if side in coded.tables]
    columns = [coded.column(name).codes for name in coded.tables[released].schema.names]
    rows, members, *others = class_ids(*([codes[side] for codes in columns] for side in present))
    fresh = others[0] if others else np.zeros(0, dtype=np.int64)

    def share(classes: NDArray[np.int64]) -> float | None:
        return float(np.isin(classes, members).mean()) if len(classes) else None

    def between(classes: NDArray[np.int64]) -> tuple[float, float] | None:
        if not len(classes):
            return None
        distinct, counts = np.unique(classes, return_counts=True)
        trials = effective_rows(counts.astype(np.float64))
        equal = counts[np.isin(distinct, members)].sum() / counts.sum()
        return wilson(float(equal) * trials, trials)

    if not slices:
        return Memorisation(share(rows), share(fresh))
    return Memorisation(share(rows), share(fresh), "sample", between(rows), between(fresh))


def match_people(data: AttackData, source: str, keys: Sequence[str], sensitive: str) -> Match:
    """Return what the original's people share with a source: all of them, where the data are samples of files."""
    if data.all_counts is not None:
        nobody = np.zeros(0, dtype=np.int64)
        people, rows = (
            data.all_counts.counts_of([side], keys, sensitive) for side in ("original", source)
        )
        return match_counts(people, rows, [nobody] * len(keys), nobody)[0]
    return match(
        data.keys("original", keys),
        data.values("original", sensitive),
        data.keys(source, keys),
        data.values(source, sensitive),
    )


def funnel(
    people: Match, keys: Sequence[str], sensitive: str, threshold: int = THRESHOLD
) -> Funnel:
    """Return the steps from keys that occur in the source to a right answer."""

    def share(entries: Scores) -> float | None:
        scores = people.of_people(entries)
        return None if 0 < scores.numerator.sum() < threshold else scores.value

    tcap: dict[str, float | None] = {
        str(name): None if 0 < result.n_people < threshold else result.value
        for name, result in all_conventions(people).items()
    }
    return Funnel(
        sensitive, tuple(keys), tcap=tcap, **{name: share(MEASURES[name](people)) for name in STEPS}
    )


def spread(
    people: Match, sensitive: str, threshold: int = THRESHOLD
) -> tuple[RiskSpread, ExposedPeople]:
    """Return how risk is spread over people (shares by tenths of CAP, small ones hidden), and how many people are exposed."""
    edges = np.linspace(0, 1, BINS + 1)
    counts = np.histogram(_risk(people), bins=edges, weights=people.count)[0].astype(np.int64)
    n = max(people.n_people, 1)
    hidden = (counts > 0) & (counts < threshold)
    if (
        hidden.sum() == 1
    ):  # one hidden share could be found from the others: hide the next smallest too
        largest = np.iinfo(np.int64).max
        hidden[int(np.argmin(np.where(hidden | (counts == 0), largest, counts)))] = True
    shares = [
        None if masked else round(float(count) / n, 4)
        for count, masked in zip(counts, hidden, strict=True)
    ]
    what = "share of source rows with a person's keys that have the person's value; 0 where none has the keys"
    exposed = people.people_in(people.right)
    share = exposed / people.n_people if people.n_people else 0.0
    return (
        RiskSpread(sensitive, what, tuple(round(float(edge), 1) for edge in edges), tuple(shares)),
        ExposedPeople(
            sensitive, masked_count(exposed, threshold), None if 0 < exposed < threshold else share
        ),
    )


def _risk(people: Match) -> NDArray[np.float64]:
    return np.where(people.matched, people.n_both / np.maximum(people.n_key, 1), 0.0)


def exposed_records(
    data: AttackData, people: Match, keys: Sequence[str], sensitive: str
) -> dict[str, Any]:
    """Return each record's risk, and the key classes whose people the source answers for, rightly: confidential.

    Classes stand in order of their number of people, with the keys in words.
    """
    (ids,) = class_ids(data.keys("original", keys))
    exposed = np.flatnonzero(people.right)
    exposed = exposed[np.argsort(ids[exposed], kind="stable")]
    starts = np.flatnonzero(np.diff(ids[exposed], prepend=-1))
    members = sorted(np.split(exposed, starts[1:]), key=len, reverse=True) if len(exposed) else []
    firsts = np.array([rows[0] for rows in members], dtype=np.int64)
    named = [_label_texts(data, name, firsts) for name in (*keys, sensitive)]
    return {
        "keys": list(keys),
        "sensitive": sensitive,
        "record_risk": [round(float(value), 6) for value in _risk(people)],
        "exposed_classes": [
            {
                "keys": {key: labels[i] for key, labels in zip(keys, named[:-1], strict=True)},
                "value": named[-1][i],
                "people": len(rows),
                "rows": rows.tolist(),
            }
            for i, rows in enumerate(members)
        ],
    }


def _label_texts(data: AttackData, name: str, rows: NDArray[np.int64]) -> list[Any]:
    codes = data.values("original", name)[rows]
    grid = data.grids[name]
    if grid.labels is not None:
        return [grid.labels[code] for code in codes]
    return [float(grid.numbers[code]) if code < grid.n_values else None for code in codes]
