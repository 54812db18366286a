"""`chaffinch evolve`: a dataset from published numbers alone, with how close it comes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .._base.options import FILES, Option
from .._base.text import count_noun
from ..outputs.solve.settings import EvolveSettings
from .command import Exit, echo
from .options import Cores, Html, Json, RunSeed, Silent, number, show_table

if TYPE_CHECKING:
    from ..outputs.evolve import EvolveResult


def evolve(
    *,
    spec: Annotated[
        Path,
        Option(
            "Columns and what was published of them: TOML, or JSON with the same keys. Kinds: {kinds}.",
            argument=True,
            metavar="SPEC",
        ),
    ],
    output: Annotated[
        Path,
        Option(
            "File to write; its ending says the format.",
            basic=True,
            panel=FILES,
            short="o",
            leaves=False,
        ),
    ],
    settings: EvolveSettings,
    json: Json = None,
    html: Html = None,
    seed: RunSeed = None,
    quiet: Silent = False,
    threads: Cores = None,
) -> None:
    """Evolve a dataset from published numbers: regressions, tables, summaries. SPEC is the only file that is opened.

    Exit code 1 if a copy does not have all of them after so many proposals; it is written all the same, and marked.
    """
    from ..workflows.evolve import run_evolve
    from ..workflows.local import copy_paths
    from ..workflows.run import Destinations
    from .observer import console_run

    paths, files = copy_paths(output, settings.copies), Destinations(json=json, html=html)
    with console_run(seed=seed, threads=threads, quiet=quiet) as run:
        result = run_evolve(spec, settings, run, outputs=paths, files=files)
    if not quiet:
        _show(result, paths)
    if not result.reached:
        raise Exit(1)


def _show(result: EvolveResult, paths: Sequence[Path]) -> None:
    from ..report.evolve import sentence

    head = ("output", "kind", "numbers", "as published", "off by at most", "computed again by")
    rows = []
    for same in zip(*(copy.outputs for copy in result.copies), strict=True):
        worst = max(same, key=lambda fit: (fit.outside, fit.largest_error or 0.0))
        by = "nobody" if not worst.refitted else "statsmodels" if worst.regression else "counting"
        rows.append(
            (
                worst.name,
                worst.kind,
                f"{worst.numbers:,}",
                f"{worst.numbers - worst.outside:,}",
                (number(worst.largest_error) or "no fit") if worst.outside else "",
                by,
            )
        )
    screen = show_table(head, rows)
    screen.print(sentence(result), markup=False)
    max_proposals = result.proposals
    echo(
        f"Each search had up to {max_proposals:,} proposals. --proposals {max_proposals} repeats this.",
        err=True,
    )
    for path, copy in zip(paths, result.copies, strict=True):
        marked = "" if copy.reached else ", marked as not having all outputs"
        echo(f"Wrote {path}: {count_noun(result.rows, 'record')}{marked}.", err=True)
