"""Who is exposed: the funnel from keys to a right answer, the spread of risk over people, and the classes that carry it.

`funnel` and `spread` may leave: they hold shares, and none of fewer than ten people. `inside` is for the steward's eyes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.masking import SHOWN_FROM, about
from ...stats.scores import Scores
from ...table.encode import level_labels
from ...table.table import Table
from .cap import MEASURES, Match, match
from .classes import class_ids
from .scene import Scene
from .tcap import all_conventions

__all__ = ["funnel", "inside", "matched", "spread"]

STEPS = ("iS", "DiS", "DiSCO", "DiSDiO", "Dorig", "UiO", "UiOiS", "repU")
BINS = 10


def matched(scene: Scene, source: str, keys: Sequence[str], sensitive: str) -> Match:
    """Return what the original's people share with a source, missing keys as levels."""
    return match(
        scene.keys("original", keys), scene.values("original", sensitive),
        scene.keys(source, keys), scene.values(source, sensitive),
    )  # fmt: skip


def funnel(found: Match, keys: Sequence[str], sensitive: str) -> dict[str, Any]:
    """Return the steps from keys that occur in the source to a right answer, as shares of the original's people.

    iS: the keys occur in the source; DiS: and all rows with them have one value; DiSCO: and it is the person's; DiSDiO: and all people
    with the keys have it in the original too. Dorig: the last alone. UiO: the keys are one person's; UiOiS: and occur in the
    source; repU: as one row. Shares of fewer than ten people are None. TCAP under every convention beside them, None where it is about fewer.
    """
    shares = {name: _shown(MEASURES[name](found)) for name in STEPS}
    told = {
        name: None if 0 < outcome.n_matched < SHOWN_FROM else outcome.value
        for name, outcome in all_conventions(found).items()
    }
    return {"sensitive": sensitive, "keys": list(keys), **shares, "tcap": told}


def _shown(scores: Scores) -> float | None:
    """Return a share of people, None where it is of fewer than ten of them."""
    return None if 0 < scores.numerator.sum() < SHOWN_FROM else scores.value


def spread(found: Match, sensitive: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how risk is spread over people (shares by tenths of CAP, small ones hidden), and how many classes are exposed."""
    risk = np.where(found.matched, found.n_both / np.maximum(found.n_key, 1), 0.0)
    counts = np.histogram(risk, bins=np.linspace(0, 1, BINS + 1))[0]
    n = max(found.n_people, 1)
    hidden = (counts > 0) & (counts < SHOWN_FROM)
    if hidden.sum() == 1:  # one hidden share could be found from the others: hide the next smallest too
        rest = np.where(hidden, np.iinfo(np.int64).max, np.where(counts > 0, counts, np.iinfo(np.int64).max))
        hidden[int(np.argmin(rest))] = True
    records = {
        "sensitive": sensitive,
        "what": "share of source rows with a person's keys that have the person's value; 0 where none has the keys",
        "bins": [round(edge, 1) for edge in np.linspace(0, 1, BINS + 1)],
        "shares": [
            None if masked else round(float(count) / n, 4) for count, masked in zip(counts, hidden, strict=True)
        ],
    }
    exposed = found.right
    share = float(exposed.mean()) if found.n_people else 0.0
    people = int(exposed.sum())
    classes = {"sensitive": sensitive, "people": about(people), "share": None if 0 < people < SHOWN_FROM else share}
    return records, classes


def inside(original: Table, scene: Scene, found: Match, keys: Sequence[str], sensitive: str) -> dict[str, Any]:
    """Return each record's risk, and the key classes whose people the source answers for, rightly: confidential.

    Classes stand in order of their number of people, with the keys in words where the grid is that of the schema.
    """
    risk = np.where(found.matched, found.n_both / np.maximum(found.n_key, 1), 0.0)
    (ids,) = class_ids(scene.keys("original", keys))
    exposed = np.flatnonzero(found.right)
    exposed = exposed[np.argsort(ids[exposed], kind="stable")]
    starts = np.flatnonzero(np.diff(ids[exposed], prepend=-1))
    members = sorted(np.split(exposed, starts[1:]), key=len, reverse=True) if len(exposed) else []
    firsts = np.array([rows[0] for rows in members], dtype=np.int64)
    named = [_words(original, scene, name, firsts) for name in (*keys, sensitive)]
    listed = [
        {
            "keys": {key: words[i] for key, words in zip(keys, named[:-1], strict=True)},
            "value": named[-1][i],
            "people": len(rows),
            "rows": rows.tolist(),
        }
        for i, rows in enumerate(members)
    ]
    return {
        "keys": list(keys),
        "sensitive": sensitive,
        "record_risk": [round(float(value), 6) for value in risk],
        "exposed_classes": listed,
    }


def _words(original: Table, scene: Scene, name: str, rows: NDArray[np.int64]) -> list[Any]:
    codes = scene.values("original", name)[rows]
    column = original.schema[name]
    assert column.codec is not None
    if scene.grids[name].size == column.codec.size:
        labels = level_labels(column)
        return [labels[code] for code in codes]
    numbers = scene.grids[name].numbers
    return [float(numbers[code]) if code < scene.grids[name].n_values else None for code in codes]
