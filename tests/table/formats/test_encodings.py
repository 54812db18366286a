"""Encodings are found where bytes are certain, and asked for where they are not."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import FileError
from chaffinch.table.formats import encodings
from chaffinch.table.formats.encodings import encoding_of

GERMAN = "Größe,Straße\nMüller,Köln – Süd\nJäger,5 € „netto“\n"
FRENCH = "nom,ville\nFrançois,Orléans\nAndré,à l’œuvre\n"
TEXTS = {
    "cp1250": "jméno,město\nŘehoř,Plzeň\nJiří,Žďár\n",
    "cp1251": "имя,город\nИван,Москва\n",
    "cp1253": "όνομα,πόλη\nΓιώργος,Αθήνα\n",
    "cp1254": "ad,şehir\nIşık,İzmir\nÇağ,Muğla\n",
    "cp1257": "vards,pilsēta\nJānis,Rīga\n",
    "mac-roman": GERMAN,
    "cp850": FRENCH.replace("’", "'").replace("œ", "oe"),
    "cp437": "Name,Ort\nMüller,Köln\n",
    "iso8859-2": "imię,miasto\nŁukasz,Łódź\n",
    "shift-jis": "名前,都市\n太郎,東京\n",
    "gb18030": "姓名,城市\n王,北京\n",
}


def found(content: bytes) -> str:
    return encoding_of(lambda: io.BytesIO(content), "t.csv")


@pytest.mark.parametrize(
    "text",
    [
        GERMAN,
        FRENCH,
        "navn,år\nBjørn,Ærø\n",
        "nombre,año\nMuñoz,¿qué?\n",
        "nome,região\nJoão,São José\n",
    ],
)
def test_western_text_is_certain(text):
    assert found(text.encode("utf-8")) == "utf-8"
    assert found(text.encode("utf-8-sig")) == "utf-8"
    assert found(text.encode("utf-16")) == "utf-16"
    assert found(text.encode("utf-16-le")) == "utf-16-le"
    assert found(text.encode("utf-16-be")) == "utf-16-be"
    assert found(text.encode("utf-32")) == "utf-32"
    assert found(text.encode("cp1252")) == "cp1252"


def test_latin_1_is_a_part_of_cp1252():
    text = "name,stadt\nMüller,Köln\n"
    assert found(text.encode("latin-1")) == "cp1252"
    assert text.encode("latin-1").decode("cp1252") == text


@pytest.mark.parametrize("encoding", TEXTS)
def test_text_of_another_encoding_is_never_taken_for_western(encoding):
    content = TEXTS[encoding].encode(encoding)
    with pytest.raises(FileError, match="its bytes do not say for certain what it is") as caught:
        found(content)
    assert "--encoding" in str(caught.value)


def test_a_byte_at_the_end_of_a_long_file_counts(monkeypatch):
    monkeypatch.setattr(encodings, "BLOCK", 64)
    text = "a,b\n" + "1,é\n" * 200
    assert found(text.encode()) == "utf-8"  # characters that two blocks share
    assert found(("a,b\n" + "1,x\n" * 200 + "1,é\n").encode("cp1252")) == "cp1252"
    with pytest.raises(FileError):
        found(b"a,b\n" + b"1,x\n" * 200 + b"1,\xc3")


@settings(max_examples=200)
@given(st.text(alphabet="abÄöüß, \n€", max_size=60))
def test_what_is_found_decodes_to_what_was_written(text):
    for encoding in ("utf-8", "cp1252"):
        content = text.encode(encoding)
        try:
            encoding_found = found(content)
            assert content.decode(encoding_found) == text or (encoding, encoding_found) == (
                "cp1252",
                "utf-8",
            )  # bytes that are both
        except FileError:
            assert encoding == "cp1252"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-8"])
def test_a_file_is_written_as_it_came(tmp_path, encoding):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    text = "Größe;Maß\n" + "".join(f"{'süß' if i % 3 else 'groß'};{i % 5}\n" for i in range(60))
    path.write_bytes(text.encode(encoding))
    table = chaffinch.read(path)
    assert table.columns == ("Größe", "Maß")
    assert [note.what for note in table.notes if not note.column] == (
        [] if encoding == "utf-8" else ["encoding"]
    )
    table.write(out)
    assert out.read_bytes() == path.read_bytes()


def test_characters_that_an_encoding_lacks_are_no_half_file(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(
        ("name,n\n" + "".join(f"{'süß' if i % 3 else 'groß'},{i % 5}\n" for i in range(60))).encode(
            "cp1252"
        )
    )
    schema = chaffinch.read(path).schema
    other = chaffinch.Table.from_codes(
        schema, [np.array([0, 1], np.uint8)] * 2, like=chaffinch.read(path)
    )
    renamed = other.data.rename_columns(["имя", "n"])
    columns = (replace(other.schema.columns[0], name="имя"), other.schema.columns[1])
    broken = replace(other, data=renamed, schema=replace(other.schema, columns=columns))
    with pytest.raises(FileError, match="characters that this encoding lacks"):
        broken.write(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_file_that_libreoffice_saved_as_utf_16():
    files = Path(__file__).parents[2] / "data" / "files"
    saved, plain = (
        chaffinch.read(files / "people_utf16.dat"),
        chaffinch.read(files / "people_r.csv"),
    )
    for column in ("age", "pay", "sex", "day"):
        assert saved.data[column].to_pylist() == plain.data[column].to_pylist()
    assert (saved.origin.layout.encoding, saved.origin.layout.delimiter) == ("utf-16", "\t")
