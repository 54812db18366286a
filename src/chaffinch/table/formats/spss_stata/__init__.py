"""SPSS and Stata files: two formats of one reader, the extra `pyreadstat`."""

from functools import partial

from ..format import FORMATS, Format
from .read import PROGRAMS, open_file
from .write import write_file


def _is_old_stata(head: bytes, name: str) -> bool:
    """Return whether a file is of Stata before version 13, which starts with a number."""
    return name.endswith(".dta") and head[0] in range(0x69, 0x77)


for name, program in PROGRAMS.items():
    FORMATS.register(
        Format(
            name,
            f"{program} .{name}",
            (f".{name}",),
            (b"$FL2", b"$FL3") if name == "sav" else (b"<stata_dta>",),
            recognise=_is_old_stata if name == "dta" else None,
            open=partial(open_file, form=name),
            writer=partial(write_file, form=name),
            extra="pyreadstat",
            files=f"a file of {program}",
        )
    )
