"""Commands that make a synthetic table: `chaffinch synth` in one go; `fit`, `inspect` and `sample` with a model file in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._base.files import check_outputs
from .._base.text import count_noun
from .options import (
    Cache,
    ClusterEngine,
    DryRun,
    JsonOut,
    LedgerIn,
    Place,
    Quiet,
    RowCount,
    Threads,
    console,
    expanded,
    ledger_allows,
    names_of,
    reading_of,
    row_count,
    show_promise,
    show_table,
    start_arrow,
    write_json,
)
from .settings import Choice, choose

if TYPE_CHECKING:
    from ..table.settings import Reading
    from ..workflows.synthesise import Synthesis, SynthesisSettings
    from .estimates import Work


@expanded(choice=choose, reading=reading_of)
def synth(
    *,
    input: Place,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            parser=str,
            metavar="PATH",
            help="File to write; its ending says the format. With --engine spark: a folder of Parquet files, or an address.",
        ),
    ],
    rows: RowCount = None,
    copies: Annotated[
        int, typer.Option(help="Syntheses to write: OUT gets -1, -2 ... before its ending.")
    ] = 1,
    choice: Choice,
    model: Annotated[Path | None, typer.Option(help="Also write the fitted model here.")] = None,
    reading: Reading,
    engine: ClusterEngine = "auto",
    cache: Cache = None,
    ledger: LedgerIn = None,
    dry_run: DryRun = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed: the same seed gives the same table. With --epsilon: for tests only, no privacy."
        ),
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Make a synthetic table: learn a network of the columns, draw new rows from it, write them as the input came.

    Without --epsilon there is no formal privacy promise: find out what the table gives away before it leaves.
    """
    from ..workflows.engines import engine_of
    from .estimates import Work
    from .ledger import show_plan

    choice.check_counts(rows, copies)
    choice.check_protected()
    source, target = Path(input), Path(output)
    if dry_run:
        show_plan(choice, source, reading, json)
        return
    outputs = engine_of(engine, cache).outputs(
        input, output, copies, model=model, json=json, ledger=ledger, paid=choice.private
    )
    settings = choice.synthesis(
        reading, target, ledger=ledger, rows=rows, copies=copies, engine=engine, cache=cache
    )
    work = Work(choice.settings, source, [Path(place) for place in outputs], rows)
    with _synthesis(settings, outputs, work, seed=seed, threads=threads, quiet=quiet) as synthesis:
        synthesis.read(input)
        fitted = synthesis.fit()
        if model is not None:
            fitted.save(model)
        synthesis.draw(fitted)
    if json is not None:
        write_json(json, synthesis.account(fitted).to_dict())
    if not quiet:
        say_synthesis(outputs, model, rows=synthesis.rows, private=choice.private)
        show_promise(fitted)


@contextmanager
def _synthesis(
    settings: SynthesisSettings,
    outputs: Sequence[Any],
    work: Work,
    *,
    seed: int | None,
    threads: int | None,
    quiet: bool,
) -> Iterator[Synthesis]:
    """Give a synthesis to read, fit and draw, which says how far it is; a project ledger that says no ends the command."""
    from .._base.runtime import progress_bar
    from ..workflows.run import RunOptions
    from ..workflows.synthesise import Synthesis
    from .estimates import Speaker

    start_arrow(threads)
    speaker = Speaker(quiet=quiet, work=work, reading=settings.reading)
    with progress_bar(quiet=quiet, plain=not settings.private) as progress, ledger_allows():
        run = RunOptions(seed=seed, threads=threads, progress=progress, observer=speaker)
        with Synthesis(settings, run, outputs) as synthesis:
            yield synthesis


def say_synthesis(outputs: Sequence[Any], model: Path | None, *, rows: int, private: bool) -> None:
    """Say where the files are. How many rows equal an original one says nothing without a holdout beside it: that is for `risk` and `release`."""
    for path in outputs:
        typer.echo(f"Wrote {path}: {count_noun(rows, 'row')}.", err=True)
    if model is not None:
        contents = (
            "it holds released tables" if private else "it holds counts of records, confidential"
        )
        typer.echo(f"Wrote {model}: {contents}.", err=True)


