"""Leave out what stands beside the main numbers: n, totals, margins; and the smallest and largest value of a summary."""

from __future__ import annotations

from collections.abc import Iterator

from ..kinds.base import OutputSpec
from .base import MITIGATIONS, MitigatedForm, Mitigation, RuleTrial, Series

WORDS = {
    "n": "the number of records",
    "totals": "the totals",
    "counts": "the counts behind its numbers",
}
"""What is left out, in words, by key."""


def _beside(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    recipe = trial.recipe_of(output)
    main = [key for key in type(output).NUMBERS if key not in type(output).BESIDE]
    for key, words in WORDS.items():
        if key in type(output).BESIDE and recipe.publishes(key) and (main or key == "n"):
            yield iter([MitigatedForm(_without(recipe, key), f"without {words}")])
    if getattr(recipe, "margins", False):
        yield iter(
            [MitigatedForm(recipe.changed(margins=False), "without the totals of rows and columns")]
        )


def _without(recipe: OutputSpec, key: str) -> OutputSpec:
    announced = {name: value for name, value in recipe._announced.items() if name != key}
    return recipe.changed(drop=(key,), announced=announced)


def _ends(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    at = getattr(output, "at", None)
    inner = [q for q in at if 0 < q < 1] if isinstance(at, list) else []
    if (
        inner
        and len(inner) < len(at or [])
        and output.definition.statbarn != "NonLinearConcentrationRatios"
    ):
        yield iter(
            [
                MitigatedForm(
                    trial.recipe_of(output).changed(at=inner),
                    "without the smallest and the largest value",
                )
            ]
        )


OMIT = MITIGATIONS.register(Mitigation("leave out", "leave out n, totals or margins", _beside))
ENDS = MITIGATIONS.register(
    Mitigation("no ends", "leave out the smallest and the largest value", _ends)
)
