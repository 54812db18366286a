"""`chaffinch tree`: whom a published tree singles out, and a tree that singles out nobody."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .._base.files import check_outputs
from .command import group
from .options import (
    Decimal,
    HtmlOut,
    JsonOut,
    Quiet,
    Threads,
    show_table,
    start_arrow,
    write_confidential,
    write_json,
)

if TYPE_CHECKING:
    from ..trees import OpenedModel
    from ..trees.records import ModelRecords
    from ..trees.result import CertificateSummary


ModelFile = Annotated[
    Path, typer.Argument(help="Published trees: {tree_formats}.", show_default=False)
]
DataIn = Annotated[
    Path | None,
    typer.Option(
        "--data", help="The training data, as numbers the model was fitted on. Needs --label."
    ),
]
LabelIn = Annotated[
    str | None,
    typer.Option("--label", help="The column that the model predicts, or several as A,B."),
]
HoldoutIn = Annotated[
    Path | None,
    typer.Option(
        "--holdout",
        help="Records the model was not trained on, to measure its accuracy. Needs --label.",
    ),
]
TrainedOn = Annotated[
    bool,
    typer.Option(
        "--trained-on", help="The model was trained on --data: its accuracy is called so."
    ),
]
AtLeast = Annotated[
    int, typer.Option("--at-least", help="Records of a class below which a node singles out.")
]
KeepIn = Annotated[
    Literal["safe", "most"],
    typer.Option(
        "--keep",
        help="Keep what is safe against every label, or most splits, with leaves that tell less.",
    ),
]


def audit(
    model: ModelFile,
    data: DataIn = None,
    label: LabelIn = None,
    holdout: HoldoutIn = None,
    trained_on: TrainedOn = False,
    decimal: Decimal = None,
    at_least: AtLeast = 2,
    confidential: Annotated[
        Path | None,
        typer.Option(
            help="Write the predicates with their constants here: confidential, readable by you alone."
        ),
    ] = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Attack a model: say whether its nodes single out a training record, and how many.

    Exit code 1 if they do. The predicates themselves go to --confidential alone.
    """
    from .. import trees
    from .._base.results import write_page

    check_outputs(model, json, html, confidential, inputs=[data, holdout])
    _check_trained_on(trained_on, data)
    opened = trees.open_model(model)
    records = _records(data, label, opened, threads, quiet, decimal)
    others = _records(holdout, label, opened, threads, True, decimal, option="--holdout")
    result = trees.audit(
        opened,
        records,
        label=_names(label),
        at_least=at_least,
        holdout=others,
        trained_on=trained_on,
    )
    if json is not None:
        write_json(json, {"file": model.name, "form": opened.form, **result.to_dict()})
    if html is not None:
        from ..report.trees import tree_page

        write_page(html, tree_page(result, None, f"What {model.name} gives away"))
    if confidential is not None:
        write_confidential(confidential, result.confidential())
    if not quiet:
        show_table((), result.summary.rows()).print(result.verdict, markup=False)
    if result.exposed:
        raise typer.Exit(1)


def prune_command(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="The pruned model: .skops, or .json for plain JSON."),
    ],
    data: DataIn = None,
    label: LabelIn = None,
    holdout: HoldoutIn = None,
    trained_on: TrainedOn = False,
    decimal: Decimal = None,
    at_least: AtLeast = 2,
    keep: KeepIn = "safe",
    json: JsonOut = None,
    html: HtmlOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Write a model in which no node singles out fewer than --at-least records, and a certificate: the file is attacked again.

    Exit code 1, and no file, if the attack on the written file still finds someone.
    """
    from dataclasses import replace

    from .. import trees
    from .._base.results import write_page
    from ..trees.prune import without_counts
    from ..trees.study import certify

    check_outputs(model, output, json, html, inputs=[data, holdout])
    _check_trained_on(trained_on, data)
    opened = trees.open_model(model)
    records = _records(data, label, opened, threads, quiet, decimal)
    others = _records(holdout, label, opened, threads, True, decimal, option="--holdout")
    result = trees.prune(
        opened,
        records,
        label=_names(label),
        at_least=at_least,
        keep=keep,
        holdout=others,
        trained_on=trained_on,
    )
    certificates: list[CertificateSummary] = []

    def attack_again(part: Path) -> None:
        certificates.append(certify(part, result, label=_names(label), records=records).summary)
        if not certificates[0].holds:
            raise typer.Exit(1)

    try:
        released = None if opened.model is None else result.model
        trees.write_model(output, without_counts(result.after), released, check=attack_again)
    finally:
        for certificate in certificates:
            summary = replace(result.summary, certificate=certificate)
            if json is not None:
                write_json(json, {"file": model.name, "released": output.name, **summary.to_dict()})
            if not quiet:
                show_table((), summary.rows()).print(certificate.sentence(), markup=False)
    if html is not None:
        from ..report.trees import tree_page

        assert result.audit is not None
        write_page(
            html,
            tree_page(
                result.audit, result, f"What {output.name} gives away", certificate=certificates[0]
            ),
        )


def _check_trained_on(trained_on: bool, data: Path | None) -> None:
    from .._base.errors import InputError

    if trained_on and data is None:
        raise InputError("--trained-on says what the records of --data are: give --data too.")


def _names(label: str | None) -> list[str]:
    return ["label"] if label is None else [name.strip() for name in label.split(",")]


def _records(
    data: Path | None,
    label: str | None,
    opened: OpenedModel,
    threads: int | None,
    quiet: bool,
    decimal: str | None,
    *,
    option: str = "--data",
) -> ModelRecords | None:
    """The records to try predicates on, where data were given."""
    from .._base.errors import InputError
    from ..trees.records import read_records

    if data is None:
        return None
    if label is None:
        raise InputError(f"{option} needs --label: the column of the data that the model predicts.")
    start_arrow(threads)
    records = read_records(data, opened.ensemble, _names(label), decimal=decimal)
    if records.by_place and not quiet:
        typer.echo(
            "Note: The model has no names of columns; those of the data are taken in their order.",
            err=True,
        )
    return records


tree = group(
    "Whom a published decision tree singles out, and a tree that singles out nobody.",
    audit=audit,
    prune=prune_command,
)
