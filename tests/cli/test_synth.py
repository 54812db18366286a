"""synth, fit, sample and inspect, as a person uses them, and the model between them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.cli.synth import say_synthesis


def test_the_whole_way(run_here, data, tmp_path):
    out, model, account = tmp_path / "s.csv", tmp_path / "m.chaffinch", tmp_path / "s.json"
    arguments = [
        "synth",
        data / "cmc.csv",
        "-o",
        out,
        "--label",
        "contraceptive_method",
        "--sensitive",
        "wife_age,num_children",
    ]
    done = run_here(
        *arguments, "--protect", "together", "--model", model, "--seed", 7, "--json", account
    )
    assert done.code == 0, done.err
    header = (data / "cmc.csv").read_text().splitlines()[0]
    lines = out.read_text().splitlines()
    assert lines[0] == header
    assert len(lines) == 1474
    told = json.loads(account.read_text())
    assert told["rows"] == 1473
    assert told["seed"] == 7
    assert set(told["run"]["seconds"]) == {"read", "fit", "sample", "compare", "write"}
    assert 0 <= told["rows_equal_to_an_original"] <= 1
    network = told["network"]
    assert network["order"][0] == network["label"] == "contraceptive_method"
    assert {"nodes", "edges", "order", "label", "sensitive", "fitness"} <= set(network)
    for parent, child in network["edges"]:
        assert parent not in network["sensitive"] or child in network["sensitive"]
    first = out.read_bytes()
    assert (
        run_here(
            *arguments,
            "--protect",
            "together",
            "--seed",
            7,
            "--threads",
            1,
            "--quiet",
            "--overwrite",
        ).code
        == 0
    )
    assert out.read_bytes() == first  # same seed, same bytes, whatever the threads
    seen = run_here("inspect", model, "--svg", tmp_path / "n.svg", "--json", tmp_path / "n.json")
    assert seen.code == 0
    assert "Protected (together): wife_age, num_children" in seen.out
    assert json.loads((tmp_path / "n.json").read_text())["edges"] == network["edges"]
    assert (tmp_path / "n.svg").read_text().startswith("<svg")
    drawn = run_here(
        "sample",
        model,
        "-n",
        50,
        "-o",
        tmp_path / "d.parquet",
        "--given",
        "wife_religion=1",
        "--given",
        "wife_age=30",
        "--seed",
        1,
    )
    assert drawn.code == 0, drawn.err
    table = pq.read_table(tmp_path / "d.parquet")
    assert table.num_rows == 50
    assert set(table["wife_religion"].to_pylist()) == {1}
    assert set(table["wife_age"].to_pylist()) == {30}


def test_copies_and_keep(run_here, data, tmp_path):
    done = run_here(
        "synth",
        data / "caesarian.csv",
        "-o",
        tmp_path / "s.csv",
        "--copies",
        3,
        "--seed",
        1,
        "--method",
        "independent",
    )
    assert done.code == 0, done.err
    texts = [(tmp_path / f"s-{i}.csv").read_text() for i in (1, 2, 3)]
    assert len(set(texts)) == 3
    assert not (tmp_path / "s.csv").exists()
    done = run_here(
        "synth",
        data / "caesarian.csv",
        "-o",
        tmp_path / "k.csv",
        "--keep",
        "age,caesarian",
        "--seed",
        1,
    )
    assert done.code == 0, done.err
    came, went = (chaffinch.read(p) for p in (data / "caesarian.csv", tmp_path / "k.csv"))
    for name in ("age", "caesarian"):
        assert went.data[name].to_pylist() == came.data[name].to_pylist()


def test_no_output_may_be_the_input_or_another_output(run_here, data, tmp_path):
    copy = tmp_path / "c.csv"
    copy.write_bytes((data / "caesarian.csv").read_bytes())
    before = copy.read_bytes()
    for arguments, says in (
        (["-o", copy], "it is the input"),
        (["-o", tmp_path / "s.csv", "--model", tmp_path / "s.csv"], "it is another output"),
        (["-o", tmp_path / "s.csv", "--json", tmp_path / "x" / ".." / "s.csv"], ""),
    ):
        done = run_here("synth", copy, *arguments)
        assert done.code == 2
        assert says in done.err
    assert copy.read_bytes() == before
    assert os.listdir(tmp_path) == ["c.csv"]


@pytest.mark.parametrize("method", ["bayesnet", "bayesnet:conditionals=tables"])
def test_the_original_is_keyed_once_whatever_is_drawn(
    run_here, data, tmp_path, monkeypatch, method
):
    """Three batches a synthesis, two syntheses: no work on the original for each; the shares are those of whole tables, also where a model cuts numbers finer."""
    from chaffinch.table.compare.classes import KeyedRows, class_ids

    keyed, looked_up = [], []
    of, look_up = KeyedRows.from_chunks, KeyedRows.look_up
    monkeypatch.setattr(
        KeyedRows,
        "from_chunks",
        classmethod(lambda cls, *given: keyed.append(given[-1]) or of(*given)),
    )
    monkeypatch.setattr(
        KeyedRows,
        "look_up",
        lambda rows, codes: looked_up.append(codes.n_rows) or look_up(rows, codes),
    )
    out, told = tmp_path / "s.parquet", tmp_path / "s.json"
    done = run_here(
        "synth",
        data / "cmc.csv",
        "-o",
        out,
        "--rows",
        150_000,
        "--copies",
        2,
        "--seed",
        1,
        "--quiet",
        "--json",
        told,
        "--method",
        method,
    )
    assert done.code == 0, done.err
    assert keyed == [1473]
    assert len(looked_up) > 4
    assert sum(looked_up) == 300_000
    table = chaffinch.read(data / "cmc.csv")
    shares = []
    for copy in (1, 2):
        whole = chaffinch.read(tmp_path / f"s-{copy}.parquet", table.schema)
        ids = class_ids(*([one.codes[j] for j in range(len(one.codes))] for one in (table, whole)))
        shares.append(int(np.isin(ids[1], ids[0]).sum()) / 150_000)
    assert json.loads(told.read_text())["rows_equal_to_an_original"] == shares


def test_files_are_told(capsys):
    say_synthesis([Path("o.csv")], Path("m"), rows=1200, private=False)
    said = capsys.readouterr().err
    assert "Wrote o.csv: 1,200 rows." in said
    assert "equal" not in said  # a share without a holdout beside it alarms or lulls
    assert "Wrote m: it holds counts of records, confidential." in said


def test_fit_then_sample_and_any_number_of_rows(run_here, data, tmp_path):
    model = tmp_path / "m.chaffinch"
    assert (
        run_here(
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
        ).code
        == 0
    )
    assert oct(model.stat().st_mode)[-3:] == "600"
    for rows in (0, 1, 70_000):
        assert (
            run_here(
                "sample",
                model,
                "-n",
                rows,
                "-o",
                tmp_path / "s.parquet",
                "--seed",
                2,
                "--overwrite",
            ).code
            == 0
        )
        assert pq.read_metadata(tmp_path / "s.parquet").num_rows == rows
    assert run_here("sample", model, "-o", tmp_path / "s.csv").code == 0
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 769


def test_bad_models_and_values(run_here, data, tmp_path):
    (tmp_path / "x.chaffinch").write_text("not a model")
    for command in (["inspect"], ["sample", "-o", tmp_path / "s.csv"]):
        done = run_here(command[0], tmp_path / "x.chaffinch", *command[1:])
        assert done.code == 2
        assert "is not a Chaffinch model" in done.err
    model = tmp_path / "m.chaffinch"
    run_here("fit", data / "caesarian.csv", "-o", model)
    for given, says in (
        ("caesarian=7", "cannot occur"),
        ("nobody=1", "Unknown column"),
        ("caesarian", "takes COLUMN=VALUE"),
        ("age=young", "cannot occur"),
    ):
        done = run_here("sample", model, "-o", tmp_path / "s.csv", "--given", given)
        assert done.code == 2, given
        assert says in done.err
    assert run_here("sample", model, "-o", tmp_path / "s.xyz").code == 2
    assert not (tmp_path / "s.csv").exists()


@pytest.fixture
def model(data, tmp_path):
    settings = chaffinch.BayesNet(parents=2, label="contraceptive_method", sensitive=("wife_age",))
    settings.fit(data / "cmc.csv", seed=1).save(tmp_path / "m.chaffinch")
    return tmp_path / "m.chaffinch"


def test_every_column_is_shown_with_its_role_and_parents(model, tmp_path, run_here):
    done = run_here("inspect", model, "--svg", tmp_path / "n.svg")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("10 columns, ")
    assert ["column", "role", "parents", "(mutual", "information,", "nats)"] in [
        line.split() for line in lines[1:3]
    ]
    assert any(line.split()[:2] == ["wife_age", "sensitive"] for line in lines)
    assert any(line.startswith("Protected (separate): wife_age. 8 links cut") for line in lines)
    assert (tmp_path / "n.svg").read_text() == chaffinch.load(model).plot().svg
    if (
        os.name == "posix"
    ):  # the widths of its lines are figures of the data, as those of a page are
        assert stat.S_IMODE((tmp_path / "n.svg").stat().st_mode) == 0o600


def test_error_bars_of_a_private_model(data, tmp_path, run_here, model):
    table = chaffinch.prepare(data / "cmc.csv", data / "cmc_declared.toml")
    chaffinch.BayesNet(epsilon=1.0, delta=1e-6).fit(table, seed=1).save(tmp_path / "p.chaffinch")
    done = run_here(
        "inspect",
        tmp_path / "p.chaffinch",
        "--error-bars",
        "wife_religion",
        "--json",
        tmp_path / "p.json",
    )
    assert done.code == 0, done.err
    assert "TEST ONLY. wife_religion: measured with noise" in " ".join(done.out.split())
    bars = json.loads((tmp_path / "p.json").read_text())["error_bars"]
    assert (bars["basis"], len(bars["low"])) == ("measured", 2)
    plain = run_here("inspect", model, "--error-bars", "wife_age")
    assert (plain.code, "models with a promise of privacy" in plain.err) == (2, True)
