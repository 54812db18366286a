"""Whatever the engine, a workflow is the same: rows, model, figures and report are those of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.risk.settings import LimitSettings
from chaffinch.spark.drawing import plain_table
from chaffinch.synth.model_file import model_to_bytes
from chaffinch.table.settings import Reading
from chaffinch.utility import UtilitySettings
from chaffinch.workflows.engines import copy_places, engine_of
from chaffinch.workflows.release import ReleaseResult, run_release
from chaffinch.workflows.run import ResultFolder, RunOptions
from chaffinch.workflows.settings import (
    Execution,
    ReleaseAttack,
    ReleaseSettings,
    SynthesisSettings,
)
from chaffinch.workflows.synthesise import Synthesis, draw_sample

from ..conftest import figures

NET = chaffinch.BayesNet(parents=2, conditionals="tables")
KEYS, HIDDEN = ("wife_age", "wife_education"), ("contraceptive_method",)


@pytest.fixture(params=["memory", "stream", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine, which runs."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def cmc_file(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "cmc.parquet"
    chaffinch.read(data / "cmc.csv").write(path)
    return path


def rows_of(place: Path) -> pa.Table:
    """Return the rows of a file, or of a folder of files."""
    files = sorted(place.glob("*.parquet")) if place.is_dir() else [place]
    return pa.concat_tables([pq.read_table(path) for path in files])


def release_settings(engine: str, **options: Any) -> ReleaseSettings:
    return ReleaseSettings(
        synthesis=SynthesisSettings(method=NET, execution=Execution(engine=engine)),
        utility=UtilitySettings(measures=("tvd", "jensen_shannon")),
        attack=ReleaseAttack(
            keys=KEYS,
            sensitive=HIDDEN,
            attackers=["matching", "exact_row"],
            resamples=50,
            limits=LimitSettings(max_excess=0.5),
            **options,
        ),
    )


def test_places_of_copies():
    assert copy_places("s3a://bucket/a.b/people/", 2) == [
        "s3a://bucket/a.b/people-1",
        "s3a://bucket/a.b/people-2",
    ]
    assert copy_places("out", 1) == ["out"]


def test_rows_and_model_are_those_of_a_table(engine, cmc_file, tmp_path):
    """70,000 rows are two batches; the streams of the fit and of each synthesis are numbered."""
    settings = SynthesisSettings(
        method=NET, rows=70_000, copies=2, execution=Execution(engine=engine)
    )
    outputs = engine_of(engine).outputs(str(cmc_file), str(tmp_path / "out.parquet"), 2)
    with Synthesis(settings, RunOptions(seed=7), outputs) as synthesis:
        synthesis.read(str(cmc_file))
        model = synthesis.fit()
        synthesis.draw(model)
    first, *others = (np.random.SeedSequence(7, spawn_key=(number,)) for number in range(3))
    want = NET.fit(chaffinch.read(cmc_file), seed=first)
    assert model.network == want.network
    for output, seed in zip(outputs, others, strict=True):
        drawn = want.sample(70_000, seed=seed)
        assert plain_table(rows_of(Path(output))).equals(plain_table(drawn.data))
    account = synthesis.account(model).to_dict()
    assert (account["rows"], account["run"]["engine"]) == (70_000, engine)
    assert ("rows_equal_to_an_original" in account) == (engine != "spark")
    model.save(tmp_path / "m.chaffinch")
    place, run = tmp_path / "more.parquet", RunOptions(seed=3)
    result = draw_sample(
        tmp_path / "m.chaffinch", place, engine=engine_of(engine), rows=10, run=run
    )
    assert result.rows == 10
    assert plain_table(rows_of(place)).equals(plain_table(want.sample(10, seed=3).data))


def test_a_private_fit_is_that_of_a_table(engine, cmc_file, data):
    """With noise from a seed, which voids the promise and is for such tests alone."""
    pytest.importorskip("opendp")
    schema, net = data / "cmc_declared.toml", chaffinch.BayesNet(epsilon=2.0)
    reading = Reading(schema=schema)
    settings = SynthesisSettings(method=net, reading=reading, execution=Execution(engine=engine))
    with Synthesis(settings, RunOptions(seed=5)) as synthesis:
        synthesis.read(str(cmc_file))
        model = synthesis.fit()
    seed = np.random.SeedSequence(5, spawn_key=(0,))
    assert model_to_bytes(model) == model_to_bytes(
        net.fit(chaffinch.prepare(cmc_file, schema), seed=seed)
    )


@pytest.fixture(scope="module")
def released(cmc_file: Path, tmp_path_factory: pytest.TempPathFactory) -> ReleaseResult:
    """A release in memory."""
    place = ResultFolder(tmp_path_factory.mktemp("memory")).leaving / "synthetic.parquet"
    run = RunOptions(seed=3)
    return run_release(cmc_file, release_settings("memory"), run=run, outputs=[place])


def test_a_release_is_that_of_a_table(engine, cmc_file, released, tmp_path):
    """All records are in the samples of files and of Spark: every figure of utility, attacks, tests and halves is that of memory."""
    place = ResultFolder(tmp_path).leaving / "synthetic.parquet"
    settings, run = release_settings(engine), RunOptions(seed=3)
    result = run_release(str(cmc_file), settings, run=run, outputs=[place])
    assert plain_table(rows_of(place)).equals(plain_table(released.synthetic.data))
    assert model_to_bytes(result.model) == model_to_bytes(released.model)
    ours, want = ({**figures(r.utility), **figures(r.risk)} for r in (result, released))
    assert len(want) > 200
    assert ours == pytest.approx(want, rel=0, abs=1e-9, nan_ok=True)
    assert (result.risk.cross_fit.about.sample is None) == (engine == "memory")
    names = result.write_beside(ResultFolder(tmp_path))
    assert "confidential/report.html" in names
    assert "confidential/model.chaffinch" in names
    assert ReleaseResult.from_dict(result.to_dict()).decision.to_dict() == result.decision.to_dict()


def test_in_python_a_release_is_saved_where_one_says(engine, cmc_file, tmp_path):
    result = chaffinch.release(cmc_file, engine=engine, measures=["tvd"], seed=3)
    if engine != "memory":
        with pytest.raises(InputError, match="is in a file, not in memory: save"):
            _ = result.synthetic
    result.save(tmp_path / "out")
    assert rows_of(tmp_path / "out" / "to-release" / "synthetic.parquet").num_rows == 1473


def test_a_holdout_of_other_columns_is_named_before_anything_is_learnt(
    engine, cmc_file, tmp_path, monkeypatch
):
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(cmc_file).drop_columns(["wife_age"]), other)
    monkeypatch.setattr(
        chaffinch.BayesNet, "fit", lambda *_, **__: pytest.fail("something was learnt")
    )
    settings, run = release_settings(engine), RunOptions(seed=3)
    with pytest.raises(UnknownNameError, match=r"column of 'other\.parquet' 'wife_age'"):
        run_release(str(cmc_file), settings, holdout=str(other), run=run)
