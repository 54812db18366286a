"""Which cells of records lie behind each kind of output: cells, margins and totals, n, groups, bins, leaves, times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import InputError
from ..columns import Codes, Floats
from ..fields import Fields
from ..kinds.base import Cells, Step, crossed, scalar_code, shaped
from ..kinds.summaries import UNSAID
from ..kinds.tables import TOTAL
from ..precision import UNKNOWN, count_interval
from ..where import Filter, read_filter
from .tallies import COUNT, Ints, Mask, Tally, tally

__all__ = ["Entry", "bins", "intervals_of_time", "kept_by", "says", "tallies_of"]

Entry = Mapping[str, Any]
"""An output as the file has it; its numbers may be absent, or True where they are only said to be published."""

MOST_MARGINS = 16
"""The margins of a table without withheld cells follow from its cells; with more than this only the one-way ones are made at once, and others
where another output has the same columns."""


def says(entry: Entry, key: str) -> bool:
    """Return whether an output publishes something beside its main numbers: numbers, or `true`."""
    return entry.get(key) is not None and entry[key] is not False


def kept_by(entry: Entry, fields: Fields) -> Filter:
    """Return the output's filter."""
    return read_filter(entry.get("where"), fields, output=str(entry["name"]))


def tallies_of(entry: Entry, fields: Fields, codes: Codes) -> list[Tally]:
    """Return the tallies behind an output, that of its cells first.

    Examples
    --------
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("sex", ("f", "m")),))
    >>> entry = {"name": "by sex", "kind": "table", "by": ["sex"]}
    >>> [(t.part, t.counts.tolist()) for t in tallies_of(entry, fields, np.array([[0], [0], [1]], dtype=np.int32))]
    [('cells', [2, 1]), ('total', [3])]
    """
    make = _MAKERS.get(str(entry["kind"]), _fit)
    return make(_Behind(entry, fields, codes))


