"""A release as a result: read back from its JSON, and saved wholly or not at all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import chaffinch as cf
from chaffinch.errors import InputError
from chaffinch.stats.intervals import LimitState
from chaffinch.workflows.release import ReleaseResult


@pytest.fixture(scope="module")
def result(data):
    table = cf.read(data / "cmc.csv")
    return cf.release(
        table[:700],
        label="contraceptive_method",
        sensitive=["wife_age"],
        keys=["wife_religion", "wife_education"],
        holdout=table[700:],
        max_excess=0.9,
        seed=3,
        measures=["tvd"],
        attackers=["gcap"],
    )


def test_the_json_of_a_release_is_read_back_into_results(result, tmp_path):
    plain = json.loads(json.dumps(result.to_dict()))
    again = ReleaseResult.from_dict(plain)
    assert again.to_dict() == plain
    assert (again.utility, again.risk, again.lower_bound) == (
        result.utility,
        result.risk,
        result.lower_bound,
    )
    assert str(again.decision) == str(result.decision)
    assert repr(again) == repr(result)
    with pytest.raises(InputError, match="no model to write"):
        again.save(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="a study alone"):
        ReleaseResult.from_dict({**plain, "synthesis": None})
    with pytest.raises(InputError, match=r"at 'rows': input should be a valid integer"):
        ReleaseResult.from_dict({**plain, "synthesis": {**plain["synthesis"], "rows": "many"}})


def test_a_save_that_fails_leaves_nothing(result, tmp_path, monkeypatch):
    monkeypatch.setattr("chaffinch.workflows.release.render", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.save(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_result_that_exceeds_its_limit_is_saved_among_what_was_refused(result, tmp_path):
    assert (result.refused, result.limit.state) == (False, "undecided")
    result.save(tmp_path / "folder")
    over = replace(result.limit, state=LimitState.EXCEEDS)
    refused = replace(
        result, report=replace(result.report, risk=replace(result.risk, policy=over.to_dict()))
    )
    assert refused.refused
    paths = refused.save(
        tmp_path / "folder", overwrite=True
    )  # over an earlier release of the same name
    assert tmp_path / "folder" / "confidential" / "refused" / "synthetic.csv" in paths
    assert not (tmp_path / "folder" / "to-release").exists()
    assert (tmp_path / "folder" / "confidential" / "refused").stat().st_mode & 0o077 == 0
    result.save(tmp_path / "folder", overwrite=True)
    assert (tmp_path / "folder" / "to-release" / "synthetic.csv").exists()
    assert not (tmp_path / "folder" / "confidential" / "refused").exists()
