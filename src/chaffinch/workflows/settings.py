"""What is made, and where rows are while they are worked on: settings that workflows and commands share. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.options import FILES, LEARN, PRIVACY, RUN, Declared, Option
from ..risk.settings import RiskSettings
from ..synth.options import MethodOptions
from ..table.settings import Reading, Roles
from ..utility.settings import UtilitySettings

if TYPE_CHECKING:
    from ..risk.policy import RiskPolicy
    from ..synth import Settings
    from ..table.schema import Schema

EngineName = Literal["auto", "memory", "stream", "spark"]


@dataclass(frozen=True, kw_only=True)
class Execution(Declared):
    """Where rows are while they are worked on.

    "memory": all rows are held. "stream": the file is read batch by batch in bounded memory, and counted from a cache of codes that is removed at the
    end; models and rows drawn are the same. "auto": the first where rows are few and fit. "spark": a cluster has the table, by its address or path.
    """

    engine: Annotated[
        EngineName,
        Option(
            "Rows in memory, or stream: batch by batch; auto: memory below 1,000,000 rows that fit; spark: on a cluster.",
            panel=RUN,
            leaves=False,
        ),
    ] = "auto"
    cache: Annotated[
        str | None,
        Option(
            "Folder or address, seen by all workers, for codes while --engine spark runs; removed at the end.",
            panel=RUN,
            metavar="PATH",
            leaves=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class MethodSettings(Declared):
    """What is learnt, and from what. With an epsilon the fit promises privacy: that needs a schema that declares the domain, or `discover`.

    Where people have several rows sequences are learnt (`Panel`); a promise counts persons instead, and draws rows one by one.
    """

    method: Annotated[
        str | Settings,
        Option(
            "{methods}. Settings without an option of their own follow the name, as NAME:SETTING=VALUE.",
            basic=True,
            panel=LEARN,
        ),
    ] = "bayesnet"
    options: MethodOptions = field(default_factory=MethodOptions)
    roles: Roles = field(default_factory=Roles)
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        super().__post_init__()
        roles = self.roles
        if self.private and roles.order is not None:
            raise InputError(
                "A promise covers rows that are drawn one by one, in no order: leave out --order-by, or --epsilon."
            )
        if self.private and roles.weight is not None:
            raise InputError(
                "A promise covers records, each counted once: leave out --weight, and the weights are a column like others."
            )
        if roles.person is None and roles.order is not None:
            raise InputError("--order-by needs --person-id: the column that says whose row it is.")
        if roles.person is None and self.options.guarantee.rows_per_person != 1:
            raise InputError(
                "--rows-per-person needs --person-id: the column that says whose row it is."
            )

    @property
    def private(self) -> bool:
        """Whether a promise of privacy is asked for."""
        if isinstance(self.method, str):
            return self.options.guarantee.epsilon is not None
        return bool(getattr(self.method, "private", False))

    @cached_property
    def synthesiser(self) -> Settings:
        """The method with what it was asked for."""
        from ..synth.settings import method_of

        options = self.options.given()
        options.pop("discover", None)
        return method_of(self.method, options)

    def check_protected(self) -> None:
        """Raise if columns were named sensitive that the method does not protect."""
        if self.options.network.sensitive and not getattr(self.synthesiser, "sensitive", ()):
            raise InputError(
                "This method cuts no column off: leave out --sensitive, or use --method bayesnet."
            )


@dataclass(frozen=True, kw_only=True)
class FitSettings(MethodSettings):
    """What is learnt, what pays for it, and where rows are. `entry`: the name of what is made, in a project ledger."""

    ledger: Annotated[
        Path | None,
        Option(
            "Project ledger that adds up releases of this data, and may refuse this one.",
            panel=PRIVACY,
            leaves=False,
        ),
    ] = None
    execution: Execution = field(default_factory=Execution)
    entry: str = "release"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ledger is not None and not self.private:
            raise InputError("A ledger adds up privacy budgets: give epsilon too.")


@dataclass(frozen=True, kw_only=True)
class SynthesisSettings(FitSettings):
    """What is learnt and drawn, what pays for it, and where rows are."""

    rows: Annotated[
        int | None,
        Option(
            "Rows to draw, as 50000 or 1e9. Default: as many as the input has.",
            basic=True,
            panel=LEARN,
            unit="rows",
            ge=0,
        ),
    ] = None
    copies: Annotated[
        int, Option("Syntheses to write; -1, -2 ... stand before the ending.", panel=LEARN, ge=1)
    ] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.options.network.keep and self.rows is not None:
            raise InputError(
                "keep completes the rows of the original: rows cannot be given with it."
            )

    def record(self, synthesiser: Settings) -> dict[str, Any]:
        """Return what the synthesiser was told and how the original was read, as a report keeps it to be compared with others."""
        record = {
            "keep": list(self.options.network.keep),
            "person": self.roles.person,
            "order": self.roles.order,
            "weight": self.roles.weight,
            "rows": self.rows,
            "rare": self.reading.rare,
            "threshold": self.reading.threshold,
            "personal": dict(self.reading.personal),
        }
        given = {name: value for name, value in record.items() if value}
        return {**synthesiser.plain_params(), **given}


@dataclass(frozen=True, kw_only=True)
class ReleaseAttack(RiskSettings):
    """What is attacked of a release: without keys or without sensitive columns the memorisation tests alone. `columns_named`: keys that nothing is attacked with."""

    columns_named: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Declared.__post_init__(self)  # before what is not attacked is left out
        if not (self.keys and self.sensitive):
            alone = {"keys": (), "sensitive": (), "key_sizes": None, "label": None}
            others = {"attackers": None, "thorough": False, "columns_named": self.keys}
            for name, value in {**alone, **others}.items():
                object.__setattr__(self, name, value)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class ReleaseSettings(Declared):
    """What is made, measured and attacked."""

    synthesis: SynthesisSettings = field(default_factory=SynthesisSettings)
    utility: UtilitySettings = field(default_factory=UtilitySettings)
    attack: ReleaseAttack = field(default_factory=ReleaseAttack)
    title: Annotated[str | None, Option("Title of the report.", panel=FILES)] = None
    note: Annotated[str | None, Option("Note to keep in the record.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        limits = self.attack.limits
        is_limited = limits.max_excess is not None or limits.policy is not None
        if is_limited and not self.attack.keys:
            raise InputError("max_excess needs an attack: name keys and sensitive columns.")
        if self.attack.holdout_share is not None and self.synthesis.private:
            raise InputError(
                "holdout_share is not offered with a promise of privacy, which is about all of the input. Split the file, and name the parts: the input and a holdout."
            )
        if self.attack.threshold != self.utility.threshold:
            raise InputError(
                f"A release has one threshold. Got {self.utility.threshold} for utility, {self.attack.threshold} for attacks."
            )

    def policy(self, *, holdout: bool) -> RiskPolicy:
        """Return what is allowed; raise where that cannot be judged. `holdout`: whether there is one."""
        from ..risk.policy import RiskPolicy

        policy = RiskPolicy.read(self.attack.limits, holdout=True)
        policy.check(holdout=holdout or self.attack.holdout_share is not None)
        return policy

    def check(self, schema: Schema) -> None:
        """Raise, before any work is done, if tables of a schema could not be measured and attacked so."""
        from ..table.formula import formula_of

        sensitive = self.attack.sensitive or self.synthesis.options.network.sensitive
        schema.with_roles(label=self.utility.label, keys=self.attack.keys, sensitive=sensitive)
        if self.utility.formula is not None:
            formula_of(self.utility.formula, schema)
        self.attack.check(schema)
        for name in self.attack.columns_named:
            check_name("key", name, schema.names)
