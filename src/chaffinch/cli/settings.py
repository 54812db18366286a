"""The options that say what to learn, and the synthesiser they amount to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..synth import BayesNet, FieldGroups, Independent, PrivBayes

__all__ = ["Choice", "with_settings"]

ParentsIn = Annotated[int, typer.Option(help="The most parents of a column.")]
SearchIn = Annotated[str, typer.Option(help="ordering, greedy or genetic; with --epsilon ordering or genetic.")]
ScoreIn = Annotated[str | None, typer.Option(help="penalised, pairwise or joint; each search has its own default.")]
LabelIn = Annotated[str | None, typer.Option(help="What a learner is to predict: the one link sensitive columns keep.")]
SensitiveIn = Annotated[str | None, typer.Option(help="Columns to protect, as A,B.")]
ProtectIn = Annotated[str, typer.Option(help="separate (sensitive columns depend on the label alone) or together.")]
Keep = Annotated[str | None, typer.Option(help="Columns to keep as they are, as A,B; the others are drawn given them.")]
Require = Annotated[list[str] | None, typer.Option(help="An edge PARENT:CHILD that must be; may be given again.")]
Forbid = Annotated[list[str] | None, typer.Option(help="An edge PARENT:CHILD that must not be; may be given again.")]
RootIn = Annotated[str | None, typer.Option(help="The column to start from: it has no parents.")]
MethodIn = Annotated[
    str,
    typer.Option(
        help="bayesnet, independent; with --epsilon also privbayes[:datasynthesizer|:dpart|:sdg] and fieldgroups."
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(help="Promise differential privacy with this budget; needs a schema that declares the domain."),
]
Delta = Annotated[float | None, typer.Option(help="The chance that the promise may fail with; it has no default.")]
NeighboursIn = Annotated[
    str | None,
    typer.Option(help="add-remove or replace-one: what one person changes. Each method has its own default."),
]
PersonId = Annotated[str | None, typer.Option(help="Column that says whose row it is, where people have several.")]
GroupsIn = Annotated[
    str | None,
    typer.Option(help="With fieldgroups: columns that share a table, as A,B;C,D. Learnt, and paid for, unless given."),
]
RowsPerPerson = Annotated[int, typer.Option(help="The most rows kept of one person.")]
Smoothing = Annotated[float | None, typer.Option(help="Weight of fewer parents, in records; 0 turns it off.")]
Generations = Annotated[int, typer.Option(help="Generations of the genetic search.")]


@dataclass(frozen=True)
class Choice:
    """What the options amount to: the synthesiser, the label that learners predict, and the columns kept as they are."""

    settings: BayesNet | Independent | PrivBayes | FieldGroups
    label: str | None
    keep: tuple[str, ...]
    person: str | None = None
    sensitive: tuple[str, ...] = ()

    @property
    def private(self) -> bool:
        """Whether a promise of privacy is asked for."""
        from ..synth.protocol import promises_privacy

        return promises_privacy(self.settings)

    def check_protected(self) -> None:
        """Raise if columns were named sensitive that the method does not protect."""
        from .._base.errors import InputError

        if self.sensitive and not getattr(self.settings, "sensitive", ()):
            raise InputError("This method cuts no column off: leave out --sensitive, or use --method bayesnet.")

    @property
    def rows_per_person(self) -> int:
        """The most rows kept of one person."""
        return int(getattr(self.settings, "rows_per_person", 1))


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of `choose` in place of its parameter `choice`, and their outcome given to it."""
    options = inspect.signature(choose, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True)
    merged: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        if parameter.name == "choice":
            merged += options.values()
        else:
            merged.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        chosen = choose(**{name: given.pop(name) for name in options})
        command(choice=chosen, **given)

    with_options.__signature__ = own.replace(parameters=merged)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in merged}
    del with_options.__wrapped__
    return with_options


