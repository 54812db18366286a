"""`chaffinch tree`: whom a published tree singles out, and a tree that singles out nobody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .._base.files import check_outputs, write_json
from .._base.options import FILES, Declared, Option
from ..trees.settings import PruneSettings, TreeSettings
from .command import Exit, echo, group
from .options import (
    Cores,
    Html,
    Json,
    Secrets,
    Silent,
    show_table,
    start_arrow,
)

if TYPE_CHECKING:
    from ..trees import OpenedModel
    from ..trees.records import ModelRecords
    from ..trees.result import CertificateSummary


@dataclass(frozen=True, kw_only=True)
class TreeRequest(Declared):
    """The files of a published model and of the records that it is attacked with."""

    tree: Annotated[Path, Option("Published trees: {tree_formats}.", argument=True, leaves=False)]
    data: Annotated[
        Path | None,
        Option(
            "Training data, as the numbers the model was fitted on. Needs --label.",
            basic=True,
            panel=FILES,
            leaves=False,
        ),
    ] = None
    holdout: Annotated[
        Path | None,
        Option(
            "Records that the model was not trained on, for its accuracy. Needs --label.",
            basic=True,
            panel=FILES,
            leaves=False,
        ),
    ] = None
    json: Json = None
    html: Html = None
    quiet: Silent = False
    threads: Cores = None

    def read(
        self, settings: TreeSettings, *outputs: Path | None
    ) -> tuple[OpenedModel, ModelRecords | None, ModelRecords | None]:
        """Return the model, the records to try predicates on and those of the holdout, where they are named."""
        from ..trees import open_model
        from ..trees.study import as_records

        inputs = [self.data, self.holdout]
        check_outputs(self.tree, *outputs, self.json, self.html, inputs=inputs)
        opened = open_model(self.tree)
        if any(inputs):
            start_arrow(self.threads)
        records = as_records(self.data, opened, settings)
        if records is not None and records.by_place and not self.quiet:
            echo(
                "Note: The model has no names of columns; those of the data are taken in their order.",
                err=True,
            )
        return opened, records, as_records(self.holdout, opened, settings, what="holdout")


def audit(*, request: TreeRequest, settings: TreeSettings, confidential: Secrets = None) -> None:
    """Attack a model: say whether its nodes single out a training record, and how many.

    Exit code 1 if they do. The predicates themselves go to --confidential alone.
    """
    from .. import trees
    from ..report.trees import tree_page
    from ..workflows.run import Destinations

    opened, records, others = request.read(settings, confidential)
    result = trees.audit(opened, records, settings=settings, holdout=others)
    name = request.tree.name
    files = Destinations(json=request.json, html=request.html, confidential=confidential)
    data = {"file": name, "form": opened.form, **result.to_dict()}
    files.write(result, lambda: tree_page(result, None, f"What {name} gives away"), data=data)
    if not request.quiet:
        show_table((), result.summary.rows()).print(result.verdict, markup=False)
    if result.exposed:
        raise Exit(1)


def prune_command(
    *,
    request: TreeRequest,
    output: Annotated[
        Path,
        Option(
            "The pruned model: .skops, or .json for plain JSON.",
            basic=True,
            panel=FILES,
            short="o",
            leaves=False,
        ),
    ],
    settings: PruneSettings,
) -> None:
    """Write a model in which no node singles out fewer than --at-least records, and a certificate: the file is attacked again.

    Exit code 1, and no file, if the attack on the written file still finds someone.
    """
    from dataclasses import replace

    from .. import trees
    from .._base.results import write_page
    from ..trees.prune import without_counts
    from ..trees.study import certify

    opened, records, others = request.read(settings, output)
    result = trees.prune(opened, records, settings=settings, holdout=others)
    name = request.tree.name
    certificates: list[CertificateSummary] = []

    def attack_again(partial: Path) -> None:
        certificates.append(
            certify(partial, result, label=settings.labels, records=records).summary
        )
        if not certificates[0].holds:
            raise Exit(1)

    try:
        released = None if opened.model is None else result.model
        trees.write_model(output, without_counts(result.after), released, check=attack_again)
    finally:
        for certificate in certificates:
            summary = replace(result.summary, certificate=certificate)
            if request.json is not None:
                write_json(
                    request.json, {"file": name, "released": output.name, **summary.to_dict()}
                )
            if not request.quiet:
                show_table((), summary.rows()).print(certificate.sentence(), markup=False)
    if request.html is not None:
        from ..report.trees import tree_page

        assert result.audit is not None
        write_page(
            request.html,
            tree_page(
                result.audit, result, f"What {output.name} gives away", certificate=certificates[0]
            ),
        )


tree = group(
    "Whom a published decision tree singles out, and a tree that singles out nobody.",
    audit=audit,
    prune=prune_command,
)
