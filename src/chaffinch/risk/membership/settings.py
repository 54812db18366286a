"""How attackers learn from shadows: settings that are declared. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from ..._base.options import MEASURE, Declared, Option, own_settings
from ..shadows.settings import AttackTargets, Grid, ShadowRun, TargetShare


def learner_names() -> Sequence[str]:
    """Return the names of attackers that learn from shadows."""
    from .attacker import learners

    return tuple(learners())


@dataclass(frozen=True, kw_only=True)
class ShadowSettings(Declared):
    """Whom to attack, and how attackers learn to tell whether somebody is in the data.

    Parameters
    ----------
    shadows
        Pairs of shadows to learn each target from: half of them with the target in it. In the design `shared` all targets learn from the
        same 2 x `shadows` fits; in `neighbours` each from 2 x `shadows` of its own.
    test_shadows
        Pairs to test on: fits that nothing was learnt from.
    tables_per_shadow
        Synthetic tables drawn from each fit to learn from; tests see one, as a release is one.
    target_share
        Design `shared`: each target is in half of the shadows, or in its "natural" share of them, |X| / |D|.
    access
        "blackbox": from synthetic tables. "whitebox": from the fitted model.
    grid
        "release": a shadow runs all that a release runs: its records are read anew, so that levels, bins and what is drawn inside bins are its own,
        and attackers see released values beside their codes. "population": all shadows have the population's levels and bins and attackers
        see codes alone, as in the literature; the white box compares models cell by cell and always has it.
    features
        What is seen of a table: counts of rows that match the target on every set of columns (`queries`, the paper's), `naive` summaries and
        one-way counts (`histogram`) that do not look at the target, or the `closest` row alone.
    learner
        Who tells members from others: an attacker of the kind "membership" that learns.
    """

    whom: AttackTargets = field(default_factory=AttackTargets)
    shadows: Annotated[
        int, Option("Pairs of shadows to learn each target from.", panel=MEASURE, ge=10)
    ] = 1000
    test_shadows: Annotated[int, Option("Pairs of shadows to test on.", panel=MEASURE, ge=10)] = 500
    tables_per_shadow: Annotated[
        int, Option("Synthetic tables drawn from each shadow to learn from.", ge=1)
    ] = 4
    design: Annotated[
        Literal["shared", "neighbours"],
        Option(
            "shared: all targets learn from the same shadows; neighbours: pairs apart in one record.",
            panel=MEASURE,
        ),
    ] = "shared"
    target_share: Annotated[
        TargetShare,
        Option("Shared shadows that a target is in: half, or its natural share of them."),
    ] = "half"
    access: Annotated[
        Literal["blackbox", "whitebox"],
        Option("blackbox (from synthetic tables) or whitebox (from the model).", panel=MEASURE),
    ] = "blackbox"
    grid: Annotated[
        Grid,
        Option("release (levels, bins and values of each shadow) or population (its grid)."),
    ] = "release"
    features: Annotated[
        Literal["queries", "naive", "histogram", "closest"],
        Option("What is seen of a table: queries, naive, histogram or closest.", panel=MEASURE),
    ] = "queries"
    learner: Annotated[
        str, Option("Who learns: {learners}.", panel=MEASURE, known=learner_names)
    ] = "combined"
    run: ShadowRun = field(default_factory=ShadowRun)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.access == "whitebox":
            object.__setattr__(self, "grid", "population")

    def to_dict(self) -> dict[str, Any]:
        """Return how attackers learn as plain data: not whom they attack, nor how shadows are run."""
        return {name: getattr(self, name) for name in own_settings(type(self))}


@dataclass(frozen=True, kw_only=True)
class SinglingOutSettings(ShadowSettings):
    """What an attack by predicate singling out takes: how attackers learn, how they choose, and how many releases are attacked.

    Parameters
    ----------
    releases
        Fresh subsets X to attack, one synthetic table of each.
    combine
        How a target is chosen: the highest score (`argmax`), scores weighted by how well each attacker did on shadows it did not learn from
        (`weighted`), or the highest among the better half of attackers (`strong`).
    """

    releases: Annotated[int, Option("Fresh releases to attack.", panel=MEASURE, ge=1)] = 1000
    combine: Annotated[
        Literal["argmax", "weighted", "strong"],
        Option(
            "Which target is named: argmax (the surest), weighted by skill, or the surest of strong ones.",
            panel=MEASURE,
        ),
    ] = "argmax"
