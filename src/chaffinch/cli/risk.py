"""`chaffinch risk`: what a synthetic table gives away about sensitive columns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .attacking import (
    Attackers,
    KeySizes,
    MaxExcess,
    TcapConvention,
    Tolerance,
    end,
    policy_of,
    risk_settings,
    show_attacks,
    with_policy,
)  # fmt: skip
from .measuring import Holdout, SvmRows
from .options import (
    Decimal,
    Delimiter,
    Encoding,
    HtmlOut,
    Input,
    JsonOut,
    Quiet,
    Rare,
    SchemaIn,
    Threads,
    check_outputs,
)

__all__ = ["risk"]


def risk(
    original: Input,
    synthetic: Annotated[
        list[Path], typer.Argument(help="The synthetic table, or several made alike.", show_default=False)
    ],
    keys: Annotated[str, typer.Option(help="Columns that an outsider knows of a person, as A,B.")],
    sensitive: Annotated[str, typer.Option(help="Columns that are not to be found out, as A,B.")],
    holdout: Holdout = None,
    key_sizes: KeySizes = None,
    label: Annotated[
        str | None, typer.Option(help="Column whose relation to the sensitive ones is meant to stay.")
    ] = None,
    attackers: Attackers = None,
    tcap_convention: TcapConvention = "matched_rows",
    numeric: Annotated[
        str, typer.Option(help="Numbers are equal by bins of the schema (bins) or as they are (values).")
    ] = "bins",
    tolerance: Tolerance = None,
    missing: Annotated[
        str, typer.Option(help="A missing key is a level, or matches anything: level or wildcard.")
    ] = "level",
    repeats: Annotated[int, typer.Option(help="Draws of people for intervals and p-values.")] = 1000,
    svm_rows: SvmRows = 5000,
    policy: Annotated[Path | None, typer.Option(help="TOML file that says max_excess.")] = None,
    max_excess: MaxExcess = None,
    confidential: Annotated[
        Path | None,
        typer.Option(
            help="Write each record's risk and the exposed classes here: confidential, readable by you alone."
        ),
    ] = None,
    schema: SchemaIn = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    rare: Rare = "pool",
    seed: Annotated[int | None, typer.Option(help="Seed of draws: the same seed gives the same figures.")] = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Attack a synthetic table: what it tells about sensitive columns to someone who knows the keys.

    Each attack stands beside the best guess without keys, the same attack on people who are not in the data (--holdout), and the
    original attacking itself. Without a holdout there is no excess, and nothing is called safe.
    """
    import json as plain

    from .._base.html import write_page
    from .._base.progress import progress_bar
    from .._base.safe_files import write_text
    from .journey import Journey
    from .options import start_arrow, write_json

    limit, file = policy_of(policy, max_excess, holdout)
    settings = risk_settings(
        keys=keys, sensitive=sensitive, key_sizes=key_sizes, label=label, attackers=attackers, convention=tcap_convention,
        numeric=numeric, missing=missing, repeats=repeats, svm_rows=svm_rows, tolerance=tolerance,
    )  # fmt: skip
    check_outputs(original, json, html, confidential)
    start_arrow(threads)
    from ..risk import measure_risk

    with progress_bar(quiet=quiet) as progress:
        journey = Journey(quiet=quiet, threads=threads, seed=seed, progress=progress)
        table = journey.read(original, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal, rare=rare)
        result = measure_risk(table, synthetic, holdout, settings, seed=seed, threads=threads, progress=progress)
    result = with_policy(result, limit, file).named(
        original=original.name, synthetic=[path.name for path in synthetic], holdout=holdout.name if holdout else None
    )
    from ..report.page import render, report_of

    if json is not None:
        write_json(json, result.to_dict())
    if html is not None:
        title = f"What {synthetic[0].name} gives away"
        write_page(html, render(report_of(title=title, risk=result)))
    if confidential is not None:
        write_text(confidential, plain.dumps(result.confidential(), indent=1, ensure_ascii=False) + "\n", mode=0o600)
    if not quiet:
        show_attacks(result)
    end(result.lower_bound, limit)
