"""`chaffinch fit`: learn a model and save it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    Delimiter,
    Encoding,
    Input,
    JsonOut,
    Quiet,
    Rare,
    SchemaIn,
    Threads,
    check_outputs,
    start_arrow,
    write_json,
)
from .settings import (
    Forbid,
    Generations,
    Keep,
    LabelIn,
    MethodIn,
    ParentsIn,
    ProtectIn,
    Require,
    RootIn,
    ScoreIn,
    SearchIn,
    SensitiveIn,
    Smoothing,
    synthesiser,
)

__all__ = ["fit"]


def fit(
    input: Input,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    parents: ParentsIn = 3,
    search: SearchIn = "ordering",
    score: ScoreIn = None,
    label: LabelIn = None,
    sensitive: SensitiveIn = None,
    protect: ProtectIn = "separate",
    keep: Keep = None,
    require: Require = None,
    forbid: Forbid = None,
    root: RootIn = None,
    method: MethodIn = "bayesnet",
    smoothing: Smoothing = None,
    generations: Generations = 400,
    schema: SchemaIn = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    rare: Rare = "pool",
    seed: Annotated[int | None, typer.Option(help="Seed of searches that draw.")] = None,
    json: JsonOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Learn a network of the columns and save it as one file that opens without running code.

    The file holds counts of records: treat it as confidential.
    """
    from .._base.progress import progress_bar
    from .journey import Journey

    settings = synthesiser(
        method=method, parents=parents, search=search, score=score, label=label, sensitive=sensitive, protect=protect,
        keep=keep, require=require, forbid=forbid, root=root, smoothing=smoothing, generations=generations,
    )  # fmt: skip
    check_outputs(input, output, json)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress:
        journey = Journey(quiet=quiet, threads=threads, seed=seed, progress=progress)
        table = journey.read(input, schema=schema, encoding=encoding, delimiter=delimiter, rare=rare)
        model = journey.fit(settings, table)
    model.save(output)
    if json is not None:
        write_json(json, model.to_dict())
    if not quiet:
        typer.echo(f"Wrote {output}: {model}. It holds counts of records, confidential.", err=True)
