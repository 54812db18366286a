"""Commands that make a synthetic table: `chaffinch synth` in one go; `fit`, `inspect` and `sample` with a model file in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .._base.errors import InputError
from .._base.files import check_outputs
from .._base.options import FILES, LEARN, Option
from .._base.text import count_noun
from ..workflows.settings import Execution, FitSettings, SynthesisSettings
from .command import echo
from .options import (
    DryRunOnly,
    InputAddress,
    Json,
    RunRequest,
    console,
    show_promise,
    show_table,
)

if TYPE_CHECKING:
    from ..workflows.synthesise import Synthesis


def given_value(text: str) -> tuple[str, str | None]:
    """Return a column and its value, None where nothing follows the sign.

    Examples
    --------
    >>> given_value("sex=f"), given_value("age=")
    (('sex', 'f'), ('age', None))
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--given takes COLUMN=VALUE. Got '{name}'.")
    return name, value or None


Output = Annotated[
    str,
    Option(
        "File to write; its ending says the format. With --engine spark: a folder of Parquet files, or an address.",
        basic=True,
        panel=FILES,
        short="o",
        metavar="PATH",
        leaves=False,
    ),
]


def synth(
    *,
    input: InputAddress,
    output: Output,
    settings: SynthesisSettings,
    model: Annotated[
        Path | None, Option("Also write the fitted model here.", panel=FILES, leaves=False)
    ] = None,
    dry_run: DryRunOnly = False,
    request: RunRequest = RunRequest(),  # noqa: B008
) -> None:
    """Make a synthetic table: learn a network of the columns, draw new rows from it, write them as the input came.

    Without --epsilon there is no formal privacy promise: find out what the table gives away before it leaves.
    """
    from ..workflows.engines import engine_of
    from .ledger import show_plan

    settings.check_protected()
    source = Path(input)
    if dry_run:
        show_plan(settings, source, request.json)
        return
    engine = engine_of(settings.execution.engine, settings.execution.cache)
    outputs = engine.outputs(
        input,
        output,
        settings.copies,
        model=model,
        json=request.json,
        ledger=settings.ledger,
        paid=settings.private,
    )
    settings = replace(settings, entry=Path(output).name)
    with _synthesis(settings, outputs, request) as synthesis:
        synthesis.read(input)
        fitted = synthesis.fit()
        if model is not None:
            fitted.save(model)
        synthesis.draw(fitted)
    request.files.write(synthesis.account(fitted))
    if not request.quiet:
        say_synthesis(outputs, model, rows=synthesis.rows, private=settings.private)
        show_promise(fitted)


@contextmanager
def _synthesis(
    settings: SynthesisSettings, outputs: Sequence[Any], request: RunRequest
) -> Iterator[Synthesis]:
    """Give a synthesis to read, fit and draw, which says how far it is; a project ledger that says no ends the command."""
    from ..workflows.synthesise import Synthesis

    with (
        request.start(plain=not settings.private, learns=True) as run,
        Synthesis(settings, run, outputs) as synthesis,
    ):
        yield synthesis


def say_synthesis(outputs: Sequence[Any], model: Path | None, *, rows: int, private: bool) -> None:
    """Say where the files are. How many rows equal an original one says nothing without a holdout beside it: that is for `risk` and `release`."""
    for path in outputs:
        echo(f"Wrote {path}: {count_noun(rows, 'row')}.", err=True)
    if model is not None:
        contents = (
            "it holds released tables" if private else "it holds counts of records, confidential"
        )
        echo(f"Wrote {model}: {contents}.", err=True)


def fit(
    *,
    input: InputAddress,
    output: Annotated[
        Path, Option("Model file to write.", basic=True, panel=FILES, short="o", leaves=False)
    ],
    settings: FitSettings,
    dry_run: DryRunOnly = False,
    request: RunRequest = RunRequest(),  # noqa: B008
) -> None:
    """Learn a network of the columns and save it as one file that opens without running code.

    Without --epsilon the file holds counts of records: treat it as confidential.
    """
    from .ledger import show_plan

    settings.check_protected()
    source = Path(input)
    if dry_run:
        show_plan(settings, source, request.json)
        return
    paid = [output] if settings.private else []
    check_outputs(source, output, request.json, updated=[settings.ledger], paid=paid)
    values = {entry.name: getattr(settings, entry.name) for entry in fields(settings)}
    asked = SynthesisSettings(**{**values, "entry": output.name})
    with _synthesis(asked, (), request) as synthesis:
        synthesis.read(input)
        model = synthesis.fit()
    model.save(output)
    request.files.write(model)
    if not request.quiet:
        warning = " It holds counts of records, confidential." if model.confidential else ""
        echo(f"Wrote {output}: {model}.{warning}", err=True)
        show_promise(model)


ModelIn = Annotated[
    Path, Option("A model file, as `chaffinch fit` writes.", argument=True, leaves=False)
]


def inspect(
    *,
    model: ModelIn,
    svg: Annotated[
        Path | None,
        Option("Draw the network into this SVG file.", basic=True, panel=FILES, leaves=False),
    ] = None,
    error_bars: Annotated[
        Sequence[str],
        Option(
            "Columns, as A,B, whose counts get error bars: what noise may have done. Private models.",
            basic=True,
        ),
    ] = (),
    json: Json = None,
) -> None:
    """Print a model's network: each column with its parents, how much they tell of it, what protection cut, what is promised."""
    from ..synth import load_model
    from ..workflows.run import Destinations

    check_outputs(model, svg, json)
    loaded = load_model(model)
    bars = loaded.error_bars(error_bars) if error_bars else None
    noise = {} if bars is None else {"error_bars": bars.to_dict()}
    Destinations(json=json).write(loaded, data={**loaded.to_dict(), **noise})
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
    *,
    model: ModelIn,
    output: Output,
    rows: Annotated[
        int | None,
        Option(
            "Rows to draw, as 50000 or 1e9. Default: as many as the model saw.",
            basic=True,
            panel=LEARN,
            short="n",
            unit="rows",
            ge=0,
        ),
    ] = None,
    given: Annotated[
        Mapping[str, str | None] | Sequence[tuple[str, str | None]] | None,
        Option(
            "Value that every row has in a column; may be given again.",
            basic=True,
            panel=LEARN,
            metavar="COLUMN=VALUE",
            read=given_value,
        ),
    ] = None,
    execution: Execution,
    request: RunRequest = RunRequest(),  # noqa: B008
) -> None:
    """Draw new rows from a model, any number, in bounded memory. --given conditions on values exactly."""
    from ..workflows.engines import engine_of
    from ..workflows.synthesise import draw_sample

    drawing = engine_of(execution.engine, execution.cache)
    (target,) = drawing.outputs(str(model), output, json=request.json)
    with request.start(plain=False) as run:
        result = draw_sample(
            model, target, engine=drawing, rows=rows, given=dict(given or ()), run=run
        )
    request.files.write(result)
    if not request.quiet:
        echo(f"Wrote {output}: {count_noun(result.rows, 'row')}.", err=True)
