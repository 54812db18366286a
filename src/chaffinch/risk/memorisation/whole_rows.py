"""Is a person's whole row in the released table? Copies of records are found so, however few; a match may count by the chance that it is a copy.

How likely a row is by chance is worked out from the people whose rows are nearly it: all but the person asked about, members and others alike. It is a kernel estimate over columns of levels (Aitchison and Aitken, 1976, with one weight for all columns): a person whose row differs in k columns
counts `RATIO`^k. It is scaled so that its mean over people is the share of pairs of people with equal rows, which estimates that mean
without bias whatever the kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ..._base.compiled import jit
from ..._base.runtime import thread_map
from ..._base.seeds import child
from ...stats.rates import Scores
from ...table.compare.distances import gower_sums
from ..attacker import ATTACKERS, Attacker
from .protocol import MOST_ROWS, ReleaseCase, draw_at_most

COPIES = 0.005
"""The share of members who are copied, of which a match's chance to be a copy is worked out: the test is sharpest for shares of about this."""


RATIO = 0.1
"""What a person counts for whose row differs in one more column (0.02 to 0.25 were tried on Adult, sm_fair and sm_randhie: little differs)."""


PILOT = 500
"""People by whom the kernel is scaled."""


BLOCK = 256
"""People whom a thread takes at a time."""


def exact_row(case: ReleaseCase) -> Scores:
    """Return for each person whether a released row has all their values: all columns but identifiers and free text."""
    return Scores(_is_released(case), np.ones(case.n_people))


ATTACKERS.register(
    Attacker(
        name="exact_row",
        score=exact_row,
        title="Exact row",
        definition=(
            "Share of people whose whole row is in the released table, all columns but identifiers and free text, values as they stand in the file."
        ),
        sentence="The whole row is in the released table for {value} of the people in the data, and for {holdout} of people who are not",
        blindness=(
            "Rows that are changed in one value are not seen, and in a table of few columns rows are equal by chance, which hides copies."
        ),
        reference="The exact-match test of Raab, Nowok and Dibben (2024), held against people who are not in the data",
    )
)


def copied_row(case: ReleaseCase, copies: float = COPIES) -> Scores:
    """Return for each person the chance that a released row with all their values is a copy; 0 where there is none.

    With a share e of members copied, and p the chance that a random row is equal to the person's, a member's row is copied with the chance e
    and met by chance with about n p: the chance of a copy is e / (e + n p), n half of the people. It is close to the likelihood ratio
    of "copied", by which the most powerful test would count matches, with p estimated from all people (`chance_of_row`).
    """
    matched = np.flatnonzero(_is_released(case))
    score = np.zeros(case.n_people)
    score[matched] = copies / (copies + case.n_people / 2 * chance_of_row(case, matched))
    return Scores(score, np.ones(case.n_people))


ATTACKERS.register(
    Attacker(
        name="copied_row",
        score=copied_row,
        title="Copied row",
        definition=(
            "Mean over people of the chance that a released row with all their values is a copy, were one person in 200 copied: near 1 for a row that "
            "hardly anybody could have, near 0 for one that many have; 0 where no released row has all values."
        ),
        sentence=(
            "Whole rows that chance hardly gives are in the released table for {value} of the people in the data, and for {holdout} of people who are not "
            "(each counted by the chance that it is a copy)"
        ),
        blindness="Rows that are changed in one value are not seen, nor copies of rows that many people have.",
        reference="A likelihood ratio; the chance of a row by a kernel over levels (Aitchison and Aitken, 1976)",
        level_share=0.5,
    )
)


def _is_released(case: ReleaseCase) -> NDArray[np.bool_]:
    """Return for each person whether a released row has all their values."""
    released, people, size = case.whole_rows
    in_release = np.zeros(size, dtype=bool)
    in_release[released] = True
    return in_release[people]


def chance_of_row(case: ReleaseCase, people: Ints, *, most_rows: int = MOST_ROWS) -> Floats:
    """Return for some people, by number, the chance that a random row is equal to theirs in all columns; 0 where no two people are equal.

    Of more people than `most_rows`, so many are drawn at random to estimate it from, whoever is a member.
    """
    _, classes, size = case.whole_rows
    equal = float(np.bincount(classes, minlength=size)[classes].mean() - 1.0) / max(
        case.n_people - 1, 1
    )
    if not equal > 0 or not len(people):
        return np.zeros(len(people))
    rng = np.random.default_rng(child(case.seed, 2))
    pilot, others = (
        draw_at_most(case.n_people, PILOT, rng),
        draw_at_most(case.n_people, most_rows, rng),
    )
    codes = np.stack([column.people.astype(np.int32) for column in case.columns])
    rows = np.ascontiguousarray(codes[:, others])
    weights = RATIO ** np.arange(len(codes) + 1.0)
    position = np.full(case.n_people, -1, dtype=np.int64)
    position[others] = np.arange(len(others))

    def kernel(some_people: Ints) -> Floats:
        out = np.empty(len(some_people))
        alike_weights(
            np.ascontiguousarray(codes[:, some_people]), rows, position[some_people], weights, out
        )
        return out / np.maximum(len(others) - (position[some_people] >= 0), 1)

    def kernels(chosen: Ints) -> Floats:
        blocks = [chosen[start : start + BLOCK] for start in range(0, len(chosen), BLOCK)]
        return np.concatenate(thread_map(kernel, blocks, threads=case.threads))

    scale = equal / float(kernels(pilot).mean())
    out: Floats = np.minimum(scale * kernels(people), 1.0)
    return out


@jit
def alike_weights(people, rows, same_row, weights, out):  # type: ignore[no-untyped-def]
    """Set `out` to the sum over rows of `weights[columns in which the row differs from the person]`; one row of codes for each column.

    Row `own[i]` is the person's own, and left out; -1 for none.
    """
    differing = np.empty(rows.shape[1], dtype=np.float32)
    numbers = np.empty((0, rows.shape[1]), dtype=np.float32)
    for i in range(out.size):
        gower_sums(numbers, people, i, numbers, rows, differing)
        total = 0.0
        for count in differing:
            total += weights[np.int64(count)]
        if same_row[i] >= 0:
            total -= weights[np.int64(differing[same_row[i]])]
        out[i] = total
