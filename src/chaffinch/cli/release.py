"""`chaffinch release`: the whole journey, from a table to a folder that one can decide by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.errors import InputError
from .._base.files import check_outputs
from .._base.masking import THRESHOLD
from .options import (
    Attackers,
    Cache,
    ClusterEngine,
    DryRun,
    Formula,
    HoldoutPlace,
    HoldoutShare,
    JsonOut,
    KeySizes,
    LedgerIn,
    MaxExcess,
    Measures,
    Models,
    Place,
    PublicOut,
    Quiet,
    Repeats,
    RequireShown,
    SampleRows,
    SvmRows,
    TcapConvention,
    Thorough,
    Threads,
    Threshold,
    Verbose,
    command_line,
    expanded,
    ledger_allows,
    names_of,
    reading_of,
    show_lines,
    show_promise,
    start_arrow,
    write_json,
)
from .settings import Choice, choose

if TYPE_CHECKING:
    from ..table.settings import Reading
    from ..workflows.release import ReleaseResult


UNCOVERED = (
    "The promise is about the synthetic table and its model. The figures above, the report and the exit code are taken from the original, "
    "and no promise covers them: keep them inside."
)


@expanded(choice=choose, reading=reading_of)
def release(
    *,
    input: Place,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Folder to write to; made if it is not there. With --engine spark: one that all workers see.",
        ),
    ],
    rows: Annotated[
        int | None, typer.Option(help="Rows to draw; as many as the input has unless given.")
    ] = None,
    copies: Annotated[int, typer.Option(help="Syntheses to write; the first one is measured.")] = 1,
    choice: Choice,
    keys: Annotated[
        str | None, typer.Option(help="Columns that an outsider may know of a person, as A,B.")
    ] = None,
    key_sizes: KeySizes = None,
    attackers: Attackers = None,
    tcap_convention: TcapConvention = "matched_rows",
    max_excess: MaxExcess = None,
    require_shown: RequireShown = False,
    holdout: HoldoutPlace = None,
    holdout_share: HoldoutShare = None,
    formula: Formula = None,
    thorough: Thorough = False,
    repeats: Repeats = None,
    measures: Measures = None,
    models: Models = None,
    svm_rows: SvmRows = 5000,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    threshold: Threshold = THRESHOLD,
    reading: Reading,
    engine: ClusterEngine = "auto",
    cache: Cache = None,
    sample_rows: SampleRows = 100_000,
    ledger: LedgerIn = None,
    dry_run: DryRun = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed: the same seed gives the same files. With --epsilon: for tests only, no privacy."
        ),
    ] = None,
    json: JsonOut = None,
    public: PublicOut = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    threads: Threads = None,
) -> None:
    """Synthesise, measure, report: write a synthetic table, its model and a report to decide by into a folder.

    The folder to-release gets synthetic.EXT (as the input came), the folder confidential model.chaffinch, report.html and report.json; all of
    them, or none if anything fails. Memorisation tests compare whole records with the table, and
    with --keys and --sensitive it is attacked with these too; without a holdout the model is fitted on each half of the people in turn for that. With --epsilon the synthetic table and its model carry a promise; the report never
    does, since its figures are taken from the original. A table that exceeds --max-excess goes to confidential/refused instead, and the exit code is 1.
    """
    from .._base.files import filling
    from .._base.results import write_page
    from .._base.runtime import progress_bar
    from ..risk import RiskSettings
    from ..risk.policy import RiskPolicy
    from ..table.holdout import UNSEEN, check_holdout_share
    from ..workflows.engines import engine_of
    from ..workflows.local import copy_paths
    from ..workflows.release import EARLIER, PARTS, ReleaseSettings, leaving_folder, run_release
    from ..workflows.run import RunOptions
    from .estimates import Speaker, Work
    from .ledger import show_plan
    from .risk import end, risk_settings, show_findings, show_limit
    from .utility import show_verdict, utility_settings

    check_holdout_share(holdout_share, holdout)
    choice.check_counts(rows, copies)
    source, fresh = Path(input), None if holdout is None else Path(holdout)
    if dry_run:
        show_plan(choice, source, reading, json)
        return
    ending = engine_of(engine, cache).ending(input)
    known = names_of(keys)
    wanted = choice.sensitive
    if max_excess is not None and not (known and wanted):
        raise InputError("--max-excess needs an attack: name --keys and --sensitive.")
    policy = RiskPolicy(max_excess, require_shown=require_shown)
    policy.check(holdout=holdout is not None or holdout_share is not None)
    attack = RiskSettings(threshold=threshold, sample_rows=sample_rows)
    if known and wanted:
        attack = risk_settings(
            keys=keys or "",
            sensitive=",".join(wanted),
            key_sizes=key_sizes,
            label=choice.label,
            attackers=attackers,
            convention=tcap_convention,
            svm_rows=svm_rows,
            threshold=threshold,
            thorough=thorough,
            sample_rows=sample_rows,
        )
    measuring = utility_settings(
        label=choice.label,
        formula=formula,
        repeats=repeats,
        measures=measures,
        models=models,
        svm_rows=svm_rows,
        threshold=threshold,
        thorough=thorough,
        sample_rows=sample_rows,
    )
    for path in (
        source,
        fresh,
        reading.schema if isinstance(reading.schema, Path) else None,
        ledger,
    ):
        if path is not None and {(output / name).resolve() for name in PARTS} & set(
            path.resolve().parents
        ):
            raise InputError(
                f"The input '{path}' lies in '{output}' where the release is written, and would be overwritten. Name another folder."
            )
    beside = json if json is not None and json.resolve().parent != output.resolve() else None
    check_outputs(source, beside, public, updated=[ledger])  # the folder itself is yet to be made
    settings = ReleaseSettings(
        synthesis=choice.synthesis(
            reading,
            output,
            ledger=ledger,
            rows=rows,
            copies=copies,
            engine=engine,
            cache=cache,
        ),
        utility=measuring,
        attack=attack,
        label=choice.label,
        keys=known,
        sensitive=wanted,
        max_excess=max_excess,
        require_shown=require_shown,
        holdout_share=holdout_share,
        title=title,
    )
    start_arrow(threads)
    with (
        filling(output, names=PARTS, mark=EARLIER, paid=choice.private) as folder,
        progress_bar(quiet=quiet, plain=not choice.private) as progress,
        ledger_allows(),
    ):
        outputs = copy_paths(leaving_folder(folder) / f"synthetic{ending}", copies)
        work = Work(choice.settings, source, outputs, rows)
        run = RunOptions(
            seed=seed,
            threads=threads,
            progress=progress,
            command=command_line(),
            observer=Speaker(quiet=quiet, work=work, reading=reading, measuring=measuring),
        )
        result = run_release(input, settings, holdout=holdout, run=run, outputs=outputs)
        names = result.write_beside(folder)
    if json is not None:
        write_json(json, result.to_dict())
    if public is not None:
        write_page(public, result.to_html(public=True), public=True)
    show_limit(result.limit, quiet=quiet, fate=_fate(result, output))
    if not quiet:
        if verbose:
            show_verdict(result.utility.verdict)
            if result.risk is not None:
                show_findings(result.risk.cross_fit or result.risk)
        show_release(result, output, names)
        show_lines(*_sampled(result))
        show_lines(UNSEEN if result.risk is not None and UNSEEN in result.risk.about.notes else "")
        show_promise(result.model)
        if choice.private:
            typer.echo(UNCOVERED, err=True)
    end(result.limit, policy)


def _sampled(result: ReleaseResult) -> list[str]:
    """Return what to say of figures that are of a sample, where tables were read batch by batch."""
    samples = [result.utility.about.sample]
    if result.risk is not None:
        samples.append(result.risk.about.sample)
        if result.risk.cross_fit is not None:
            samples.append(result.risk.cross_fit.about.sample)
    return [" ".join(sample.sentences) for sample in samples if sample is not None]


def _fate(result: ReleaseResult, output: Path) -> str:
    """Return where the table of a release that was refused is; empty where it was not."""
    from ..workflows.release import REFUSED, TO_RELEASE

    return (
        f"The table was refused: it is in {output / REFUSED}, and nothing is in {TO_RELEASE}/."
        if result.refused
        else ""
    )


def show_release(result: ReleaseResult, output: Path, names: Sequence[str]) -> None:
    """Print what to decide by in five lines, what was not measured and what was written among them, and where the page is."""
    from .._base.errors import listed
    from .._base.results import not_measured
    from ..workflows.release import CONFIDENTIAL, TO_RELEASE

    wrote = f"Wrote {output}: nothing to leave, all in {CONFIDENTIAL}/."
    leaving = list(
        dict.fromkeys(
            "/".join(name.split("/")[:2]) for name in names if name.startswith(f"{TO_RELEASE}/")
        )
    )  # a folder of files by its own name
    if leaving:
        wrote = f"Wrote {output}: {listed(leaving)} to leave once you decide so, the rest in {CONFIDENTIAL}/."
    show_lines(
        *(f"{part.question} {part.sentence}" for part in result.decision.answers),
        not_measured(result.left_out),
        wrote,
        f"The page to decide by: {output / CONFIDENTIAL / 'report.html'}",
    )
