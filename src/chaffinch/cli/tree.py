"""`chaffinch tree`: whom a published tree singles out, and a tree that singles out nobody."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Decimal, HtmlOut, JsonOut, Quiet, SeedIn, Threads, check_outputs, console, write_json

if TYPE_CHECKING:
    from ..trees import Ensemble, Pruned, TreeAudit
    from ..trees.records import Records

__all__ = ["tree"]

tree = typer.Typer(
    name="tree",
    help="Whom a published decision tree singles out, and a tree that singles out nobody.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those hold records
)

ModelFile = Annotated[
    Path, typer.Argument(help="A skops file of scikit-learn's trees, plain JSON, or ONNX.", show_default=False)
]
DataIn = Annotated[
    Path | None, typer.Option("--data", help="The training data, as numbers the model was fitted on. Needs --label.")
]
LabelIn = Annotated[str | None, typer.Option("--label", help="The column that the model predicts, or several as A,B.")]
AtLeast = Annotated[int, typer.Option("--at-least", help="Records of a class below which a node singles out.")]


@tree.command()
def audit(
    model: ModelFile,
    data: DataIn = None,
    label: LabelIn = None,
    decimal: Decimal = None,
    at_least: AtLeast = 2,
    inside: Annotated[
        Path | None,
        typer.Option(help="Write the predicates with their constants here: confidential, readable by you alone."),
    ] = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: SeedIn = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Attack a model: say whether its nodes single out a training record, and how many.

    Exit code 1 if they do. The predicates themselves go to --inside alone.
    """
    import json as plain

    from .._base.html import write_page
    from .._base.safe_files import write_text
    from ..trees.formats.files import open_model
    from ..trees.records import worth

    check_outputs(model, json, html, inside)
    opened = open_model(model)
    records = _records(data, label, opened.ensemble, threads, quiet, decimal)
    found = _audited(opened.ensemble, at_least, label, records)
    score = None if records is None else worth(opened.ensemble, records)
    told = {"file": model.name, "form": opened.form, **found.to_dict(), **_worth(opened.ensemble, score)}
    secrets = found.inside()
    if records is not None:
        told.update(_beyond(opened.ensemble, records, at_least, label, secrets))
    if json is not None:
        write_json(json, told)
    if html is not None:
        from ..report.trees import tree_page

        write_page(html, tree_page(found, None, f"What {model.name} gives away"))
    if inside is not None:
        write_text(inside, plain.dumps(secrets, indent=1, ensure_ascii=False) + "\n", mode=0o600)
    if not quiet:
        _show(_rows(told))
        console().print(_verdict(found), markup=False)
    if found.exposed:
        raise typer.Exit(1)


