"""The outputs of a check over the columns that they are about, those released already first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..._base.errors import InputError, listed, unknown_name
from ..document import Outputs, named_columns
from ..domain import Fields
from .settings import CheckSettings


@dataclass(frozen=True)
class OutputSet:
    """All outputs over the columns that they are about, those released already first; by name, the columns of each."""

    recipes: Outputs
    columns: Mapping[str, tuple[str, ...]]
    old: tuple[str, ...]

    @classmethod
    def of(
        cls,
        recipes: Outputs,
        released: Outputs | None,
        settings: CheckSettings,
        threshold: int,
        *,
        known: Collection[str] = (),
    ) -> OutputSet:
        """Return both sets of outputs over those columns that some output is about.

        InputError where an attack asks for what is no column of them, nor `known`: of the data.
        """
        together = recipes if released is None else released.including(recipes)
        columns = {
            recipe.name: named_columns([recipe.to_dict()], together.fields.names)
            for recipe in together.outputs
        }
        if not settings.rules_only:
            every = list(dict.fromkeys([*together.fields.names, *known]))
            if unknown := [
                name for name in (*settings.keys, *settings.sensitive) if name not in every
            ]:
                raise unknown_name("column", unknown[0], every)
            if settings.leave_one_out == "always" and len(together) < 2:
                raise InputError(
                    "There is nothing to leave one out of: there is one output. Leave it out, or check more of them together."
                )
        seen = {name for some in columns.values() for name in some} or {together.fields.names[0]}
        fields = Fields(tuple(one for one in together.fields if one.name in seen)).with_threshold(
            threshold
        )
        return cls(
            replace(together, fields=fields), columns, () if released is None else released.names
        )

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
        return (
            self if len(left) == len(self.names) else replace(self, recipes=self.recipes.only(left))
        )

    def attackable(self, settings: CheckSettings) -> tuple[CheckSettings, tuple[str, ...]]:
        """Return settings with those keys and sensitive attributes that some output is about, and a sentence on each that none is.

        Rules alone are left where no key or no sensitive attribute is.
        """
        if settings.rules_only:
            return settings, ()
        seen = {name for some in self.columns.values() for name in some}
        notes = [
            f"The {what} '{name}' is in no output, so no output can tell anything with it: it was left out of the attack."
            for what, names in (("key", settings.keys), ("sensitive attribute", settings.sensitive))
            for name in names
            if name not in seen
        ]
        keys, sensitive = (
            [name for name in names if name in seen]
            for names in (settings.keys, settings.sensitive)
        )
        if not keys or not sensitive:
            none = listed(
                [
                    what
                    for what, left in (("key", keys), ("sensitive attribute", sensitive))
                    if not left
                ],
                most=2,
            )
            more = f"No {none} is in any output, so there was no attack to measure. Outputs are about {listed(sorted(seen))}."
            return replace(settings, keys=(), sensitive=(), rules_only=True, key_sizes=None), (
                *notes,
                more,
            )
        sizes = settings.key_sizes
        if sizes is not None and len(keys) < len(settings.keys):
            sizes = min(sizes[0], len(keys)), min(sizes[1], len(keys))
        return replace(settings, keys=keys, sensitive=sensitive, key_sizes=sizes), tuple(notes)

    def searched(self, names: Sequence[str], *, but: Collection[str] = ()) -> tuple[str, ...]:
        """Return those of some outputs, `but` for these, that datasets are evolved from: of the others only the rules are checked."""
        return tuple(
            name for name in names if name not in but and name not in self.recipes.rules_only
        )
