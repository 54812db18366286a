"""Our result put into an ACRO directory: a custom output with the report, comments on what was assessed, checksums made anew.

Evidence is added; the decision stays with the checker. No status that stands in the directory is changed, so that a `fail` never becomes a
`pass`; ours is `review`, or `fail` where an excess or a failed rule was found. The new directory is made whole beside its place, read
again and then renamed into it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from ...._base.checks import check_name
from ...._base.errors import FileError, InputError
from ...rules.findings import ORDER
from ..understood import check_reasons
from .read import (
    CHECKSUMS,
    MOST_FILE_BYTES,
    RESULTS,
    AcroDirectory,
    json_object,
    read_acro,
    reading,
)

if TYPE_CHECKING:
    from ...check.result import CheckResult
    from ...rules.findings import RuleFinding

UID = "chaffinch_check"
OTHER_JUDGED = "Chaffinch: not assessed. Not this result was judged, though it can be read, but a recipe that was given for it."
LONGEST_COMMENT = 4000
LONGEST_VERDICT = 2000
"""Characters of a comment that is ours."""


def write_back(
    folder: str | os.PathLike[str],
    out_folder: str | os.PathLike[str] | None,
    *,
    report: Path | Sequence[Path],
    assessed: Mapping[str, str],
    summary: str,
    failed: bool = False,
    comment: str = "",
    in_place: bool = False,
    timestamp: str | None = None,
) -> Path:
    """Return the folder of an ACRO directory with our result in it: a new one outside `folder`, or that itself with `in_place`.

    A JSON file among the reports may not have both keys `version` and `results` at its top, by which viewers find ACRO's own, and none may be
    one that is for inside alone. `assessed` has, by uid of a result, the words to add to its comments; `summary` is what was found, in one
    sentence. With `failed` (an excess or a failed rule was found) our status is `fail`, otherwise `review`.

    InputError or FileError, and nothing written, if the directory is not whole, a uid is unknown, or a report cannot be taken.
    """
    directory = read_acro(folder)
    paths = [report] if isinstance(report, str | os.PathLike) else report
    reports = [Path(path) for path in paths]
    target = _target(directory.folder, out_folder, in_place=in_place)
    _check_words(directory, assessed, (summary, comment))
    contents = _contents(directory, reports)
    data = json_object((directory.folder / RESULTS).read_bytes(), f"'{directory.folder / RESULTS}'")
    for uid, reasons in assessed.items():
        data["results"][uid]["comments"] = [*(data["results"][uid].get("comments") or []), reasons]
    uid = _new_uid(directory, contents)
    files = {_file_name(uid, path, contents): raw for path, raw in contents.items()}
    data["results"][uid] = {
        "uid": uid,
        "status": "fail" if failed else "review",
        "type": "custom",
        "properties": {},
        "files": [{"name": name, "sdc": {}} for name in files],
        "outcome": {},
        "command": "custom",
        "summary": summary,
        "timestamp": datetime.now().isoformat() if timestamp is None else timestamp,
        "comments": [comment] if comment else [],
        "exception": "",
        "fair": {},
    }
    # As ACRO writes it, so that what is not ours keeps its bytes.
    files[RESULTS] = json.dumps(data, indent=4, sort_keys=False).encode("utf-8")
    with _becoming(target, replacing=in_place) as partial_folder:
        _copy(directory.folder, partial_folder)
        (partial_folder / CHECKSUMS).mkdir(exist_ok=True)
        for name, raw in files.items():
            (partial_folder / name).write_bytes(raw)
            (partial_folder / CHECKSUMS / f"{name}.txt").write_text(
                hashlib.sha256(raw).hexdigest(), encoding="ascii"
            )
        _check_kept(directory, read_acro(partial_folder), uid)
    return target


def _target(folder: Path, out_folder: str | os.PathLike[str] | None, *, in_place: bool) -> Path:
    check_reasons(
        (
            in_place and out_folder is not None,
            "Name a new folder, or write in place: not both.",
        ),
        (
            in_place and folder.is_symlink(),
            f"'{folder}' is a link: name the folder itself to write in place.",
        ),
        (
            not in_place and out_folder is None,
            "Name a new folder for the directory with our result; or say that it is to be written in place.",
        ),
    )
    if out_folder is None:
        return folder.resolve()
    target = Path(out_folder)
    check_reasons(
        (
            target.exists() or target.is_symlink(),
            f"Cannot write '{target}': it exists. Name a new folder.",
        ),
        (
            folder.resolve() in (target.resolve(), *target.resolve().parents),
            f"Cannot write '{target}': it lies in the directory itself. Name a folder outside it.",
        ),
    )
    if not target.parent.is_dir():
        raise FileError(
            f"Cannot write '{target}': there is no folder '{target.parent}'. Make it first, or name another."
        )
    return target


def _check_words(
    directory: AcroDirectory, assessed: Mapping[str, str], others: Sequence[str]
) -> None:
    for uid in assessed:
        check_name("ACRO result", uid, directory.uids)
    for reasons in (*assessed.values(), *others):
        if not isinstance(reasons, str) or len(reasons) > LONGEST_COMMENT:
            raise InputError(
                f"Comments and summaries must be words of at most {LONGEST_COMMENT} characters."
            )


def _contents(directory: AcroDirectory, reports: Sequence[Path]) -> dict[Path, bytes]:
    """The reports, read and checked."""
    if not reports:
        raise InputError(
            "There must be a report to write back: an ACRO result has at least one file."
        )
    contents: dict[Path, bytes] = {}
    for path in reports:
        if path.suffix.lower() in directory.blocked_extensions:
            raise InputError(
                f"ACRO takes no files that end with {path.suffix} (blocked_extensions in its config.json). Report in another format."
            )
        with reading(path):
            if path.stat().st_size > MOST_FILE_BYTES:
                raise InputError(
                    f"'{path}' is over {MOST_FILE_BYTES >> 20} MiB, too large for a report."
                )
            raw = path.read_bytes()
        data = json_object(raw, f"'{path}'") if path.suffix.lower() == ".json" else {}
        check_reasons(
            (
                {"version", "results"} <= set(data),
                f"'{path}' has both keys version and results, by which viewers find ACRO's own file. Rename one of them.",
            ),
            (
                data.get("confidential"),
                f"'{path}' is confidential: it is for inside alone, and no report to write back.",
            ),
        )
        contents[path] = raw
    return contents


def _new_uid(directory: AcroDirectory, contents: Mapping[Path, bytes]) -> str:
    """A name that no result has, and whose files do not exist."""
    taken = {*directory.uids, *directory.withheld}
    numbered = (f"{UID}_{number}" for number in count(2))
    return next(
        uid
        for uid in chain([UID], numbered)
        if uid not in taken
        and not any((directory.folder / _file_name(uid, p, contents)).exists() for p in contents)
    )


def _file_name(uid: str, path: Path, contents: Mapping[Path, bytes]) -> str:
    """What a report is called in the directory: by our uid; numbered where two have the same ending."""
    same = [other for other in contents if other.suffix.lower() == path.suffix.lower()]
    suffix = f"_{same.index(path)}" if len(same) > 1 else ""
    return f"{uid}{suffix}{path.suffix.lower()}"


def _copy(folder: Path, partial_folder: Path) -> None:
    """Copy a folder's files, and those of its folders; links are refused, since they may lead elsewhere."""
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
            raise InputError(
                f"'{entry}' must be a file or folder of the directory itself, no link. Nothing was written."
            )
        if entry.is_dir():
            (partial_folder / entry.name).mkdir()
            _copy(entry, partial_folder / entry.name)
        else:
            shutil.copyfile(entry, partial_folder / entry.name)