def choose(
    *,
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
    epsilon: Epsilon = None,
    delta: Delta = None,
    neighbours: NeighboursIn = None,
    person_id: PersonId = None,
    rows_per_person: RowsPerPerson = 1,
    groups: GroupsIn = None,
) -> Choice:
    """Return what the options amount to; raise where they contradict each other."""
    from .._base.errors import InputError, unknown_name
    from ..synth import BayesNet, Evolution, Independent
    from ..synth.bayesnet.settings import SMOOTHING
    from .journey import names_of

    kept = names_of(keep)
    if epsilon is None and (delta is not None or neighbours or person_id or rows_per_person != 1):
        raise InputError("--delta, --neighbours, --person-id and --rows-per-person go with --epsilon: give it too.")
    if person_id is None and rows_per_person != 1:
        raise InputError("--rows-per-person needs --person-id: the column that says whose row it is.")
    promise: dict[str, Any] = (
        {} if epsilon is None else {"epsilon": epsilon, "delta": delta, "rows_per_person": rows_per_person}
    )
    if neighbours is not None:
        promise["neighbours"] = neighbours
    if groups is not None and method != "fieldgroups":
        raise InputError("--groups is for --method fieldgroups.")
    if method.partition(":")[0] in ("privbayes", "fieldgroups"):
        if kept or require or forbid or root:
            raise InputError(
                f"--method {method} chooses its own network: leave out --keep, --require, --forbid and --root."
            )
        private = _fieldgroups(groups, promise) if method == "fieldgroups" else _privbayes(method, score, promise)
        return Choice(private, label, (), person_id, names_of(sensitive))
    if method == "independent":
        if sensitive or kept or require or forbid or root:
            raise InputError(
                "--method independent has no edges: leave out --sensitive, --keep, --require, --forbid and --root."
            )
        if epsilon is not None:
            raise InputError("--method independent makes no promise: leave out --epsilon, or use --method bayesnet.")
        return Choice(Independent(), label, ())
    if method != "bayesnet":
        raise unknown_name("method", method, ("bayesnet", "independent", "privbayes", "fieldgroups"))
    if search not in ("ordering", "greedy", "genetic"):
        raise unknown_name("search", search, ("ordering", "greedy", "genetic"))
    settings = BayesNet(
        parents=parents,
        search=search,  # type: ignore[arg-type]
        score=score,  # type: ignore[arg-type]
        label=label,
        sensitive=names_of(sensitive),
        protect=protect,  # type: ignore[arg-type]
        keep=kept,
        require=tuple(_edge(word, "--require") for word in require or ()),
        forbid=tuple(_edge(word, "--forbid") for word in forbid or ()),
        root=root,
        evolution=Evolution(generations=generations),
        smoothing=SMOOTHING if smoothing is None else smoothing,
        **promise,
    )
    return Choice(settings, label, kept, person_id, names_of(sensitive))


def _privbayes(method: str, score: str | None, promise: dict[str, Any]) -> PrivBayes:
    from .._base.errors import InputError
    from ..synth import PrivBayes

    if "epsilon" not in promise:
        raise InputError("--method privbayes is a private method: give --epsilon, or use --method bayesnet.")
    variant = method.partition(":")[2] or "published"
    return PrivBayes(variant=variant, score=score, **promise)  # type: ignore[arg-type]


def _fieldgroups(groups: str | None, promise: dict[str, Any]) -> FieldGroups:
    from .._base.errors import InputError
    from ..synth import FieldGroups
    from ..synth.fieldgroups.groups import parse_groups

    if "epsilon" not in promise:
        raise InputError("--method fieldgroups is a private method: give --epsilon, or use --method bayesnet.")
    return FieldGroups(groups=parse_groups(groups) if groups else None, **promise)


def _edge(word: str, option: str) -> tuple[str, str]:
    from .._base.errors import InputError

    parent, colon, child = word.partition(":")
    if not (parent and colon and child):
        raise InputError(f"{option} takes PARENT:CHILD. Got '{word}'.")
    return parent, child
