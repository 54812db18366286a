"""What a check is asked about: outputs from a file, a document, an ACRO folder or output files, those released already, and rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.masking import THRESHOLD
from ..outputs.check.released import ReleasedOutputs, read_released
from ..outputs.check.result import ByRecipe, CheckAbout, NotChecked, ReadFrom
from ..outputs.check.settings import SourceSettings
from ..outputs.document import (
    FORMAT,
    VERSION,
    Outputs,
    named_columns,
    read_document,
    read_outputs,
    recipes_of,
)
from ..outputs.domain import Field, Fields
from ..outputs.records import TableCoder, fields_of_table
from ..outputs.rules import Policy
from ..outputs.rules.policy import policy_of_acro, read_policy

if TYPE_CHECKING:
    from ..outputs.readers.acro.read import AcroDirectory
    from ..outputs.readers.acro.recipes import AcroOutput, AcroOutputs
    from ..outputs.readers.files.read import OutputFiles


AnyPath = str | os.PathLike[str]
SPECIFICATIONS = (".toml", ".json")
"""Endings of files of outputs; other files are output files of some program."""
UNLISTED = "It lies in the folder and belongs to no result of ACRO, so nobody has looked at it. Take it out of the folder, or check it by itself."


@dataclass(frozen=True)
class CheckRequest:
    """What is to be checked; `of_data` completes it with what the records say: the levels of columns that no file describes."""

    source: Path | None = (
        None  # The file of outputs, or the ACRO folder; None where the outputs came as such
    )
    document: Mapping[str, Any] | None = None  # What a file of outputs holds
    acro: AcroDirectory | None = None  # What an ACRO folder holds
    # acro_recipes, replace_readable: Recipes for results of the ACRO folder, by their names; and whether they may stand for results that can be
    # read
    acro_recipes: Mapping[str, Mapping[str, Any]] | None = None
    replace_readable: bool = False
    files: OutputFiles | None = None  # What output files of other programs hold
    # released_path, released: The file of what was released already, and what it holds
    released_path: Path | None = None
    released: ReleasedOutputs | None = None
    policy: Policy | None = None  # The rules
    acro_outputs: AcroOutputs | None = (
        None  # The outputs of the ACRO folder that could be read, once the data are known
    )
    # recipes, released_recipes: The outputs, once the data are known
    recipes: Outputs | None = None
    released_recipes: Outputs | None = None
    not_asked: tuple[str, ...] = ()  # Outputs that were left out as asked for
    accept_ignored: bool = False  # Whether what outputs.toml ignores may leave without a look

    @classmethod
    def read(
        cls,
        outputs: AnyPath | Sequence[Any] | Mapping[str, Any] | Outputs,
        settings: SourceSettings | None = None,
    ) -> CheckRequest:
        """Return what the files say, before any record is read, of the outputs that are asked for.

        The file of released outputs may be absent where they are to be recorded in it.
        """
        settings = settings or SourceSettings()
        policy, recipes, released = settings.rules, settings.recipes, settings.released
        request = cls(
            policy=policy if isinstance(policy, Policy) else read_policy(policy),
            replace_readable=settings.replace_readable,
            accept_ignored=settings.accept_ignored,
        )
        if isinstance(outputs, Outputs):
            request = replace(request, recipes=outputs)
        elif isinstance(outputs, Mapping):
            request = replace(request, document=outputs)
        elif isinstance(outputs, str | os.PathLike):
            request = request._of_path(Path(outputs), policy is None, recipes)
        elif (
            isinstance(outputs, Sequence)
            and outputs
            and all(isinstance(one, str | os.PathLike) for one in outputs)
        ):
            paths = [Path(one) for one in outputs]
            request = (
                request._of_path(paths[0], policy is None, recipes)
                if len(paths) == 1
                else request._of_files(paths)
            )
        elif isinstance(outputs, Sequence) and outputs:
            from ..outputs.readers.objects import entries_of_objects

            head = {"format": FORMAT, "version": VERSION}
            request = replace(request, document={**head, "outputs": entries_of_objects(outputs)})
        else:
            raise InputError(
                f"The outputs must be a file of outputs, a folder that ACRO made, output files or a folder of them, a document with the same keys, objects that hold outputs or recipes. Got {type(outputs).__name__}."
            )
        if recipes is not None and request.acro is None:
            what = (
                f"'{request.source}' is a file of outputs"
                if request.source
                else "the outputs are none"
            )
            raise InputError(f"--recipes is for an ACRO folder, and {what}. Add the recipes to it.")
        request = request._chosen(settings.only, settings.exclude)
        if isinstance(released, Outputs):
            return replace(request, released_recipes=released)
        if released is None:
            return request
        path = Path(released)
        is_new = settings.record and not path.exists()
        known = ReleasedOutputs() if is_new else read_released(path)
        return replace(request, released_path=path, released=known)

    def _of_path(self, source: Path, own_policy: bool, recipes: AnyPath | None) -> CheckRequest:
        if not source.is_dir() and (source.suffix.lower() in SPECIFICATIONS or not source.exists()):
            return replace(
                self, source=source, document=None if recipes is not None else read_document(source)
            )
        if not (source / "results.json").exists() and not (source / "checksums").exists():
            return self._of_files([source])
        from ..outputs.readers.acro.read import read_acro

        acro = read_acro(source, lenient=True)
        policy = policy_of_acro(acro.config) if own_policy else self.policy
        return replace(
            self, source=source, acro=acro, acro_recipes=_acro_recipes(recipes), policy=policy
        )

    def _of_files(self, paths: Sequence[Path]) -> CheckRequest:
        from ..outputs.readers.files.read import read_files

        if named := next((one for one in paths if one.suffix.lower() in SPECIFICATIONS), None):
            raise InputError(
                f"'{named}' is a file of outputs, and stands among output files. Check it by itself."
            )
        return replace(
            self, source=paths[0] if len(paths) == 1 else paths[0].parent, files=read_files(paths)
        )

    def _chosen(self, only: Sequence[str], exclude: Sequence[str]) -> CheckRequest:
        """The same with some of the outputs."""
        if not only and not exclude:
            return self
        known = self._known()
        named = {name for word in only or exclude for name in _as_names(word, known)}
        left = [name for name in known if (name in named) == bool(only)]
        if not left:
            raise InputError("--except leaves no output to check. Leave some name out of it.")
        request = replace(self, not_asked=tuple(name for name in known if name not in left))
        if self.acro is not None:
            results = tuple(result for result in self.acro.results if result.uid in left)
            recipes = {
                uid: one
                for uid, one in (self.acro_recipes or {}).items()
                if uid not in request.not_asked
            }
            unlisted = tuple(name for name in self.acro.unlisted if name in left)
            return replace(
                request,
                acro=replace(self.acro, results=results, unlisted=unlisted),
                acro_recipes=recipes,
            )
        if self.files is not None:
            return replace(request, files=self.files.only(left))
        if self.document is not None:
            entries = [
                one
                for one in self.document["outputs"]
                if not isinstance(one, Mapping) or one.get("name") in left
            ]
            return replace(request, document={**self.document, "outputs": entries})
        return replace(request, recipes=self.ready.only(left))

    def _known(self) -> tuple[str, ...]:
        """The names by which outputs may be chosen: those of results, in an ACRO folder."""
        if self.acro is not None:
            return (*self.acro.uids, *self.acro.unlisted)
        if self.files is not None:
            return self.files.names
        if self.document is None:
            return self.ready.names
        entries = self.document.get("outputs")
        every = (
            [one.get("name") for one in entries if isinstance(one, Mapping)]
            if isinstance(entries, list)
            else []
        )
        return tuple(name for name in every if isinstance(name, str))

    def of_data(
        self, coder: TableCoder, names: tuple[str, ...] = (), *, threshold: int = THRESHOLD
    ) -> CheckRequest:
        """Return the same with recipes over the columns that outputs, or some `names`, are about; undeclared columns have the levels that occur."""
        declared = (
            []
            if self.released is None
            else [Field(one["name"], tuple(one["levels"])) for one in self.released.columns]
        )
        request = self._with_recipes(coder, names, declared, threshold)
        if not len(request.ready) and self.files is None:
            raise self._without_outputs()
        if self.released is not None and self.released.outputs:
            old = recipes_of(
                self.released.entries,
                Fields(tuple(declared)).with_threshold(threshold),
                name="the released outputs",
            )
            request = replace(request, released_recipes=old)
        return request

    def _with_recipes(
        self, coder: TableCoder, names: tuple[str, ...], declared: list[Field], threshold: int
    ) -> CheckRequest:
        if self.acro is not None:
            from ..outputs.readers.acro.recipes import recipes_of_acro

            outputs = recipes_of_acro(
                self.acro,
                coder,
                declared=declared,
                given=self.acro_recipes,
                replace_readable=self.replace_readable,
                threshold=threshold,
            )
            if not outputs.outputs:
                why = "; ".join(f"{one.uid}: {one.reason}" for one in outputs.skipped[:5])
                raise InputError(
                    f"No result of '{self.source}' can be checked: {why}. Give recipes with --recipes."
                )
            return replace(self, acro_outputs=outputs, recipes=outputs.recipes())
        if self.files is not None:
            from ..outputs.readers.files.read import recipes_of_files

            files = recipes_of_files(
                self.files, coder, names, declared=declared, threshold=threshold, policy=self.policy
            )
            return replace(self, files=files.files, recipes=files.recipes)
        if self.document is None:
            return self
        fields, described = None, "columns" in self.document
        entries = self.document.get("outputs")
        named = {
            *named_columns(entries if isinstance(entries, list) else [], coder.table.columns),
            *names,
        }
        if described:  # columns that an output names, in its filter say, and the file does not describe, are the data's
            own = read_outputs({**self.document, "outputs": []}, threshold=threshold).fields
            wanted = [
                name for name in coder.table.columns if name in named and name not in own.names
            ]
            more = (
                fields_of_table(coder, wanted, declared=declared, threshold=threshold).every
                if wanted
                else ()
            )
            fields = Fields((*own, *more)) if more else None
        elif wanted := [name for name in coder.table.columns if name in named]:
            fields = fields_of_table(coder, wanted, declared=declared, threshold=threshold)
        elif not entries and self.document.get("format") == FORMAT:
            raise self._without_outputs()
        return replace(
            self, recipes=read_outputs(dict(self.document), fields=fields, threshold=threshold)
        )

    def _without_outputs(self) -> InputError:
        where = f"'{self.source}'" if self.source else "The document"
        return InputError(f"{where} has no outputs. Add an [[outputs]] block for each.")

    @property
    def ready(self) -> Outputs:
        """The outputs as recipes, once the data are known."""
        assert self.recipes is not None
        return self.recipes

    @property
    def by_recipe(self) -> tuple[AcroOutput, ...]:
        """Results of an ACRO folder in whose place a recipe is judged."""
        outputs = self.acro_outputs.outputs if self.acro_outputs is not None else ()
        return tuple(one for one in outputs if one.by_recipe)

    @property
    def uncertain(self) -> dict[str, str]:
        """By the name of an output of which only the rules can be asked, why: its own numbers cannot be taken for those of the data."""
        outputs = self.acro_outputs.outputs if self.acro_outputs is not None else ()
        return {one.name: one.uncertain for one in outputs if one.uncertain}

    def about(self, data: str | None) -> CheckAbout:
        """Return what a result tells of the request; `data` is the name of the file of records."""
        skipped = [
            NotChecked(one.uid, one.reason, one.type)
            for one in (self.acro_outputs.skipped if self.acro_outputs is not None else ())
        ]
        skipped += [
            NotChecked(name, UNLISTED, "")
            for name in (self.acro.unlisted if self.acro is not None else ())
        ]
        skipped += [
            NotChecked(one.name, one.reason, one.kind, one.verdict)
            for one in (self.files.unread if self.files is not None else ())
        ]
        return CheckAbout(
            outputs=self.source.name if self.source is not None else None,
            acro=self.acro.version if self.acro is not None else None,
            data=data,
            released=self.released_path.name if self.released_path is not None else None,
            released_head=self.released.head if self.released is not None else None,
            skipped=tuple(skipped),
            by_recipe=tuple(ByRecipe(one.uid, one.replaced) for one in self.by_recipe),
            not_asked=self.not_asked,
            ignored=self.files.ignored if self.files is not None else (),
            ignored_accepted=self.accept_ignored,
            read=tuple(
                ReadFrom(one.name, str(one.place), one.understood)
                for one in (self.files.outputs if self.files is not None else ())
            ),
        )


def _as_names(word: str, known: Sequence[str]) -> list[str]:
    """The outputs that a word names: itself, as names may hold commas; or each part between commas."""
    parts = [word] if word in known else [part.strip() for part in word.split(",") if part.strip()]
    for part in parts:
        check_name("output", part, known)
    return parts


def _acro_recipes(recipes: AnyPath | None) -> dict[str, Mapping[str, Any]] | None:
    """Recipes in a file, by their names."""
    if recipes is None:
        return None
    entries = read_document(recipes).get("outputs")
    if not isinstance(entries, list) or not all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in entries
    ):
        raise InputError(
            f"'{recipes}' must have [[outputs]] blocks, each named as the ACRO result that it describes."
        )
    return {one["name"]: one for one in entries}
