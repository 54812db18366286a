"""A release of a table on Spark: the rows of `synth`, the figures of `utility` and `risk`, one report, and nothing where something is wrong."""

from __future__ import annotations

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.risk import RiskSettings
from chaffinch.spark.scanning import scan
from chaffinch.synth.model_file import model_to_bytes
from chaffinch.utility import UtilitySettings
from chaffinch.workflows import on_spark
from chaffinch.workflows.on_spark import release_on_spark, synthesise_on_spark
from chaffinch.workflows.release import ReleaseResult, ReleaseSettings
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.synthesise import SynthesisSettings

KEYS, HIDDEN = ("wife_age", "wife_education"), ("contraceptive_method",)


def settings(**options: object) -> ReleaseSettings:
    attack = RiskSettings(
        keys=KEYS,
        sensitive=HIDDEN,
        attackers=("gcap",),
        tests=("exact_row",),
        resamples=50,
        sample_rows=600,
    )
    return ReleaseSettings(
        synthesis=SynthesisSettings(synthesiser=chaffinch.BayesNet(parents=2)),
        utility=UtilitySettings(measures=("tvd", "pmse"), sample_rows=600),
        attack=attack,
        keys=KEYS,
        sensitive=HIDDEN,
        **options,
    )


@pytest.fixture(scope="module")
def people(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "cmc.parquet"
    chaffinch.read(data / "cmc.csv").write(path)
    return path


def test_halves_are_fitted_as_the_release_is():
    """On Spark networks have tables: halves in memory with trees would be another method than what leaves."""
    assert on_spark._as_fitted(chaffinch.BayesNet()).conditionals == "tables"
    chosen = chaffinch.Independent()
    assert on_spark._as_fitted(chosen) is chosen


def test_what_is_not_done_on_spark_is_named_before_it_starts(monkeypatch, tmp_path):
    monkeypatch.setattr(on_spark, "started_session", lambda: pytest.fail("Spark was started"))
    plain = settings()
    for changed, words in (
        (replace(plain, synthesis=replace(plain.synthesis, copies=2)), "one synthesis"),
        (
            replace(
                plain,
                synthesis=replace(plain.synthesis, synthesiser=chaffinch.BayesNet(epsilon=1.0)),
            ),
            "promises privacy",
        ),
        (replace(plain, synthesis=replace(plain.synthesis, keep=("wife_age",))), "keep completes"),
    ):
        with pytest.raises(InputError, match=words):
            release_on_spark("a.parquet", changed, tmp_path, RunOptions())


def test_a_release_is_rows_a_model_and_a_report(spark, people, tmp_path, monkeypatch):
    scans = []
    monkeypatch.setattr(
        on_spark, "scan", lambda *args, **options: scans.append(1) or scan(*args, **options)
    )
    result = release_on_spark(str(people), settings(max_excess=0.5), tmp_path, RunOptions(seed=3))
    assert scans == [1]  # what is measured is what was learnt from
    names = result.write_beside(tmp_path)
    assert "confidential/report.html" in names
    assert "confidential/model.chaffinch" in names
    rows = pq.read_table(tmp_path / "to-release" / "synthetic.parquet")
    assert rows.num_rows == result.model.n_rows == 1473
    alone = synthesise_on_spark(
        str(people), str(tmp_path / "alone"), settings().synthesis, RunOptions(seed=3)
    )
    assert model_to_bytes(result.model) == model_to_bytes(alone.model)
    assert rows.equals(pq.read_table(tmp_path / "alone"))
    want = chaffinch.utility(
        chaffinch.scan(people), rows, measures=["tvd"], sample_rows=600, seed=3
    )
    assert result.utility.results["tvd.2"].value == pytest.approx(
        want.results["tvd.2"].value, abs=1e-12
    )
    assert result.risk.cross_fit is not None
    assert result.risk.cross_fit.about.sample.sentences[0].startswith(
        "Of a sample: models of halves"
    )
    assert ReleaseResult.from_dict(result.to_dict()).decision.to_dict() == result.decision.to_dict()


def test_a_holdout_of_other_columns_is_named_before_anything_is_learnt(
    spark, people, tmp_path, monkeypatch
):
    pq.write_table(pq.read_table(people).drop_columns(["wife_age"]), tmp_path / "other.parquet")
    monkeypatch.setattr(
        chaffinch.BayesNet, "fit", lambda *_, **__: pytest.fail("something was learnt")
    )
    with pytest.raises(UnknownNameError, match="wife_age"):
        release_on_spark(
            str(people),
            settings(),
            tmp_path,
            RunOptions(seed=3),
            holdout=str(tmp_path / "other.parquet"),
        )
