"""SPSS and Stata files: two formats of one reader, the extra `pyreadstat`."""

from functools import partial

from ..format import FORMATS, Format
from .read import PROGRAMS, Program, open_file
from .write import write_file

__all__ = ["DTA", "SAV"]


def _old_stata(head: bytes, name: str) -> bool:
    """Return whether a file is of Stata before version 13, which starts with a number."""
    return name.endswith(".dta") and head[0] in range(0x69, 0x77)


def _format(name: Program, magic: tuple[bytes, ...]) -> Format:
    return Format(
        name,
        f"{PROGRAMS[name]} .{name}",
        (f".{name}",),
        magic,
        recognise=_old_stata if name == "dta" else None,
        open=partial(open_file, form=name),
        writer=partial(write_file, form=name),
        extra="pyreadstat",
        files=f"a file of {PROGRAMS[name]}",
    )


SAV = FORMATS.register(_format("sav", (b"$FL2", b"$FL3")))
DTA = FORMATS.register(_format("dta", (b"<stata_dta>",)))
