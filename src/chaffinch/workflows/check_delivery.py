"""Where the results of a check go: JSON, a page, a confidential file, the file of released outputs, a copy of the ACRO folder."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.errors import FileError, InputError, listed
from .._base.files import check_outputs, check_writable, write_text
from .._base.results import write_page
from ..outputs.check.released import ReleasedOutputs, recorded, write_released
from ..outputs.check.result import CheckResult
from ..outputs.readers.acro.write import write_back as write_acro
from ..outputs.records import TableCoder, codes_of_table
from ..outputs.rules.findings import ORDER
from ..report.check import check_page, rules_sentence
from .check_request import CheckRequest
from .mitigated_outputs import check_new_folder, write_mitigated

if TYPE_CHECKING:
    from ..outputs.domain import Codes
    from ..outputs.rules.findings import Finding


MOST_WORDS = 2000


@dataclass(frozen=True, kw_only=True)
class CheckDelivery:
    """Where results go; None for nowhere."""

    # json, html: Files for what may leave, and for a page of it
    json: Path | None = None
    html: Path | None = None
    confidential: Path | None = (
        None  # A file for the exposed classes and the cells behind each rule, readable by its owner alone
    )
    record: bool = False  # Whether to add the outputs to the file of released ones, if they pass
    # A folder for a copy of the ACRO folder, with the result as one more output and comments; or that folder itself
    acro_write_back: Path | None = None
    # mitigate, write: Whether to look for mitigations, and a new folder for the mitigated outputs, if they pass
    mitigate: bool = False
    write: Path | None = None

    def check(self, source: Path | None, released: Path | None, *inputs: Path | None) -> None:
        """Raise unless results can be written where they are asked to, and no input (`source`, the outputs, among them) is there."""
        if self.record and released is None:
            raise InputError(
                "--record needs --released FILE: the file that the outputs are to be added to."
            )
        if self.write is not None and not self.mitigate:
            raise InputError("--write is for mitigated outputs: add --mitigate.")
        if self.write is not None:
            check_new_folder(self.write)
        wanted = (self.json, self.html, self.confidential)
        check_outputs(
            source,
            *wanted,
            inputs=[*inputs, None if self.record else released],
            updated=[released if self.record else None],
        )
        back = self.acro_write_back
        if back is None:
            return
        if source is None or not source.is_dir():
            raise InputError(
                "--acro-write-back is for an ACRO folder, and SPEC is a file. Use --json and --html."
            )
        if back.resolve() == source.resolve():
            return
        if back.exists():
            raise FileError(f"Cannot write '{back}': it exists. Name a new folder.")
        if source.resolve() in back.resolve().parents:
            raise FileError(
                f"Cannot write '{back}': it lies in the ACRO folder. Name a folder outside it."
            )
        check_writable(back)

    def check_request(self, request: CheckRequest) -> None:
        """Raise where what would be recorded is not what is judged, or the folder to be copied was changed after ACRO wrote it."""
        fault = (
            ""
            if request.acro is None
            else next((one.fault for one in request.acro.results if one.fault), "")
        )
        if self.acro_write_back is not None and request.acro is None:
            raise InputError(
                "--acro-write-back is for an ACRO folder, and there is no results.json in this one. Use --json and --html."
            )
        if self.acro_write_back is not None and fault:
            raise InputError(
                f"--acro-write-back cannot copy a folder that is not as ACRO wrote it: {fault}"
            )
        replaced = [f"'{one.uid}'" for one in request.by_recipe if one.replaced]
        if self.record and replaced:
            raise InputError(
                f"--record cannot record {listed(replaced)}: what would leave is the result, and what was judged a recipe in its place. "
                "Leave out --record, or the recipe."
            )

    def deliver(
        self, result: CheckResult, request: CheckRequest, data: TableCoder | Codes | None
    ) -> tuple[CheckResult, tuple[str, ...]]:
        """Write everything; return the result with what became of it, and a line for each file."""
        result = replace(
            result, about=replace(result.about, recorded=self.record and result.passed)
        )
        released = (
            _released(request, result, data) if result.about.recorded else None
        )  # before anything is written
        lines = []
        if self.acro_write_back is not None:
            _write_back(self.acro_write_back, request, result)
            lines.append(f"Wrote {self.acro_write_back}: the ACRO folder with this result.")
        if released is not None:
            assert request.released_path is not None
            write_released(request.released_path, released)
            lines.append(f"Wrote {request.released_path}: these outputs are recorded as released.")
        elif self.record:
            lines.append(
                f"{request.released_path} is as it was: outputs are recorded only if they pass."
            )
        if self.write is not None:
            lines.append(write_mitigated(self.write, result, data))
        if self.json is not None:
            write_text(self.json, _text(result.to_dict(), indent=2))
            lines.append(f"Wrote {self.json}.")
        if self.html is not None:
            write_page(self.html, check_page(result))
            lines.append(f"Wrote {self.html}.")
        if self.confidential is not None:
            head = {"format": "chaffinch-check-confidential", "version": 1, "confidential": True}
            write_text(
                self.confidential, _text({**head, **result.confidential()}, indent=1), mode=0o600
            )
            lines.append(f"Wrote {self.confidential}: exposed classes and cells, confidential.")
        return result, tuple(lines)


def _text(data: Mapping[str, Any], *, indent: int) -> str:
    return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def _released(
    request: CheckRequest, result: CheckResult, data: TableCoder | Codes | None
) -> ReleasedOutputs:
    """What was released with these outputs: as published, or as the data give them where they came without numbers."""
    assert result.recipes is not None
    assert data is not None  # without records nothing is recorded
    assert not isinstance(data, np.ndarray)  # codes have no file of released outputs
    fields = result.recipes.fields
    new = result.recipes.only(request.ready.names)
    codes = codes_of_table(data, fields).codes
    entries = [
        one if recipe.published is None else recipe.published
        for recipe, one in zip(new.outputs, new.entries(codes), strict=True)
    ]
    columns = {one.name: one.columns for one in result.outputs}
    return recorded(request.released or ReleasedOutputs(), entries, fields, used=columns)


def _write_back(folder: Path, request: CheckRequest, result: CheckResult) -> None:
    """Copy the ACRO folder with the result as one more output, page and JSON, and a comment on each result that was checked."""
    assert request.source is not None
    same = folder.resolve() == request.source.resolve()
    summary = f"Chaffinch: {result.text} {rules_sentence(result.rules)}"
    if request.by_recipe:
        names = listed([f"'{one.uid}'" for one in request.by_recipe])
        summary += f" Of {names} recipes were judged, which somebody gave, not the files."
    with tempfile.TemporaryDirectory() as place:
        page, data = Path(place) / "check.html", Path(place) / "check.json"
        page.write_text(check_page(result), encoding="utf-8")
        data.write_text(_text(result.to_dict(), indent=2), encoding="utf-8")
        write_acro(
            request.source,
            None if same else folder,
            report=[page, data],
            assessed=_comments(request, result),
            summary=summary,
            failed=result.failed,
            in_place=same,
        )


def _comments(request: CheckRequest, result: CheckResult) -> dict[str, str]:
    """For each result that was asked about: its verdict, what the rules say of it and the verdict on all together.

    Where a recipe was judged in the place of a result, that is said, and nothing of the result's own files.
    """
    assert request.acro_outputs is not None
    assert request.acro is not None
    every = f"All outputs together: {result.verdict.text}."
    skipped = [one for one in result.about.skipped if one.name in request.acro.uids]
    comments = {
        one.name: f"Chaffinch: not assessed. {one.reason.rstrip('.')}. {every}" for one in skipped
    }
    by_recipe = {one.uid: one.replaced for one in request.by_recipe}
    for uid in dict.fromkeys(one.uid for one in request.acro_outputs.outputs):
        names = {one.name for one in request.acro_outputs.of(uid)}
        findings = [one for one in result.rules if one.status != "pass" and names & set(one.names)]
        words = [f"{one.status} ({one.rule}{_beside(one, names)}): {one.words}" for one in findings]
        if by_recipe.get(uid):
            comments[uid] = (
                f"Chaffinch: not assessed. Not this result was judged, though it can be read, but a recipe that was given for it. {every}"
            )
            continue
        if uid in by_recipe:
            head = "Chaffinch: review. Not this result was judged, since it cannot be read, but a recipe that was given for it. Of the recipe:"
            words = words or ["it breaks no rule. That says nothing of the files of this result."]
        else:
            rows = [row for row in result.summary if row.output in names]
            worst = max((row.verdict for row in rows), key=ORDER.index, default="not assessed")
            others = [
                one
                for row in rows
                for one in row.why
                if not any(one.startswith(each.rule) for each in findings)
            ]
            head = " ".join(
                [f"Chaffinch: {worst}.", *(f"{one.rstrip('.')}." for one in dict.fromkeys(others))]
            )
            words = words or (
                ["No rule failed for this output."] if worst in ("pass", "review") else []
            )
        comments[uid] = " ".join([head, *words, every])
    return {
        uid: text if len(text) <= MOST_WORDS else text[: MOST_WORDS - 1] + "…"
        for uid, text in comments.items()
    }


def _beside(one: Finding, names: Collection[str]) -> str:
    """The other outputs of a finding between several, if there are any."""
    others = [f"'{name}'" for name in one.names if name not in names]
    return f", with {' and '.join(others)}" if others else ""
