"""One record more or less, however odd, changes no message, no exit code and no shape: only numbers that were paid for.

Most tests here put scripted answers in place of noise (`audits.Scripted`). Answers then do not depend on data, so neighbours must end in
the same bytes: files, tables and messages. This says more than a comparison of shapes, and needs no tolerance. With real noise shapes
may differ, because released numbers decide which links and levels a model has; the last tests show that nothing else does.
"""

from __future__ import annotations

import gzip
import json
import sys
from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pytest
from safetensors import safe_open

from chaffinch.cli import main
from chaffinch.privacy import prepare as prepare_module
from chaffinch.synth.bayesnet import BayesNet
from chaffinch.synth.model_file import file_parts
from chaffinch.synth.privbayes import PrivBayes

SCHEMA = """
format = "chaffinch-schema"
version = 1
public = true
rows = 7

[columns.job]
kind = "categorical"
levels = ["cook", "nurse", "smith"]
other = true

[columns.ill]
kind = "boolean"
nullable = true

[columns.age]
kind = "integer"
bounds = [0, 110]
bins = 5

[columns.born]
kind = "date"
bounds = [1900-01-01, 2030-01-01]
bins = 4
nullable = true

[columns.note]
kind = "text"
"""
HEAD = "job,ill,age,born,note"
PLAIN = [
    "cook,true,31,1990-02-03,a",
    "nurse,false,44,1977-12-30,b",
    "cook,false,52,1969-07-20,c",
    "smith,true,29,1992-10-01,d",
    "nurse,true,60,1961-04-12,e",
    "cook,false,38,1983-05-05,f",
]
EXTRA = {
    "plain": "cook,true,33,1988-08-08,g",
    "new word": "qZxCanary,true,33,1988-08-08,g",
    "extreme": "cook,true,918273645,2987-06-05,g",
    "too long for any integer": f"cook,true,{'9' * 400},1988-08-08,g",
    "minus infinity": "cook,true,-inf,1988-08-08,g",
    "empty cells": ",,,,",
    "unparsable": "cook,maybe,thirty,yesterday,g",
    "too many cells": "cook,true,33,1988-08-08,g,qZxCanary,8",
    "too few cells": "cook,true",
    "other dividers": "a;b;c,d;e;f,;;;;;;,\t\t\t\t\t,|||||||",
    "a quote inside": 'co"ok,tr"ue,33,1988-08-08,"g, ""h"""',
    "no letters": "\x01\x02,\x7f,33,1988-08-08,\u202e",
}
"""A last record of a CSV file, for each way in which it can be odd."""

METHODS = {
    "privbayes": ("--method", "privbayes", "--neighbours", "add-remove"),
    "bayesnet": ("--delta", "1e-6"),
}


@pytest.fixture
def run(audits, tmp_path, monkeypatch, capsys):
    """Run a command in this process, by default under scripted answers; return its exit code, messages and files."""

    def go(command, lines, *options, real=False):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        for old in home.iterdir():
            old.unlink()
        monkeypatch.chdir(home)
        (home / "in.csv").write_bytes(
            "\n".join([HEAD, *lines, ""]).encode("utf-8", errors="surrogateescape")
        )
        (home / "in.toml").write_text(SCHEMA)
        output = {
            "synth": ["-o", "out.csv", "--model", "m.chaffinch"],
            "fit": ["-o", "m.chaffinch"],
        }.get(command, [])
        words = [
            command,
            "in.csv",
            *output,
            "--schema",
            "in.toml",
            "--epsilon",
            "1",
            "--json",
            "out.json",
            *options,
        ]
        monkeypatch.setattr(sys, "argv", ["chaffinch", *map(str, words)])
        capsys.readouterr()
        with ExitStack() as stack:
            if not real:
                stack.enter_context(audits.scripted(audits.Scripted((1, 1, 0), test_only=False)))
            end = stack.enter_context(pytest.raises(SystemExit))
            main()
        said = capsys.readouterr()
        files = {
            p.name: p.read_bytes() for p in sorted(home.iterdir()) if not p.name.startswith("in.")
        }
        return end.value.code, said.out, said.err, files

    return go


