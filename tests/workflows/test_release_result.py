"""A release as a result: read back from its JSON, and saved wholly or not at all."""

from __future__ import annotations

import json

import pytest

import chaffinch as cf
from chaffinch.errors import InputError
from chaffinch.workflows.release_result import ReleaseResult


@pytest.fixture(scope="module")
def result(data):
    table = cf.read(data / "cmc.csv")
    return cf.release(
        table[:700], label="contraceptive_method", sensitive=["wife_age"], keys=["wife_religion", "wife_education"], holdout=table[700:],
        max_excess=0.9, seed=3, measures=["tvd"], attackers=["gcap"],
    )  # fmt: skip


def test_the_json_of_a_release_is_read_back_into_results(result, tmp_path):
    plain = json.loads(json.dumps(result.to_dict()))
    again = ReleaseResult.from_dict(plain)
    assert again.to_dict() == plain
    assert (again.utility, again.risk, again.lower_bound) == (result.utility, result.risk, result.lower_bound)
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
    monkeypatch.setattr("chaffinch.workflows.release_result.render", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.save(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []
