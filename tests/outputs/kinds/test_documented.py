"""The page that documents the file: its blocks make a file with every kind of output, which the records behind it satisfy."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, read_outputs
from chaffinch.outputs.equations import SumSystem
from chaffinch.outputs.kinds import KINDS

ROOT = Path(__file__).resolve().parents[3]
NAMES = {
    "AGE": "wife_age", "EDUCATION": "wife_education", "CHILDREN": "num_children", "MEDIA": "media_exposure",
    "METHOD": "contraceptive_method", "LIVING": "standard_of_living",
}  # fmt: skip
BLOCKS = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "outputs-file.md").read_text("utf-8"), flags=re.DOTALL)


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    file = tmp_path_factory.mktemp("documented") / "outputs.toml"
    file.write_text("\n".join(BLOCKS), encoding="utf-8")
    return read_outputs(file, numbers="required")


@pytest.fixture(scope="module")
def codes(documented: Outputs) -> np.ndarray:
    raw = pd.read_csv(ROOT / "examples" / "data" / "cmc.csv")
    columns = {}
    for field in documented.fields:
        values = raw[NAMES[field.name]]
        first = 1 if field.name in ("EDUCATION", "METHOD") else 0
        columns[field.name] = values.tolist() if field.numeric else [field.levels[v - first] for v in values]
    return documented.fields.codes(columns)


def test_every_kind_is_shown(documented: Outputs) -> None:
    assert {output.kind for output in documented.outputs} == set(KINDS.names)
    page = (ROOT / "docs" / "outputs-file.md").read_text("utf-8")
    for kind in KINDS:
        for key in kind.spec.model_fields:
            assert re.search(rf"\b{key}\b", page), f"'{key}' of kind {kind.name} is not on the page"


def test_the_records_satisfy_the_page(documented: Outputs, codes: np.ndarray, check: Any) -> None:
    coefficients = {
        o.name for o in documented.problem().outputs if isinstance(o, SumSystem) and o.reported == "coefficients"
    }
    assert len(coefficients) == 10
    assert set(check(documented, codes)) <= coefficients  # whose scores are not 0 at rounded coefficients
    for output in documented.problem().outputs:
        if output.name in coefficients:
            assert isinstance(output, SumSystem)
            each = output.contributions(codes)
            # To first order: the score in units of its own spread, against one that a rounded coefficient can make.
            assert np.abs(each.sum(axis=0) / np.sqrt((each**2).sum(axis=0))).max() < 0.6


def test_the_page_does_not_contradict_itself(documented: Outputs) -> None:
    assert contradictions(documented) == []


def test_json_says_the_same(documented: Outputs, tmp_path: Path) -> None:
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps(tomllib.loads("\n".join(BLOCKS))), encoding="utf-8")
    other = read_outputs(file, numbers="required")
    again = Outputs.from_dict(json.loads(json.dumps(documented.to_dict())))
    for spec in (other, again):
        assert [output.name for output in spec.problem().outputs] == [
            output.name for output in documented.problem().outputs
        ]
        for mine, theirs in zip(spec.problem().outputs, documented.problem().outputs, strict=True):
            np.testing.assert_array_equal(mine.lo, theirs.lo)
            np.testing.assert_array_equal(mine.hi, theirs.hi)
