"""What a study of utility returns: results by name, references beside them, and what was compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from .._base.errors import unknown_name
from .._base.results import (
    LeftOut,
    RunFacts,
    check_format,
    from_plain,
    html_page,
    html_table,
    to_plain,
    without_none,
    write_page,
)
from .._base.text import between, number, shown, text_table
from ..stats.result import Result
from ..stats.sampled import SampledRecords
from .metric import METRICS, References
from .shapes import TableShapes
from .sweep import Sweep
from .verdict import VerdictRow, ladder, ladder_plot, verdict

FORMAT = "chaffinch-utility"
VERSION = 1
HEAD = (
    "measure",
    "value",
    "95 % interval",
    "independent columns",
    "resampled",
    "holdout",
    "identical",
    "verdict",
)


@dataclass(frozen=True)
class TableSummary:
    """A table as a report names it: its rows, small numbers masked, and its columns and name where they are told."""

    rows: int | str | None = None
    columns: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class ColumnSummary:
    """A column as it was compared."""

    name: str
    kind: str = ""
    levels: int | None = None
    role: str = ""


@dataclass(frozen=True, kw_only=True)
class UtilityAbout:
    """What was compared: tables, columns, those that were not measured, label, seed, notes, what was left out to be quick, and what was sampled."""

    original: TableSummary = TableSummary()
    synthetic: TableSummary = TableSummary()
    holdout: TableSummary | None = None
    columns: tuple[ColumnSummary, ...] = ()
    not_measured: tuple[str, ...] = ()
    label: str | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    sample: SampledRecords | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data; what a table does not tell is left out, and the sample where there is none."""
        plain: dict[str, Any] = to_plain(self)
        plain = (
            plain
            if self.sample is not None
            else {name: part for name, part in plain.items() if name != "sample"}
        )
        for side in ("original", "synthetic", "holdout"):
            if plain[side] is not None:
                plain[side] = without_none(plain[side])
        return plain


@dataclass(frozen=True, kw_only=True, repr=False)
class UtilityResult:
    """What a synthetic table is worth: results by name, references beside them, and what was compared.

    Parameters
    ----------
    results
        By the names of metrics; a marginal distance of width 2 is `tvd.2`.
    references
        For each name the same metric of a table of independent columns, of the original drawn again, and of the holdout.
    sweep
        mu, delta and G over a setting of a synthesiser, where that was measured too.
    shapes
        What a page draws of columns and pairs: confidential, so the plain data hold none.
    run
        How long each metric took, and what a command adds.
    """

    about: UtilityAbout
    results: Mapping[str, Result]
    references: Mapping[str, References]
    sweep: Sweep | None = None
    shapes: TableShapes | None = field(default=None, compare=False)
    run: RunFacts = field(default_factory=RunFacts, compare=False)

    def __getitem__(self, name: str) -> Result:
        if name not in self.results:
            raise unknown_name("measure", name, self.results)
        return self.results[name]

    @property
    def verdict(self) -> tuple[VerdictRow, ...]:
        """For each metric its number, its references, a word and a sentence, in the order of a page."""
        return verdict(self)

    def named(
        self, *, original: str | None, synthetic: str, holdout: str | None = None
    ) -> UtilityResult:
        """Return the result with the names of its tables."""
        about = self.about
        about = replace(
            about,
            original=replace(about.original, name=original),
            synthetic=replace(about.synthetic, name=synthetic),
            holdout=None if about.holdout is None else replace(about.holdout, name=holdout),
        )
        return replace(self, about=about)

    # Plain data.

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data: `chaffinch-utility`, version 1."""
        out: dict[str, Any] = {"format": FORMAT, "version": VERSION, "about": self.about.to_dict()}
        members: dict[str, str] = {}
        for name, result in self.results.items():
            plain = {**result.to_dict(), "references": to_plain(self.references[name])}
            group, _, member = name.partition(".")
            if not member:
                out[name] = plain
                continue
            out.setdefault(group, {})[member] = plain
            if name in METRICS and METRICS[name].members:
                members[group] = METRICS[name].members
        for group, word in members.items():
            out[group]["settings"] = {word: [int(member) for member in out[group]]}
        if self.sweep is not None:
            out["sweep"] = self.sweep.to_dict()
        out["run"] = self.run.to_dict()
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> UtilityResult:
        """Return the result that plain data hold; metrics that are not registered are left out.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        check_format(data, FORMAT, VERSION, "Give the JSON of chaffinch utility.")
        results, references = {}, {}
        for metric in METRICS:
            entry = _entry(data, metric.name)
            if entry is not None:
                results[metric.name] = metric.kind.from_dict(entry)
                beside = from_plain(
                    References, entry.get("references") or {}, what=f"'{metric.name}.references'"
                )
                if metric.own_references is not None and beside.marginals is None:
                    beside = metric.own_references(results[metric.name])
                references[metric.name] = beside
        return cls(
            about=from_plain(UtilityAbout, without_none(data.get("about")), what="'about'"),
            results=results,
            references=references,
            sweep=Sweep.from_dict(data["sweep"])
            if isinstance(data.get("sweep"), Mapping)
            else None,
            run=from_plain(RunFacts, without_none(data.get("run")), what="'run'"),
        )

    # What is shown.

    def show(self) -> None:
        """Print each metric's number beside its references, and the word for it."""
        print(text_table(HEAD, self._rows()))

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the table, the picture and the sentences as one HTML file, and write it to a path if one is given."""
        sentences = "".join(f"<li>{escape(row.sentence)}</li>" for row in self.verdict)
        title = f"What {shown(self.about.synthetic.name or 'the synthetic table')} is worth"
        page = html_page(title, f"{self._repr_html_()}<ul>{sentences}</ul>")
        if path is not None:
            write_page(path, page, overwrite=overwrite)
        return page

    def _rows(self) -> list[list[str]]:
        return [
            [row.measure, *("" if value is None else value for value in _numbers(row)), row.word]
            for row in self.verdict
        ]

    def __repr__(self) -> str:
        values = (
            f"{name} {r.value:.3g}" if r.value is not None else f"{name} n/a"
            for name, r in self.results.items()
        )
        return f"UtilityResult({', '.join(values)})"

    def _repr_html_(self) -> str:
        steps = ladder(self.verdict)
        return f"{html_table(HEAD, self._rows())}{ladder_plot('utility-ladder', steps) if steps else ''}"


def saying_of(sample: SampledRecords, results: Mapping[str, Result]) -> SampledRecords:
    """Return a sample with sentences that say which metrics are of all records and which of it."""
    titles: dict[str, list[str]] = {"all": [], "sample": []}
    for metric in METRICS:
        if metric.name in results:
            titles[results[metric.name].settings["records"]].append(metric.title)
    return sample.saying(titles["all"], titles["sample"])


def _numbers(row: VerdictRow) -> Iterable[str | None]:
    yield None if row.value is None else number(row.value)
    yield None if row.interval is None else between(row.interval)
    for value in (row.marginals, row.resample, row.holdout, row.identical):
        yield None if value is None else number(value)


def _entry(data: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return the plain data of a metric; a group without any value stands for its first member."""
    group, _, member = name.partition(".")
    entry = data.get(group)
    if member and isinstance(entry, Mapping):
        first = (
            next(metric.name for metric in METRICS if metric.name.partition(".")[0] == group)
            == name
        )
        entry = entry if first and "not_applicable" in entry else entry.get(member)
    return entry if isinstance(entry, Mapping) else None
