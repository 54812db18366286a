"""fit: a model of its own, for any number of rows."""

from __future__ import annotations

import subprocess
import sys

import pyarrow.parquet as pq


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "chaffinch", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def test_fit_then_sample_and_any_number_of_rows(data, tmp_path):
    model = tmp_path / "m.chaffinch"
    assert (
        run(
            "fit",
            data / "diabetes.csv",
            "-o",
            model,
            "--search",
            "greedy",
            "--parents",
            2,
            "--seed",
            1,
        ).returncode
        == 0
    )
    assert oct(model.stat().st_mode)[-3:] == "600"
    for rows in (0, 1, 70_000):
        assert (
            run(
                "sample",
                model,
                "-n",
                rows,
                "-o",
                tmp_path / "s.parquet",
                "--seed",
                2,
                "--overwrite",
            ).returncode
            == 0
        )
        assert pq.read_metadata(tmp_path / "s.parquet").num_rows == rows
    assert run("sample", model, "-o", tmp_path / "s.csv").returncode == 0
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 769
