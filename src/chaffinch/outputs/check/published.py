"""Whether published numbers are those of the data: each output by itself, so that none stops another."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..._base.errors import InputError
from ..columns import Codes
from ..contradictions import contradictions
from ..document import Outputs
from ..refit import compared

__all__ = ["PublishedNumbers", "compare_published"]

NOT_REFITTED = "its numbers were not compared with the data, which needs an extra: pip install 'chaffinch[statsmodels]'"


@dataclass(frozen=True)
class PublishedNumbers:
    """What the data say of published numbers."""

    differing: tuple[str, ...] = ()  # The names of outputs whose numbers the data do not give
    unseen: dict[str, str] = field(default_factory=dict)  # By name, why the numbers of an output could not be compared

    def consistent(self, name: str) -> bool | None:
        """Return whether an output's numbers are those of the data; None where they could not be compared."""
        return None if name in self.unseen else name not in self.differing


def compare_published(recipes: Outputs, codes: Codes) -> PublishedNumbers:
    """Return of which outputs the published numbers are not those of the data, each by its own records, and of which that cannot be said."""
    differing: list[str] = []
    unseen: dict[str, str] = {}
    for name in (recipe.name for recipe in recipes.outputs if recipe.published is not None):
        try:
            records = recipes[name].own_records(recipes.fields, codes)
            spec = recipes.only([name]).published(rows=len(records))
            (one,) = compared(spec, records)
            if one.within is False or (one.within is None and contradictions(spec, len(records))):
                differing.append(name)
            elif one.within is None:
                unseen[name] = NOT_REFITTED
        except InputError as error:
            unseen[name] = str(error)
    return PublishedNumbers(tuple(differing), unseen)
