"""The options that say what to learn, and the synthesiser they amount to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._base.checks import check_at_least
from .._base.errors import InputError, unknown_name
from .options import names_of

if TYPE_CHECKING:
    from ..synth import Settings
    from ..table.settings import Reading
    from ..workflows.synthesise import SynthesisSettings


ParentsIn = Annotated[
    int | None,
    typer.Option(
        help="The most parents of a column. Default: 6 in trees, 3 in tables; 5 with --epsilon.",
        show_default=False,
    ),
]
SearchIn = Annotated[
    str, typer.Option(help="ordering, greedy or genetic; with --epsilon ordering or genetic.")
]
ScoreIn = Annotated[
    str | None, typer.Option(help="penalised, pairwise or joint; each search has its own default.")
]
LabelIn = Annotated[
    str | None,
    typer.Option(help="What a learner is to predict: the one link sensitive columns keep."),
]
SensitiveIn = Annotated[str | None, typer.Option(help="Columns to protect, as A,B.")]
ProtectIn = Annotated[
    str, typer.Option(help="separate (sensitive columns depend on the label alone) or together.")
]
Keep = Annotated[
    str | None,
    typer.Option(help="Columns to keep as they are, as A,B; the others are drawn given them."),
]
Require = Annotated[
    list[str] | None, typer.Option(help="An edge PARENT:CHILD that must be; may be given again.")
]
Forbid = Annotated[
    list[str] | None,
    typer.Option(help="An edge PARENT:CHILD that must not be; may be given again."),
]
RootIn = Annotated[str | None, typer.Option(help="The column to start from: it has no parents.")]
MethodIn = Annotated[
    str,
    typer.Option(
        help="{methods}. Settings without an option of their own follow the name, as NAME:SETTING=VALUE."
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        help="Promise differential privacy with this budget; needs a schema that declares the domain."
    ),
]
Delta = Annotated[
    float | None, typer.Option(help="The chance that the promise may fail with; it has no default.")
]
NeighboursIn = Annotated[
    str | None,
    typer.Option(
        help="add-remove or replace-one: what one person changes. Each method has its own default."
    ),
]
PersonId = Annotated[
    str | None, typer.Option(help="Column that says whose row it is, where people have several.")
]
WeightIn = Annotated[
    str | None,
    typer.Option(
        help="Column that says how many people a record stands for: records are counted by it."
    ),
]
OrderBy = Annotated[
    str | None,
    typer.Option(
        help="Column that orders a person's rows, such as a date or a wave; without it they are in the order of the file."
    ),
]
GroupsIn = Annotated[
    str | None,
    typer.Option(
        help="With fieldgroups: columns that share a table, as A,B;C,D. Learnt, and paid for, unless given."
    ),
]
DiscoverIn = Annotated[
    str | None,
    typer.Option(
        help="all: what the schema leaves open is found with noise, at a price that --dry-run shows; no schema is needed then."
    ),
]
RowsPerPerson = Annotated[int, typer.Option(help="The most rows kept of one person.")]
Smoothing = Annotated[
    float | None,
    typer.Option(help="Weight of fewer parents, in records. Default: 3 in trees, 1 in tables."),
]
Generations = Annotated[int, typer.Option(help="Generations of the genetic search.")]


@dataclass(frozen=True)
class Choice:
    """What the options amount to: the synthesiser, the label that learners predict, and the columns kept as they are."""

    settings: Settings
    label: str | None
    keep: tuple[str, ...]
    person: str | None = None
    order: str | None = None
    weight: str | None = None
    sensitive: tuple[str, ...] = ()
    discover: str | None = None

    @property
    def private(self) -> bool:
        """Whether a promise of privacy is asked for."""
        return self.settings.private

    def check_protected(self) -> None:
        """Raise if columns were named sensitive that the method does not protect."""
        if self.sensitive and not getattr(self.settings, "sensitive", ()):
            raise InputError(
                "This method cuts no column off: leave out --sensitive, or use --method bayesnet."
            )

    def check_counts(self, rows: int | None, copies: int) -> None:
        """Raise unless rows and copies can be drawn."""
        check_at_least("rows", rows, 0, optional=True)
        check_at_least("copies", copies, 1)
        if self.keep and rows is not None:
            raise InputError(
                "--keep completes the rows of the input: --rows cannot be given with it."
            )

    def synthesis(
        self,
        reading: Reading,
        output: Path,
        *,
        ledger: Path | None,
        rows: int | None = None,
        copies: int = 1,
        engine: str = "memory",
        cache: str | None = None,
    ) -> SynthesisSettings:
        """Return what the options of a command that learns amount to. A promise pools nothing: its levels are declared."""
        from ..workflows.settings import Execution
        from ..workflows.synthesise import SynthesisSettings

        if ledger is not None and not self.private:
            raise InputError("--ledger adds up privacy budgets: give --epsilon too.")
        return SynthesisSettings(
            synthesiser=self.settings,
            execution=Execution(engine=engine, cache=cache),  # type: ignore[arg-type]
            discover=self.discover,
            reading=replace(reading, rare="pool") if self.private else reading,
            keep=self.keep,
            person=self.person,
            order=self.order,
            weight=self.weight,
            rows=rows,
            copies=copies,
            ledger=ledger,
            entry=output.name,
        )


def choose(
    *,
    parents: ParentsIn = None,
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
    weight: WeightIn = None,
    person_id: PersonId = None,
    order_by: OrderBy = None,
    rows_per_person: RowsPerPerson = 1,
    groups: GroupsIn = None,
    discover: DiscoverIn = None,
) -> Choice:
    """Return what the options amount to; raise where they contradict each other."""
    from ..synth import SYNTHESISERS, MethodOptions
    from ..synth.fieldgroups import parse_groups

    if epsilon is None and (delta is not None or neighbours or rows_per_person != 1):
        raise InputError(
            "--delta, --neighbours and --rows-per-person go with --epsilon: give it too."
        )
    if epsilon is not None and order_by is not None:
        raise InputError(
            "A promise covers rows that are drawn one by one, in no order: leave out --order-by, or --epsilon."
        )
    if order_by is not None and person_id is None:
        raise InputError("--order-by needs --person-id: the column that says whose row it is.")
    if epsilon is None and discover is not None:
        raise InputError(
            "--discover goes with --epsilon: without a promise the schema is inferred from all rows."
        )
    if person_id is None and rows_per_person != 1:
        raise InputError(
            "--rows-per-person needs --person-id: the column that says whose row it is."
        )
    name, _, words = method.partition(":")
    kind = SYNTHESISERS[name]
    variant = "" if "=" in words else words
    if variant and "variant" not in kind.setting_names():
        raise unknown_name("method", method, SYNTHESISERS.names)
    options = MethodOptions(
        parents=parents,
        search=search,
        score=score,
        label=label,
        sensitive=names_of(sensitive),
        protect=protect,
        keep=names_of(keep),
        require=tuple(_edge(word, "--require") for word in require or ()),
        forbid=tuple(_edge(word, "--forbid") for word in forbid or ()),
        root=root,
        smoothing=smoothing,
        generations=generations,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        rows_per_person=rows_per_person,
        groups=parse_groups(groups) if groups else None,
        variant=variant,
    )
    settings = kind.from_options(options).set_params(
        **_own_settings(kind, method, words if not variant else "")
    )
    if epsilon is not None and weight is not None:
        raise InputError(
            "A promise covers records, each counted once: leave out --weight, and the weights are a column like others."
        )
    return Choice(
        settings, label, options.keep, person_id, order_by, weight, options.sensitive, discover
    )


def _own_settings(kind: type[Settings], method: str, words: str) -> dict[str, Any]:
    """Return the settings after a method's name; those that have an option of their own are given by it."""
    from ..synth import MethodOptions
    from ..synth.settings import pairs_of, settings_of

    pairs = pairs_of(words, method)
    for key, value in pairs:
        if key == "variant":
            raise InputError(
                f"A variant stands after the method's name: --method {kind.name}:{value}."
            )
        if key in MethodOptions.__dataclass_fields__:
            raise InputError(
                f"Setting '{key}' has an option of its own: give --{key.replace('_', '-')}."
            )
    return settings_of(kind, pairs, method)


def _edge(word: str, option: str) -> tuple[str, str]:
    parent, colon, child = word.partition(":")
    if not (parent and colon and child):
        raise InputError(f"{option} takes PARENT:CHILD. Got '{word}'.")
    return parent, child
