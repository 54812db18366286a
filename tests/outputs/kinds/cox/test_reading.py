"""The partial likelihood out of sums over risk sets, against R and brute force; its derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.outputs.kinds.cox import PartialLikelihood, RiskSums


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
