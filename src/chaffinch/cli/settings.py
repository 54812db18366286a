"""The options that say what to learn, and the synthesiser they amount to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..synth import BayesNet, Independent

__all__ = [
    "Forbid",
    "Generations",
    "Keep",
    "LabelIn",
    "MethodIn",
    "ParentsIn",
    "ProtectIn",
    "Require",
    "RootIn",
    "ScoreIn",
    "SearchIn",
    "SensitiveIn",
    "Smoothing",
    "synthesiser",
]

ParentsIn = Annotated[int, typer.Option(help="The most parents of a column.")]
SearchIn = Annotated[str, typer.Option(help="ordering, greedy or genetic.")]
ScoreIn = Annotated[str | None, typer.Option(help="penalised, pairwise or joint; each search has its own default.")]
LabelIn = Annotated[str | None, typer.Option(help="What a learner is to predict: the one link sensitive columns keep.")]
SensitiveIn = Annotated[str | None, typer.Option(help="Columns to protect, as A,B.")]
ProtectIn = Annotated[str, typer.Option(help="separate (sensitive columns depend on the label alone) or together.")]
Keep = Annotated[str | None, typer.Option(help="Columns to keep as they are, as A,B; the others are drawn given them.")]
Require = Annotated[list[str] | None, typer.Option(help="An edge PARENT:CHILD that must be; may be given again.")]
Forbid = Annotated[list[str] | None, typer.Option(help="An edge PARENT:CHILD that must not be; may be given again.")]
RootIn = Annotated[str | None, typer.Option(help="The column to start from: it has no parents.")]
MethodIn = Annotated[str, typer.Option(help="bayesnet or independent.")]
Smoothing = Annotated[float | None, typer.Option(help="Weight of fewer parents, in records; 0 turns it off.")]
Generations = Annotated[int, typer.Option(help="Generations of the genetic search.")]


def synthesiser(
    *,
    method: str,
    parents: int,
    search: str,
    score: str | None,
    label: str | None,
    sensitive: str | None,
    protect: str,
    keep: str | None,
    require: list[str] | None,
    forbid: list[str] | None,
    root: str | None,
    smoothing: float | None,
    generations: int,
) -> BayesNet | Independent:
    """Return the settings that the options amount to; raise where they contradict each other."""
    from .._base.errors import InputError, unknown_name
    from ..synth import BayesNet, Evolution, Independent
    from ..synth.bayesnet.settings import SMOOTHING
    from .journey import names_of

    if method == "independent":
        if sensitive or keep or require or forbid or root:
            raise InputError(
                "--method independent has no edges: leave out --sensitive, --keep, --require, --forbid and --root."
            )
        return Independent()
    if method != "bayesnet":
        raise unknown_name("method", method, ("bayesnet", "independent"))
    if search not in ("ordering", "greedy", "genetic"):
        raise unknown_name("search", search, ("ordering", "greedy", "genetic"))
    return BayesNet(
        parents=parents,
        search=search,  # type: ignore[arg-type]
        score=score,  # type: ignore[arg-type]
        label=label,
        sensitive=names_of(sensitive),
        protect=protect,  # type: ignore[arg-type]
        keep=names_of(keep),
        require=tuple(_edge(word, "--require") for word in require or ()),
        forbid=tuple(_edge(word, "--forbid") for word in forbid or ()),
        root=root,
        evolution=Evolution(generations=generations),
        smoothing=SMOOTHING if smoothing is None else smoothing,
    )


def _edge(word: str, option: str) -> tuple[str, str]:
    from .._base.errors import InputError

    parent, colon, child = word.partition(":")
    if not (parent and colon and child):
        raise InputError(f"{option} takes PARENT:CHILD. Got '{word}'.")
    return parent, child
