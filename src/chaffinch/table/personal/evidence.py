"""Why a column is taken for a direct identifier: what it seems to hold, and what says so. No value of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """What of a column says that it identifies somebody."""

    NAME = "its name"
    PATTERN = "its form"
    CHECKSUM = "its check digits"
    NUMBERS = "its numbers"
    ORDER = "its order"


@dataclass(frozen=True)
class IdentifierEvidence:
    """What a column seems to hold, by what, and the form of such values (see `FORMS`; empty where they have none of their own).

    Examples
    --------
    >>> str(IdentifierEvidence("e-mail addresses", Reason.PATTERN, "email"))
    'e-mail addresses, by its form'
    """

    what: str
    reason: Reason
    form: str = ""

    def __str__(self) -> str:
        return f"{self.what}, by {self.reason}"
