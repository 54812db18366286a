"""What an attack by shadow modelling is made of: frozen, comparable, printable."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..._base.checks import check_at_least, check_name
from ..shadows.generator import Grid
from .attacker import learners

CHOICES: dict[str, tuple[str, ...]] = {
    "design": ("shared", "neighbours"),
    "share": ("half", "natural"),
    "box": ("blackbox", "whitebox"),
    "grid": ("release", "population"),
    "features": ("queries", "naive", "histogram", "closest"),
    "combine": ("argmax", "weighted", "strong"),
}


def choices() -> dict[str, tuple[str, ...]]:
    """Return what each setting may be that is a word; learners are those that are registered."""
    return {**CHOICES, "learner": tuple(learners())}


@dataclass(frozen=True, kw_only=True)
class ShadowSettings:
    """How attackers learn to tell whether somebody is in the data.

    Parameters
    ----------
    shadows
        Pairs of shadows to learn each target from: half of them with the target in it. In the design `shared` all targets learn from the
        same 2 x `shadows` fits; in `neighbours` each from 2 x `shadows` of its own.
    tests
        Pairs to test on: fits that nothing was learnt from.
    tables
        Synthetic tables drawn from each fit to learn from; tests see one, as a release is one.
    share
        Design `shared`: each target is in half of the shadows, or in its "natural" share of them, |X| / |D|.
    box
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
    combine
        How singling out chooses among targets: the highest score (`argmax`), scores weighted by how well each attacker did on
        shadows it did not learn from (`weighted`), or the highest among the better half of attackers (`strong`).
    """

    shadows: int = 1000
    tests: int = 500
    tables: int = 4
    design: Literal["shared", "neighbours"] = "shared"
    share: Literal["half", "natural"] = "half"
    box: Literal["blackbox", "whitebox"] = "blackbox"
    grid: Grid = "release"
    features: Literal["queries", "naive", "histogram", "closest"] = "queries"
    learner: str = "combined"
    combine: Literal["argmax", "weighted", "strong"] = "argmax"

    def __post_init__(self) -> None:
        for name, known in choices().items():
            check_name(name, getattr(self, name), known)
        if self.box == "whitebox":
            object.__setattr__(self, "grid", "population")
        for name, minimum in (("shadows", 10), ("tests", 10), ("tables", 1)):
            check_at_least(name, getattr(self, name), minimum)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)
