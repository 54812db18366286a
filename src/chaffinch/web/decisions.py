"""What was decided, by whom and on what: a record, and for what may leave a folder with the table, its page and the record, and nothing else."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from .. import __version__
from .._base.errors import FileError, InputError, unknown_name
from .._base.files import filling
from .jobs import number_of
from .project import read_json, write_private

FORMAT, VERSION = "chaffinch-decision", 1
RECORD = "decision.json"
WITHDRAWN = "WITHDRAWN.txt"
"""The mark in the folder of an approval that was taken back: whoever opens the folder sees it."""

MOST_REASON = 8000
"""Characters of a reason, of two checkers together."""

Word = Literal["approved", "rejected", "returned"]
"""What may be decided. The record of an approval says `withdrawn` once its run was rejected or returned."""


@dataclass(frozen=True)
class Checker:
    """Somebody who decided, and when."""

    name: str
    time: str

    @classmethod
    def now(cls, name: str) -> Checker:
        """Return a checker of this moment; raise for one without a name."""
        plain = " ".join(name.split())
        if not 2 <= len(plain) <= 120:
            raise InputError("A decision has a name under it: give yours, in 2 to 120 characters.")
        return cls(plain, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


@dataclass(frozen=True, kw_only=True)
class DecisionRecord:
    """A decision: the word, the reason, who made it, on which run, and what is needed still."""

    number: int
    run: int
    word: str
    reason: str
    checkers: tuple[Checker, ...]
    waiting: bool
    """Whether a second name is needed before anything leaves."""
    withdrawn_by: int = 0
    """The number of the decision that took an approval back; 0 where none did."""


def other_name(name: str, before: Sequence[Checker]) -> Checker:
    """Return a second checker; raise where it is the first one, however spelled."""
    checker = Checker.now(name)
    if any(_letters(checker.name) & _letters(one.name) for one in before):
        raise InputError("The second checker must be another person than the first.")
    return checker


def _letters(name: str) -> set[str]:
    """A name as it may be spelled another time: without marks, signs and capitals, and with its words in any order."""
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", name)
        if not unicodedata.combining(letter)
    ).casefold()
    words = re.findall(r"[^\W_]+", plain)
    return {"".join(words), "".join(sorted(words))}


def put_down(
    folder: Path,
    word: str,
    *,
    run: int,
    reason: str,
    checkers: Sequence[Checker],
    waiting: bool,
    about: Mapping[str, Any],
) -> None:
    """Write a record into the folder of a decision."""
    if word not in get_args(Word):
        raise unknown_name("decision", word, get_args(Word))
    _check_reason(reason)
    write_private(folder / RECORD, _text(word, run, reason, checkers, waiting, about))


def _check_reason(reason: str) -> None:
    if not reason.strip() or len(reason) > MOST_REASON:
        raise InputError(
            f"A decision has a reason: write one, in at most {MOST_REASON:,} characters."
        )


def approve(
    folder: Path,
    tables: Sequence[Path],
    page: str,
    *,
    run: int,
    reason: str,
    checkers: Sequence[Checker],
    about: Mapping[str, Any],
) -> None:
    """Fill the folder of a decision: tables, their page that may leave, and the record with their hashes; all of them or none."""
    _check_reason(reason)
    if not tables or not all(path.is_file() and not path.is_symlink() for path in tables):
        raise FileError("The table of this run is not there any more. Run it again.")
    hashes: dict[str, str] = {}
    with filling(folder, resume=True) as part:
        for path in tables:
            shutil.copyfile(path, part / path.name)
            hashes[path.name] = _hash(part / path.name)
        (part / "page.html").write_text(page, encoding="utf-8")
        hashes["page.html"] = _hash(part / "page.html")
    # Last: a record of an approval is only there once all that it tells of is.
    write_private(
        folder / RECORD, _text("approved", run, reason, checkers, False, {**about, "files": hashes})
    )


def record_in(path: Path) -> DecisionRecord | None:
    """Return the record in a folder; None where there is none."""
    held = read_json(path / RECORD)
    if held is None or held.get("format") != FORMAT:
        return None
    checkers = tuple(
        Checker(str(one.get("name", "")), str(one.get("time", "")))
        for one in held.get("checkers", ())
    )
    return DecisionRecord(
        number=int(path.name),
        run=int(number_of(held.get("run"))),
        word=str(held.get("decision", "")),
        reason=str(held.get("reason", "")),
        checkers=checkers,
        waiting=bool(held.get("waiting_for_a_second_checker")),
        withdrawn_by=int(number_of((held.get("withdrawn") or {}).get("by_decision"))),
    )


def read_records(root: Path) -> list[DecisionRecord]:
    """Return all decisions of a project, the newest first."""
    found = [record_in(one) for one in sorted(root.iterdir(), reverse=True) if one.name.isdigit()]
    return [one for one in found if one is not None]


def withdraw(root: Path, by: DecisionRecord) -> None:
    """Mark every approval of a run that a later decision rejects or returns, those that wait for a second name too: in its record, and by a file beside the table."""
    for record in read_records(root):
        folder = root / f"{record.number:04d}"
        held = read_json(folder / RECORD)
        if (
            held is None
            or record.run != by.run
            or record.number == by.number
            or record.word != "approved"
        ):
            continue
        who = ", ".join(f"{one.name} ({one.time})" for one in by.checkers[-1:])
        held |= {"decision": "withdrawn", "was": "approved", "waiting_for_a_second_checker": False}
        held["withdrawn"] = {
            "by_decision": by.number,
            "decision": by.word,
            "reason": by.reason,
            "checkers": [vars(one) for one in by.checkers],
        }
        mark = f"WITHDRAWN. What is in this folder may not leave any more.\nDecision {by.number}: run {by.run} {by.word} by {who}.\nReason: {by.reason}\n"
        write_private(folder / WITHDRAWN, mark)
        write_private(
            folder / RECORD, json.dumps(held, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )


def _text(
    word: str,
    run: int,
    reason: str,
    checkers: Sequence[Checker],
    waiting: bool,
    about: Mapping[str, Any],
) -> str:
    record = {
        "format": FORMAT,
        "version": VERSION,
        "decision": word,
        "reason": reason.strip(),
        "checkers": [vars(one) for one in checkers],
        "waiting_for_a_second_checker": waiting,
        "run": run,
        "chaffinch": __version__,
        **about,
    }
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _hash(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
