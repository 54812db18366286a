"""`chaffinch inspect`: what a model holds: its network, strengths, and what is protected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import JsonOut, Quiet, SeedIn, Threads, check_outputs, console, write_json
from .sample import ModelIn

if TYPE_CHECKING:
    from rich.console import Console

    from ..synth import BayesNetModel

__all__ = ["inspect"]


def inspect(
    model: ModelIn,
    svg: Annotated[Path | None, typer.Option(help="Draw the network into this SVG file.")] = None,
    json: JsonOut = None,
    seed: SeedIn = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Print a model's network: each column with its parents, how much they tell of it, what protection cut, what is promised."""
    from rich.table import Table as RichTable
    from rich.text import Text

    from .._base.safe_files import write_text
    from ..report.network import network_svg
    from ..synth import load_model

    check_outputs(model, svg, json)
    loaded = load_model(model)
    if json is not None:
        write_json(json, loaded.to_dict())
    if svg is not None:
        write_text(svg, network_svg(loaded))
    fitted = loaded.fitted
    screen = console()
    screen.print(
        f"{len(loaded.network.order)} columns, {len(loaded.network.edges)} edges, at most {fitted.parents} parents; "
        f"search {fitted.search}, score {fitted.score}, fitness {fitted.fitness:.4f}",
        markup=False,
    )
    if fitted.privacy is not None:
        screen.print(f"Promise: {fitted.privacy.short}", markup=False)
    strength = dict(zip(loaded.network.edges, fitted.strengths, strict=True))
    told = "parents (mutual information, nats, from released tables)"
    told = told if fitted.privacy is not None else "parents (mutual information, nats)"
    table = RichTable("column", "role", told, box=None, pad_edge=False)
    for name in loaded.network.order:
        role = "label" if name == fitted.label else "sensitive" if name in fitted.sensitive else ""
        parents = ", ".join(f"{p} {strength[p, name]:.3f}" for p in loaded.network[name])
        table.add_row(Text(name), role, Text(parents))  # names of columns may hold brackets, which are markup
    screen.print(table)
    if fitted.protection is not None:
        _show_protection(screen, loaded)


def _show_protection(screen: Console, model: BayesNetModel) -> None:
    """Print what protection cut, and what still passes through the label where there is one."""
    fitted = model.fitted
    protection = fitted.protection
    assert protection is not None
    through = (
        f"; {sum(cut.through_label for cut in protection.cuts):.3f} nats still pass through the label"
        if fitted.label
        else ""
    )
    screen.print(
        f"Protected ({protection.protect}): {', '.join(fitted.sensitive)}. {len(protection.cuts)} links cut, "
        f"{protection.information:.3f} nats of mutual information in all{through}.",
        markup=False,
    )
    for cut in sorted(protection.cuts, key=lambda c: -c.information)[:10]:
        still = f", {cut.through_label:.3f} through the label" if fitted.label else ""
        screen.print(f"  {cut.sensitive} | {cut.other}: {cut.information:.3f} cut{still}", markup=False)
