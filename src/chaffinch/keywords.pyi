"""Types of keywords, made from the declarations of settings by docs/hooks/options.py."""

from collections.abc import Mapping
from typing import Literal, TypedDict

class ReadingOptions(TypedDict, total=False):
    """Options of `Reading`."""

    encoding: str | None
    """Encoding of text files; found where their bytes leave no doubt (a private fit takes utf-8)."""
    delimiter: str | None
    """Delimiter of text files, or tab. Default: found from the first lines."""
    decimal: str | None
    """Decimal sign of text files: . or ,. Default: found from their numbers (a private fit takes the schema's)."""
    header: str | int | bool | None
    """Names of columns in the first line: yes, no, units (a line of units follows), or the line they stand in. Default: found (a private fit takes yes)."""
    comment: str | None
    """Sign of lines that are no records. Default: lines with # above the names are found."""
    table: str | None
    """Sheet, table of a database or file in a zip; FILE::NAME says the same."""
    rare: Literal["pool", "keep"]
    """Levels with fewer than three records: pool or keep. Default: pool."""
    personal: Mapping[str, str]
    """What becomes of a column that says who somebody is: drop, fake (made up) or keep (synthesised); may be given again."""
    threshold: int
    """Records that must share a value or a cell before it shows in what may leave. Default: 10."""
