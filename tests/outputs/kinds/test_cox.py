"""Cox regressions against R: computed, compared, as equations and by rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds.cox import PartialLikelihood, RiskSums
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.rules import Policy, check_entries

FORMULA = "wife_age ~ num_children + C(wife_religion) + C(standard_of_living)"
# R 4.2.2, examples/data/cmc.csv: coxph(Surv(wife_age, media_exposure) ~ num_children + factor(wife_religion) + factor(standard_of_living), ties = ...):
# coefficients in our order, standard errors, partial log-likelihood.
IN_R = {
    "breslow": (
        [0.42486901, -0.36294472, -1.7006247, -2.5536813, -0.085470046],
        [0.38000252, 0.24800085, 0.28871045, 0.31033119, 0.037388775],
        -596.271534,
    ),
    "efron": (
        [0.42765908, -0.36861519, -1.7121016, -2.5771086, -0.084676468],
        [0.38000205, 0.24816498, 0.28865313, 0.31028327, 0.037306092],
        -594.2817962,
    ),
}
STRATA = {
    "breslow": (-0.043645978, 0.035748935, -619.36219),
    "efron": (-0.044092749, 0.035723991, -618.16921),
}
"""coxph(Surv(wife_age, media_exposure) ~ num_children + strata(wife_religion))."""


@pytest.mark.parametrize("ties", IN_R)
def test_numbers_are_those_of_r(cmc: Any, ties: str) -> None:
    coefficients, errors, loglik = IN_R[ties]
    base = {"kind": "cox", "formula": FORMULA, "event": "media_exposure", "ties": ties}
    recipe = {"name": "o", **base, "standard_errors": True, "loglik": True, "decimals": 6}
    (ours,) = recipes_of([recipe], cmc.spec().fields).entries(cmc.codes())
    assert list(ours["coefficients"])[::4] == ["C(wife_religion)[T.1]", "num_children"]
    np.testing.assert_allclose(
        [float(b) for b in ours["coefficients"].values()], coefficients, atol=2e-6
    )
    np.testing.assert_allclose(
        [float(b) for b in ours["standard_errors"].values()], errors, atol=2e-6
    )
    assert abs(float(ours["loglik"]) - loglik) < 1e-5
    entry = {
        **base,
        "level": "poor",
        "coefficients": dict(
            zip(ours["coefficients"], (f"{b:.4f}" for b in coefficients), strict=True)
        ),
        "standard_errors": {"num_children": f"{errors[-1]:.4f}"},
        "loglik": f"{loglik:.3f}",
        "n": 1473,
    }
    spec = cmc.spec(entry)
    (again,) = compare_numbers(spec, cmc.codes())
    assert (again.within, again.size) == (True, 8)
    (other,) = compare_numbers(spec, cmc.shuffled("num_children"))
    assert not other.within


@pytest.mark.parametrize("ties", STRATA)
def test_strata(cmc: Any, ties: str) -> None:
    recipe = {
        "name": "o",
        "kind": "cox",
        "formula": "wife_age ~ num_children",
        "event": "media_exposure",
        "ties": ties,
        "strata": ["wife_religion"],
        "standard_errors": True,
        "loglik": True,
        "decimals": 5,
    }
    (ours,) = recipes_of([recipe], cmc.spec().fields).entries(cmc.codes())
    numbers = [
        ours["coefficients"]["num_children"],
        ours["standard_errors"]["num_children"],
        ours["loglik"],
    ]
    np.testing.assert_allclose([float(number) for number in numbers], STRATA[ties], atol=1e-5)


TRIAL = OutputDomain(
    (
        OutputColumn("years", tuple(range(1, 11))),
        OutputColumn("died", (0, 1)),
        OutputColumn("arm", ("new", "old")),
        OutputColumn("age", (40, 45, 50, 55, 60, 65)),
    )
)


def trial(seed: int) -> np.ndarray:
    """Records of 300 people, who die sooner in the old arm and at a higher age."""
    rng = np.random.default_rng(seed)
    arm, age = rng.integers(0, 2, 300), rng.integers(0, 6, 300)
    years = np.clip(
        rng.exponential(8.0 / np.exp(0.5 * arm + 0.15 * age - 0.3), 300).astype(int), 0, 9
    )
    return np.c_[years, rng.random(300) < 0.8, arm, age].astype(np.int32)


@pytest.mark.parametrize("ties", IN_R)
def test_records_satisfy_what_statsmodels_fits_to_them(check: Any, ties: str) -> None:
    codes, people = trial(8), "years ~ arm + age"
    recipe = {
        "name": "o",
        "kind": "cox",
        "formula": people,
        "event": "died",
        "ties": ties,
        "standard_errors": True,
        "loglik": True,
        "decimals": 5,
    }
    spec = recipes_of([recipe], TRIAL).computed(codes)
    assert check(spec, codes) == []
    assert check(spec, trial(9)) == ["o"]
    other = spec.outputs[0].changed(ties=next(one for one in IN_R if one != ties))
    assert check(Outputs(TRIAL, (other,), 300), codes) == ["o"]
    # Strata and a filter: risk sets are those of the records that are let in.
    part = {**recipe, "formula": "years ~ age", "strata": ["arm"], "where": "age > 40", "n": True}
    spec = recipes_of([part], TRIAL).computed(codes)
    assert check(spec, codes) == []
    assert "o" in check(spec, trial(9))


def test_a_dataset_is_evolved_from_published_numbers(evolved: Any) -> None:
    recipe = {
        "name": "o",
        "kind": "cox",
        "formula": "years ~ arm + age",
        "event": "died",
        "standard_errors": True,
        "loglik": True,
        "decimals": 3,
    }
    evolved(recipes_of([recipe], TRIAL).computed(trial(8)), seed=2, seconds=30)


def test_what_it_needs_is_asked_for(cmc: Any) -> None:
    fields = cmc.spec().fields
    base = {"name": "o", "kind": "cox", "formula": FORMULA, "event": "media_exposure"}
    for keys, message in (
        ({"event": None}, "'event' is missing"),
        (
            {"event": "wife_education"},
            "must say which level of column 'wife_education' is meant, with level =",
        ),
        ({"formula": "media_exposure ~ wife_age"}, "must be the column of times"),
        ({"formula": "log(wife_age) ~ num_children"}, "must be the column of times"),
        ({"event": "wife_age"}, "must name each of its columns once"),
        ({"formula": "wife_age ~ num_children - 1"}, "Leave out the 0 or -1"),
        ({"ties": "exact"}, "'ties' is not as it should be"),
        ({"coefficients": {"Intercept": 1.0}}, "Unknown coefficient"),
    ):
        with pytest.raises(InputError, match=message):
            recipes_of(
                [{key: value for key, value in {**base, **keys}.items() if value is not None}],
                fields,
            )


def test_many_times_are_for_rules_only() -> None:
    fields = OutputDomain(
        (
            OutputColumn("days", tuple(range(900))),
            OutputColumn("died", (0, 1)),
            OutputColumn("x", (0, 1, 2)),
        )
    )
    spec = recipes_of(
        [{"name": "o", "kind": "cox", "formula": "days ~ x", "event": "died"}], fields
    )
    assert spec.rules_only == {
        "o": "with 900 risk sets it has more than 2000 sums; use coarser times"
    }
    codes = fields.start(200, seed=1)
    assert (
        "x" in spec.computed(codes).outputs[0].coefficients
    )  # but it can be computed, and compared with the data


def test_rules_and_what_cannot_be_fitted(cmc: Any) -> None:
    fields, codes = cmc.spec().fields, cmc.codes()
    recipe = {
        "name": "o",
        "kind": "cox",
        "formula": "wife_age ~ C(num_children)",
        "event": "media_exposure",
    }
    found = {one.rule: one.status for one in check_entries([recipe], fields, codes, Policy())}
    assert found["small group behind a coefficient"] == "fail"  # hardly anyone has 13 children
    assert found["perfect prediction"] == "fail"  # and of some numbers none has the event
    assert found["few events"] == "review"
    fine = {
        one.rule: one.status
        for one in check_entries(
            [{**recipe, "formula": "wife_age ~ num_children"}], fields, codes, Policy()
        )
    }
    assert set(fine.values()) == {"pass"}
    none = trial(8)
    none[none[:, 2] == 1, 1] = 0  # nobody of the old arm dies
    with pytest.raises(
        InputError, match="cannot be computed on the data: there is no finite estimate"
    ):
        recipes_of(
            [{"kind": "cox", "formula": "years ~ arm + age", "event": "died"}], TRIAL
        ).computed(none)
    with pytest.raises(InputError, match="a column of its design is the same in all records"):
        recipes_of([recipe], fields).computed(codes)
    none = codes[codes[:, fields.position("media_exposure")] == 0]
    with pytest.raises(InputError, match="none of its records has the event"):
        recipes_of([{**recipe, "formula": FORMULA}], fields).computed(none)


def brute_force(
    time: np.ndarray, event: np.ndarray, x: np.ndarray, b: np.ndarray, *, efron: bool
) -> float:
    """The partial log-likelihood, event by event, from the definition."""
    total, weight = 0.0, np.exp(x @ b)
    for t in np.unique(time[event]):
        tied = event & (time == t)
        for number in range(tied.sum()):
            total -= np.log(
                weight[time >= t].sum()
                - (number / tied.sum() if efron else 0.0) * weight[tied].sum()
            )
        total += float((x[tied] @ b).sum())
    return total


def sums_of(
    layout: RiskSums, time: np.ndarray, event: np.ndarray, x: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """The sums that look-ups would add up, record by record."""
    blocks, of_events = np.zeros((layout.times, layout.block)), np.zeros(layout.p)
    upper = np.triu_indices(layout.p)
    for t, happened, row in zip(time, event, x, strict=True):
        own = np.exp(row @ b) * np.concatenate([[1.0], row, np.outer(row, row)[upper]])
        blocks[t] += np.concatenate(
            [own, *([own * happened] if layout.efron else []), [float(happened)]]
        )
        of_events += row * happened
    return np.concatenate([blocks.ravel(), of_events])


@pytest.mark.parametrize("efron", [False, True])
def test_log_likelihood_score_and_information_by_brute_force(efron: bool) -> None:
    rng = np.random.default_rng(2)
    x, time, event = rng.normal(size=(40, 2)), rng.integers(0, 6, 40), rng.random(40) < 0.6
    layout, b = RiskSums(1, 6, 2, efron), np.array([0.3, -0.2])
    reading = PartialLikelihood(layout, b, [0, 1], loglik=True)
    sums = sums_of(layout, time, event, x, b)
    assert sums.shape == (layout.size,)

    def loglik(at: np.ndarray) -> float:
        return brute_force(time, event, x, at, efron=efron)

    h = 1e-4
    steps = h * np.eye(2)
    score = np.array([(loglik(b + d) - loglik(b - d)) / (2 * h) for d in steps])
    information = -np.array(
        [
            [
                (loglik(b + d + e) - loglik(b + d - e) - loglik(b - d + e) + loglik(b - d - e))
                / (4 * h * h)
                for e in steps
            ]
            for d in steps
        ]
    )
    values, _ = reading(sums)
    inner = np.linalg.inv(information)
    np.testing.assert_allclose(values[:2], b + inner @ score, atol=1e-5)
    np.testing.assert_allclose(values[2:4], np.sqrt(np.diag(inner)), atol=1e-5)
    np.testing.assert_allclose(values[4], loglik(b) + 0.5 * score @ inner @ score, atol=1e-5)
    assert not reading.undetermined(sums).any()
    assert reading.undetermined(np.zeros(layout.size)).all()


@pytest.mark.parametrize("efron", [False, True])
def test_derivatives_where_records_have_the_coefficients(efron: bool) -> None:
    """By all sums but the counts of events, which are whole: by these, what one event more adds, roughly."""
    rng = np.random.default_rng(4)
    x, time, event = rng.normal(size=(60, 2)), rng.integers(0, 4, 60), rng.random(60) < 0.7
    layout, b = RiskSums(1, 4, 2, efron), np.zeros(2)
    for _ in range(8):
        b = PartialLikelihood(layout, b, [], loglik=False)(sums_of(layout, time, event, x, b))[0]
    reading, sums = (
        PartialLikelihood(layout, b, [0, 1], loglik=True),
        sums_of(layout, time, event, x, b),
    )
    np.testing.assert_allclose(reading(sums)[0][:2], b, atol=1e-10)
    slopes = reading(sums)[1]
    counts = [t * layout.block + layout.block - 1 for t in range(4)]
    for k in range(layout.size):
        if k not in counts:
            step = np.zeros(layout.size)
            step[k] = 1e-5
            numeric = (reading(sums + step)[0] - reading(sums - step)[0]) / 2e-5
            np.testing.assert_allclose(slopes[:, k], numeric, rtol=1e-4, atol=1e-6)
    # One more event with x = 0 at time 1, in all the sums that it changes.
    more = sums_of(
        layout, np.append(time, 1), np.append(event, True), np.vstack([x, [0.0, 0.0]]), b
    )
    np.testing.assert_allclose(
        (slopes @ (more - sums))[:2], (reading(more)[0] - reading(sums)[0])[:2], atol=0.02
    )
