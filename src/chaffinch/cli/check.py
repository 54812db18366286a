"""`chaffinch check`: may these outputs leave? What datasets evolved from them give away, and what the rules of thumb say."""

from __future__ import annotations

import json as plain_json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Decimal, Delimiter, Encoding, HtmlOut, JsonOut, Quiet, SchemaIn, Threads, console

if TYPE_CHECKING:
    from ..outputs.check.assess import Checked
    from .checking import Asked

__all__ = ["check"]


def check(
    spec: Annotated[
        Path,
        typer.Argument(
            help="The outputs, with or without numbers (TOML, or JSON with the same keys); or a folder that ACRO made.", show_default=False
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
    whole_runs: Annotated[int, typer.Option(help="Datasets from outputs of all the data (P1's experiment 1); 0 for none.")] = 10,
    fold_of_fold: Annotated[
        bool, typer.Option("--fold-of-fold", help="Assess folds of folds as well, and extrapolate to all the data.")
    ] = False,
    error_line: Annotated[
        bool, typer.Option("--error-line", help="Relate attribution to the error of the outputs (P1's figure 3).")
    ] = False,
    inside: Annotated[
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
    from .._base.errors import InputError, listed, unknown_name
    from .._base.html import write_page
    from .._base.progress import progress_bar
    from .._base.safe_files import write_text
    from ..report.check import check_page
    from .attacking import _sizes
    from .checking import Asked, check_places, record_released, write_back
    from .journey import Journey, names_of
    from .options import start_arrow, write_json

    if leave_one_out not in ("excess", "always", "never"):
        raise unknown_name("--leave-one-out mode", leave_one_out, ("excess", "always", "never"))
    if record and released is None:
        raise InputError("--record needs --released FILE: the file that the outputs are to be added to.")
    sizes = _sizes(key_sizes)
    check_places(
        spec, data, released, policy, recipes, outputs=(json, html, inside), record=record, back=acro_write_back
    )
    start_arrow(threads)
    from ..outputs.check.assess import check as check_now

    with progress_bar(quiet=quiet) as progress:
        journey = Journey(quiet=True, threads=threads, seed=seed, progress=progress)
        asked = Asked.read(
            spec, released, policy, recipes, replace_readable=replace_readable, keys=names_of(keys), sensitive=names_of(sensitive),
            new=record,
        )  # fmt: skip
        table = journey.read(data, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal, rare="keep")
        asked = asked.of_data(table)
        if record and (replaced := [f"'{one.uid}'" for one in asked.by_recipe if one.replaced]):
            raise InputError(
                f"--record cannot record {listed(replaced)}: what would leave is the result, and what was judged a recipe in its place. "
                "Leave out --record, or the recipe."
            )
        checked = check_now(
            asked.recipes, table, keys=asked.keys, sensitive=asked.sensitive, key_sizes=sizes, released=asked.released_recipes,
            policy=asked.policy, syntheses=syntheses, holdout_share=holdout_share, repeat_splits=repeat_splits,
            engine=engine, start=start, seconds=seconds, proposals=proposals, tolerance=tolerance, tau=tau, cumulative=not no_cumulative,  # type: ignore[arg-type]
            leave_one_out=leave_one_out, whole_runs=whole_runs, fold_of_fold=fold_of_fold, error_line=error_line,  # type: ignore[arg-type]
            seed=seed, workers=threads, progress=progress,
        )  # fmt: skip
    told = account(checked, asked, data, released)
    told["about"]["recorded"] = record and checked.passed
    written = []
    if acro_write_back is not None:
        write_back(acro_write_back, asked, checked, told)
        written.append(f"Wrote {acro_write_back}: the ACRO folder with this result.")
    if record and released is not None and checked.passed:
        record_released(released, asked, checked, table)
        written.append(f"Wrote {released}: these outputs are recorded as released.")
    elif record:
        written.append(f"{released} is as it was: outputs are recorded only if they pass.")
    if json is not None:
        write_json(json, told)
        written.append(f"Wrote {json}.")
    if html is not None:
        write_page(html, check_page(told))
        written.append(f"Wrote {html}.")
    if inside is not None:
        kept = {"format": "chaffinch-check-inside", "version": 1, "confidential": True, **checked.inside()}
        write_text(inside, plain_json.dumps(kept, indent=1, ensure_ascii=False) + "\n", mode=0o600)
        written.append(f"Wrote {inside}: exposed classes and cells, confidential.")
    written.append(
        f"Each search had up to {checked.settings['proposals']:,} proposals. --proposals {checked.settings['proposals']} repeats this."
    )
    if not quiet:
        _show(told)
        for line in written:
            typer.echo(line, err=True)
    if not checked.passed:
        raise typer.Exit(1)


def account(checked: Checked, asked: Asked, data: Path, released: Path | None) -> dict[str, Any]:
    """Return a check as plain data: what was checked, what was found, and under `run` what may differ between equal runs."""
    from .measuring import run_facts

    found = checked.to_dict()
    run = found.pop("run")
    return {
        "format": "chaffinch-check",
        "version": 1,
        "about": {
            "outputs": asked.source.name,
            "acro": asked.acro.version if asked.acro is not None else None,
            "data": data.name,
            "released": released.name if released is not None else None,
            "released_head": asked.released.head if asked.released is not None else None,
            "recorded": False,
            "skipped": [{"name": one.uid, "reason": one.reason} for one in asked.skipped],
            "by_recipe": [{"name": one.uid, "readable": one.replaced} for one in asked.by_recipe],
        },
        **found,
        "run": {**run, **run_facts()},
    }


def _show(told: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ..report.check import rules_sentence

    screen = console()
    typer.echo(told["verdict"]["text"])
    head = ("sensitive", "convention", "original", "holdout", "prior", "marginal risk", "interval", "detectable")
    table = Table(*head, box=None, pad_edge=False)
    for one in told["all"]["measures"]:
        sides = [_fixed(one[side]["value"]) for side in ("original", "holdout", "prior", "marginal")]
        low, high = one["marginal"]["low"], one["marginal"]["high"]
        between = f"{_fixed(low)} to {_fixed(high)}" if low is not None and high is not None else ""
        table.add_row(Text(one["sensitive"]), one["convention"], *sides, between, _fixed(one["detectable"]))
    screen.print(table, markup=False)
    for sentence in told["verdict"]["sentences"]:
        typer.echo(f"- {sentence}")
    for one in told["about"]["skipped"]:
        typer.echo(f"- Not checked: {one['name']}: {one['reason']}")
    for one in told["about"]["by_recipe"]:
        though = ", though it can be read" if one["readable"] else ""
        typer.echo(f"- Not checked itself{though}: {one['name']}: a recipe was judged in its place.")
    typer.echo(rules_sentence(told["rules"]))
    for line in _bad(told["rules"]["findings"]):
        typer.echo(line)


def _bad(findings: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each rule that failed, was not assessed to the end or wants a look, failed ones first."""
    return [
        f"- {status}: {one['rule']}, {' and '.join(repr(name) for name in (one['output'], one['other']) if name)}: {one['words']}"
        for status in ("fail", "not assessed", "review")
        for one in findings
        if one["status"] == status
    ]


def _fixed(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
