"""What `chaffinch check` is asked about: outputs from a file or an ACRO folder, those released already, rules; and where results go."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..outputs.check.assess import Checked
    from ..outputs.check.released import Released
    from ..outputs.readers.acro.read import AcroDirectory
    from ..outputs.readers.acro.recipes import AcroOutput, AcroOutputs, Skipped
    from ..outputs.recipes import Recipes
    from ..outputs.rules import Policy
    from ..outputs.rules.findings import Finding
    from ..table import Table

MOST_WORDS = 2000

__all__ = ["Asked", "check_places", "record_released", "write_back"]


@dataclass(frozen=True)
class Asked:
    """What is to be checked; `of_data` completes it with what the records say: the levels of columns that no file describes.

    Parameters
    ----------
    source
        The file of outputs, or the ACRO folder.
    keys, sensitive
        Columns that an attacker knows, and wants to know.
    document
        What a file of outputs holds.
    acro
        What an ACRO folder holds.
    given, replace_readable
        Recipes for results of the ACRO folder, by their names; and whether they may stand for results that can be read.
    released
        What was released already.
    policy
        The rules.
    outputs
        The outputs of the ACRO folder that could be read.
    all_recipes, released_recipes
        The outputs, once the data are known.
    """

    source: Path
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    document: Mapping[str, Any] | None = None
    acro: AcroDirectory | None = None
    given: Mapping[str, Mapping[str, Any]] | None = None
    replace_readable: bool = False
    released: Released | None = None
    policy: Policy | None = None
    outputs: AcroOutputs | None = None
    all_recipes: Recipes | None = None
    released_recipes: Recipes | None = None

    @property
    def recipes(self) -> Recipes:
        """The outputs, as recipes."""
        assert self.all_recipes is not None
        return self.all_recipes

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Results of an ACRO folder that could not be read."""
        return self.outputs.skipped if self.outputs is not None else ()

    @property
    def by_recipe(self) -> tuple[AcroOutput, ...]:
        """Results of an ACRO folder in whose place a recipe is judged."""
        return tuple(one for one in self.outputs.outputs if one.by_recipe) if self.outputs is not None else ()

    @classmethod
    def read(
        cls,
        source: Path,
        released: Path | None,
        policy: Path | None,
        recipes: Path | None,
        *,
        replace_readable: bool,
        keys: tuple[str, ...],
        sensitive: tuple[str, ...],
        new: bool,
    ) -> Asked:
        """Return what the files say, before any record is read; `new` lets the file of released outputs be absent."""
        from .._base.errors import InputError
        from ..outputs.check.released import Released, read_released
        from ..outputs.documents import read_document
        from ..outputs.rules.policy import policy_of_acro, read_policy

        if replace_readable and recipes is None:
            raise InputError("--replace-readable needs --recipes FILE: the recipes that may stand for results.")
        asked = cls(source, keys, sensitive, replace_readable=replace_readable)
        rules = read_policy(policy)
        if source.is_dir():
            from ..outputs.readers.acro.read import read_acro

            acro = read_acro(source)
            asked = replace(asked, acro=acro, given=_given(recipes))
            rules = policy_of_acro(acro.config) if policy is None else rules
        elif recipes is not None:
            raise InputError(
                f"--recipes is for an ACRO folder, and '{source}' is a file of outputs. Add the recipes to it."
            )
        else:
            asked = replace(asked, document=read_document(source))
        if released is not None:
            known = Released() if new and not released.exists() else read_released(released)
            asked = replace(asked, released=known)
        return replace(asked, policy=rules)

    def of_data(self, table: Table) -> Asked:
        """Return the same with recipes over columns; those that no file describes have the levels that occur in the data."""
        from .._base.errors import InputError
        from ..outputs.fields import Field, Fields
        from ..outputs.recipes import named_columns, read_recipes, recipes_of
        from ..outputs.records import fields_of_table

        declared = []
        if self.released is not None:
            declared = [Field(one["name"], tuple(one["levels"])) for one in self.released.columns]
        outputs = None
        if self.acro is not None:
            from ..outputs.readers.acro.recipes import recipes_of_acro

            outputs = recipes_of_acro(
                self.acro, table, declared=declared, given=self.given, replace_readable=self.replace_readable
            )
            if not outputs.outputs:
                why = "; ".join(f"{one.uid}: {one.reason}" for one in outputs.skipped[:5])
                raise InputError(f"No result of '{self.source}' can be checked: {why}. Give recipes with --recipes.")
            recipes = outputs.recipes()
        else:
            assert self.document is not None
            fields = None
            if "columns" not in self.document:
                entries = self.document.get("outputs")
                named = named_columns(entries if isinstance(entries, list) else [], table.columns)
                wanted = [name for name in table.columns if name in {*named, *self.keys, *self.sensitive}]
                fields = fields_of_table(table, wanted, declared=declared) if wanted else None
            recipes = read_recipes(dict(self.document), fields=fields)
        if not len(recipes):
            raise InputError(f"'{self.source}' has no outputs. Add an [[outputs]] block for each.")
        old = None
        if self.released is not None and self.released.outputs:
            old = recipes_of(self.released.entries, Fields(tuple(declared)), name="the released outputs")
        return replace(self, outputs=outputs, all_recipes=recipes, released_recipes=old)


