"""How often an ensemble agrees on a person's value: a dataset may be right by chance, many that agree are a statement.

A person is *pinned* under a key set where at least half of the datasets say a value for the key, and all that do say the same one
(Dick et al. 2023 rank reconstructed rows by such agreement). Pinned people are counted for those behind the outputs and for those held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.masking import SHOWN_FROM
from ..._base.seeds import generator
from ...risk.attribution.classes import class_ids
from ..columns import Codes
from ..fields import Fields
from .attribution import Attack, Attributed
from .marginal import HOLDOUT, LEVEL, NOTHING, ORIGINAL, Estimate, Part, combined

__all__ = ["Agreement", "Exposed", "agreement_of", "exposed_classes"]

SPOKEN = 0.5
"""The share of datasets that must say something about a key."""


@dataclass(frozen=True)
class Agreement:
    """How many people an ensemble agrees on, as shares of people, 0 to 1, averaged over key sets and folds.

    Parameters
    ----------
    sensitive
        The attribute.
    pinned, pinned_holdout
        People on whose value all datasets agree: of those behind the outputs, and of those held out.
    right, right_holdout
        People on whose value they agree rightly.
    excess
        right - right_holdout; the interval is over people, for these ensembles.
    people
        How many people there are on either side of a fold.
    right_by_keys
        For each key set `right`, None where that would tell of fewer than ten people.
    """

    sensitive: str
    pinned: float
    pinned_holdout: float
    right: float
    right_holdout: float
    excess: Estimate
    people: int
    right_by_keys: tuple[tuple[tuple[str, ...], float | None], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold and may leave: a share of fewer than ten people is None, and so is a difference of such."""
        names = ("pinned", "pinned_holdout", "right", "right_holdout")
        shares = {name: _shown(getattr(self, name), self.people) for name in names}
        known = shares["right"] is not None and shares["right_holdout"] is not None
        by_keys = [{"keys": list(keys), "right": right} for keys, right in self.right_by_keys]
        excess = (self.excess if known else NOTHING).to_dict()
        return {"sensitive": self.sensitive, **shares, "excess": excess, "by_keys": by_keys}


def _shown(share: float, people: int) -> float | None:
    return None if 0.0 < share * people < SHOWN_FROM else share


@dataclass(frozen=True)
class Exposed:
    """A class of people whom an ensemble gives away; for the steward's eyes only.

    Parameters
    ----------
    keys
        What is known of them: column and level.
    sensitive, value
        What all datasets rightly say of at least one of them.
    people
        How many records of the data have these keys, and how many of them this value.
    spoken
        The share of datasets that say it.
    """

    keys: tuple[tuple[str, str], ...]
    sensitive: str
    value: str
    people: int
    with_value: int
    spoken: float

    def to_dict(self) -> dict[str, Any]:
        """Return all of it."""
        shown = {name: getattr(self, name) for name in ("sensitive", "value", "people", "with_value", "spoken")}
        return {"keys": dict(self.keys), **shown}


def agreement_of(attack: Attack, found: Sequence[Attributed], *, level: float = LEVEL) -> Agreement:
    """Return how often the ensembles of the folds agree on people, and rightly."""
    shares: dict[str, list[float]] = {"pinned": [], "pinned_holdout": [], "right": [], "right_holdout": []}
    parts, by_keys = [], []
    for one in found:
        pinned, right = _pinned_right(one)
        score = right.mean(axis=0)
        influence, mean = np.zeros(len(one.group)), {}
        for side, after in ((ORIGINAL, ""), (HOLDOUT, "_holdout")):
            here = one.group == side
            shares[f"pinned{after}"].append(float(pinned[:, here].mean()))
            mean[side] = float(score[here].mean())
            shares[f"right{after}"].append(mean[side])
            sign = 1.0 if side == ORIGINAL else -1.0
            influence[here] = sign * (score[here] - mean[side]) / max(int(here.sum()) - 1, 1)
        parts.append(Part(np.array([mean[ORIGINAL] - mean[HOLDOUT]]), influence, np.zeros(1)))
        by_keys.append(right[:, one.group == ORIGINAL].sum(axis=1))
    counts = np.array(by_keys)  # folds x key sets
    people = [int((one.group == ORIGINAL).sum()) for one in found]
    shown = tuple(
        (keys, float(np.mean(counts[:, k] / people)) if (counts[:, k] >= SHOWN_FROM).all() else None)
        for k, keys in enumerate(attack.key_sets)
    )
    means = {name: float(np.mean(some)) for name, some in shares.items()}
    return Agreement(
        attack.sensitive, **means, excess=combined(parts, level=level), people=min(people), right_by_keys=shown
    )


def _pinned_right(one: Attributed) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    assert one.said is not None
    pinned = one.said.pinned(SPOKEN)
    return pinned, pinned & (one.said.correct == one.said.spoken)


def exposed_classes(
    fields: Fields, codes: Codes, attack: Attack, found: Sequence[Attributed], *, most: int = 1_000
) -> list[Exposed]:
    """Return the classes of people on whom an ensemble of their own outputs agrees rightly, surest and smallest first.

    Where several key sets single out the same people, the smallest is listed. Holds values and counts of the data: for `--inside` only.
    """
    people = generator(0).integers(0, 2**63, len(codes), dtype=np.uint64)
    sums: set[int] = set()  # of random numbers, one a person: the same people have the same sum
    values, n_values = codes[:, attack.position], len(fields[attack.sensitive].levels)
    listed = []
    for k, keys in enumerate(attack.key_sets):
        positions = [fields.position(key) for key in keys]
        (ids,) = class_ids(codes[:, positions])
        size = np.bincount(ids)
        cells = np.bincount(ids * n_values + values, minlength=len(size) * n_values)
        total = np.zeros(len(size), dtype=np.uint64)
        np.add.at(total, ids, people)
        for one in found:
            assert one.said is not None
            rows = np.flatnonzero(_pinned_right(one)[1][k] & (one.group == ORIGINAL))
            for row in rows[np.unique(ids[rows], return_index=True)[1]]:
                at = ids[row]
                if int(total[at]) in sums:
                    continue
                sums.add(int(total[at]))
                known = tuple((key, fields[key].labels[codes[row, p]]) for key, p in zip(keys, positions, strict=True))
                listed.append(
                    Exposed(
                        known,
                        attack.sensitive,
                        fields[attack.sensitive].labels[values[row]],
                        int(size[at]),
                        int(cells[at * n_values + values[row]]),
                        float(one.said.spoken[k, row]) / one.said.n_datasets,
                    )
                )
    ranked = sorted(listed, key=lambda each: (-each.spoken, each.people, len(each.keys), each.keys))
    return ranked[:most]
