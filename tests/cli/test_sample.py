"""sample: models and values that cannot be are named."""

from __future__ import annotations

import subprocess
import sys


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "chaffinch", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def test_bad_models_and_values(data, tmp_path):
    (tmp_path / "x.chaffinch").write_text("not a model")
    for command in (["inspect"], ["sample", "-o", tmp_path / "s.csv"]):
        done = run(command[0], tmp_path / "x.chaffinch", *command[1:])
        assert done.returncode == 2
        assert "is not a Chaffinch model" in done.stderr
    model = tmp_path / "m.chaffinch"
    run("fit", data / "caesarian.csv", "-o", model)
    for given, says in (
        ("caesarian=7", "cannot occur"),
        ("nobody=1", "Unknown column"),
        ("caesarian", "takes COLUMN=VALUE"),
        ("age=young", "cannot occur"),
    ):
        done = run("sample", model, "-o", tmp_path / "s.csv", "--given", given)
        assert done.returncode == 2, given
        assert says in done.stderr
    assert run("sample", model, "-o", tmp_path / "s.xyz").returncode == 2
    assert not (tmp_path / "s.csv").exists()
