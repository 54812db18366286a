"""`chaffinch.evolve`: what it takes, the name of the file, and what written datasets say of themselves."""

import json

import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.outputs.document import Outputs
from chaffinch.workflows.evolve import write_copies

PUBLISHED = {
    "format": "chaffinch-outputs",
    "version": 1,
    "rows": 30,
    "columns": [{"name": "sex", "levels": ["f", "m"]}],
    "outputs": [{"name": "by sex", "kind": "table", "by": ["sex"], "counts": [10, 20]}],
}


def test_files_mappings_and_specifications_give_the_same_datasets(tmp_path):
    path = tmp_path / "published.json"
    path.write_text(json.dumps(PUBLISHED))
    results = [
        chaffinch.evolve(spec, seed=1, workers=1)
        for spec in (path, PUBLISHED, Outputs.from_dict(PUBLISHED))
    ]
    assert [result.about.spec for result in results] == ["published.json", None, None]
    for result in results:
        assert result.reached
        assert (result.copies[0].codes == results[0].copies[0].codes).all()
    out = tmp_path / "evolved.parquet"
    write_copies(results[0], [out])
    note = json.loads(pq.read_schema(out).metadata[b"chaffinch"])
    assert note["format"] == "chaffinch-evolved"
    assert (note["copy"], note["search_engine"], note["reached"], note["missed"]) == (
        1,
        "incremental",
        True,
        [],
    )
    assert sorted(pq.read_table(out).column("sex").to_pylist()) == ["f"] * 10 + ["m"] * 20


def test_anything_else_is_refused():
    with pytest.raises(
        InputError,
        match=r"must be a file of outputs, a mapping with the same keys or Outputs. Got list",
    ):
        chaffinch.evolve([PUBLISHED])
