"""Outputs that can be computed on any records: a file of outputs whose numbers may be absent, read as recipes.

A recipe is an output without its numbers: which columns, filter, groups or formula, and how its numbers are printed (`blanks.py`). Where
the file has numbers, what was published (standard errors of which coefficients, log-likelihood, n), the digits, and what is withheld or
rounded are read off them; where it has none, `standard_errors = true`, `decimals = 4`, `threshold = 10` say so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..._base.errors import InputError, unknown_name
from ..columns import Codes
from ..documents import read_document
from ..fields import Fields
from ..kinds.base import Frame, OutputSpec
from ..spec import FORMAT, KINDS, VERSION, Spec
from ..tokens import Reader
from .blanks import blank_of, check_blank, cleaned, has_numbers, template
from .computing import computed_entry

__all__ = ["Recipe", "Recipes", "computed", "named_columns", "read_recipes", "recipes_of"]

ROWS = 10**9
"""More records than any part will have: what is checked on reading must not depend on their number."""


@dataclass(frozen=True)
class Recipe:
    """An output that can be computed on any records.

    Parameters
    ----------
    entry
        The output as in a file of outputs, without numbers; see `blanks.py` for what stands in their place.
    published
        The output with the numbers that the file had; None if it had none, or not all.
    """

    entry: Mapping[str, Any]
    published: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.entry["name"])

    @property
    def kind(self) -> str:
        """What it is."""
        return str(self.entry["kind"])

    @cached_property
    def output(self) -> OutputSpec:
        """The recipe as an output without numbers, to compile its filter, groups and formula."""
        return template(self.entry)

    def __repr__(self) -> str:
        return (
            f"Recipe({self.name!r}, kind={self.kind!r}, {'with' if self.published is not None else 'without'} numbers)"
        )


def computed(recipe: Recipe, fields: Fields, codes: Codes, *, part: str = "the data") -> dict[str, Any]:
    """Return a recipe's output with its numbers, as these records give them and as it prints them.

    InputError, with the output, the part and the cell or coefficient, where these records do not have some number; MissingExtraError for
    a regression without statsmodels.

    Parameters
    ----------
    recipe
        The recipe.
    fields, codes
        The columns, and the records.
    part
        What the records are, for messages: "the first fold".
    """
    return computed_entry(recipe.entry, fields, codes, part=part)


@dataclass(frozen=True)
class Recipes:
    """Recipes over the same columns.

    Examples
    --------
    >>> import numpy as np
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("sex", ("f", "m")),))
    >>> recipes = recipes_of([{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [12, "<10"]}], fields)
    >>> recipes.every[0].entry
    {'name': 'by sex', 'kind': 'table', 'by': ['sex'], 'bands': ['<10'], 'threshold': 10}
    >>> recipes.entries(np.array([[0], [1], [1]], dtype=np.int32))[0]["counts"]
    ['<10', '<10']
    """

    fields: Fields
    every: tuple[Recipe, ...]

    def __post_init__(self) -> None:
        names = self.names
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"Outputs must have different names. Two are called '{twice}'.")

    def __repr__(self) -> str:
        return f"Recipes({len(self.fields)} columns, {len(self.every)} outputs)"

    def __len__(self) -> int:
        return len(self.every)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the outputs, in order."""
        return tuple(recipe.name for recipe in self.every)

    def __getitem__(self, name: str) -> Recipe:
        if name not in self.names:
            raise unknown_name("output", name, self.names)
        return self.every[self.names.index(name)]

    def entries(self, codes: Codes, *, part: str = "the data") -> list[dict[str, Any]]:
        """Return every output with its numbers computed on these records."""
        return [computed(recipe, self.fields, codes, part=part) for recipe in self.every]

    def spec(self, codes: Codes, *, part: str = "the data", only: Sequence[str] | None = None) -> Spec:
        """Return a specification of as many rows as there are records: the outputs computed on them, or some by name."""
        chosen = self if only is None else self.only(only)
        return _spec(self.fields, chosen.entries(codes, part=part), len(codes))

    def published(self, *, rows: int) -> Spec:
        """Return a specification of what the file had; InputError for an output that has no numbers there."""
        if bare := next((recipe.name for recipe in self.every if recipe.published is None), None):
            raise InputError(f"Output '{bare}' has no numbers in its file. Compute them on records, or add them.")
        return _spec(self.fields, [dict(recipe.published or {}) for recipe in self.every], rows)

    def only(self, names: Sequence[str]) -> Recipes:
        """Return some of the recipes, by name, in the order given."""
        return Recipes(self.fields, tuple(self[name] for name in names))

    def without(self, name: str) -> Recipes:
        """Return all recipes but one."""
        gone = self[name]
        return Recipes(self.fields, tuple(recipe for recipe in self.every if recipe is not gone))

    def including(self, other: Recipes) -> Recipes:
        """Return these recipes and then others, over the columns of both; columns of the same name must have the same levels.

        Where only the others know the weights of a column, it gets them.
        """
        mine = {field.name: field for field in self.fields}
        for field in other.fields:
            if field.name in mine and mine[field.name].levels != field.levels:
                raise InputError(
                    f"Column '{field.name}' has other levels in two sets of outputs. Describe it in the same way in both."
                )
            if field.name not in mine or mine[field.name].weights is None:
                mine[field.name] = field
        return Recipes(Fields(tuple(mine.values())), (*self.every, *other.every))


