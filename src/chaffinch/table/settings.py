"""How a table is read: settings that commands and functions share. Nothing heavy is imported before a table is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from .._base.masking import THRESHOLD
from .._base.options import FILES, LEARN, MEASURE, PRIVACY, Declared, Option

if TYPE_CHECKING:
    from .formats.format import FileOptions
    from .schema import Schema
    from .schema_file import SchemaLike

Threshold = Annotated[
    int,
    Option(
        "Records that must share a value or a cell before it shows in what may leave.",
        panel=PRIVACY,
        unit="records",
        ge=1,
    ),
]

DecimalSign = Annotated[
    str | None,
    Option(
        "Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's).",
        panel=FILES,
    ),
]
Numeric = Literal["values", "bins"]
"""How numbers are compared: by themselves, or by the bins of the schema."""

Rare = Annotated[
    Literal["pool", "keep"], Option("Levels with fewer than three records: pool or keep.")
]
KeyColumns = Annotated[
    Sequence[str],
    Option(
        "Columns, as A,B, that an outsider may know of a person (quasi-identifiers).",
        basic=True,
        panel=MEASURE,
    ),
]
SensitiveColumns = Annotated[
    Sequence[str],
    Option(
        "Columns, as A,B, whose values must not be disclosed: protected, and attacked.",
        basic=True,
        panel=LEARN,
    ),
]
LabelColumn = Annotated[
    str | None,
    Option(
        "Outcome column: learners predict it, and sensitive columns stay linked to it alone.",
        basic=True,
        panel=LEARN,
        metavar="COLUMN",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Roles(Declared):
    """Which columns say whose row it is, what orders a person's rows, and how many people a record stands for; as the schema's roles say unless named."""

    person: Annotated[
        str | None,
        Option(
            "Column that says whose row it is, where people have several.",
            flag="--person-id",
            panel=LEARN,
            metavar="COLUMN",
        ),
    ] = None
    order: Annotated[
        str | None,
        Option(
            "Column that orders a person's rows, as a date. Default: the order of the file.",
            flag="--order-by",
            panel=LEARN,
            metavar="COLUMN",
        ),
    ] = None
    weight: Annotated[
        str | None,
        Option(
            "Column that says how many people a record stands for: records are counted by it.",
            panel=LEARN,
            metavar="COLUMN",
        ),
    ] = None


def delimiter_named(word: str) -> str:
    """Return the delimiter itself where it was given by name."""
    return {"tab": "\t", "\\t": "\t"}.get(word, word)


@dataclass(frozen=True, kw_only=True)
class Reading(Declared):
    """How a table is read: see `chaffinch.read`.

    `personal` says what becomes of columns that say who somebody is, over what the schema says: "drop", "fake" or "keep".
    """

    schema: Annotated[
        SchemaLike | None,
        Option(
            "Schema file (TOML, or a codebook in JSON).",
            basic=True,
            panel=FILES,
            metavar="PATH",
            read=Path,
            leaves=False,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        Option(
            "Encoding of text files; found where their bytes leave no doubt (a private fit takes utf-8).",
            panel=FILES,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        Option(
            "Delimiter of text files, or tab. Default: found from the first lines.",
            panel=FILES,
            read=delimiter_named,
        ),
    ] = None
    decimal: DecimalSign = None
    header: Annotated[
        str | int | bool | None,
        Option(
            "Names of columns in the first line: yes, no, units (a line of units follows), or the line they stand in. Default: found (a private fit takes yes).",
            panel=FILES,
        ),
    ] = None
    comment: Annotated[
        str | None,
        Option(
            "Sign of lines that are no records. Default: lines with # above the names are found.",
            panel=FILES,
        ),
    ] = None
    table: Annotated[
        str | None,
        Option(
            "Sheet, table of a database or file in a zip; FILE::NAME says the same.",
            panel=FILES,
            metavar="NAME",
        ),
    ] = None
    rare: Rare = "pool"
    personal: Annotated[
        Mapping[str, str],
        Option(
            "What becomes of a column that says who somebody is: drop, fake (made up) or keep (synthesised); may be given again.",
            metavar="COLUMN=WORD",
        ),
    ] = field(default_factory=dict)
    threshold: Threshold = THRESHOLD

    @property
    def declared(self) -> Schema | None:
        """What is declared of columns, with what was decided of those that say who somebody is."""
        from .personal.detect import with_decisions
        from .schema_file import as_schema

        return with_decisions(as_schema(self.schema), self.personal)

    @property
    def file(self) -> FileOptions:
        """How the file is read, as far as it is said."""
        names = ("encoding", "delimiter", "decimal", "header", "comment", "table")
        given = ((name, getattr(self, name)) for name in names)
        return {name: value for name, value in given if value is not None}  # type: ignore[return-value]

    @property
    def options(self) -> dict[str, Any]:
        """How the file is read, and what becomes of rare levels."""
        return {**self.file, "rare": self.rare, "threshold": self.threshold}

    @property
    def other_file(self) -> FileOptions:
        """How a file is read that is compared with the original: as that is, but for the name of its table."""
        return {name: word for name, word in self.file.items() if name != "table"}  # type: ignore[return-value]
