"""What a release is: tables, their model, and a report that is read back from its JSON."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .._base.errors import InputError
from .._base.files import files_in, filling, write_text
from .._base.results import LeftOut, write_page
from ..report.decision import Decision, decision_of
from ..report.page import render
from ..report.result import ReportResult
from ..risk import RiskResult
from ..risk.attribution.verdict import LimitVerdict
from ..stats.intervals import LimitState
from ..synth import Model
from ..table import Table
from ..utility import UtilityResult
from .writing import write_batches

TO_RELEASE, CONFIDENTIAL = "to-release", "confidential"
"""The folders of a release: what is meant to leave once that is decided, and what stays inside."""

REFUSED = f"{CONFIDENTIAL}/refused"
"""The folder of tables that exceed their limit: they are not meant to leave."""


PARTS = (TO_RELEASE, CONFIDENTIAL)
EARLIER = f"{CONFIDENTIAL}/report.json"
"""The file by which the folder of an earlier release is known."""


def leaving_folder(folder: Path) -> Path:
    """Return the folder of what is meant to leave, made where it is not there."""
    leaving = folder / TO_RELEASE
    leaving.mkdir(mode=0o755, exist_ok=True)
    return leaving


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleaseResult:
    """What a release is: the synthetic tables, their model, what they are worth and what they give away.

    The model is confidential unless a private fit made it; the report always is, since its figures are taken from the original.

    Parameters
    ----------
    report
        What the tables are worth and give away, and how they were made: `report.json`.
    model
        The model; None where the release was read back from its JSON.
    tables
        The synthetic tables that are held in memory: all of them, unless they were written while they were drawn.
    names
        The names of their files.
    files
        Where they are until they are saved, if rows were read batch by batch: temporary files, removed with the result.
    """

    report: ReportResult
    model: Model | None = None
    tables: tuple[Table, ...] = ()
    names: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    folder: TemporaryDirectory[str] | None = None

    @property
    def utility(self) -> UtilityResult:
        """What the first synthetic table is worth."""
        assert (
            self.report.utility is not None
        )  # a release is always measured, and `from_dict` sees to it
        return self.report.utility

    @property
    def risk(self) -> RiskResult | None:
        """What the synthetic tables give away; None where they were not attacked."""
        return self.report.risk

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What was not measured and not attacked with, to be quick, each with the option that brings it back."""
        return (
            *self.utility.about.left_out,
            *(() if self.risk is None else self.risk.about.left_out),
        )

    @property
    def synthetic(self) -> Table:
        """The synthetic table; the first of several, which is the one that was measured.

        Raises
        ------
        InputError
            If it was written batch by batch and is not in memory.
        """
        if not self.tables:
            raise InputError(
                "The synthetic table is in a file, not in memory: save() the result, and read or scan the file in its folder to-release."
            )
        return self.tables[0]

    @property
    def lower_bound(self) -> float | None:
        """What some excess is above with 95 % confidence, over all attacks; None where it cannot be said."""
        return None if self.risk is None else self.risk.lower_bound

    @property
    def limit(self) -> LimitVerdict | None:
        """What all attacks and tests together say of the limit on the excess; None where there was none."""
        return None if self.risk is None else self.risk.limit

    @property
    def refused(self) -> bool:
        """Whether the tables exceed their limit, so that they are not put where the release lies."""
        return self.limit is not None and self.limit.state is LimitState.EXCEEDS

    @cached_property
    def decision(self) -> Decision:
        """What to decide by."""
        return decision_of(self.report)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data: `chaffinch-report`, version 1."""
        return self.report.to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ReleaseResult:
        """Return the release that `report.json` tells of: its results, without its tables and its model.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        report = ReportResult.from_dict(data)
        if report.utility is None or report.synthesis is None:
            raise InputError(
                "The data must be of a release. Got a report of a study alone. Give report.json of chaffinch release."
            )
        return cls(report=report)

    def to_html(self, *, public: bool = False) -> str:
        """Return the report as one HTML file, to be kept inside; or its `public` variant, which holds only what may leave."""
        drawing = None if self.model is None else self.model.plot()
        return render(
            self.report, network_svg=None if drawing is None else drawing.svg, public=public
        )

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write the synthetic tables, the model and the report into a folder, all of them or none, and return where they are.

        `to-release` gets what is meant to leave once that is decided: the tables, and a model that a private fit made. `confidential`, which its
        owner alone can open, gets the report, whose figures are taken from the original, and a model that holds counts of records. Where a limit is
        exceeded, what was meant to leave is in `confidential/refused`.

        A folder that has these two is refused unless it holds an earlier release and `overwrite` is given: that release is then replaced. A release that a
        privacy budget was spent on replaces none, and is never replaced.
        """
        with filling(
            folder,
            overwrite=overwrite,
            paid=self.model is not None and self.model.privacy is not None,
            names=PARTS,
            mark=EARLIER,
        ) as part:
            for name, table in zip(self.names, self.tables, strict=not self.files):
                write_batches(table, leaving_folder(part) / name)
            for file in self.files:
                shutil.copyfile(file, leaving_folder(part) / file.name)
            names = self.write_beside(part)
        return tuple(Path(folder) / name for name in names)

    def write_beside(self, folder: Path) -> list[str]:
        """Write the model, report.json and report.html beside tables that are there, into the folders of `save`; return the names of all.

        Tables that exceed their limit are moved from the folder of what leaves to `confidential/refused`.
        """
        if self.model is None:
            raise InputError(
                "A release that was read from its JSON has no tables and no model to write."
            )
        leaving, inside = leaving_folder(folder), folder / CONFIDENTIAL
        inside.mkdir(mode=0o700, exist_ok=True)
        model = (inside if self.model.confidential else leaving) / "model.chaffinch"
        self.model.save(model)
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(inside / "report.json", f"{text}\n", mode=0o600)
        write_page(inside / "report.html", self.to_html())
        if self.refused:
            leaving.rename(folder / REFUSED)
            (folder / REFUSED).chmod(0o700)
        for file in inside.rglob("*"):
            if file.is_file():
                file.chmod(0o600)
        return files_in(folder)

    def show(self) -> None:
        """Print what to decide by."""
        print(self.decision)

    def __repr__(self) -> str:
        made, attacks = self.report.synthesis, () if self.risk is None else self.risk.attacks
        size = "" if made is None else f"{made.copies} x {made.rows or 0:,} rows, "
        return f"ReleaseResult({size}{len(self.utility.results)} measures, {len(attacks)} attacks)"

    def _repr_html_(self) -> str:
        return f"{self.decision._repr_html_()}{self.utility._repr_html_()}"
