"""The noisy answers of a private fit, recorded; and the same answers given to a fit on the neighbouring table.

A fit asks for noise and gets answers; what it asks next depends on them. An attacker who sees the answers, and knows both tables, can work
out what either table would have been asked on the way and how likely it was to answer so. `Recorder` writes down what was asked and answered.
`Replay` gives another fit the very same answers and writes down what that was asked. The logarithm of the ratio of the two probabilities
(`log_ratio`) is then exact, also where questions depend on answers, and by Neyman and Pearson's lemma no other number tells more.

True counts are in here: nothing of this is part of a result, and it exists only while an audit runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...privacy.noise import Noise
from ...privacy.samplers import (
    exponential_log_law,
    gaussian_log_law,
    laplace_log_law,
    permute_and_flip_log_law,
)

Kind = Literal["laplace", "gaussian", "exponential", "permute_and_flip"]
KINDS: tuple[Kind, ...] = ("laplace", "gaussian", "exponential", "permute_and_flip")
_LAWS: dict[str, Callable[[ArrayLike, float], NDArray[np.float64]]] = {
    "laplace": laplace_log_law,
    "gaussian": gaussian_log_law,
    "exponential": exponential_log_law,
    "permute_and_flip": permute_and_flip_log_law,
}


class DivergedError(Exception):
    """A fit asks for what the recorded answers cannot be answers to: on this table they are impossible."""


@dataclass(frozen=True, eq=False)
class Query:
    """What a fit asked of its noise, and the answer: an array as large as the values, or the position of a candidate."""

    kind: Kind
    values: NDArray[np.int64] = field(repr=False)
    scale: float
    answer: NDArray[np.int64] | int = field(repr=False)

    @property
    def chooses(self) -> bool:
        """Whether the answer is a candidate."""
        return isinstance(self.answer, int)

    @property
    def question(self) -> bytes:
        """All but the answer, to compare."""
        return repr((self.kind, self.values.shape, self.scale)).encode() + self.values.tobytes()


class Recorder:
    """A source of noise that writes down what is asked of another one, and what it answers."""

    test_only: ClassVar[bool] = True

    def __init__(self, noise: Noise) -> None:
        self.noise = noise
        self.queries: list[Query] = []

    def laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.array(self._answer("laplace", values, scale))

    def gaussian(self, values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
        return np.array(self._answer("gaussian", values, sigma))

    def exponential(self, scores: NDArray[np.int64], scale: float) -> int:
        return int(self._answer("exponential", scores, scale))

    def permute_and_flip(self, scores: NDArray[np.int64], scale: float) -> int:
        return int(self._answer("permute_and_flip", scores, scale))

    def _answer(self, kind: Kind, values: NDArray[np.int64], scale: float) -> Any:
        drawn = getattr(self.noise, kind)(values, scale)
        answer = self._given(kind, np.shape(values), drawn)
        self.queries.append(Query(kind, np.array(values, dtype=np.int64), float(scale), answer))
        return answer

    def _given(self, kind: Kind, shape: tuple[int, ...], drawn: Any) -> Any:
        return drawn


class Replay(Recorder):
    """A source of noise that gives recorded answers, and writes down what is asked.

    It draws all the same and throws that away: where a fit shares its generator with its noise, what else it draws stays as it was.
    """

    def __init__(self, noise: Noise, tape: Sequence[Query]) -> None:
        super().__init__(noise)
        self.tape = tape

    def _given(self, kind: Kind, shape: tuple[int, ...], drawn: Any) -> Any:
        place = len(self.queries)
        if place >= len(self.tape):
            raise DivergedError
        answer = self.tape[place].answer
        fits = 0 <= answer < shape[0] if isinstance(answer, int) else np.shape(answer) == shape
        if isinstance(drawn, int) is not isinstance(answer, int) or not fits:
            raise DivergedError
        return answer


def log_law(kind: Kind, scale: float) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """Return the logarithm of a law: of noise, or of which of some scores is chosen."""
    return lambda values: _LAWS[kind](values, scale)


def log_probability(query: Query) -> float:
    """Return the logarithm of the probability of a query's answer."""
    if isinstance(query.answer, int):
        return float(_LAWS[query.kind](query.values, query.scale)[query.answer])
    # Differences as floats: true counts and noise are far below 2^53.
    return float(
        _LAWS[query.kind](query.answer.astype(np.float64) - query.values, query.scale).sum()
    )


def log_ratio(with_: Sequence[Query], without: Sequence[Query]) -> float:
    """Return log P(answers | D') - log P(answers | D) for the same answers as given by both tables.

    Examples
    --------
    One count, 1 on D' and 0 on D, answered by 3 with Laplace noise of scale 2: (3 - 2) / 2.

    >>> asked = [Query("laplace", np.array([count]), 2.0, np.array([3])) for count in (1, 0)]
    >>> log_ratio(asked[:1], asked[1:])
    0.5
    """
    return sum(
        log_probability(a) - log_probability(b)
        for a, b in zip(with_, without, strict=True)
        if a.question != b.question
    )
