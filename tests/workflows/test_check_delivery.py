"""Where the results of a check go: what is written, for whom, and what is refused before any work."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.outputs.check.released import read_released
from chaffinch.workflows.check import CheckDelivery, DataSource, check_request
from chaffinch.workflows.check_request import CheckRequest

ACRO = Path(__file__).resolve().parents[2] / "tests" / "data" / "acro" / "cmc"
TABLE = {"name": "t", "kind": "table", "by": ["area", "ill"]}
DOCUMENT = {"format": "chaffinch-outputs", "version": 1, "outputs": [TABLE]}
ASK = {
    "keys": ["area"],
    "sensitive": ["ill"],
    "syntheses": 2,
    "whole_runs": 0,
    "proposals": 20_000,
    "seed": 1,
    "workers": 1,
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"area": rng.choice(["north", "south"], 200), "ill": rng.choice(["no", "yes"], 200)}
    )


def test_what_is_delivered_is_said(people, tmp_path):
    delivery = CheckDelivery(
        json=tmp_path / "c.json",
        html=tmp_path / "c.html",
        confidential=tmp_path / "c.confidential.json",
    )
    from chaffinch.outputs.check import CheckSettings

    settings = CheckSettings(
        **{name: value for name, value in ASK.items() if name not in ("seed", "workers")}
    )
    result, lines = check_request(
        CheckRequest.read(DOCUMENT),
        DataSource(people),
        settings,
        delivery=delivery,
        seed=1,
        workers=1,
    )
    assert json.loads((tmp_path / "c.json").read_text()) == result.to_dict()
    assert [line.split()[0] for line in lines] == ["Wrote"] * 3
    assert (
        json.loads((tmp_path / "c.confidential.json").read_text())["format"]
        == "chaffinch-check-confidential"
    )
    with pytest.raises(chaffinch.errors.FileError, match="it is another output"):
        CheckDelivery(json=tmp_path / "x", html=tmp_path / "x").check(None, None)


def test_what_is_confidential_is_for_its_owner(people, tmp_path):
    from chaffinch.outputs.check import CheckSettings

    file = tmp_path / "c.confidential.json"
    settings = CheckSettings(
        **{name: value for name, value in ASK.items() if name not in ("seed", "workers")}
    )
    check_request(
        CheckRequest.read(DOCUMENT),
        DataSource(people),
        settings,
        delivery=CheckDelivery(confidential=file),
        seed=1,
        workers=1,
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_outputs_are_recorded_as_published_or_as_computed(people, tmp_path):
    counts = pd.crosstab(people["area"], people["ill"])
    known = tmp_path / "released.json"
    rounded = {
        "base": 100,
        "counts": (counts / 100).round().mul(100).astype(int).to_numpy().tolist(),
    }
    document = {
        **DOCUMENT,
        "outputs": [{**TABLE, **rounded}, {**TABLE, "name": "u", "by": ["ill"], "base": 100}],
    }
    assert chaffinch.check(document, people, released=known, record=True, **ASK).about.recorded
    published, computed = read_released(known).entries
    assert published["counts"] == rounded["counts"]
    assert computed["counts"] == (counts.sum() / 100).round().mul(100).astype(int).tolist()
    failing = {
        **DOCUMENT,
        "outputs": [
            {**TABLE, "name": "v", "by": ["area"]},
            {**TABLE, "name": "w", "where": "area == 'none'"},
        ],
    }
    before = known.read_text()
    with pytest.raises(InputError):
        chaffinch.check(failing, people, released=known, record=True, **ASK)
    assert known.read_text() == before


def test_places_that_cannot_be_written_to(tmp_path):
    folder, file = tmp_path / "acro", tmp_path / "outputs.toml"
    shutil.copytree(ACRO, folder)
    file.write_text("")
    for delivery, places, error, words in (
        (CheckDelivery(record=True), (file, None), InputError, "--record needs --released"),
        (CheckDelivery(json=file), (file, None), FileError, "outputs.toml"),
        (
            CheckDelivery(acro_write_back=tmp_path / "back"),
            (file, None),
            InputError,
            "SPEC is a file",
        ),
        (CheckDelivery(acro_write_back=file), (folder, None), FileError, "it exists"),
        (
            CheckDelivery(acro_write_back=folder / "inside"),
            (folder, None),
            FileError,
            "lies in the ACRO folder",
        ),
    ):
        with pytest.raises(error, match=words):
            delivery.check(*places)
    CheckDelivery(acro_write_back=folder).check(folder, None)
    CheckDelivery(acro_write_back=tmp_path / "back", json=tmp_path / "c.json").check(folder, None)
