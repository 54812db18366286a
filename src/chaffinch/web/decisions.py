"""What was decided, by whom and on what: a record, and for what may leave a folder with the table, its page and the record, and nothing else."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field

from .. import __version__
from .._base.checks import check_name
from .._base.documents import check_head, validate_document
from .._base.errors import FileError, InputError
from .._base.files import filling
from .project import read_json, write_private

FORMAT, VERSION = "chaffinch-decision", 1
RECORD = "decision.json"
WITHDRAWN = "WITHDRAWN.txt"
"""The mark in the folder of an approval that was taken back: whoever opens the folder sees it."""

MOST_REASON = 8000
"""Characters of a reason, of two checkers together."""

Word = Literal["approved", "rejected", "returned"]
"""What may be decided."""


class DecisionState(StrEnum):
    """How a decision stands: what was decided, unless a second name is needed before anything leaves, or it was taken back since."""

    APPROVED = "approved"
    REJECTED = "rejected"
    RETURNED = "returned"
    WAITING = "waiting"
    WITHDRAWN = "withdrawn"


class Checker(BaseModel, frozen=True, extra="forbid", strict=True):
    """Somebody who decided, and when."""

    name: str
    time: str

    @classmethod
    def now(cls, name: str) -> Checker:
        """Return a checker of this moment; raise for one without a name."""
        plain = " ".join(name.split())
        if not 2 <= len(plain) <= 120:
            raise InputError("A decision has a name under it: give yours, in 2 to 120 characters.")
        return cls(name=plain, time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


Checkers = Annotated[tuple[Checker, ...], Field(strict=False)]


class Withdrawal(BaseModel, frozen=True, extra="forbid", strict=True):
    """The later decision that took an approval back."""

    by_decision: int
    decision: Word
    reason: str
    checkers: Checkers


class DecisionRecord(BaseModel, frozen=True, extra="forbid", strict=True):
    """A decision as its file has it: what was decided, why, by whom and on which run; then what the run was, or each output that was decided on.

    Parameters
    ----------
    number
        Of the decision: the name of its folder.
    decision, was
        What was decided; of an approval that was taken back `withdrawn`, and what it was.
    files
        SHA-256 of what may leave, by the names of files.
    """

    number: Annotated[int, Field(exclude=True)]
    format: str
    version: int
    decision: Word | Literal["withdrawn"]
    reason: str
    checkers: Checkers
    waiting_for_a_second_checker: bool
    run: int
    chaffinch: str
    outputs: Any = None
    policy: Any = None
    policy_hash: str | None = None
    versions: Any = None
    date: str | None = Field(default=None, alias="made")
    command: Any = None
    files: dict[str, str] | None = None
    was: Word | None = None
    withdrawn: Withdrawal | None = None

    @property
    def state(self) -> DecisionState:
        """How the decision stands."""
        if self.waiting_for_a_second_checker:
            return DecisionState.WAITING
        return DecisionState(self.decision)

    def write(self, folder: Path) -> None:
        """Write the record into the folder of its decision."""
        plain = self.model_dump(mode="json", by_alias=True, exclude_unset=True)
        text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
        write_private(folder / RECORD, f"{text}\n")


def other_name(name: str, before: Sequence[Checker]) -> Checker:
    """Return a second checker; raise where it is the first one, however spelled."""
    checker = Checker.now(name)
    if any(_letters(checker.name) & _letters(earlier.name) for earlier in before):
        raise InputError("The second checker must be another person than the first.")
    return checker


def _letters(name: str) -> set[str]:
    """A name as it may be spelled another time: without marks, signs and capitals, and with its words in any order."""
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", name)
        if not unicodedata.combining(letter)
    ).casefold()
    name_words = re.findall(r"[^\W_]+", plain)
    return {"".join(name_words), "".join(sorted(name_words))}


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
    check_name("decision", word, get_args(Word))
    _check_reason(reason)
    DecisionRecord(
        number=int(folder.name),
        format=FORMAT,
        version=VERSION,
        decision=word,  # type: ignore[arg-type]
        reason=reason.strip(),
        checkers=tuple(checkers),
        waiting_for_a_second_checker=waiting,
        run=run,
        chaffinch=__version__,
        **about,
    ).write(folder)


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
    with filling(folder, resume=True) as target:
        for path in tables:
            shutil.copyfile(path, target / path.name)
            hashes[path.name] = _hash(target / path.name)
        (target / "page.html").write_text(page, encoding="utf-8")
        hashes["page.html"] = _hash(target / "page.html")
    # Last: a record of an approval is only there once all that it tells of is.
    put_down(
        folder,
        "approved",
        run=run,
        reason=reason,
        checkers=checkers,
        waiting=False,
        about={**about, "files": hashes},
    )


def read_record(folder: Path) -> DecisionRecord | None:
    """Return the record in the folder of a decision, None where there is none yet; raise where it is not as this release writes one."""
    path = folder / RECORD
    plain = read_json(path)
    if plain is None:
        return None
    check_head(plain, f"'{path}'", what="decision", format_=FORMAT, version=VERSION)
    return validate_document(DecisionRecord, {**plain, "number": int(folder.name)}, f"'{path}'")


def read_records(root: Path) -> list[DecisionRecord]:
    """Return all decisions of a project, the newest first."""
    folders = [path for path in sorted(root.iterdir(), reverse=True) if path.name.isdigit()]
    return [record for record in map(read_record, folders) if record is not None]


def withdraw(root: Path, later: DecisionRecord) -> None:
    """Mark every approval of a run that a later decision rejects or returns, those that wait for a second name too: in its record, and by a file beside the table."""
    withdrawal = Withdrawal(
        by_decision=later.number,
        decision=later.decision,  # type: ignore[arg-type]
        reason=later.reason,
        checkers=later.checkers,
    )
    who = ", ".join(f"{checker.name} ({checker.time})" for checker in later.checkers[-1:])
    mark = f"WITHDRAWN. What is in this folder may not leave any more.\nDecision {later.number}: run {later.run} {later.decision} by {who}.\nReason: {later.reason}\n"
    changes = {
        "decision": "withdrawn",
        "was": "approved",
        "waiting_for_a_second_checker": False,
        "withdrawn": withdrawal,
    }
    for record in read_records(root):
        folder = root / f"{record.number:04d}"
        if (
            record.run == later.run
            and record.number != later.number
            and record.decision == "approved"
        ):
            write_private(folder / WITHDRAWN, mark)
            record.model_copy(update=changes).write(folder)


def _hash(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
