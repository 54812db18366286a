"""Files that are known, so that they can be refused in words that say how to convert them; pickles
run code when they are opened.
"""

from __future__ import annotations

import re

from .format import FORMATS, Format

_OFFICE = "It is a document and no table: copy the table in it into a sheet, and save that as .xlsx or .csv."
_PYTHON = "Open it where it was made, and save its table with df.to_parquet('table.parquet')."
_PICTURE = (
    "It is a picture and no table: type its numbers into a sheet, or ask for the table behind it."
)


def _refuse(
    name: str, what: str, advice: str, *magic: bytes, recognise: str = "", ending: str = ""
) -> Format:
    pattern = (
        re.compile(recognise.encode("latin-1"), re.IGNORECASE | re.DOTALL) if recognise else None
    )
    known = (
        (lambda head, file: bool(pattern.match(head)) or bool(ending and file.endswith(ending)))
        if pattern
        else None
    )
    return FORMATS.register(Format(name, magic=magic, recognise=known, files=what, advice=advice))


REFUSED = (
    _refuse(
        "feather1",
        "a Feather file of the first version",
        "Open it in R or pandas, and save it as Parquet.",
        b"FEA1",
    ),
    _refuse(
        "pickle",
        "a pickle file",
        f"It runs code when it is opened. {_PYTHON}",
        b"\x80\x02",
        b"\x80\x03",
        b"\x80\x04",
        b"\x80\x05",
    ),
    _refuse(
        "rdata",
        "an R workspace (.RData)",
        "In R: load it, and saveRDS(table, 'table.rds') or write.csv(table, 'table.csv', row.names = FALSE).",
        b"RDX2\n",
        b"RDX3\n",
        b"RDA2\n",
        b"RDA3\n",
    ),
    _refuse(
        "word",
        "a document of Word or another Office program",
        _OFFICE,
        recognise=r"PK\x03\x04.*\n(word|ppt|Index)/",
    ),
    _refuse(
        "text document",
        "an OpenDocument text or presentation",
        _OFFICE,
        recognise=r"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\.(text|presentation|graphics)",
    ),
    _refuse(
        "pdf",
        "a PDF file",
        "A PDF has words on pages and no table: ask for the table behind it as .csv or .xlsx.",
        b"%PDF",
    ),
    _refuse(
        "html",
        "a web page",
        "Open it in a spreadsheet program, and save the table as .xlsx or .csv.",
        recognise=r"\s*(<!doctype html|<html|<table)",
    ),
    _refuse(
        "xml",
        "an XML file",
        "Open it in a spreadsheet program, or in Python with pandas.read_xml, and save the table as .csv or .parquet.",
        recognise=r"(\xef\xbb\xbf)?\s*<\?xml",
    ),
    _refuse(
        "json",
        "a JSON file with an array",
        "Make JSON lines of it: jq -c '.[]' FILE > FILE.jsonl.",
        recognise=r"(\xef\xbb\xbf)?\s*\[\s*(\{|\[|\])",
    ),
    _refuse("hdf5", "an HDF5 file", _PYTHON, b"\x89HDF"),
    _refuse(
        "matlab", "a MATLAB file", "In MATLAB: writetable(T, 'table.csv').", b"MATLAB 5.0 MAT-file"
    ),
    _refuse("numpy", "a NumPy file", _PYTHON, b"\x93NUMPY"),
    _refuse(
        "orc",
        "an ORC file",
        "In Python: pyarrow.orc.read_table, then pyarrow.parquet.write_table.",
        b"ORC",
    ),
    _refuse("avro", "an Avro file", "In DuckDB or Spark: read it, and write Parquet.", b"Obj\x01"),
    _refuse(
        "access",
        "an Access database",
        "In Access: export the table as .xlsx or text. Elsewhere: mdb-export FILE TABLE > table.csv.",
        b"\x00\x01\x00\x00Standard Jet DB",
        b"\x00\x01\x00\x00Standard ACE DB",
    ),
    _refuse(
        "spss portable",
        "a portable file of SPSS (.por)",
        "In SPSS or PSPP: save it as .sav.",
        recognise=r".{0,456}ASCII SPSS PORT FILE",
    ),
    _refuse(
        "sas catalog",
        "a SAS catalog, which has labels and no records",
        "Name the .sas7bdat file beside it.",
        recognise=r"\x00{12}\xc2\xea\x81\x63",
    ),
    _refuse("picture", "a picture", _PICTURE, b"\x89PNG", b"\xff\xd8\xff", b"GIF8"),
    _refuse(
        "7z",
        "a 7z or rar archive",
        "Unpack it, and name the file in it.",
        b"7z\xbc\xaf\x27\x1c",
        b"Rar!",
    ),
    _refuse(
        "tar",
        "a tar archive",
        "Unpack it with tar -xf, and name the file in it.",
        recognise=r".{257}ustar",
    ),
    _refuse(
        "pgp",
        "an encrypted file",
        "Decrypt it inside your own walls, and name that file.",
        b"-----BEGIN PGP",
        b"age-encryption.org",
    ),
    _refuse(
        "safetensors model",
        "a model of Chaffinch or other tensors",
        "Draw a table from a model with `chaffinch sample`.",
        recognise=r".{8}\{\"__metadata__\"",
    ),
)
"""Every kind of file that is known and not read."""