class _Behind:
    """An output with the columns and records it is counted on."""

    def __init__(self, entry: Entry, fields: Fields, codes: Codes) -> None:
        self.entry, self.fields, self.codes = entry, fields, codes
        self.name, self.kind = str(entry["name"]), str(entry["kind"])
        self.kept = kept_by(entry, fields)

    def cross(self) -> Cells:
        """The output's groups."""
        return crossed(self.entry.get("by") or [], self.entry.get("groups") or {}, self.fields, output=self.name)

    def tally(self, part: str, cells: Cells, *, kept: Filter | None = None, **options: Any) -> Tally:
        """A tally of the output."""
        at = self.kept if kept is None else kept
        return tally(self.name, self.kind, part, cells, at, self.fields, self.codes, **options)

    def total(self) -> list[Tally]:
        """The n after the filter, if it is published."""
        if not says(self.entry, "n") or isinstance(self.entry["n"], list | Mapping):
            return []
        return [self.tally("n", Cells((), ()), quantities=[COUNT])]

    def counted(self, given: NDArray[np.object_] | None) -> Callable[[Ints], tuple[Ints, Ints, Mask]]:
        """From counts to what a reader is told of them: by the cells as printed where there are any, and by the output's rules."""
        return lambda counts: _told(self.entry, given, counts, len(self.codes))

    @property
    def rounded(self) -> dict[str, Any]:
        """What counts are rounded to, and how much that leaves open."""
        base = int(self.entry.get("base") or 1)
        width = {"nearest": 2 * (base // 2), "down": base - 1, "up": base - 1}.get(
            str(self.entry.get("rounding") or "nearest"), 2 * (base - 1)
        )
        return {"base": base, "width": width}


def _told(entry: Entry, given: NDArray[np.object_] | None, counts: Ints, most: int) -> tuple[Ints, Ints, Mask]:
    threshold, zeros = entry.get("threshold"), bool(entry.get("suppressed_zeros", False))
    base, rounding = int(entry.get("base") or 1), entry.get("rounding") or "nearest"
    printed = (counts + base // 2) // base * base if rounding == "nearest" else counts // base * base
    if rounding == "up":
        printed = -(-counts // base) * base
    below = {"nearest": base // 2, "down": 0}.get(rounding, base - 1)
    above = {"nearest": base // 2, "up": 0}.get(rounding, base - 1)
    lo, hi = np.maximum(printed - below, 0), printed + above
    withheld = np.zeros(len(counts), dtype=bool)
    if threshold is not None:
        withheld = (counts < threshold) & ((counts > 0) | zeros)
        lo, hi = np.where(withheld, 0 if zeros else 1, lo), np.where(withheld, threshold - 1, hi)
    for band in entry.get("bands") or ():
        least, most_in = count_interval(band, most=most, suppressed_zeros=zeros)
        banded = (counts >= least) & (counts <= most_in)
        lo, hi, withheld = np.where(banded, least, lo), np.where(banded, most_in, hi), withheld | banded
    if given is not None:
        # A cell as printed says whether it is withheld; its number is that of these records.
        for place, cell in enumerate(given.ravel()):
            if cell is ...:
                continue
            hidden = cell is None or (isinstance(cell, str) and not cell.strip().replace(",", "").isdigit())
            if hidden:
                unsaid = cell is None or cell.strip().lower() in ("", "*", "x", "c", "s", ":", "..", "suppressed")
                sign = UNKNOWN if unsaid and threshold is None else cell
                lo[place], hi[place] = count_interval(sign, most=most, threshold=threshold, suppressed_zeros=zeros)
            elif withheld[place]:
                lo[place] = hi[place] = counts[place]
            withheld[place] = hidden
    # Numbers as printed may be of other records than these; what is known must at least allow what is there.
    return np.minimum(lo, counts), np.maximum(hi, counts), withheld


def _by_name(entry: Entry, names: tuple[tuple[str, ...], ...]) -> NDArray[np.object_] | None:
    """Cells that an output without numbers withholds by name; nothing (...) is said of the others."""
    if not entry.get("withheld"):
        return None
    cells = ["x" if "|".join(words) in entry["withheld"] else ... for words in product(*names)]
    return np.array([*cells, None], dtype=object)[:-1].reshape([len(some) for some in names])


def _listed(entry: Entry, *keys: str) -> Any:
    return next((entry[key] for key in keys if isinstance(entry.get(key), list | Mapping)), None)


def _inside(step: Step) -> Step:
    return step[0], np.where(step[1] < 0, -1, 0).astype(np.int64)


def _summed(cells: Cells, out: tuple[bool, ...]) -> Cells:
    """Cells with some columns summed out; over the levels that are in a group."""
    pairs = list(zip(cells.steps, cells.names, out, strict=True))
    kept = [(step, names) for step, names, gone in pairs if not gone]
    rest = [(_inside(step), ("",)) for step, _, gone in pairs if gone and (step[1] < 0).any()]
    return Cells(tuple(step for step, _ in kept + rest), tuple(names for _, names in kept + rest))


def _table(b: _Behind) -> list[Tally]:
    entry, cells = b.entry, b.cross()
    if entry.get("percentages"):
        return _percentages(b, cells)
    margins = bool(entry.get("margins", False))
    source = _listed(entry, "counts", "cells")
    names = tuple((*some, TOTAL) for some in cells.names) if margins else cells.names
    given = _by_name(entry, names)
    if source is not None:
        absent = 0 if isinstance(source, Mapping) else None
        given = shaped(source, cells, what=f"Output '{b.name}'", absent=absent, total=TOTAL if margins else None)
    made: list[Tally] = []
    for out in product((False, True), repeat=len(cells.steps)):
        part = None
        if given is not None and (margins or not any(out)):
            sides = slice(None, None) if not margins else None
            part = given[tuple(sides or (slice(-1, None) if gone else slice(None, -1)) for gone in out)]
        left = [name for name, gone in zip(entry["by"], out, strict=True) if not gone]
        what = "cells" if not any(out) else f"total by {' and '.join(left)}" if left else "total"
        if not any(out) or margins:
            made.append(b.tally(what, _summed(cells, out), told=b.counted(part), **b.rounded, quantities=[COUNT]))
        elif (
            not made[0].withheld.any() and b.rounded["base"] == 1 and (2 ** len(out) <= MOST_MARGINS or len(left) <= 1)
        ):
            made.append(b.tally(what, _summed(cells, out), quantities=[COUNT], implied=True))
    if not margins and not made[0].withheld.any() and b.rounded["base"] == 1 and 2 ** len(cells.steps) > MOST_MARGINS:
        made[0] = replace(made[0], more_margins=True)
    return [*made, *b.total()]


def _percentages(b: _Behind, cells: Cells) -> list[Tally]:
    entry = b.entry
    axis = {"all": None, "rows": 0, "columns": len(cells.steps) - 1}[str(entry["percentages"])]
    source = _listed(entry, "values")
    given = _by_name(entry, cells.names)
    given = given if source is None else shaped(source, cells, what=f"Output '{b.name}'", absent=0)
    hidden = None if given is None else np.array([_unsaid(cell) for cell in given.ravel()], dtype=bool)
    counted = says(entry, "totals") or (axis is None and (says(entry, "n") or not b.kept.masks))
    made = [b.tally("cells", cells, told=_hiding(entry, hidden), quantities=[COUNT] if counted else [])]
    if counted and entry.get("decimals") is not None:
        total = int(made[0].counts.reshape(cells.shape).sum(axis=_but(axis, len(cells.steps))).max())
        width = int(10.0 ** -int(entry["decimals"]) / 100.0 * total)
        made = [b.tally("cells", cells, told=_hiding(entry, hidden), quantities=[COUNT], width=width)]
    if axis is not None and says(entry, "totals"):
        printed = _listed(entry, "totals")
        boxed = None if printed is None else np.array([*printed, None], dtype=object)[:-1]
        out = tuple(k != axis for k in range(len(cells.steps)))
        made.append(b.tally("totals", _summed(cells, out), told=b.counted(boxed), **b.rounded, quantities=[COUNT]))
    return [*made, *b.total()]


def _but(axis: int | None, size: int) -> tuple[int, ...]:
    return tuple(k for k in range(size) if k != axis)


def _unsaid(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip() in [sign for sign in UNSAID if sign is not None])


def _hiding(entry: Entry, hidden: Mask | None) -> Callable[[Ints], tuple[Ints, Ints, Mask]]:
    """What a reader is told of counts behind numbers that are not counts: nothing of those withheld."""

    def told(counts: Ints) -> tuple[Ints, Ints, Mask]:
        lo, hi, withheld = _told({**entry, "base": 1}, None, counts, 0)
        if hidden is not None:
            withheld = withheld | hidden if entry.get("withheld") else hidden
        return lo, hi, withheld

    return told


def bins(entry: Entry, fields: Fields) -> Cells:
    """Return the bins of a histogram: each with its lower edge and without its upper one, the last with both."""
    position, edges = fields.position(str(entry["of"])), np.array(entry["edges"], dtype=float)
    values = fields.every[position].values
    group = np.searchsorted(edges, values, side="right") - 1
    group[values == edges[-1]] = len(edges) - 2
    group[(values < edges[0]) | (values > edges[-1])] = -1
    names = tuple(f"{a:g} to {b:g}" for a, b in pairwise(edges))
    return Cells(((position, group.astype(np.int64)),), (names,))


def _histogram(b: _Behind) -> list[Tally]:
    cells, counts = bins(b.entry, b.fields), b.entry.get("counts")
    given = np.array([*counts, None], dtype=object)[:-1] if isinstance(counts, list) else _by_name(b.entry, cells.names)
    made = [b.tally("cells", cells, told=b.counted(given), **b.rounded, quantities=[COUNT])]
    if not made[0].withheld.any() and b.rounded["base"] == 1:
        made.append(b.tally("total", _summed(cells, (True,)), quantities=[COUNT], implied=True))
    return [*made, *b.total()]


def _moments(b: _Behind) -> list[Tally]:
    cells, source = b.cross(), _listed(b.entry, "values")
    given, hidden = _by_name(b.entry, cells.names), None
    if source is not None and cells.steps:
        given = shaped(source, cells, what=f"Output '{b.name}'", absent="")
    if given is not None:
        hidden = np.array([_unsaid(cell) for cell in given.ravel()], dtype=bool)
    return [
        b.tally("cells", cells, told=_hiding(b.entry, hidden), quantities=[f"sum:{b.entry['of']}"]),
        *b.total(),
    ]


def _quantiles(b: _Behind) -> list[Tally]:
    cells = b.cross()
    groups = bool(cells.steps) and says(b.entry, "n") and not isinstance(b.entry["n"], int)
    groups = groups or (bool(cells.steps) and b.entry.get("n") is True)
    values, hidden = _listed(b.entry, "values"), None
    if len(cells.steps) == 1 and isinstance(values, list) and len(values) == cells.size:
        lists = [value if isinstance(value, list) else [value] for value in values]
        hidden = np.array([all(_unsaid(number) for number in some) for some in lists], dtype=bool)
    made = [b.tally("cells", cells, told=_hiding(b.entry, hidden), quantities=[COUNT] if groups else [])]
    return [*made, *([] if groups else b.total())]


def intervals_of_time(entry: Entry, fields: Fields) -> tuple[int, Ints, Floats]:
    """Return the column of times of a survival table, and for each of its levels the last listed time not after it (-1: none)."""
    position = fields.position(str(entry["time"]))
    times = np.array(entry["times"], dtype=float)
    if (np.diff(times) <= 0).any():
        raise InputError(f"Output '{entry['name']}': its times must rise.")
    return position, np.searchsorted(times, fields.every[position].values, side="right") - 1, times


def _survival(b: _Behind) -> list[Tally]:
    entry, cells = b.entry, b.cross()
    position, group, times = intervals_of_time(entry, b.fields)
    names = tuple(f"from {t:g}" for t in times)
    between = Cells((*cells.steps, (position, group.astype(np.int64))), (*cells.names, names))
    event = b.fields.position(str(entry["event"]))
    yes = scalar_code(b.fields.every[event], entry.get("level"), output=b.name, key="level")
    happened = np.where(np.arange(len(b.fields.every[event].levels)) == yes, 0, -1).astype(np.int64)
    at = np.where(np.isin(b.fields.every[position].values, times), group, -1).astype(np.int64)
    events = Cells((*cells.steps, (position, at), (event, happened)), (*cells.names, names, ("",)))
    count = [COUNT] if says(entry, "at_risk") else []
    made = [b.tally("times", between, quantities=count)]
    if says(entry, "events"):
        made.append(b.tally("events", events, told=b.counted(None), **b.rounded, quantities=[COUNT]))
    return [*made, *b.total()]


def _tree(b: _Behind) -> list[Tally]:
    made = []
    for number, leaf in enumerate(b.entry["leaves"], 1):
        parts = [f"({text})" for text in (b.entry.get("where"), leaf["where"]) if text]
        kept = read_filter(" and ".join(parts), b.fields, output=f"{b.name}: leaf {number}")
        label, counts = b.entry.get("label"), leaf.get("counts")
        if label is None or (counts is None and leaf.get("n") is not None):
            cells, n = Cells((), ()), leaf.get("n")
            given = None if n is None or n is True else np.array([n], dtype=object)
        else:
            cells, given = crossed([label], {}, b.fields, output=b.name), None
            if isinstance(counts, list | Mapping):
                given = shaped(counts, cells, what=f"Output '{b.name}', leaf {number}", absent=0)
        told = b.counted(given)
        made.append(b.tally(f"leaf {number}", cells, kept=kept, told=told, **b.rounded, quantities=[COUNT]))
        if cells.steps and not made[-1].withheld.any() and b.rounded["base"] == 1:
            made.append(b.tally(f"leaf {number}: total", Cells((), ()), kept=kept, quantities=[COUNT], implied=True))
    return [*made, *b.total()]


def _fit(b: _Behind) -> list[Tally]:
    text = "".join(str(b.entry.get("formula") or b.entry.get("of") or "").split())
    whole = b.tally("records", Cells((), ()), quantities=[f"fit:{text}"], implied=True)
    return [whole, *b.total()]


_MAKERS: dict[str, Callable[[_Behind], list[Tally]]] = {
    "table": _table,
    "histogram": _histogram,
    **dict.fromkeys(("mean", "sum", "sd", "variance"), _moments),
    **dict.fromkeys(("median", "quantiles"), _quantiles),
    "kaplan-meier": _survival,
    "tree": _tree,
}
