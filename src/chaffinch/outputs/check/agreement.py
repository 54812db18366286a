"""How often an ensemble agrees on a person's value: a dataset may be right by chance, many that agree are a statement.

A person is *pinned* under a key set where at least half of the datasets say a value for the key, and all that do say the same one
(Dick et al. 2023 rank reconstructed rows by such agreement). Pinned people are counted for those behind the outputs and for those held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..._base.results import PlainData, plain_form
from ..._base.seeds import generator
from ...counts.tally import count_cells
from ...stats.intervals import NOTHING, CrossedPart, Estimate, crossed_mean
from ...table.compare.classes import class_ids
from ..domain import Codes, OutputDomain
from .attribution import DIFFERENCE, HOLDOUT, ORIGINAL, EnsembleTcap, KeyAttack
from .settings import LEVEL

SPOKEN = 0.5
"""The share of datasets that must say something about a key."""


@dataclass(frozen=True)
class KeysShare:
    """A set of keys, and the share of people on whom all datasets agree rightly by it; None where that would tell of few."""

    keys: tuple[str, ...]
    right: float | None


@dataclass(frozen=True)
class Agreement:
    """How many people an ensemble agrees on, as shares of people, 0 to 1, averaged over key sets and folds.

    A share that would tell of fewer people than the threshold is None, and a difference of such is not there.
    """

    sensitive: str
    pinned: float | None
    """The share of the people behind the outputs on whose value all datasets agree."""
    pinned_holdout: float | None
    """The same share of people held out."""
    right: float | None
    """The share of the people behind the outputs on whose value all datasets agree rightly."""
    right_holdout: float | None
    """The same share of people held out."""
    excess: Estimate
    """`right - right_holdout`; the interval is over people, for these ensembles."""
    by_keys: tuple[KeysShare, ...] = ()
    """For each key set `right`."""


def masked_share(share: float, people: int, threshold: int) -> float | None:
    """Return a share of so many people for showing: None where it would tell of fewer than the threshold.

    Examples
    --------
    >>> masked_share(0.03, 100, 10), masked_share(0.0, 100, 10), masked_share(0.3, 100, 10)
    (None, 0.0, 0.3)
    """
    return None if 0.0 < share * people < threshold else share


@dataclass(frozen=True)
class Exposed(PlainData):
    """A class of people whom an ensemble gives away; for the steward's eyes only."""

    keys: tuple[tuple[str, str], ...] = field(metadata=plain_form(write=lambda _, keys: dict(keys)))
    """What is known of them: column and level."""
    sensitive: str
    """The sensitive column."""
    value: str
    """What all datasets rightly say of at least one of them."""
    people: int
    """How many records of the data have these keys."""
    with_value: int
    """How many of them have this value."""
    spoken: float
    """The share of datasets that say it."""


def agreement_of(
    attack: KeyAttack, tcaps: Sequence[EnsembleTcap], *, level: float = LEVEL, threshold: int
) -> Agreement:
    """Return how often the ensembles of the folds agree on people, and rightly."""
    shares: dict[str, list[float]] = {
        "pinned": [],
        "pinned_holdout": [],
        "right": [],
        "right_holdout": [],
    }
    parts, by_keys = [], []
    for tcap in tcaps:
        pinned, right = _pinned_right(tcap)
        score = right.mean(axis=0)
        influence, mean = np.zeros(len(tcap.group)), {}
        for side, after in ((ORIGINAL, ""), (HOLDOUT, "_holdout")):
            here = tcap.group == side
            shares[f"pinned{after}"].append(float(pinned[:, here].mean()))
            mean[side] = float(score[here].mean())
            shares[f"right{after}"].append(mean[side])
            sign = 1.0 if side == ORIGINAL else -1.0
            influence[here] = sign * (score[here] - mean[side]) / max(int(here.sum()) - 1, 1)
        parts.append(
            CrossedPart(np.array([mean[ORIGINAL] - mean[HOLDOUT]]), influence, np.zeros(1))
        )
        by_keys.append(right[:, tcap.group == ORIGINAL].sum(axis=1))
    counts = np.array(by_keys)  # folds x key sets
    people = [int((tcap.group == ORIGINAL).sum()) for tcap in tcaps]
    shown = tuple(
        KeysShare(
            keys,
            float(np.mean(counts[:, k] / people)) if (counts[:, k] >= threshold).all() else None,
        )
        for k, keys in enumerate(attack.key_sets)
    )
    means = {
        name: masked_share(float(np.mean(values)), min(people), threshold)
        for name, values in shares.items()
    }
    known = means["right"] is not None and means["right_holdout"] is not None
    excess = crossed_mean(parts, level=level).within(*DIFFERENCE) if known else NOTHING
    return Agreement(attack.sensitive, **means, excess=excess, by_keys=shown)


def _pinned_right(tcap: EnsembleTcap) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    assert tcap.claims is not None
    pinned = tcap.claims.pinned(SPOKEN)
    return pinned, pinned & (tcap.claims.correct == tcap.claims.spoken)


def exposed_classes(
    fields: OutputDomain,
    codes: Codes,
    attack: KeyAttack,
    tcaps: Sequence[EnsembleTcap],
    *,
    max_classes: int = 1_000,
) -> list[Exposed]:
    """Return the classes of people on whom an ensemble of their own outputs agrees rightly, surest and smallest first.

    Where several key sets single out the same people, the smallest is listed. Holds values and counts of the data: confidential.
    """
    people = generator(0).integers(0, 2**63, len(codes), dtype=np.uint64)
    sums: set[int] = set()  # of random numbers, one a person: the same people have the same sum
    values, n_values = codes[:, attack.position], len(fields[attack.sensitive].levels)
    listed = []
    for k, keys in enumerate(attack.key_sets):
        positions = [fields.position(key) for key in keys]
        (ids,) = class_ids(codes[:, positions])
        size = np.bincount(ids)
        cells = count_cells([ids, values], [len(size), n_values])
        total = np.zeros(len(size), dtype=np.uint64)
        np.add.at(total, ids, people)
        for tcap in tcaps:
            assert tcap.claims is not None
            rows = np.flatnonzero(_pinned_right(tcap)[1][k] & (tcap.group == ORIGINAL))
            for row in rows[np.unique(ids[rows], return_index=True)[1]]:
                class_id = ids[row]
                if int(total[class_id]) in sums:
                    continue
                sums.add(int(total[class_id]))
                known = tuple(
                    (key, fields[key].labels[codes[row, p]])
                    for key, p in zip(keys, positions, strict=True)
                )
                listed.append(
                    Exposed(
                        known,
                        attack.sensitive,
                        fields[attack.sensitive].labels[values[row]],
                        int(size[class_id]),
                        int(cells[class_id, values[row]]),
                        float(tcap.claims.spoken[k, row]) / tcap.claims.n_datasets,
                    )
                )
    ranked = sorted(listed, key=lambda each: (-each.spoken, each.people, len(each.keys), each.keys))
    return ranked[:max_classes]