def _spec(fields: Fields, entries: Sequence[Mapping[str, Any]], rows: int) -> Spec:
    return Spec(fields, tuple(KINDS[entry["kind"]].model_validate(dict(entry)) for entry in entries), rows)


def recipes_of(entries: Sequence[Mapping[str, Any]], fields: Fields, *, name: str = "the outputs") -> Recipes:
    """Return outputs, with or without numbers, as recipes over columns; InputError with the place and the rule where one breaks it."""
    head = {"format": FORMAT, "version": VERSION}
    columns = Spec(fields, ()).to_dict()["columns"]
    return _recipes({**head, "columns": columns, "outputs": list(entries)}, name, fields)


def read_recipes(source: str | os.PathLike[str] | Mapping[str, Any], *, fields: Fields | None = None) -> Recipes:
    """Return the recipes in a file of outputs (TOML, or JSON with the same keys) or in a mapping of the same form.

    Parameters
    ----------
    source
        The file, or what it would hold.
    fields
        The columns, instead of the file's own, which may then be absent.
    """
    data = dict(source) if isinstance(source, Mapping) else read_document(source)
    name = "the specification" if isinstance(source, Mapping) else f"'{Path(source)}'"
    if fields is not None:
        data["columns"] = Spec(fields, ()).to_dict()["columns"]
    elif "columns" not in data and data.get("format") == FORMAT:
        raise InputError(f"{name} has no columns. Describe them as [[columns]], or pass the columns of the data.")
    return _recipes(data, name, fields)


def _recipes(data: Mapping[str, Any], name: str, fields: Fields | None) -> Recipes:
    outputs = data.get("outputs", [])
    clean = [cleaned(entry) for entry in outputs] if isinstance(outputs, list) else outputs
    spec = Spec.from_dict({**data, "outputs": clean}, name=name)
    frame = Frame(spec.fields if fields is None else fields, ROWS)
    made = []
    for entry, output in zip(outputs, spec.outputs, strict=True):
        try:
            blank = blank_of(entry, output, frame)
            recipe = Recipe(blank, {**cleaned(entry), "name": output.name} if has_numbers(entry) else None)
            check_blank(blank, frame)
            if recipe.published is not None and spec.rows is not None:
                output.equations(Frame(frame.fields, spec.rows))
        except InputError as error:
            if f"'{output.name}" in str(error):
                raise
            raise InputError(f"Output '{output.name}': {error}") from None
        made.append(recipe)
    return Recipes(frame.fields, tuple(made))


def named_columns(entries: Sequence[Mapping[str, Any]], known: Sequence[str]) -> tuple[str, ...]:
    """Return which of the known columns outputs speak of, in the known order: for files that do not describe their columns.

    Examples
    --------
    >>> named_columns([{"kind": "logit", "formula": "rich ~ C(sex) + age"}], ["age", "area", "rich", "sex"])
    ('age', 'rich', 'sex')
    """
    words: set[str] = set()
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        for key in ("by", "of", "time", "event", "label", "offset"):
            value = entry.get(key, [])
            words |= {str(word) for word in (value if isinstance(value, list) else [value])}
        leaves = entry.get("leaves", [])
        texts = [entry.get("where"), entry.get("formula")]
        texts += [leaf.get("where") for leaf in leaves if isinstance(leaf, Mapping)] if isinstance(leaves, list) else []
        for text in texts:
            if isinstance(text, str):
                reader = Reader(text, what=f"Output '{entry.get('name', '')}'")
                while reader.next.kind != "end":
                    token = reader.take()
                    # Q('a name') has the column as a word; a level that is called like a column adds one at worst.
                    words |= {token.value} if token.kind in ("name", "word") else set()
    return tuple(name for name in known if name in words)
