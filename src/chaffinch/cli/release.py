"""`chaffinch release`: the whole journey, from a table to a folder that one can decide by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .._base.files import check_outputs
from .._base.options import FILES, Option
from ..workflows.settings import ReleaseSettings
from .command import echo
from .options import (
    DryRunOnly,
    HoldoutAddress,
    InputAddress,
    ReportRequest,
    show_lines,
    show_promise,
    written_line,
)

if TYPE_CHECKING:
    from ..workflows.release import ReleaseResult


UNCOVERED = (
    "The promise is about the synthetic table and its model. The figures above, the report and the exit code are taken from the original, "
    "and no promise covers them: keep them inside."
)


def release(
    *,
    input: InputAddress,
    output: Annotated[
        Path,
        Option(
            "Folder to write to; made if it is not there. With --engine spark: one that all workers see.",
            basic=True,
            panel=FILES,
            short="o",
            leaves=False,
        ),
    ],
    settings: ReleaseSettings,
    holdout: HoldoutAddress = None,
    dry_run: DryRunOnly = False,
    request: ReportRequest = ReportRequest(),  # noqa: B008
) -> None:
    """Synthesise, measure, report: write a synthetic table, its model and a report to decide by into a folder.

    The folder to-release gets synthetic.EXT (as the input came), the folder confidential model.chaffinch, report.html and report.json; all of
    them, or none if anything fails. Memorisation tests compare whole records with the table, and
    with --keys and --sensitive it is attacked with these too; without a holdout the model is fitted on each half of the people in turn for that. With --epsilon the synthetic table and its model carry a promise; the report never
    does, since its figures are taken from the original. A table that exceeds --max-excess goes to confidential/refused instead, and the exit code is 1.
    """
    from ..table.holdout import UNSEEN, check_holdout_share
    from ..workflows.engines import engine_of
    from ..workflows.local import copy_paths
    from ..workflows.release import filling_release, run_release
    from ..workflows.run import check_inputs
    from .ledger import show_plan
    from .risk import end, show_findings, show_limit
    from .utility import show_verdict

    check_holdout_share(settings.attack.holdout_share, holdout)
    source, fresh = Path(input), None if holdout is None else Path(holdout)
    synthesis = replace(settings.synthesis, entry=output.name)
    if dry_run:
        show_plan(synthesis, source, request.json)
        return
    ledger, schema = synthesis.ledger, synthesis.reading.schema
    ending = engine_of(synthesis.execution.engine, synthesis.execution.cache).ending(input)
    policy = settings.policy(holdout=holdout is not None)
    check_inputs(output, (source, fresh, schema if isinstance(schema, Path) else None, ledger))
    check_outputs(source, *request.files.outside(output), updated=[ledger])
    with (
        filling_release(output, paid=synthesis.private) as folder,
        request.start(plain=not synthesis.private, learns=True) as run,
    ):
        outputs = copy_paths(folder.leaving / f"synthetic{ending}", synthesis.copies)
        asked = replace(settings, synthesis=synthesis)
        result = run_release(input, asked, holdout=holdout, run=run, outputs=outputs)
        names = result.write_beside(folder)
    request.files.write(result, result.to_html)
    show_limit(result.limit, quiet=request.quiet, fate=_fate(result, output))
    if not request.quiet:
        if request.verbose:
            show_verdict(result.utility.verdict)
            if result.risk is not None:
                show_findings(result.risk.cross_fit or result.risk)
        show_release(result, output, names)
        show_lines(*_sample_sentences(result))
        show_lines(UNSEEN if result.risk is not None and UNSEEN in result.risk.about.notes else "")
        show_promise(result.model)
        if synthesis.private:
            echo(UNCOVERED, err=True)
    end(result.limit, policy)


def _sample_sentences(result: ReleaseResult) -> list[str]:
    """Return what to say of figures that are of a sample, where tables were read batch by batch."""
    risk = result.risk
    studies = [result.utility, risk, None if risk is None else risk.cross_fit]
    samples = [study.about.sample for study in studies if study is not None]
    return [" ".join(sample.sentences) for sample in samples if sample is not None]


def _fate(result: ReleaseResult, output: Path) -> str:
    """Return where the table of a release that was refused is; empty where it was not."""
    from ..workflows.run import REFUSED, TO_RELEASE

    return (
        f"The table was refused: it is in {output / REFUSED}, and nothing is in {TO_RELEASE}/."
        if result.refused
        else ""
    )


def show_release(result: ReleaseResult, output: Path, names: Sequence[str]) -> None:
    """Print what to decide by in five lines, what was not measured and what was written among them, and where the page is."""
    from .._base.results import not_measured
    from ..workflows.run import CONFIDENTIAL

    show_lines(
        *(f"{answer.question} {answer.sentence}" for answer in result.decision.answers),
        not_measured(result.left_out),
        written_line(output, names),
        f"The page to decide by: {output / CONFIDENTIAL / 'report.html'}",
    )
