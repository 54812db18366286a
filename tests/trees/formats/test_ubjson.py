"""UBJSON is read as the draft says, and damaged bytes are refused."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest

from chaffinch import trees
from chaffinch._base.errors import FileError
from chaffinch.trees.formats.format import is_ubjson, read_ubjson

MODELS = json.loads((Path(__file__).parent / "boosted_covers.json").read_text())
SAVED = base64.b64decode(MODELS["ubjson"])


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"{}", {}),
        (b"{U\x01aZi\x01bTN}"[:-2] + b"}", {"a": None, "b": True}),
        (b"{i\x01a[$U#i\x03\x01\x02\xff}", {"a": [1, 2, 255]}),
        (b"{i\x01a[$l#i\x01" + struct.pack(">i", -7) + b"}", {"a": [-7]}),
        (b"{i\x01a[#i\x02i\x05FN}"[:-2] + b"}", {"a": [5, False]}),
        (
            b"{i\x01a[d" + struct.pack(">f", 0.5) + b"D" + struct.pack(">d", -2.0) + b"]}",
            {"a": [0.5, -2.0]},
        ),
        (b"{i\x01aSI\x00\x02\xc3\xa9}", {"a": "é"}),
        (b"{#i\x01i\x01aCx", {"a": "x"}),
        (b"{i\x01a{i\x01bL" + struct.pack(">q", 1 << 40) + b"}}", {"a": {"b": 1 << 40}}),
    ],
)
def test_values(data, value):
    assert read_ubjson(data, name="m") == value


def test_a_saved_model_is_the_one_that_json_holds(tmp_path):
    model = read_ubjson(SAVED, name="m")
    same = MODELS["models"]["logistic"]["model"]["learner"]
    assert model["learner"]["learner_model_param"] == same["learner_model_param"]
    (tmp_path / "m.bin").write_bytes(SAVED)
    audit = trees.audit(tmp_path / "m.bin")
    assert (
        audit.to_dict()
        == trees.audit(trees.read_xgboost(MODELS["models"]["logistic"]["model"])).to_dict()
    )


@pytest.mark.parametrize(
    "damage",
    [
        b"{i\x01aX}",
        b"{i\x01ai\x01",
        b"{i\x05a}",
        b"{i\xffa}",
        b"{i\x01aZi\x01aZ}",
        b"{i\x01aZ}x",
        b"{i\x01a[$U#L" + struct.pack(">q", 1 << 60) + b"}",
        b"{i\x01a" * 100,
        b"{i\x01a[$U\x01]}",
        b"{i\x01aSi\x02\xff\xff}",
        b"{i\x01a[#i\x09Z}",
        b"{Sa}",
    ],
)
def test_damage_is_refused(damage):
    with pytest.raises(FileError, match="UBJSON"):
        read_ubjson(damage, name="m")


def test_every_truncation_of_a_model_is_refused(tmp_path):
    for cut in range(3, len(SAVED), 97):
        (tmp_path / "m.ubj").write_bytes(SAVED[:cut])
        with pytest.raises(FileError):
            trees.open_model(tmp_path / "m.ubj")


def test_json_is_not_taken_for_it():
    assert is_ubjson(SAVED)
    for text in (b'{"a": 1}', b"{}", b"{ }", b"{Infinity}", b"{L", b'{\n"a": 1}', b""):
        assert not is_ubjson(text)
