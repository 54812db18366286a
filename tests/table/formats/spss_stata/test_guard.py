"""Damaged SPSS and Stata files are refused, and kill nothing."""

from __future__ import annotations

import random
import struct

import pandas as pd
import pyreadstat
import pytest

import chaffinch

from .conftest import spss_file, stata_file


class TestDamage:
    @pytest.mark.parametrize("make", [spss_file, stata_file])
    def test_cut_short(self, tmp_path, make):
        path = make(tmp_path / ("a.sav" if make is spss_file else "a.dta"))
        data = path.read_bytes()
        places = random.Random(1)
        for length in [
            200,
            len(data) - 9,
            *(places.randrange(150, len(data) - 9) for _ in range(60)),
        ]:
            path.write_bytes(data[:length])
            with pytest.raises(
                chaffinch.errors.FileError, match=r"Cannot read '.*': it is damaged, truncated or"
            ):
                chaffinch.read(path)

    @pytest.mark.parametrize(
        ("ending", "magic"),
        [("sav", b"$FL2"), ("sav", b"$FL3"), ("dta", b"<stata_dta>"), ("dta", b"\x72\x02")],
    )
    def test_random_bytes(self, tmp_path, ending, magic):
        for seed in range(30):
            path = tmp_path / f"a.{ending}"
            path.write_bytes(magic + random.Random(seed).randbytes(3000))
            with pytest.raises(chaffinch.errors.FileError):
                chaffinch.read(path)

    def test_labels_of_no_variable_do_not_end_the_process(self, tmp_path):
        """The reader of pyreadstat 1.3.7 dies of these: every word that follows the record of labels is changed in turn."""
        path = spss_file(tmp_path / "a.sav")
        data = path.read_bytes()
        place = data.index(b"\x04\0\0\0\x01\0\0\0\x01\0\0\0") + 8
        for wrong in (0, 200, -1):
            path.write_bytes(data[:place] + struct.pack("<i", wrong) + data[place + 4 :])
            with pytest.raises(chaffinch.errors.FileError, match="it is damaged"):
                chaffinch.read(path)

    def test_labelled_words_that_do_not_decode(self, tmp_path):
        path = spss_file(tmp_path / "a.sav")
        data = path.read_bytes()
        assert data.count(b"n       \x05North") == 1
        path.write_bytes(data.replace(b"n       \x05North", b"\xff       \x05North"))
        with pytest.raises(chaffinch.errors.FileError, match="it is damaged"):
            chaffinch.read(path)

    def test_cells_that_do_not_decode_are_not_quoted(self, tmp_path):
        path = tmp_path / "a.dta"
        pyreadstat.write_dta(pd.DataFrame({"x": ["secret?"] * 40, "y": 1.0}), path)
        path.write_bytes(path.read_bytes().replace(b"secret?", b"secret\xff"))
        with pytest.raises(
            chaffinch.errors.FileError, match="its text is not in the encoding that it claims"
        ) as caught:
            chaffinch.read(path)
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__

    def test_a_failed_write_leaves_the_old_file(self, tmp_path, monkeypatch):
        table = chaffinch.read(spss_file(tmp_path / "a.sav"))
        (tmp_path / "b.sav").write_text("old")

        def refuse(*_, **__):
            raise pyreadstat.ReadstatError("Unable to write data")

        monkeypatch.setattr(pyreadstat, "write_sav", refuse)
        with pytest.raises(
            chaffinch.errors.FileError,
            match=r"Cannot write the SPSS file. Unable to write data. Make room",
        ):
            table.write(tmp_path / "b.sav", overwrite=True)
        assert (tmp_path / "b.sav").read_text() == "old"
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.sav", "b.sav"]
