"""`chaffinch inspect`: what a model holds: its network, strengths, and what is protected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._base.files import check_outputs
from .options import JsonOut, names_of, write_json
from .sample import ModelIn
from .screen import console, show_table


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
