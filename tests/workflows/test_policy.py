"""What is allowed, and whether a result keeps to it."""

from __future__ import annotations

import hashlib

import pytest

from chaffinch.errors import FileError, InputError
from chaffinch.risk import RiskResult
from chaffinch.workflows.policy import RiskPolicy


def test_a_file_says_what_is_allowed_and_a_number_overrides_it(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text("max_excess = 0.02\n")
    policy = RiskPolicy.read(path, None, holdout=True)
    assert policy.max_excess == 0.02
    assert policy.source == {"file": "policy.toml", "sha256": hashlib.sha256(b"max_excess = 0.02\n").hexdigest()}
    assert RiskPolicy.read(path, 0.1, holdout=True).max_excess == 0.1
    assert RiskPolicy.read(None, None, holdout=False) == RiskPolicy()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_excess = 2", "between 0 and 1"),
        ("max_excess = true", "must be a number"),
        ("most = 1", "unknown key 'most'"),
        ("=", "not TOML"),
    ],
)
def test_what_is_no_policy_is_refused(tmp_path, text, message):
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        RiskPolicy.read(path, None, holdout=True)


def test_what_cannot_be_judged_or_read_is_refused(tmp_path):
    with pytest.raises(InputError, match="without a holdout"):
        RiskPolicy.read(None, 0.1, holdout=False)
    with pytest.raises(FileError, match="Cannot read"):
        RiskPolicy.read(tmp_path / "none.toml", None, holdout=True)


def test_a_bound_is_held_against_the_limit():
    policy = RiskPolicy(0.1)
    assert policy.allows(None)
    assert policy.allows(0.1)
    assert not policy.allows(0.11)
    assert RiskPolicy().allows(1.0)
    empty = RiskResult.from_dict({"format": "chaffinch-risk", "version": 1})
    result = policy.judged(empty, {"date": "today"})
    assert result.policy == {"max_excess": 0.1, "lower_bound": None, "passed": True}
    assert result.run.date == "today"
