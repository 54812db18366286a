"""`chaffinch utility`: what a synthetic table is worth, measured against the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .._base.files import check_outputs
from .._base.options import Option
from ..table.settings import Reading
from ..utility.settings import UtilitySettings
from ..workflows.settings import Execution
from .options import (
    HoldoutAddress,
    InputAddress,
    MeasureRequest,
    number,
    show_lines,
    show_table,
)

if TYPE_CHECKING:
    from ..report.result import ReportResult
    from ..utility import VerdictRow


def utility(
    *,
    original: InputAddress,
    synthetic: Annotated[str, Option("The synthetic table: same columns.", argument=True)],
    holdout: HoldoutAddress = None,
    settings: UtilitySettings,
    execution: Execution,
    reading: Reading,
    request: MeasureRequest = MeasureRequest(),  # noqa: B008
) -> None:
    """Say what a synthetic table is worth: how near its columns, pairs and learners come to the original's.

    Each figure stands beside that of a table of independent columns, of a holdout if there is one, and of identical tables.
    It says nothing of what the table gives away.
    """
    from ..table.holdout import check_holdout_file
    from ..utility import measure_utility
    from ..workflows.engines import compared_tables, engine_of

    check_holdout_file(original, holdout)
    source, release = Path(original), Path(synthetic)
    others = None if holdout is None else Path(holdout)
    check_outputs(source, *request.files.paths, inputs=[release, others])
    with (
        request.start() as run,
        compared_tables(
            engine_of(execution.engine, execution.cache),
            original,
            [synthetic],
            holdout,
            reading,
            run,
            sample_rows=settings.sample_rows,
        ) as (table, (other,), fresh),
    ):
        result = measure_utility(table, other, fresh, settings, **run.options)
    result = result.named(
        original=source.name, synthetic=release.name, holdout=others.name if others else None
    )
    result = replace(result, run=replace(result.run, **run.facts))
    from ..report.release import render
    from ..report.result import report_of

    report = report_of(result, title=f"What {release.name} is worth", threshold=settings.threshold)
    data = {**result.to_dict(), "verdict": [row.to_dict() for row in result.verdict]}
    request.files.write(result, partial(render, report), data=data)
    if request.quiet:
        return
    if request.verbose:
        show_verdict(result.verdict)
    show_worth(report, request.html)
    show_lines("" if result.about.sample is None else " ".join(result.about.sample.sentences))


def show_worth(report: ReportResult, page: Path | None) -> None:
    """Print what a table is worth in a few lines, what was not measured, and where the page is."""
    from .._base.results import not_measured
    from ..report.decision import left_out_of

    worth = report.decision.answers[1]
    weakest = min(
        (row for row in report.rows if row.share_kept is not None),
        key=lambda row: row.share_kept or 0.0,
        default=None,
    )
    show_lines(
        worth.sentence,
        "" if weakest is None else f"Weakest: {weakest.sentence}",
        not_measured(left_out_of(report)),
        *(
            f"{row.measure}: {row.sentence}"
            for row in report.rows
            if row.value is None and row.sentence
        ),
        f"The page: {page}"
        if page is not None
        else "All figures: --verbose, --html PAGE or --json FILE.",
    )


def show_verdict(rows: Sequence[VerdictRow]) -> None:
    """Print the verdict table."""
    from ..utility.result import HEAD

    cells = []
    for row in rows:
        between = f"{number(row.interval[0])} to {number(row.interval[1])}" if row.interval else ""
        references = (row.marginals, row.resample, row.holdout, row.identical)
        cells.append((row.measure, number(row.value), between, *map(number, references), row.word))
    screen = show_table(HEAD, cells)
    for row in rows:
        if row.sentence:
            screen.print(f"- {row.sentence}", markup=False)
