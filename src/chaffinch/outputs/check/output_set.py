"""The outputs of a check over the columns that they are about, those released already first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..._base.errors import InputError, listed, unknown_name
from ..document import Outputs, named_columns
from ..fields import Fields
from .settings import CheckSettings

__all__ = ["OutputSet"]


@dataclass(frozen=True)
class OutputSet:
    """All outputs over the columns that they are about, those released already first; by name, the columns of each."""

    recipes: Outputs
    columns: Mapping[str, tuple[str, ...]]
    old: tuple[str, ...]

    @classmethod
    def of(cls, recipes: Outputs, released: Outputs | None, settings: CheckSettings, threshold: int) -> OutputSet:
        """Return both sets of outputs over those columns that some output is about; InputError where an attack asks for others."""
        together = recipes if released is None else released.including(recipes)
        columns = {recipe.name: named_columns([recipe.to_dict()], together.fields.names) for recipe in together.outputs}
        attack = () if settings.rules_only else (*settings.keys, *settings.sensitive)
        if not settings.rules_only:
            _check_attack(together.fields.names, columns, settings)
            if settings.leave_one_out == "always" and len(together) < 2:
                raise InputError(
                    "There is nothing to leave one out of: there is one output. Leave it out, or check more of them together."
                )
        seen = {*attack, *(name for some in columns.values() for name in some)}
        fields = Fields(tuple(one for one in together.fields if one.name in seen)).with_threshold(threshold)
        return cls(replace(together, fields=fields), columns, () if released is None else released.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all."""
        return self.recipes.names

    @property
    def new(self) -> tuple[str, ...]:
        """The names of those that want to leave."""
        return tuple(name for name in self.names if name not in self.old)

    def but(self, names: Collection[str]) -> OutputSet:
        """Return the same without outputs of these names."""
        left = [name for name in self.names if name not in names]
        return self if len(left) == len(self.names) else replace(self, recipes=self.recipes.only(left))

    def searched(self, names: Sequence[str], *, but: Collection[str] = ()) -> tuple[str, ...]:
        """Return those of some outputs, `but` for these, that datasets are evolved from: of the others only the rules are checked."""
        return tuple(name for name in names if name not in but and name not in self.recipes.rules_only)


def _check_attack(names: Sequence[str], columns: Mapping[str, Sequence[str]], settings: CheckSettings) -> None:
    """Raise InputError where keys or sensitive attributes are no columns, or in no output."""
    attack = (*settings.keys, *settings.sensitive)
    for name in attack:
        if name not in names:
            raise unknown_name("column", name, names)
    seen = {name for some in columns.values() for name in some}
    for name in attack:
        if name not in seen:
            what = "key" if name in settings.keys else "sensitive attribute"
            raise InputError(
                f"The {what} '{name}' is in no output, so no output can tell anything with it. Leave it out, or add the output that has it. "
                f"Outputs are about {listed(sorted(seen))}."
            )