@pytest.mark.parametrize(("command", "method"), [("fit", "bayesnet"), ("synth", "privbayes")])
def test_commands_say_and_write_the_same(run, command, method):
    options = (*METHODS[method], "--seed", 4)
    base = run(command, PLAIN, *options)
    assert base[0] == 0, base[2]
    assert "Differentially private" in base[2]
    assert {"m.chaffinch", "out.json"} <= set(base[3])
    for name, extra in EXTRA.items():
        other = run(command, [*PLAIN, extra], *options)
        assert other == base, name


def test_no_record_against_one(run):
    for method in METHODS.values():
        none, one = (run("fit", lines, *method, "--seed", 4) for lines in ([], PLAIN[:1]))
        assert none[0] == 0, none[2]
        assert none == one


def test_rows_of_a_person(run):
    # Up to two rows of each person are kept. A person with none, one, five, or rows that cannot be read: nothing shows.
    options = ("--delta", "1e-6", "--person-id", "note", "--rows-per-person", "2", "--seed", 4)
    base = run("fit", PLAIN, *options)
    assert base[0] == 0, base[2]
    for extra in (
        ["cook,true,33,1988-08-08,zed"],
        ["smith,,999,,zed"] * 5,
        ["cook,true"],
        [",,,,", ",,,, "],
    ):
        assert run("fit", [*PLAIN, *extra], *options) == base


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv.gz"])
def test_files_of_every_format_are_the_same(run, ending, tmp_path):
    """Types, metadata and sizes too: only what was drawn is in them."""
    options = (*METHODS["bayesnet"], "--seed", 4, "-o", tmp_path / f"out.{ending}")
    written = []
    for lines in (PLAIN, *([*PLAIN, extra] for extra in list(EXTRA.values())[1:6])):
        assert run("synth", lines, *options)[0] == 0
        written.append((tmp_path / f"out.{ending}").read_bytes())
        (tmp_path / f"out.{ending}").unlink()  # what a budget was spent on is not overwritten
    if ending == "csv.gz":  # the time of writing stands in its head
        written = [gzip.decompress(raw) for raw in written]
    assert set(written) == set(written[:1])


def test_the_comparison_can_fail(run):
    # The same commands on tables that are compared without scripted answers differ in numbers.
    options = (*METHODS["privbayes"], "--seed", 4)
    assert (
        run("fit", PLAIN, *options, real=True)[3]
        != run("fit", [*PLAIN, EXTRA["plain"]], *options, real=True)[3]
    )


def skeleton(model_file):
    """Return names and types of a model file's tensors, and its description with every number taken out but those of the schema."""
    with safe_open(str(model_file), framework="numpy") as opened:
        text = json.loads(opened.metadata()["chaffinch"])
        tensors = {name: str(opened.get_tensor(name).dtype) for name in opened.keys()}  # noqa: SIM118
    return tensors, json.dumps(text["schema"], sort_keys=True), _keys(text)


def _keys(data):
    if isinstance(data, dict):
        return {key: _keys(value) for key, value in data.items()}
    return (
        type(data).__name__ if not isinstance(data, list) else [_keys(value) for value in data[:1]]
    )


