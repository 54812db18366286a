"""Round counts to a base, or print numbers with fewer decimals."""

from __future__ import annotations

from collections.abc import Iterator

from ..kinds.base import OutputSpec
from ..rules.suppression import bounds
from ..rules.tallies import Tallier
from .base import MITIGATIONS, MitigatedForm, Mitigation, RuleTrial, Series, has_key

BASES = (3, 5, 10)
"""Bases that environments use; the threshold of the policy is one more, as with it a small count cannot be told from none."""

EXACT = 4
"""The decimals that a number printed in full is first cut to."""


def _rounded(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    if (
        has_key(output, "base", "rounding")
        and output.definition.statbarn == "Frequencies"
        and getattr(output, "percentages", None) is None
    ):
        yield _bases(output, trial)


def _bases(output: OutputSpec, trial: RuleTrial) -> Series:
    recipe, least = trial.recipe_of(output), trial.policy.of(output.kind).threshold
    for base in sorted({*BASES, max(least, 2)}):
        if base > int(getattr(output, "base", 1)):
            # A count that is rounded is not withheld as well: the sign would tell that it is small.
            form = recipe.changed(
                drop=("threshold", "bands", "withheld", "suppressed_zeros"),
                base=base,
                rounding="nearest",
            )
            if not _narrowed(form, trial):
                yield MitigatedForm(form, f"counts and totals rounded to multiples of {base}")


def _narrowed(form: OutputSpec, trial: RuleTrial) -> bool:
    """Whether rounded totals and rounded cells together leave a small count no more room than the policy asks for withheld ones."""
    rules = trial.policy.of(form.kind)
    table, *others = form.tallies(Tallier(form, trial.outputs.fields, trial.codes))
    small = (table.counts > 0) & (table.counts < rules.threshold)
    if not small.any():
        return False
    limits = bounds(table, others, of=small, enough=rules.protection)
    return bool((small & (limits.hi - limits.lo < rules.protection)).any())


def _decimals(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    counted = (
        output.definition.statbarn == "Frequencies" and getattr(output, "percentages", None) is None
    )
    if not counted:
        yield _fewer_decimals(output, trial)


def _fewer_decimals(output: OutputSpec, trial: RuleTrial) -> Series:
    recipe = trial.recipe_of(output)
    printed = _most_decimals(recipe)
    for decimals in range(EXACT if printed is None else min(printed - 1, EXACT), -1, -1):
        words = f"numbers printed with {decimals} decimal{'' if decimals == 1 else 's'}"
        yield MitigatedForm(
            recipe.changed(drop=("digits",), decimals=decimals),
            words + ("" if printed is None else f" instead of {printed}"),
        )


def _most_decimals(recipe: OutputSpec) -> int | None:
    """The most decimals that numbers are printed with; None where they are printed in full."""
    styles = [
        style
        for some in (recipe.digits or {}).values()
        for style in (some.values() if isinstance(some, dict) else [some])
    ]
    places = [
        style if isinstance(style, int) else len(str(style).partition("e")[0].partition(".")[2])
        for style in styles
    ]
    return max([*places, *([] if recipe.decimals is None else [recipe.decimals])], default=None)


ROUND = MITIGATIONS.register(
    Mitigation("round", "round counts and totals to a base", _rounded, undoes=("round", "suppress"))
)
DECIMALS = MITIGATIONS.register(
    Mitigation(
        "fewer decimals", "print numbers with fewer decimals", _decimals, undoes=("fewer decimals",)
    )
)