@tree.command("prune")
def prune_command(
    model: ModelFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The pruned model: .skops, or .json for plain JSON.")],
    data: DataIn = None,
    label: LabelIn = None,
    decimal: Decimal = None,
    at_least: AtLeast = 2,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: SeedIn = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Write a model in which no node singles out fewer than --at-least records, and a certificate: the file is attacked again.

    Exit code 1, and no file, if the attack on the written file still finds someone.
    """
    from .._base.html import write_page
    from ..trees.formats.files import open_model, write_model
    from ..trees.prune import prune, prune_plain
    from ..trees.records import worth
    from ..trees.released import certify, untold

    check_outputs(model, output, json, html)
    opened = open_model(model)
    records = _records(data, label, opened.ensemble, threads, quiet, decimal)
    before = _audited(opened.ensemble, at_least, label, records)
    columns, labels = (None, None) if records is None else (records.columns, records.labels)
    if opened.model is None:
        pruned = prune_plain(opened.ensemble, at_least=at_least, columns=columns, labels=labels)
    else:
        pruned = prune(opened.model, at_least=at_least, columns=columns, labels=labels)
    scores = None if records is None else (worth(pruned.before, records), worth(pruned.after, records))
    told: dict[str, Any] = {}

    def attack_again(part: Path) -> None:
        certificate = certify(part, pruned, label=_names(label), records=records)
        told.update(_pruning(model, output, before, pruned, scores), certificate=certificate.to_dict())
        if not certificate.holds:
            raise typer.Exit(1)

    try:
        released = None if opened.model is None else pruned.model
        write_model(output, untold(pruned.after), released, check=attack_again)
    finally:
        if told and json is not None:
            write_json(json, told)
        if told and not quiet:
            _show(_pruning_rows(told))
            console().print(_certificate(told["certificate"], at_least), markup=False)
    if html is not None:
        from ..report.trees import tree_page

        known = scores if scores and None not in scores else None
        name = "Accuracy" if pruned.before.kind == "classification" else "R²"
        title = f"What {model.name} gives away"
        write_page(html, tree_page(before, pruned, title, scores=known, score=name))  # type: ignore[arg-type]


def _beyond(
    model: Ensemble, records: Records, at_least: int, label: str | None, secrets: dict[str, Any]
) -> dict[str, Any]:
    """What single nodes do not show: cuts midway between two actual values, and pairs of trees; examples go to `secrets`."""
    from ..trees.intersections import intersections
    from ..trees.midpoints import midpoints

    told: dict[str, Any] = {"midpoints": midpoints(model, records.columns).to_dict(), "intersections": None}
    if len(model.trees) > 1:
        both = intersections(model, records.columns, records.labels, at_least=at_least, label=_names(label))
        told["intersections"] = both.to_dict()
        secrets["intersections"] = [[one.to_dict(), other.to_dict()] for one, other in both.examples]
    return told


def _names(label: str | None) -> list[str]:
    return ["label"] if label is None else [name.strip() for name in label.split(",")]


def _records(
    data: Path | None, label: str | None, model: Ensemble, threads: int | None, quiet: bool, decimal: str | None
) -> Records | None:
    """The records to try predicates on, where data were given."""
    from .._base.errors import InputError
    from ..trees.records import read_records
    from .options import start_arrow

    if data is None:
        return None
    if label is None:
        raise InputError("--data needs --label: the column of the data that the model predicts.")
    start_arrow(threads)
    records = read_records(data, model, _names(label), decimal=decimal)
    if records.by_place and not quiet:
        typer.echo("Note: The model has no names of columns; those of the data are taken in their order.", err=True)
    return records


def _audited(model: Ensemble, at_least: int, label: str | None, records: Records | None) -> TreeAudit:
    from ..trees import audit_trees

    columns, labels = (None, None) if records is None else (records.columns, records.labels)
    return audit_trees(model, at_least=at_least, label=_names(label), columns=columns, labels=labels)


def _worth(model: Ensemble, score: float | None) -> dict[str, float | None]:
    return {"accuracy" if model.kind == "classification" else "r2": None if score is None else round(score, 4)}


def _pruning(
    model: Path,
    output: Path,
    before: TreeAudit,
    pruned: Pruned,
    scores: tuple[float | None, float | None] | None,
) -> dict[str, Any]:
    """What pruning took, as plain data that may leave."""
    one, other = scores or (None, None)
    leaves = pruned.leaves
    return {
        "file": model.name,
        "released": output.name,
        "at_least": pruned.at_least,
        "before": {**before.to_dict(), **_worth(pruned.before, one)},
        "after": {
            "nodes": sum(t.n_nodes for t in pruned.after.trees),
            "leaves": leaves[1],
            "hidden_classes": pruned.hidden_classes,
            **_worth(pruned.after, other),
        },
    }


def _rows(told: dict[str, Any]) -> list[tuple[str, str]]:
    """An audit as names and numbers."""
    known = told["counts_known"]
    rows = [
        ("model", f"{told['model']}, {told['kind']}"),
        ("trees, leaves, columns", f"{told['trees']}, {told['leaves']}, {told['columns']}"),
        ("nodes that single out", str(told["vulnerable_nodes"]) if known else "not known"),
        ("trees with such a node", str(told["vulnerable_trees"]) if known else "not known"),
    ]
    if told["open_leaves"]:
        rows.append(("leaves whose mean singles out", str(told["open_leaves"])))
    if told["value_leaves"]:
        rows.append(("leaves whose value does on the data", str(told["value_leaves"])))
    if told["depths"]:
        rows.append(("splits above them", f"{told['depths']['least']} to {told['depths']['most']}"))
    if known:
        share = told["exposed_share"]
        counted = told["exposed_records"]
        rows.append(("records exposed", f"{counted}{'' if not counted or share is None else f' ({share:.1%})'}"))
    if (tries := told["tries"]) is not None:
        mean = tries["mean_tries"]
        rows.append(("score without counts", f"{tries['score']:.3f} (mean of 1/tries)"))
        rows.append(("mean tries", "none succeeded" if mean is None else f"{mean:.1f}"))
    if (cuts := told.get("midpoints")) and cuts["splits"]:
        rows.append(("cuts midway between two values", f"{cuts['midway_share']:.0%}"))
    if pairs := told.get("intersections"):
        rows.append(("pairs of trees that single out", f"{pairs['isolating_pairs']} of {pairs['pairs_tried']} tried"))
    if told["checked"]:
        rows.append(("predicates true as claimed", "all" if told["checked"]["as_claimed"] else "not all"))
    for name, words in (("accuracy", "accuracy on the data"), ("r2", "R² on the data")):
        if told.get(name) is not None:
            rows.append((words, f"{told[name]:.3f}"))
    return rows


def _pruning_rows(told: dict[str, Any]) -> list[tuple[str, str]]:
    before, after = told["before"], told["after"]
    rows = [
        ("model", f"{before['model']}, {before['kind']}"),
        ("leaves", f"{before['leaves']} before, {after['leaves']} after"),
        ("nodes that single out", f"{before['vulnerable_nodes']} before"),
    ]
    if after["hidden_classes"]:
        rows.append(("classes never predicted", f"{after['hidden_classes']}, too rare in all the data"))
    for name, words in (("accuracy", "accuracy on the data"), ("r2", "R² on the data")):
        if before.get(name) is not None and after.get(name) is not None:
            rows.append((words, f"{before[name]:.3f} before, {after[name]:.3f} after"))
    return rows


def _verdict(found: TreeAudit) -> str:
    """The audit in a sentence."""
    who = "one record" if found.at_least == 2 else f"fewer than {found.at_least} records"
    tried = any(one.tries is not None for one in found.tries or ())
    note = f" {found.model.note}" if found.model.note else ""
    why = "" if found.predicates is not None else f" How many records stand behind a node is not known. {found.why_not}"
    if found.predicates:
        said = f"Exposed: the way to a node, with its label, is true of {who}. `chaffinch tree prune` takes such nodes out."
    elif found.open_leaves or found.value_leaves:
        said = f"Exposed: the way to a leaf, with a label above or below what the leaf says, is true of {who}."
    elif tried:
        said = f"Exposed: a leaf with a label is true of {who}, found by trying."
    elif found.predicates is None and found.tries is None:
        return f"Not known whether anybody is exposed.{why} With --data and --label the attack can be tried on the data.{note}"
    else:
        on = (
            "" if found.tries is None else " of the data" if found.predicates is None else ", by counts and on the data"
        )
        said = f"Nobody found: no way to a node, with a label, is true of {who}{on}."
    return f"{said}{why}{note}"


def _certificate(told: dict[str, Any], at_least: int) -> str:
    """The certificate in a sentence."""
    if told["holds"]:
        how = "with the counts that were taken out" + ("" if told["found_by_trying"] is None else " and on the data")
        return f"Certificate: the file as written was attacked {how}; no node singles out fewer than {at_least} records. {told['limits']}".rstrip()
    if not told["as_pruned"] or not told["silent"]:
        return "No certificate, and no file: as written it would tell more than splits and leaves, as out-of-bag predictions do."
    return "No certificate, and no file: the attack on it still finds someone. Raise --at-least, or fit with larger leaves."


def _show(rows: list[tuple[str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for name, words in rows:
        table.add_row(Text(name), Text(words))  # names of classes of models may hold brackets, which are markup
    console().print(table)