@expanded(choice=choose, reading=reading_of)
def fit(
    *,
    input: Place,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    choice: Choice,
    reading: Reading,
    engine: ClusterEngine = "auto",
    cache: Cache = None,
    ledger: LedgerIn = None,
    dry_run: DryRun = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of searches that draw. With --epsilon: for tests only, no privacy."
        ),
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Learn a network of the columns and save it as one file that opens without running code.

    Without --epsilon the file holds counts of records: treat it as confidential.
    """
    from .estimates import Work
    from .ledger import show_plan

    choice.check_protected()
    source = Path(input)
    if dry_run:
        show_plan(choice, source, reading, json)
        return
    check_outputs(source, output, json, updated=[ledger], paid=[output] if choice.private else [])
    settings = choice.synthesis(reading, output, ledger=ledger, engine=engine, cache=cache)
    work = Work(choice.settings, source)
    with _synthesis(settings, (), work, seed=seed, threads=threads, quiet=quiet) as synthesis:
        synthesis.read(input)
        model = synthesis.fit()
    model.save(output)
    if json is not None:
        write_json(json, model.to_dict())
    if not quiet:
        say_model(output, model)


def say_model(output: Path, model: Any) -> None:
    """Say where a model is, and what it promises."""
    warning = " It holds counts of records, confidential." if model.confidential else ""
    typer.echo(f"Wrote {output}: {model}.{warning}", err=True)
    show_promise(model)


ModelIn = Annotated[
    Path, typer.Argument(help="A model file, as `chaffinch fit` writes.", show_default=False)
]


def inspect(
    model: ModelIn,
    svg: Annotated[Path | None, typer.Option(help="Draw the network into this SVG file.")] = None,
    error_bars: Annotated[
        str | None,
        typer.Option(
            help="Of a private model: what noise may have done to the counts of these columns, as A,B."
        ),
    ] = None,
    json: JsonOut = None,
) -> None:
    """Print a model's network: each column with its parents, how much they tell of it, what protection cut, what is promised."""
    from .._base.errors import InputError
    from ..synth import load_model

    check_outputs(model, svg, json)
    loaded = load_model(model)
    bars = None if error_bars is None else loaded.error_bars(names_of(error_bars))
    if json is not None:
        write_json(
            json, {**loaded.to_dict(), **({} if bars is None else {"error_bars": bars.to_dict()})}
        )
    if svg is not None:
        if (drawing := loaded.plot()) is None:
            raise InputError(
                f"A model of method '{loaded.method}' has nothing to draw: leave out --svg."
            )
        drawing.save(svg)
    description = loaded.describe()
    screen = console()
    screen.print(description.summary, markup=False)
    if description.promise is not None:
        screen.print(f"Promise: {description.promise}", markup=False)
    show_table(
        ("column", "role", description.heading),
        [(c.name, c.role, c.detail) for c in description.columns],
    )
    for sentence in description.notes:
        screen.print(sentence, markup=False)
    if bars is not None:
        screen.print(bars.sentence, markup=False)
        show_table((*bars.columns, "count", "low", "high"), bars.rows())


def sample(
    model: ModelIn,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            parser=str,
            metavar="PATH",
            help="File to write; its ending says the format. With --engine spark: a folder of Parquet files, or an address.",
        ),
    ],
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            "-n",
            parser=row_count,
            metavar="INTEGER",
            help="Rows to draw, as 50000 or 1e9; as many as the model saw unless given.",
            show_default=False,
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=VALUE that every row is to have; may be given again."),
    ] = None,
    engine: ClusterEngine = "auto",
    seed: Annotated[
        int | None, typer.Option(help="Seed: the same seed gives the same rows.")
    ] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Draw new rows from a model, any number, in bounded memory. --given conditions on values exactly."""
    from .._base.runtime import progress_bar
    from ..workflows.engines import engine_of
    from ..workflows.run import RunOptions
    from ..workflows.synthesise import draw_sample
    from .estimates import Speaker

    values, drawing = _given(given), engine_of(engine)
    (target,) = drawing.outputs(str(model), output, json=json)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress:
        speaker = Speaker(quiet=quiet, outputs=[Path(output)])
        run = RunOptions(seed=seed, threads=threads, progress=progress, observer=speaker)
        result = draw_sample(model, target, engine=drawing, rows=rows, given=values, run=run)
    if json is not None:
        write_json(json, result.to_dict())
    if not quiet:
        typer.echo(f"Wrote {output}: {count_noun(result.rows, 'row')}.", err=True)


def _given(words: list[str] | None) -> dict[str, Any]:
    from .._base.errors import InputError

    out: dict[str, Any] = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise InputError(f"--given takes COLUMN=VALUE. Got '{name}'.")
        out[name] = value if value else None
    return out
