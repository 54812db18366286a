"""What is allowed, and the three states of a limit."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import FileError, InputError
from chaffinch.risk.finding import Finding
from chaffinch.risk.policy import RiskPolicy
from chaffinch.risk.result import AttackedTable, RiskAbout, RiskResult
from chaffinch.risk.settings import LimitSettings
from chaffinch.risk.verdict import LimitVerdict
from chaffinch.stats.familywise import FamilywiseTest
from chaffinch.stats.sampled import SampledRecords


def test_a_file_says_what_is_allowed_and_a_number_overrides_it(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text("max_excess = 0.02\n")
    policy = RiskPolicy.read(LimitSettings(policy=path), holdout=True)
    assert policy.max_excess == 0.02
    assert policy.source == {
        "file": "policy.toml",
        "sha256": hashlib.sha256(b"max_excess = 0.02\n").hexdigest(),
    }
    assert (
        RiskPolicy.read(LimitSettings(policy=path, max_excess=0.1), holdout=True).max_excess == 0.1
    )
    assert RiskPolicy.read(LimitSettings(), holdout=False) == RiskPolicy()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_excess = 2", "between 0 and 1"),
        ("max_excess = true", "'max_excess' is not as it should be"),
        ("max_exces = 1", "Did you mean 'max_excess'"),
        ("require_shown = true", "'max_excess' is missing"),
        ("=", "is not valid TOML"),
    ],
)
def test_what_is_no_policy_is_refused(tmp_path, text, message):
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        RiskPolicy.read(LimitSettings(policy=path), holdout=True)


def test_what_cannot_be_judged_or_read_is_refused(tmp_path):
    with pytest.raises(InputError, match="without a holdout"):
        RiskPolicy.read(LimitSettings(max_excess=0.1), holdout=False)
    with pytest.raises(FileError, match="No such file"):
        RiskPolicy.read(LimitSettings(policy=tmp_path / "none.toml"), holdout=True)


def known(*bounds: tuple[float | None, float | None], **about) -> RiskResult:
    """Return a result whose findings have these simultaneous bounds."""
    lower, upper = zip(*bounds, strict=True)
    attacks = tuple(
        Finding(
            attacker="dcap",
            sensitive="ill",
            value=0.6,
            excess=0.0,
            p_family=0.5,
            detectable=0.03 + 0.01 * j,
        )
        for j in range(len(bounds) - 1)
    )
    tests = (Finding(attacker="exact_row", value=0.1, excess=0.0, p_family=0.5, detectable=0.12),)
    family = FamilywiseTest(p_value=0.5, adjusted=(0.5,) * len(bounds), lower=lower, upper=upper)
    one = {"holdout": AttackedTable(100), "synthetic": (AttackedTable(100),), **about}
    return RiskResult(about=RiskAbout(**one), findings=(*attacks, *tests), family=family)


@pytest.mark.parametrize(
    ("bounds", "state", "passed"),
    [
        (((-0.1, 0.02), (-0.2, 0.049)), "shown to keep", True),
        (((-0.1, 0.02), (-0.2, 0.3)), "undecided", None),  # the test alone may exceed
        (((-0.1, 0.3), (-0.2, 0.02)), "undecided", None),
        (((-0.1, 0.02), (0.06, 0.3)), "exceeds", False),
        (((-0.1, 0.02), (None, None)), "undecided", None),  # a test that was not made
        (((-0.1, 0.02), (None, 0.04)), "shown to keep", True),  # everybody scores the same
    ],
)
def test_three_states_over_all_findings_together(bounds, state, passed):
    result = RiskPolicy(0.05).classify(known(*bounds), {"date": "today"})
    assert (result.policy["state"], result.policy["passed"]) == (state, passed)
    assert (result.limit.state, result.limit.passed, result.run.date) == (state, passed, "today")
    first = {"shown to keep": "SHOWN", "exceeds": "EXCEEDS", "undecided": "UNDECIDED"}[state]
    assert result.limit.sentence.split()[0].rstrip(":") == first
    assert RiskPolicy(0.05).refuses(result.limit) == (state == "exceeds")
    assert RiskPolicy(0.05, require_shown=True).refuses(result.limit) == (state != "shown to keep")
    assert RiskResult.from_dict(result.to_dict()).limit == result.limit


def test_what_is_undecided_has_both_bounds_and_the_detectable_excess():
    sentence = RiskPolicy(0.05).classify(known((-0.1, 0.02), (-0.2, 0.3)), {}).limit.sentence
    assert "lies between −0.1 and 0.3 (simultaneous 95 % bounds)" in sentence
    assert (
        "An excess of 0.03 (the most precise) to 0.12 (the least precise) is detected with 80 % power."
        in sentence
    )
    for word in ("keeps", "ready", "passed"):
        assert word not in sentence


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"synthetic": (AttackedTable(100), AttackedTable(100))}, "each of several releases"),
        ({"sample": SampledRecords("values", False)}, "a sample of the records"),
    ],
)
def test_what_was_not_looked_at_is_not_shown(more, reason):
    verdict = RiskPolicy(0.5).classify(known((-0.1, 0.02), (-0.2, 0.03), **more), {}).limit
    assert verdict.state == "undecided"
    assert reason in verdict.sentence
    assert (
        RiskPolicy(0.5).classify(known((-0.1, 0.02), (0.6, 0.7), **more), {}).limit.state
        == "exceeds"
    )


def test_models_of_half_the_people_refuse_a_table_and_never_show_it():
    halves = known((-0.1, 0.02), (-0.2, 0.03))
    crossed = RiskResult(findings=halves.findings, family=halves.family)
    alone = replace(
        halves,
        about=replace(halves.about, holdout=None),
        family=FamilywiseTest(reason="no holdout"),
        cross_fit=crossed,
    )
    verdict = RiskPolicy(0.5).classify(alone, {}).limit
    assert (verdict.state, "models of half of the people" in verdict.sentence) == (
        "undecided",
        True,
    )
    over = replace(
        alone, cross_fit=replace(crossed, family=replace(halves.family, lower=(0.6, -0.2)))
    )
    assert RiskPolicy(0.5).classify(over, {}).limit.state == "exceeds"


def test_a_finding_without_a_bound_is_named_with_its_reason():
    result = known((-0.1, 0.02), (None, None))
    untried = replace(
        result,
        findings=(
            result.findings[0],
            replace(
                result.findings[1],
                value=None,
                excess=None,
                reason="There are too few rows.",
            ),
        ),
    )
    sentence = RiskPolicy(0.05).classify(untried, {}).limit.sentence
    assert "Without an upper bound: Exact row (There are too few rows)." in sentence


def test_without_a_limit_there_is_no_policy():
    result = RiskPolicy().classify(known((-0.1, 0.02), (0.6, 0.7)), {"date": "today"})
    assert (result.policy, result.limit, result.run.date) == (None, None, "today")
    assert "policy" not in result.to_dict()
    assert not RiskPolicy().refuses(None)
    empty = RiskResult.from_dict({"format": "chaffinch-risk", "version": 3})
    assert RiskPolicy(0.1).classify(empty, {}).limit.state == "undecided"
    # what an earlier version wrote names no state: that a lower bound was within the limit decides nothing
    assert (
        LimitVerdict.from_policy({"max_excess": 0.1, "lower_bound": 0.05, "passed": True}).state
        == "undecided"
    )
    assert (
        LimitVerdict.from_policy({"max_excess": 0.1, "lower_bound": 0.2, "passed": False}).state
        == "exceeds"
    )


def test_what_has_to_be_shown_needs_a_limit_and_a_holdout(tmp_path):
    with pytest.raises(InputError, match="needs a limit"):
        RiskPolicy.read(LimitSettings(require_shown=True), holdout=True)
    with pytest.raises(InputError, match="needs a holdout"):
        RiskPolicy(0.1, require_shown=True).check(holdout=False)
    (path := tmp_path / "policy.toml").write_text("max_excess = 0.02\nrequire_shown = true\n")
    assert RiskPolicy.read(LimitSettings(policy=path), holdout=True).require_shown
    path.write_text("max_excess = 0.02\nrequire_shown = 1\n")
    with pytest.raises(InputError, match="'require_shown' is not as it should be"):
        RiskPolicy.read(LimitSettings(policy=path), holdout=True)


def test_the_function_judges_a_limit_as_the_command_does():
    people = pa.table({"age": [str(i % 7) for i in range(60)], "ill": ["no", "yes"] * 30})
    others = pa.table({"age": [str(i % 5) for i in range(60)], "ill": ["no", "no", "yes"] * 20})
    options: dict = {"attackers": ["exact_row"], "resamples": 20, "seed": 1}
    result = chaffinch.risk(people, people, others, max_excess=0.5, **options)
    assert result.limit.max_excess == 0.5
    assert chaffinch.risk(people, people, others, **options).limit is None
    with pytest.raises(InputError, match="without a holdout"):
        chaffinch.risk(people, people, max_excess=0.5, **options)
