"""What to attack, with what, how to count and what is allowed: the settings of a study of disclosure. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from .._base.errors import InputError, UnknownNameError, join_names, unknown_name
from .._base.masking import THRESHOLD
from .._base.options import MEASURE, Declared, Option
from .._base.text import number
from ..stats.settings import SAMPLE_ROWS, SampleRows, SvmRows, Thorough
from ..table.settings import KeyColumns, LabelColumn, Numeric, Rare, SensitiveColumns, Threshold
from .attacker import AttackPlan, Need, plan_attackers

if TYPE_CHECKING:
    from numpy.random import SeedSequence

    from ..table.schema import Schema
    from .attribution.attempt import AttackSpec

Parts = tuple[tuple[str, ...], tuple[str, ...]]
"""Two sets of columns that have none in common."""

Convention = Literal["matched_rows", "all_rows", "certain", "matched", "conditional"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
"""How TCAP counts: see `attribution.tcap`."""

FORMER = {"p1": "matched_rows", "p1_zero": "all_rows"}

HoldoutShare = Annotated[
    float | None,
    Option(
        "Share of the people to set aside as a holdout, by --seed. Default: none.",
        panel=MEASURE,
        gt=0,
        le=0.5,
    ),
]


def check_convention(name: str) -> None:
    """Raise unless a convention has this name; a former name is refused with the present one."""
    if name in FORMER:
        raise UnknownNameError(
            f"The convention '{name}' is called '{FORMER[name]}' now. Name it so."
        )
    if name not in CONVENTIONS:
        raise unknown_name("convention", name, CONVENTIONS)


def parts_in(text: str) -> Parts:
    """Return two sets of columns from words.

    Examples
    --------
    >>> parts_in("age,sex:income")
    (('age', 'sex'), ('income',))
    """
    parts = [
        tuple(name.strip() for name in section.split(",") if name.strip())
        for section in text.split(":")
    ]
    if len(parts) != 2 or not all(parts):
        raise InputError(
            f"parts must be two sets of columns with a colon between, as age,sex:income,job. Got '{text}'."
        )
    return parts[0], parts[1]


AttackerNames = Annotated[
    Sequence[str] | None,
    Option(
        "Attackers to run, as A,B: any of {attackers}. Default: matching, memorisation, nb, knn; svm, rf and lr too with --thorough.",
        panel=MEASURE,
    ),
]
Resamples = Annotated[
    int, Option("Draws of people for intervals and p-values.", panel=MEASURE, ge=1)
]
MaxExcess = Annotated[
    float | None,
    Option(
        "Largest excess allowed of people in the table over others, as 0.05. Default: no limit.",
        basic=True,
        panel=MEASURE,
        ge=0,
        le=1,
    ),
]
RequireShown = Annotated[
    bool,
    Option("Count a limit that is not shown to be kept as exceeded: end with 1.", panel=MEASURE),
]


@dataclass(frozen=True, kw_only=True)
class LimitSettings(Declared):
    """What a table may give away: see `RiskPolicy`."""

    max_excess: MaxExcess = None
    require_shown: RequireShown = False
    policy: Annotated[
        Path | None,
        Option(
            "TOML file of limits: max_excess, and where wanted require_shown.",
            panel=MEASURE,
            leaves=False,
        ),
    ] = None


@dataclass(frozen=True)
class Limits(Declared):
    """The excess and the membership AUC that are allowed; None where nothing is said."""

    max_excess: MaxExcess = None
    max_auc: Annotated[
        float | None,
        Option(
            "Limit on the AUC of a membership attack, 0.5 a guess; it takes many fits.",
            panel=MEASURE,
            ge=0.5,
            le=1,
        ),
    ] = None

    def __bool__(self) -> bool:
        return self.max_excess is not None or self.max_auc is not None

    @property
    def description(self) -> str:
        """The limits in words."""
        limits = []
        if self.max_excess is not None:
            limits.append(f"an excess of at most {number(self.max_excess)}")
        if self.max_auc is not None:
            limits.append(f"a membership AUC of at most {number(self.max_auc)}")
        return " and ".join(limits) or "no limit"


@dataclass(frozen=True, kw_only=True)
class RiskSettings(Declared):
    """What an adversary knows and wants, and which attacks are tried.

    A sensitive column may stand among the keys; it is left out of them where it is attacked itself. Without keys and sensitive columns nothing is
    attacked, and the memorisation tests alone are run. `parts` are for linkability. The default convention of TCAP is that of Elliot, Little and
    Allmendinger's appendix A, since their figures are what others will compare with: the mean over synthetic records that answer for certain, those that
    match nobody left out. Values are compared as whoever holds the file can compare them, numbers as they are and rare levels by name, whatever bins and
    pools the synthesiser had, see `AttackData`. CAP, DCAP, DiSCO and TCAP are of all records, whatever `sample_rows` is.
    """

    keys: KeyColumns = ()
    sensitive: SensitiveColumns = ()
    key_sizes: Annotated[
        tuple[int, int] | None,
        Option(
            "Sizes of key subsets to try, as 3-6 or 4. Default: all keys together.", panel=MEASURE
        ),
    ] = None
    label: LabelColumn = None
    attackers: AttackerNames = None
    parts: Annotated[
        Parts | None,
        Option(
            "Two sets of columns to link, as A,B:C,D. Default: the keys and all other columns.",
            panel=MEASURE,
            metavar="A,B:C,D",
            read=parts_in,
            write=lambda parts: ":".join(map(",".join, parts)),
        ),
    ] = None
    tcap_convention: Annotated[
        Convention, Option("How TCAP counts: {conventions}; printed with the result.")
    ] = "matched_rows"
    tau: Annotated[
        float,
        Option("TCAP: share of rows with a key that agree, from which it answers.", gt=0, le=1),
    ] = 1.0
    numeric: Annotated[
        Numeric,
        Option("Numbers are equal if they are (values), or by bins of the schema (bins)."),
    ] = "values"
    rare: Rare = "keep"
    tolerance: Annotated[
        Mapping[str, float],
        Option(
            "COLUMN=WIDTH: its numbers are rounded to multiples of the width, then equal or not; may be given again.",
            metavar="COLUMN=WIDTH",
        ),
    ] = field(default_factory=dict)
    resamples: Resamples = 1000
    svm_rows: SvmRows = 5000
    holdout_share: HoldoutShare = None
    limits: LimitSettings = field(default_factory=LimitSettings)
    threshold: Threshold = THRESHOLD
    thorough: Thorough = False
    sample_rows: SampleRows = SAMPLE_ROWS

    def __post_init__(self) -> None:
        check_convention(self.tcap_convention)
        super().__post_init__()
        attacks = bool(self.keys or self.sensitive)
        for what, names in (("key", self.keys), ("sensitive column", self.sensitive)):
            if attacks and not names:
                raise InputError(f"Name at least one {what}, as a list of columns. Got {names!r}.")
            if len(set(names)) != len(names):
                raise InputError(f"Each {what} is named once. Got {join_names(names)}.")
        if self.attackers is not None and not self.plan(n_releases=2).attackers:
            raise InputError(
                "No attacker is left to run: name keys and sensitive columns, or attackers that need none, as memorisation."
            )
        if self.parts is not None:
            _check_parts(self.parts)
        if self.key_sizes is not None:
            from .attribution.classes import count_subsets

            count_subsets(len(self.keys), self.key_sizes)

    @property
    def columns(self) -> list[str]:
        """Every column that the attacks need."""
        return list(
            dict.fromkeys([*self.keys, *self.sensitive, *([self.label] if self.label else [])])
        )

    def plan(
        self, *, n_key_sets: int = 1, n_releases: int = 1, has_holdout: bool = True
    ) -> AttackPlan:
        """Return who attacks, and of the others why they do not."""
        is_there: dict[Need, bool] = {
            "keys": bool(self.keys),
            "sensitive": bool(self.sensitive),
            "parts": self.parts is not None,
            "holdout": has_holdout,
            "releases": n_releases > 1,
        }
        available = [need for need, is_there in is_there.items() if is_there]
        return plan_attackers(
            available, self.attackers, n_key_sets=n_key_sets, thorough=self.thorough
        )

    def memorisation_tests(
        self, *, n_releases: int = 1, has_holdout: bool = True
    ) -> tuple[str, ...]:
        """Return the memorisation tests of released tables, those that are about several releases last."""
        plan = self.plan(n_releases=n_releases, has_holdout=has_holdout)
        tests = [a for a in plan.attackers if a.kind == "memorisation"]
        return tuple(a.name for a in sorted(tests, key=lambda a: "releases" in (a.needs or ())))

    def check(self, schema: Schema) -> None:
        """Raise unless the schema has the columns."""
        for what, names in (
            ("key", self.keys),
            ("sensitive column", self.sensitive),
            ("label", [self.label]),
            ("column of a part", sum(map(tuple, self.parts or ()), ())),
        ):
            for name in names:
                if name is not None and name not in schema.names:
                    raise unknown_name(what, name, schema.names)

    def questions(self, seed: SeedSequence, *, has_holdout: bool = True) -> list[AttackSpec]:
        """Return each set of keys with each sensitive column it is to attack; a column is never its own key.

        Where there are very many sets, `key_subsets` draws some of them by the seed.
        """
        from .attribution.attempt import AttackSpec
        from .attribution.classes import key_subsets

        if not self.keys:
            return []
        chosen = [tuple(self.keys)]
        if self.key_sizes is not None:
            chosen = key_subsets(self.keys, self.key_sizes, seed=seed)
        pairs = [
            (tuple(k for k in subset if k != wanted), wanted)
            for wanted in self.sensitive
            for subset in chosen
        ]
        attacked = [pair for pair in dict.fromkeys(pairs) if pair[0]]
        if not attacked:
            raise InputError(
                "Nothing is left to attack with: the only key is the sensitive column itself. Name other keys."
            )
        plan = self.plan(n_key_sets=len(attacked), has_holdout=has_holdout)
        names = tuple(attacker.name for attacker in plan.attackers if attacker.on_column)
        return [
            AttackSpec(keys, sensitive, names, self.tcap_convention, self.tau, self.svm_rows)
            for keys, sensitive in attacked
            if names
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return {
            "attackers": [attacker.name for attacker in self.plan().attackers],
            **({} if self.parts is None else {"parts": [list(columns) for columns in self.parts]}),
            "convention": self.tcap_convention,
            "tau": self.tau,
            "numeric": self.numeric,
            "rare": self.rare,
            "tolerance": dict(self.tolerance),
            "resamples": self.resamples,
            "svm_rows": self.svm_rows,
            **({} if self.threshold == THRESHOLD else {"threshold": self.threshold}),
            **({"thorough": True} if self.thorough else {}),
        }


def _check_parts(parts: Parts) -> None:
    if len(parts) != 2 or not all(parts):
        raise InputError(
            f"parts must be two lists of columns, as (['age', 'sex'], ['income']). Got {parts!r}."
        )
    both = [name for name in parts[0] if name in parts[1]]
    if both:
        raise InputError(f"parts must have no column in common. In both: {join_names(both)}.")