def _check_kept(before: AcroDirectory, after: AcroDirectory, uid: str) -> None:
    """What was there must be there still, with its status and files; only comments are added."""
    pairs = zip(before.results, after.results, strict=False)
    is_same = all(
        (new.uid, new.status, new.files, new.comments[: len(old.comments)])
        == (old.uid, old.status, old.files, old.comments)
        for old, new in pairs
    )
    if not is_same or (after.uids, after.withheld) != ((*before.uids, uid), before.withheld):
        raise FileError(f"'{before.folder}' changed while it was read. Nothing was written.")


@contextlib.contextmanager
def _becoming(target: Path, *, replacing: bool) -> Iterator[Path]:
    """Give a new folder beside `target`, and rename it into place when the block ends well; otherwise remove it.

    A folder that is replaced is renamed aside first, and put back if the second renaming fails: at any moment one of the two is whole.
    """
    partial_folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
    try:
        partial_folder.mkdir()
        yield partial_folder
        if replacing:
            os.rename(target, aside)
        try:
            os.rename(partial_folder, target)
        except OSError:
            if replacing:
                os.rename(aside, target)
            raise
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"Cannot write '{target}': {error.strerror or 'the system refused'}."
        ) from None
    finally:
        shutil.rmtree(partial_folder, ignore_errors=True)
    shutil.rmtree(aside, ignore_errors=True)


def result_comments(
    result: CheckResult, uids: Collection[str], of_results: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return a comment on each result that was asked about: its verdict, what the rules say of it and the verdict on all together.

    `uids` are all results of the folder, `of_results` the names of the outputs of each that was judged. Where a recipe was judged in the place of a result, that is said, and
    nothing of the result's own files.
    """
    together = f"All outputs together: {result.verdict.text}."
    comments = {
        skipped.name: f"Chaffinch: not assessed. {skipped.reason.rstrip('.')}. {together}"
        for skipped in result.about.skipped
        if skipped.name in uids
    }
    readable = {recipe.name: recipe.readable for recipe in result.about.by_recipe}
    for uid, names in of_results.items():
        findings = [
            finding
            for finding in result.rules
            if finding.status != "pass" and set(names) & set(finding.names)
        ]
        sentences = [_sentence(finding, names) for finding in findings]
        if readable.get(uid):
            head, sentences = OTHER_JUDGED, []
        elif uid in readable:
            head = "Chaffinch: review. Not this result was judged, since it cannot be read, but a recipe that was given for it. Of the recipe:"
            harmless = "it breaks no rule. That says nothing of the files of this result."
            sentences = sentences or [harmless]
        else:
            rows = [row for row in result.summary if row.output in names]
            verdict = max((row.verdict for row in rows), key=ORDER.index, default="not assessed")
            reasons = dict.fromkeys(
                f"{reason.rstrip('.')}."
                for row in rows
                for reason in row.why
                if not any(reason.startswith(finding.rule) for finding in findings)
            )
            head = " ".join([f"Chaffinch: {verdict}.", *reasons])
            if not sentences and verdict in ("pass", "review"):
                sentences = ["No rule failed for this output."]
        comments[uid] = " ".join([head, *sentences, together])
    return {
        uid: text if len(text) <= LONGEST_VERDICT else text[: LONGEST_VERDICT - 1] + "…"
        for uid, text in comments.items()
    }


def _sentence(finding: RuleFinding, names: Collection[str]) -> str:
    """What a rule says of a result, with the outputs of other results that the finding is about."""
    others = [f"'{name}'" for name in finding.names if name not in names]
    companions = f", with {' and '.join(others)}" if others else ""
    return f"{finding.status} ({finding.rule}{companions}): {finding.sentence}"
