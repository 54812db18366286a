"""Two columns crossed: counts as one counts by hand, rounded, and small ones hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaffinch.web.screens.crossing import crossed


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_counts_are_those_of_the_table(tmp_path: Path, ending: str) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = pa.table(
        {
            "a": ["x"] * 52 + ["y"] * 48,
            "b": ["p"] * 34 + ["q"] * 18 + ["p"] * 4 + ["q"] * 44,
            "c": range(100),
        }
    )
    path = tmp_path / f"synthetic.{ending}"
    (csv.write_csv if ending == "csv" else parquet.write_table)(table, path)
    found = crossed(path, "b", "a")
    assert (found.column, found.by, found.head, found.counted) == ("b", "a", ("p", "q"), 100)
    assert found.rows == (("x", "30", "20"), ("y", "<10", "40"))
