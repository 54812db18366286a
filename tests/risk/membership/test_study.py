"""Membership: a copy is caught by every attacker, a generator that ignores its input by none; both boxes, both designs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from chaffinch import BayesNet, read
from chaffinch._base.errors import InputError
from chaffinch.risk.membership import MembershipResult, ShadowSettings, learning, membership
from chaffinch.risk.membership.study import campaign_against
from chaffinch.risk.shadows import Working
from chaffinch.risk.shadows.settings import AttackTargets, targets_in

from ..conftest import copy, ignoring


def attacked(table, maker, *, seed=1, **plan):
    options = {"shadows": 20, "test_shadows": 20, "tables_per_shadow": 1, **plan}
    return membership(table, maker, **options, targets=4, rows=30, seed=seed, workers=1)


@pytest.mark.parametrize("design", ["shared", "neighbours"])
@pytest.mark.parametrize("features", ["queries", "closest"])
def test_a_copy_is_caught(five_letters, design, features):
    found = attacked(five_letters, copy, design=design, features=features)
    assert found.auc > 0.99
    assert found.findings[0].excess_found
    assert found.closest.auc > 0.99
    assert found.pooled.advantage > 0.9


@pytest.mark.slow
def test_a_generator_that_ignores_its_input_is_at_one_half_at_the_stated_rate(five_letters):
    """95 % intervals of 30 studies: 10 or more miss with chance 2e-6."""
    missed = sum(
        not found.pooled.auc_interval[0] <= 0.5 <= found.pooled.auc_interval[1]
        for found in (
            attacked(five_letters, ignoring(five_letters), seed=seed, shadows=10, test_shadows=15)
            for seed in range(30)
        )
    )
    assert missed < 10


@pytest.fixture(scope="module")
def earners():
    """People with an income each, which nobody shares and which has a heavy tail, and words, some of which are unique."""
    rng = np.random.default_rng(3)
    words = {name: rng.choice(list("abc"), 300).astype(object) for name in ("one", "two")}
    words["two"][7] = "only"
    frame = pd.DataFrame({"income": np.round(np.exp(rng.normal(10, 1.2, 300)), 2), **words})
    return read(frame, rare="keep"), [
        int((frame["income"] - frame["income"].median()).abs().argmin()),
        7,
    ]


def permuted(given, seed):
    rng = np.random.default_rng(seed)
    return given.to_pandas().apply(lambda column: column.to_numpy()[rng.permutation(given.n_rows)])


def test_values_that_are_released_as_they_are_give_away_who_has_them(earners):
    """Each column in an order of its own: codes on bins hardly tell, a number or a word that one person has is certain."""
    table, targets = earners
    options = {
        "shadows": 40,
        "test_shadows": 40,
        "tables_per_shadow": 1,
        "targets": targets,
        "rows": 60,
        "seed": 1,
        "workers": 1,
    }
    found = membership(table, permuted, **options)
    assert found.auc > 0.97
    assert min(found.target_aucs) > 0.97
    by_name = {part.attacker: part for part in found.parts}
    assert by_name["exact"].value > 0.97
    assert by_name["exact"].interval[0] > 0.9
    assert found.parts[0].value >= by_name["linear"].value
    assert [part.value for part in found.parts] == sorted(
        (part.value for part in found.parts), reverse=True
    )
    assert set(found.mean_aucs) == set(by_name)
    assert [finding.attacker for finding in found.findings[:2]] == ["combined", "closest"]
    assert [finding.value for finding in found.findings[:2]] == [found.auc, found.closest.auc]
    assert "alone tell them apart with AUC" in found.sentence
    codes = membership(table, permuted, **options, grid="population", learner="linear")
    assert min(codes.target_aucs) < 0.8  # the number in the middle is in a bin with others
    assert codes.parts == ()
    assert codes.findings[0].attacker == "linear"


def test_a_generator_that_ignores_its_input_gives_nothing_away(earners):
    """All parts, on the values of the population itself: the 95 % interval of one study holds a half; seeded."""
    table, targets = earners
    found = membership(
        table,
        ignoring(table),
        shadows=40,
        test_shadows=40,
        tables_per_shadow=1,
        targets=targets,
        rows=60,
        seed=2,
        workers=1,
    )
    assert not found.findings[0].excess_found
    assert found.interval[0] <= 0.5 <= found.interval[1]
    assert found.sentence.endswith("a guess has 0.5. No more was found than guessing gives.")
    assert "alone tell" not in found.sentence


def test_an_attacker_of_values_sees_none_on_the_population_s_grid(earners):
    table, targets = earners
    with pytest.raises(InputError, match="released values alone"):
        membership(
            table,
            permuted,
            shadows=10,
            test_shadows=10,
            tables_per_shadow=1,
            targets=targets,
            rows=60,
            workers=1,
            learner="exact",
            grid="population",
        )


def test_the_model_tells_more_than_its_tables(five_letters):
    black = attacked(
        five_letters,
        BayesNet(parents=2, smoothing=0.0, conditionals="tables"),
        test_shadows=40,
        shadows=40,
        grid="population",
    )
    white = attacked(
        five_letters,
        BayesNet(parents=2, smoothing=0.0, conditionals="tables"),
        access="whitebox",
        test_shadows=40,
        shadows=40,
    )
    assert white.findings[0].excess_found
    assert white.auc > black.auc


def test_a_function_has_no_model_to_look_into(five_letters):
    with pytest.raises(InputError, match="no model to look into"):
        attacked(five_letters, copy, access="whitebox")


def test_features_beyond_memory_are_those_that_vary_most(five_letters, monkeypatch):
    monkeypatch.setattr(learning, "MEMORY", 4 * 40 * 6)  # room for six of sixteen counts
    found = attacked(five_letters, copy)
    assert found.auc > 0.9


def test_a_kept_run_is_taken_up_and_gives_the_same(five_letters, tmp_path):
    calls = []

    def counting(given, seed):
        calls.append(seed)
        return given

    options = {
        "shadows": 10,
        "test_shadows": 10,
        "tables_per_shadow": 1,
        "targets": 2,
        "rows": 30,
        "workers": 1,
        "shadow_folder": tmp_path / "k",
    }
    first = membership(five_letters, counting, **options)
    made = len(calls)
    assert made == 40
    second = membership(five_letters, counting, **options)
    assert len(calls) == made
    one, other = first.to_dict(), second.to_dict()
    one.pop("run")
    other.pop("run")
    assert one == other


def test_no_record_leaves(five_letters):
    found = attacked(five_letters, copy)
    leaving = json.dumps(found.to_dict()) + repr(found) + found._repr_html_() + found.sentence
    assert '"record"' not in leaving
    plain = json.loads(json.dumps(found.to_dict()))
    assert MembershipResult.from_dict(plain).to_dict() == plain
    html = found._repr_html_()
    assert (html.count("<table>"), html.count("<svg")) == (1, 1)
    told = found.confidential()
    assert told["confidential"] is True
    record = found.world.table.to_pandas().iloc[found.world.targets[0]].to_dict()
    assert told["targets"][0]["record"] == record


def campaign(table, design="shared"):
    plan = ShadowSettings.from_options(
        shadows=10,
        test_shadows=10,
        tables_per_shadow=1,
        design=design,
        features="closest",
        targets=2,
        rows=20,
        ranking="hamming",
    )
    return campaign_against(table, copy, None, plan, 1, Working(workers=1))


@pytest.mark.parametrize("design", ["shared", "neighbours"])
def test_draws_are_of_the_design(five_letters, design):
    draws = campaign(five_letters, design).drawn(10, 0)
    assert len(draws) == (20 if design == "shared" else 40)
    assert [int(draws.member[draws.shadows_of(k), k].sum()) for k in range(2)] == [10, 10]


def test_a_copy_is_told_by_its_closest_row(five_letters):
    learnt = campaign(five_letters).learnt()
    assert learnt.aucs.tolist() == [1.0, 1.0]
    seen = learnt.look(learnt.campaign.drawn(10, 3), "test", 4)
    assert (
        (seen.closest == 4) == seen.draws.member
    ).all()  # all four columns match where the target is in the table
    assert ((seen.log_odds > 0) == seen.draws.member).all()
    assert learnt.seconds is not None


def test_steps_have_streams_of_their_own(five_letters):
    one = campaign(five_letters)
    states = {tuple(one.stream(step).generate_state(2)) for step in range(5)}
    assert len(states) == 5


def test_settings_are_plain_data():
    """How attackers learn is in a result: not whom they attack, nor where shadows are."""
    plan = ShadowSettings.from_options(shadows=20, targets=[3, 5], shadow_folder="kept")
    plain = plan.to_dict()
    assert ShadowSettings(**plain) == ShadowSettings(shadows=20)
    assert not {"targets", "shadow_folder", "whom", "run"} & set(plain)
    assert plan.run.shadow_folder == Path("kept")


@pytest.mark.parametrize(
    ("targets", "meant"),
    [(np.int64(3), 3), (np.array([3, 5]), (3, 5)), ([3], (3,)), (range(2), (0, 1))],
)
def test_targets_are_a_number_or_rows(targets, meant):
    assert AttackTargets(targets=targets).targets == meant


@pytest.mark.parametrize("targets", [2.5, "many", [[1, 2]], np.eye(2), None])
def test_other_targets_are_refused(targets):
    with pytest.raises(InputError, match="targets must be a number, or numbers of rows"):
        AttackTargets(targets=targets)


@pytest.mark.parametrize("text", ["", "x", "1.5", "-3", "1,x"])
def test_words_that_name_no_targets_are_refused(text):
    with pytest.raises(InputError, match="or rows of the data as 3,17"):
        targets_in(text)


def test_an_unknown_learner_is_named():
    with pytest.raises(InputError, match="Unknown learner 'nothing'"):
        ShadowSettings(learner="nothing")


def test_the_white_box_compares_models_on_one_grid():
    assert ShadowSettings().grid == "release"
    assert ShadowSettings(access="whitebox").grid == "population"
