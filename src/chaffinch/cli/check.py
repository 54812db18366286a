"""`chaffinch check`: may these outputs leave? What datasets evolved from them give away, and what the rules of thumb say."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Decimal, Delimiter, Encoding, HtmlOut, JsonOut, Quiet, SchemaIn, Threads, show_table

if TYPE_CHECKING:
    from ..outputs.check import CheckResult
    from ..outputs.rules.findings import Finding

__all__ = ["check"]


def check(
    spec: Annotated[
        Path,
        typer.Argument(
            help="The outputs, with or without numbers (TOML, or JSON with the same keys); or a folder that ACRO made. Kinds: {kinds}.", show_default=False
        ),
    ],
    data: Annotated[Path, typer.Option(help="The records behind the outputs: CSV, Parquet, Arrow, SPSS or Stata.")],
    keys: Annotated[str, typer.Option(help="Columns that an outsider knows of a person, as A,B.")],
    sensitive: Annotated[str, typer.Option(help="Columns that are not to be found out, as A,B.")],
    schema: SchemaIn = None,
    key_sizes: Annotated[
        str | None, typer.Option(help="Sizes of key subsets to try, as 3-6 or 4; 3 to all unless given.")
    ] = None,
    released: Annotated[Path | None, typer.Option(help="File of outputs that this project has released already.")] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Add the outputs to the file of --released, if they pass; it is made if need be.")
    ] = False,
    policy: Annotated[
        Path | None, typer.Option(help="Rules to check by (TOML); those of the ACRO folder, or the usual ones, unless given.")
    ] = None,
    threshold: Annotated[
        int | None, typer.Option(help="Counts below it are not shown, anywhere; the threshold of the rules unless given.")
    ] = None,
    recipes: Annotated[
        Path | None, typer.Option(help="With an ACRO folder: a file of outputs, named as the results that cannot be read are.")
    ] = None,
    replace_readable: Annotated[
        bool, typer.Option("--replace-readable", help="Judge recipes also in the place of results that can be read, which then are not judged.")
    ] = False,
    syntheses: Annotated[int, typer.Option(help="Datasets to evolve for each fold.")] = 50,
    holdout_share: Annotated[float, typer.Option(help="Share of people who are held out of a fold, up to 0.5.")] = 0.5,
    repeat_splits: Annotated[int, typer.Option(help="Random splits into folds; more take longer and give tighter figures.")] = 1,
    engine: Annotated[str, typer.Option(help="As in evolve: incremental, maxent or ea.")] = "incremental",
    start: Annotated[str, typer.Option(help="uniform over levels, or margins: the columns' weights in SPEC.")] = "uniform",
    seconds: Annotated[
        float | None,
        typer.Option(help="About when to give up, for each dataset: stands for a number of proposals, whatever the machine does; 20 unless given."),
    ] = None,
    proposals: Annotated[
        int | None, typer.Option(help="When to give up, in proposals: instead of --seconds. The same on every machine.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="How close numbers without a printed precision must come, in standard errors; 0.001 unless given."),
    ] = None,
    tau: Annotated[
        float, typer.Option(help="Share of a key's rows that must have one value before the attacker takes it.")
    ] = 1.0,
    leave_one_out: Annotated[
        str, typer.Option(help="Assess the outputs without each of them: if there is an excess, always or never.")
    ] = "excess",
    no_cumulative: Annotated[
        bool, typer.Option("--no-cumulative", help="Assess all outputs at once, and not one after the other as well.")
    ] = False,
    whole_runs: Annotated[int, typer.Option(help="Datasets from outputs of all the data; 0 for none.")] = 10,
    fold_of_fold: Annotated[
        bool, typer.Option("--fold-of-fold", help="Assess folds of folds as well, and extrapolate to all the data.")
    ] = False,
    error_line: Annotated[
        bool, typer.Option("--error-line", help="Relate attribution to the error of the outputs.")
    ] = False,
    confidential: Annotated[
        Path | None,
        typer.Option(help="Write the exposed classes and the cells behind each rule here: confidential, readable by you alone."),
    ] = None,
    acro_write_back: Annotated[
        Path | None, typer.Option(help="Copy the ACRO folder here, with the result as one more output and comments.")
    ] = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same figures.")
    ] = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:  # fmt: skip
    """Check outputs before they leave: do datasets evolved from them tell more about people in the data than about others?

    Exit code 1 if they do, if a rule fails or is not assessed to the end, if published numbers are not those of the data, or if the
    outputs were not reached.
    """
    from .._base.progress import progress_bar
    from .._base.runs import RunFacts
    from ..outputs.check import CheckSettings
    from ..workflows.check import CheckDelivery, CheckRequest, DataSource, check_request
    from .options import key_sizes_of, names_of, plain_delimiter, run_facts, start_arrow, without_warnings

    settings = CheckSettings(
        keys=names_of(keys), sensitive=names_of(sensitive), key_sizes=key_sizes_of(key_sizes), syntheses=syntheses, holdout_share=holdout_share,
        repeat_splits=repeat_splits, engine=engine, start=start, seconds=seconds, proposals=proposals, tolerance=tolerance, tau=tau,  # type: ignore[arg-type]
        cumulative=not no_cumulative, leave_one_out=leave_one_out, whole_runs=whole_runs, fold_of_fold=fold_of_fold, error_line=error_line, threshold=threshold,  # type: ignore[arg-type]
    )  # fmt: skip
    delivery = CheckDelivery(
        json=json, html=html, confidential=confidential, record=record, acro_write_back=acro_write_back
    )
    delivery.check(spec, released, data, policy, recipes)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress, without_warnings():
        request = CheckRequest.read(
            spec, released=released, policy=policy, recipes=recipes, replace_readable=replace_readable, new=record
        )
        source = DataSource(data, schema, encoding, plain_delimiter(delimiter), decimal)
        result, lines = check_request(
            request, source, settings, delivery=delivery, run=RunFacts(**run_facts()), seed=seed, workers=threads, progress=progress
        )  # fmt: skip
    if not quiet:
        _show(result)
        most = result.settings.proposals
        for line in (*lines, f"Each search had up to {most:,} proposals. --proposals {most} repeats this."):
            typer.echo(line, err=True)
    if not result.passed:
        raise typer.Exit(1)


def _show(result: CheckResult) -> None:
    from ..report.check import rules_sentence

    typer.echo(result.verdict.text)
    head = ("sensitive", "convention", "original", "holdout", "prior", "marginal risk", "interval", "detectable")
    rows = []
    for one in result.all.measures:
        sides = [_fixed(side.value) for side in (one.original, one.holdout, one.prior, one.marginal)]
        low, high = _fixed(one.marginal.low), _fixed(one.marginal.high)
        between = f"{low} to {high}" if low and high else ""
        rows.append((one.sensitive, one.convention, *sides, between, _fixed(one.detectable)))
    show_table(head, rows)
    for sentence in result.verdict.sentences:
        typer.echo(f"- {sentence}")
    for skipped in result.about.skipped:
        typer.echo(f"- Not checked: {skipped.name}: {skipped.reason}")
    for replaced in result.about.by_recipe:
        though = ", though it can be read" if replaced.readable else ""
        typer.echo(f"- Not checked itself{though}: {replaced.name}: a recipe was judged in its place.")
    typer.echo(rules_sentence(result.rules))
    for line in _bad(result.rules):
        typer.echo(line)


def _bad(findings: Iterable[Finding]) -> list[str]:
    """A line for each rule that failed, was not assessed to the end or wants a look, failed ones first."""
    every = list(findings)
    return [
        f"- {status}: {one.rule}, {' and '.join(repr(name) for name in one.names)}: {one.words}"
        for status in ("fail", "not assessed", "review")
        for one in every
        if one.status == status
    ]


def _fixed(value: float) -> str:
    return f"{value:.3f}" if isfinite(value) else ""