def test_files_of_real_fits_differ_in_numbers_alone(run, tmp_path):
    # dpart: two parents each, whatever the noise says; so the tensors of all fits have the same names.
    found = []
    for extra in ("plain", "extreme", "new word", "empty cells"):
        options = ("--method", "privbayes:dpart", "--neighbours", "add-remove")
        code, out, err, files = run("fit", [*PLAIN, EXTRA[extra]], *options, real=True)
        (tmp_path / "m").write_bytes(files["m.chaffinch"])
        told = err.split(": BayesNetModel")[0], err.split("add or remove one record).")[-1]
        found.append(
            (
                code,
                out,
                told,
                sorted(files),
                skeleton(tmp_path / "m"),
                b"Canary" in b"".join(files.values()),
            )
        )
    assert found[0][0] == 0
    assert not any(one[-1] for one in found)
    tensors = [sorted(set(one[4][0].items())) for one in found]
    for one in found[1:]:
        assert one[:4] == found[0][:4]
        assert one[4][1:] == found[0][4][1:]
    assert all(kinds == tensors[0] for kinds in tensors)


SOURCES = {
    "whole numbers": (pa.int64(), [1, 2, 3], [9, 2**62, None]),
    "small numbers": (pa.int8(), [1, 2, 3], [9, 127, None]),
    "floats": (pa.float64(), [1.0, 2.0, 3.0], [float("nan"), float("inf"), -1e308, None]),
    "words": (pa.string(), ["1", "2", "3"], ["x", "", "1e400", None]),
    "words in a dictionary": (
        pa.dictionary(pa.int8(), pa.string()),
        ["1", "2", "3"],
        ["x", "a new word", None],
    ),
    "nothing but nulls": (pa.int32(), [None, None], [None, 4]),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(
    "settings", [PrivBayes(epsilon=1.0, neighbours="add-remove"), BayesNet(epsilon=1.0)]
)
def test_tables_in_memory(audits, settings, name):
    from chaffinch.table import Column, Schema

    kind, plain, odd = SOURCES[name]
    schema = Schema(
        (
            Column("n", "integer", bounds=(0, 9), bins=3, nullable=True),
            Column("k", "categorical", levels=("1", "2"), other=True, nullable=True),
        ),
        public=True,
    )

    def told(values):
        column = pa.array(values, kind)
        table = prepare_module.prepare(pa.table({"n": column, "k": column}), schema)
        return (
            audits.transcript(settings, table, (1,)).public,
            table.schema,
            table.sizes if hasattr(table, "sizes") else 0,
        )

    base = told(plain)
    assert not base[0][-1]
    for value in odd:
        assert told([*plain, value]) == base


def test_pandas_with_and_without_a_missing_value(audits):
    # pandas stores whole numbers with a missing value as floats, and those beyond int64 as others: the declaration decides what comes back.
    import pandas as pd

    from chaffinch.table import Column, Schema

    schema = Schema((Column("n", "integer", bounds=(0, 9), bins=3, nullable=True),), public=True)
    told = []
    for values in (
        [1, 2, 3],
        [1, 2, 3, None],
        [1, 2, 3, 2**63],
        [1, 2, 3, 10**400],
        [1, 2, 3, "x"],
    ):
        table = prepare_module.prepare(pd.DataFrame({"n": values}), schema)
        told.append(
            (
                audits.transcript(BayesNet(epsilon=1.0), table).public,
                table.origin,
                table.data.schema,
            )
        )
    assert all(one == told[0] for one in told)


def test_without_noise_shapes_would_tell():
    """With no noise at all, empty cells stay empty: what the model holds then depends on records. Noise in every cell prevents it."""
    from chaffinch.table import Column, Schema

    columns = tuple(Column(name, "categorical", levels=("x", "y", "z")) for name in "ab")
    schema = Schema(columns, public=True, rows=40)
    kinds = set()
    for last in ("y", "z"):
        source = pa.table(
            {"a": ["x"] * 20 + ["y"] * 19 + [last], "b": ["x"] * 20 + ["y"] * 19 + [last]}
        )
        model = PrivBayes(epsilon=1e6).fit(prepare_module.prepare(source, schema), seed=1)
        kinds.add(tuple(len(level.codes) for table in model.tables for level in table.levels))
        assert set(file_parts(model)[0]) >= {"schema", "order", "parents", "fitted"}
    assert len(kinds) == 2
    assert np.isfinite(list(map(len, kinds))).all()
