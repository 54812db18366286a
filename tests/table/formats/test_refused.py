"""Files that are known and not read: each says what it is and how to convert it, and quotes nothing of it."""

from __future__ import annotations

import pytest

import chaffinch
from chaffinch.errors import FileError

FILES = {
    "a PDF file": b"%PDF-1.7 secret",
    "a web page": b"<!DOCTYPE html><p>secret",
    "an XML file": b'<?xml version="1.0"?><secret/>',
    "an HDF5 file": b"\x89HDF\r\n\x1a\nsecret",
    "a picture": b"\x89PNG\r\n\x1a\nsecret",
    "a pickle file": b"\x80\x04\x95secret",
    "an Access database": b"\x00\x01\x00\x00Standard ACE DB\0secret",
    "a tar archive": bytes(257) + b"ustar\0secret",
    "a 7z or rar archive": b"Rar!\x1a\x07secret",
    "a MATLAB file": b"MATLAB 5.0 MAT-file, secret",
    "an Avro file": b"Obj\x01secret",
    "an ORC file": b"ORCsecret",
    "a NumPy file": b"\x93NUMPYsecret",
    "an encrypted file": b"-----BEGIN PGP MESSAGE-----\nsecret",
    "a Feather file of the first version": b"FEA1secret",
    "a portable file of SPSS": b"ASCII SPSS PORT FILE" + b" " * 60 + b"secret",
    "a SAS catalog": bytes(12) + b"\xc2\xea\x81\x63secret",
}


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("name", ["t.csv", "t"])
def test_what_it_is_and_what_to_do(tmp_path, what, name):
    (tmp_path / name).write_bytes(FILES[what] + b" " * 600)
    with pytest.raises(FileError) as caught:
        chaffinch.read(tmp_path / name)
    message = str(caught.value)
    assert f"is {what}" in message
    assert "secret" not in message
    advice = message.partition("not read. ")[2]
    assert len(advice.split()) > 3


@pytest.mark.parametrize("text", ["<age>,b\n", "[a],b\n", "{x},b\n", "Object,b\n", "ORCID,b\n"[1:]])
def test_text_that_looks_a_little_like_one(tmp_path, text):
    (tmp_path / "t.csv").write_text(text + "1,2\n1,3\n")
    assert chaffinch.read(tmp_path / "t.csv").n_rows == 2