def _given(recipes: Path | None) -> dict[str, Mapping[str, Any]] | None:
    """Recipes in a file, by their names."""
    from .._base.errors import InputError
    from ..outputs.documents import read_document

    if recipes is None:
        return None
    entries = read_document(recipes).get("outputs")
    if not isinstance(entries, list) or not all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in entries
    ):
        raise InputError(f"'{recipes}' must have [[outputs]] blocks, each named as the ACRO result that it describes.")
    return {one["name"]: one for one in entries}


def check_places(
    spec: Path,
    data: Path,
    *inputs: Path | None,
    outputs: Sequence[Path | None],
    record: bool,
    back: Path | None,
) -> None:
    """Raise unless results can be written where they are asked to, and no input is among them."""
    from .._base.errors import FileError, InputError
    from .._base.safe_files import check_writable
    from .options import check_outputs

    released, *others = inputs
    wanted = [*outputs, released if record else None]
    for source in (spec, data, *others, None if record else released):
        if source is not None:
            check_outputs(source, *wanted)
    if back is None:
        return
    if not spec.is_dir():
        raise InputError("--acro-write-back is for an ACRO folder, and SPEC is a file. Use --json and --html.")
    if back.resolve() == spec.resolve():
        return
    if back.exists():
        raise FileError(f"Cannot write '{back}': it exists. Name a new folder.")
    if spec.resolve() in back.resolve().parents:
        raise FileError(f"Cannot write '{back}': it lies in the ACRO folder. Name a folder outside it.")
    check_writable(back)


def record_released(path: Path, asked: Asked, checked: Checked, table: Table) -> None:
    """Add the outputs to the file of released ones: as published, or as the data give them where they came without numbers."""
    from ..outputs.check.released import Released, recorded, write_released
    from ..outputs.records import codes_of_table

    assert checked.recipes is not None
    fields = checked.recipes.fields
    new = checked.recipes.only(asked.recipes.names)
    codes = codes_of_table(table, fields).codes
    entries = [
        one if recipe.published is None else recipe.published
        for recipe, one in zip(new.every, new.entries(codes), strict=True)
    ]
    used = {one.name: one.columns for one in checked.outputs}
    write_released(path, recorded(asked.released or Released(), entries, fields, used=used))


def write_back(folder: Path, asked: Asked, checked: Checked, told: Mapping[str, Any]) -> None:
    """Copy the ACRO folder with the result as one more output, page and JSON, and a comment on each result that was checked."""
    from .._base.errors import listed
    from ..outputs.readers.acro.write import write_back as write
    from ..report.check import check_page, rules_sentence

    assert asked.outputs is not None
    same = folder.resolve() == asked.source.resolve()
    summary = f"Chaffinch: {checked.verdict.text}. {rules_sentence(told['rules'])}"
    if asked.by_recipe:
        names = listed([f"'{one.uid}'" for one in asked.by_recipe])
        summary += f" Of {names} recipes were judged, which somebody gave, not the files."
    with tempfile.TemporaryDirectory() as place:
        page, data = Path(place) / "check.html", Path(place) / "check.json"
        page.write_text(check_page(told), encoding="utf-8")
        data.write_text(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
        write(
            asked.source, None if same else folder, report=[page, data], assessed=_comments(asked, checked), summary=summary,
            failed=checked.failed, in_place=same,
        )  # fmt: skip


def _beside(one: Finding, names: Collection[str]) -> str:
    """The other output of a finding between two, if there is one."""
    others = [name for name in (one.output, one.other) if name is not None and name not in names]
    return f", with '{others[0]}'" if others else ""


def _comments(asked: Asked, checked: Checked) -> dict[str, str]:
    """For each result that was checked, what the rules say of it and what was found of all together.

    Where a recipe was judged in the place of a result, that is said, and nothing of the result's own files.
    """
    assert asked.outputs is not None
    out: dict[str, str] = {}
    by_recipe = {one.uid: one.replaced for one in asked.by_recipe}
    for uid in dict.fromkeys(one.uid for one in asked.outputs.outputs):
        names = {one.name for one in asked.outputs.of(uid)}
        found = [one for one in checked.rules if one.status != "pass" and names & {one.output, one.other}]
        words = [f"Chaffinch, all outputs together: {checked.verdict.text}."]
        good = "No rule failed for this output."
        if uid in by_recipe:
            why = "though it can be read" if by_recipe[uid] else "since it cannot be read"
            words.append(f"Not this result was judged, {why}, but a recipe that was given for it. Of the recipe:")
            good = "it breaks no rule. That says nothing of the files of this result."
        words += [f"{one.status} ({one.rule}{_beside(one, names)}): {one.words}" for one in found] or [good]
        text = " ".join(words)
        out[uid] = text if len(text) <= MOST_WORDS else text[: MOST_WORDS - 1] + "…"
    return out
