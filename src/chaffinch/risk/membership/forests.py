"""Forests as meta-classifiers: Sedlmeyr's (2024) extremely randomised trees with a random search, and a random forest that needs no search.

Extremely randomised trees for two classes (Geurts, Ernst and Wehenkel, 2006) are grown on features that stand in columns. What scikit-learn grows, by the same rules: features drawn without replacement, those that do not vary among them; one threshold each, uniform between least and
most; the lowest Gini impurity of those that leave enough records on both sides. A search for settings grows tens of thousands of trees from a few thousand records with
thousands of counts each: columns of narrow whole numbers stay in the processor's cache, which makes it 1.4 to 2 times as quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints, Mask, Singles
from ..._base.checks import check_at_least
from ..._base.compiled import jit
from ..._base.runtime import thread_count, thread_map
from ..attacker import ATTACKERS, Attacker
from .attacker import (
    DISTINGUISHED,
    Cleaner,
    CrossFitLearner,
    Kind,
    ScoreFit,
    TrainingShadows,
    out_of_fold,
)

SEARCH = {
    "n_estimators": [50, 100, 200],
    # The paper's list is auto, sqrt, log2, and "auto" meant sqrt for classifiers until scikit-learn dropped the word.
    "max_features": ["sqrt", "sqrt", "log2"],
    "min_samples_split": [2, 5, 10, 20],
    "min_samples_leaf": [1, 2, 4, 8],
    "bootstrap": [True, False],
}


PIECE = 25
"""Trees that are grown at a time. Votes are added piece by piece, so that threads change no result."""


@dataclass(frozen=True)
class ExtraTrees(CrossFitLearner):
    """Extremely randomised trees whose settings a random search chooses by accuracy out of fold; see `learner`."""

    kind: Kind = "counts"
    draws: int = 50

    def __post_init__(self) -> None:
        check_at_least("draws", self.draws, 1)

    def learn(self, shadows: TrainingShadows) -> ScoreFit:
        """Return the chances by a forest; its settings are right most often out of fold."""
        flat, label, fold = shadows.by_table
        rng, threads = shadows.rng, shadows.threads
        prepared: Callable[[Singles], Singles] = (
            np.asarray if self.kind == "counts" else Cleaner.from_features(flat)
        )
        columns = in_columns(prepared(flat), self.kind)
        best, unseen = search_settings(columns, label, fold, self.draws, rng, threads=threads)
        forest = train_forest(
            columns,
            label,
            np.arange(len(label)),
            best,
            seed=int(rng.integers(2**62)),
            threads=threads,
        )
        return ScoreFit(
            prepared,
            lambda block: forest.chances(in_columns(block, self.kind)),
            unseen,
            {"learner": "extra-trees", **best},
        )


ATTACKERS.register(
    Attacker(
        name="extra-trees",
        title="Extremely randomised trees",
        definition="Extremely randomised trees whose settings a random search chooses by accuracy out of fold.",
        sentence=f"By extremely randomised trees {DISTINGUISHED}",
        blindness="Values inside levels and bins.",
        reference="Sedlmeyr 2024",
        learner=ExtraTrees,
        share=False,
    )
)


@dataclass(frozen=True)
class RandomForest(CrossFitLearner):
    """A random forest on features as they are; see `learner`. `trees`: how many; `rows`: the most tables that one tree grows from."""

    kind: Kind = "counts"
    trees: int = 100
    rows: int = 2_000

    def __post_init__(self) -> None:
        for name in ("trees", "rows"):
            check_at_least(name, getattr(self, name), 1)

    def learn(self, shadows: TrainingShadows) -> ScoreFit:
        """Return the log-odds by a forest."""
        from sklearn.ensemble import RandomForestClassifier

        flat, label, fold = shadows.by_table
        prepared = Cleaner.from_features(flat)
        rows = prepared(flat)

        def log_odds(used: Any) -> Callable[[Singles], Floats]:
            forest = RandomForestClassifier(
                self.trees,
                min_samples_leaf=5,
                max_samples=min(self.rows, len(label[used])),
                n_jobs=thread_count(shadows.threads),
                random_state=int(shadows.rng.integers(2**31)),
            ).fit(rows[used], label[used])
            # One thread asks the trees: with more they are added up in the order in which they answer.
            forest.set_params(n_jobs=1)

            def score(block: Singles) -> Floats:
                chance = np.clip(forest.predict_proba(block)[:, 1], 0.005, 0.995)
                return np.asarray(np.log(chance) - np.log1p(-chance), dtype=np.float64)

            return score

        unseen = out_of_fold(fold, lambda _, outside: log_odds(~outside)(rows[outside]))
        settings = {"learner": "random-forest", "trees": self.trees}
        return ScoreFit(prepared, log_odds(slice(None)), unseen, settings)


ATTACKERS.register(
    Attacker(
        name="random-forest",
        title="Random forest",
        definition="A random forest on what is seen of the table.",
        sentence=f"By a random forest {DISTINGUISHED}",
        blindness="Values inside levels and bins.",
        reference="Houssiau et al. 2022 (TAPAS); Meeus et al. 2023",
        learner=RandomForest,
        share=False,
    )
)


def search_settings(
    columns: NDArray[Any],
    member: Mask,
    fold: Ints,
    draws: int,
    rng: np.random.Generator,
    *,
    threads: int | None = None,
) -> tuple[dict[str, Any], Floats]:
    """Return the settings, out of some drawn from `SEARCH`, that are right most often out of fold, and their chances there."""
    from sklearn.model_selection import ParameterSampler

    def fold_scores(settings: dict[str, Any]) -> tuple[float, dict[str, Any], Floats]:
        chances = chances_out_of_fold(
            columns, member, fold, settings, seed=int(rng.integers(2**62)), threads=threads
        )
        right = (chances > 0.5) == member
        accuracies = [right[fold == number].mean() for number in range(int(fold.max()) + 1)]
        return float(np.mean(accuracies)), settings, chances

    drawn = ParameterSampler(SEARCH, draws, random_state=int(rng.integers(2**31)))
    _, best, unseen = max(map(fold_scores, drawn), key=lambda choice: choice[0])
    return best, unseen


def chances_out_of_fold(
    columns: NDArray[Any],
    member: Mask,
    fold: Ints,
    settings: Mapping[str, Any],
    *,
    seed: int,
    threads: int | None = None,
) -> Floats:
    """Return the chance of each record from trees grown without its fold."""

    def chances(number: int, outside: Mask) -> Floats:
        used = np.flatnonzero(~outside)
        forest = train_forest(columns, member, used, settings, seed=seed + number, threads=threads)
        return forest.chances(columns, np.flatnonzero(outside))

    return out_of_fold(fold, chances)


def train_forest(
    columns: NDArray[Any],
    member: Mask,
    rows: Ints,
    settings: Mapping[str, Any],
    *,
    seed: int,
    threads: int | None = None,
) -> Forest:
    """Return trees grown from some records of features (features, records), with settings that have the names of `SEARCH`."""
    n_trees, width = int(settings["n_estimators"]), len(columns)
    visited = max(1, isqrt(width) if settings["max_features"] == "sqrt" else width.bit_length() - 1)
    label = member.astype(np.uint8)
    streams = np.random.SeedSequence(seed).generate_state(-(-n_trees // PIECE), np.uint64)

    def piece(number: int) -> Any:
        trees = min(PIECE, n_trees - number * PIECE)
        split, leaf = int(settings["min_samples_split"]), int(settings["min_samples_leaf"])
        return grow_forest(
            columns,
            label,
            rows,
            trees,
            bool(settings["bootstrap"]),
            visited,
            split,
            leaf,
            streams[number],
        )

    return Forest(tuple(thread_map(piece, range(len(streams)), threads=threads)), n_trees)


@dataclass(frozen=True, eq=False)
class Forest:
    """Extremely randomised trees, some at a time, as `grow_forest` returns them."""

    pieces: tuple[Any, ...] = field(repr=False)
    n_trees: int

    def chances(self, columns: NDArray[Any], rows: Ints | None = None) -> Floats:
        """Return the mean share of members in the leaves that records come to; features are (features, records)."""
        wanted = np.arange(columns.shape[1]) if rows is None else rows
        out = np.zeros(len(wanted))
        for piece in self.pieces:
            add_votes(piece, columns, wanted, out)
        return out / self.n_trees


def in_columns(features: Singles, kind: Kind) -> NDArray[Any]:
    """Return features (records, features) with a row for each feature, counts as narrow whole numbers where they fit."""
    narrow = (
        kind == "counts"
        and len(features)
        and features.max() < 1 << 16
        and (features == np.rint(features)).all()
    )
    return np.ascontiguousarray(features.T, dtype=np.uint16 if narrow else np.float32)


# scikit-learn's ExtraTreesClassifier takes 2.0 times the CPU of this kernel without bootstrap and 1.4 times with it, on 8,000 tables of 2,048 counts, the default
# size of an attack (benchmarks/attack_speed.py forests). It would replace the kernel if it took at most 1.1 times.
@jit
def grow_forest(columns, label, rows, n_trees, bootstrap, max_features, min_split, min_leaf, seed):  # type: ignore[no-untyped-def]
    """Return trees one after the other: the feature, threshold, left and right child and the share of the label of each node, and where trees start.

    `columns`: (features, records). `label`: 0 or 1 of each record. `rows`: the records to grow from. A leaf's feature is -1. With `bootstrap` a tree has
    as many of them as there are, drawn with replacement.
    """
    max_nodes = 2 * len(rows)
    feature = np.full(n_trees * max_nodes, -1, np.int32)
    threshold = np.zeros(n_trees * max_nodes, np.float32)
    left_child, right = (
        np.zeros(n_trees * max_nodes, np.int32),
        np.zeros(n_trees * max_nodes, np.int32),
    )
    share = np.zeros(n_trees * max_nodes, np.float32)
    starts = np.zeros(n_trees + 1, np.int64)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    weight = np.ones(columns.shape[1], np.int32)
    samples = np.empty(len(rows), np.int64)
    for tree in range(n_trees):
        offset = starts[tree]
        n = len(rows)
        if bootstrap:
            for row in rows:
                weight[row] = 0
            for _ in range(len(rows)):
                weight[rows[int(_next(state) * len(rows))]] += 1
            n = 0
            for row in rows:
                if weight[row]:
                    samples[n] = row
                    n += 1
        else:
            samples[:] = rows
        size = _grow(
            columns,
            label,
            weight,
            samples[:n],
            max_features,
            min_split,
            min_leaf,
            state,
            feature[offset : offset + max_nodes],
            threshold[offset : offset + max_nodes],
            left_child[offset : offset + max_nodes],
            right[offset : offset + max_nodes],
            share[offset : offset + max_nodes],
        )
        starts[tree + 1] = offset + size
    end = starts[n_trees]
    return (
        feature[:end].copy(),
        threshold[:end].copy(),
        left_child[:end].copy(),
        right[:end].copy(),
        share[:end].copy(),
        starts,
    )


@jit
def _grow(  # type: ignore[no-untyped-def]
    columns,
    label,
    weight,
    samples,
    max_features,
    min_split,
    min_leaf,
    state,
    feature,
    threshold,
    left_child,
    right,
    share,
):
    """Write a tree and return how many nodes it has. `samples` is reordered."""
    n_features, n = len(columns), len(samples)
    features, constants = np.arange(n_features), np.empty(n_features, np.int64)
    both = np.empty(n, np.int64)
    values, cuts = np.empty(n, columns.dtype), np.empty(1, columns.dtype)
    stack = np.empty((n + 1, 5), np.int64)
    stack[0] = (0, n, -1, 0, 0)
    top, size = 1, 0
    while top:
        top -= 1
        start, end, parent, side, n_known = stack[top]
        node = size
        size += 1
        if parent >= 0:
            if side == 0:
                left_child[parent] = node
            else:
                right[parent] = node
        count, total, positive = end - start, 0, 0
        for i in range(count):
            row = samples[start + i]
            # Weight, label and number in one word: one sum for all three.
            both[i] = (np.int64(weight[row]) << 42) | (np.int64(weight[row] * label[row]) << 21) | 1
            total += weight[row]
            positive += weight[row] * label[row]
        feature[node] = -1
        share[node] = positive / total
        if count < min_split or count < 2 * min_leaf or positive == 0 or positive == total:
            continue
        best, best_feature, best_threshold = -1.0, -1, 0.0
        n_left, visited, n_constant, drawn = n_features, 0, 0, 0
        while n_left > n_known + n_constant and (
            visited < max_features or visited <= n_constant + drawn
        ):
            visited += 1
            position = drawn + int(_next(state) * (n_left - n_constant - drawn))
            if position < n_known:  # known not to vary further up the tree
                features[position], features[drawn] = features[drawn], features[position]
                drawn += 1
                continue
            position += n_constant
            f = features[position]
            column = columns[f]
            lowest = highest = column[samples[start]]
            for i in range(count):
                v = column[samples[start + i]]
                values[i] = v
                lowest, highest = min(lowest, v), max(highest, v)
            if lowest == highest:
                features[position] = features[n_known + n_constant]
                features[n_known + n_constant] = f
                n_constant += 1
                continue
            n_left -= 1
            features[position], features[n_left] = features[n_left], features[position]
            cut = np.float32(lowest + _next(state) * (float(highest) - float(lowest)))
            if cut >= highest:
                cut = np.float32(lowest)
            cuts[0] = cut  # whole numbers are compared as such
            cut_here, sums = cuts[0], np.int64(0)
            for i in range(count):
                sums += both[i] if values[i] <= cut_here else 0
            w_low, p_low, n_low = sums >> 42, (sums >> 21) & 0x1FFFFF, sums & 0x1FFFFF
            if n_low < min_leaf or count - n_low < min_leaf:
                continue
            w_high, p_high = total - w_low, positive - p_low
            low_others, high_others = float(w_low - p_low), float(w_high - p_high)
            purity = (float(p_low) * p_low + low_others * low_others) / w_low + (
                float(p_high) * p_high + high_others * high_others
            ) / w_high
            if purity > best:
                best, best_feature, best_threshold = purity, f, float(cut)
        # What is known not to vary keeps its order: nodes beside this one rely on it.
        features[:n_known] = constants[:n_known]
        constants[n_known : n_known + n_constant] = features[n_known : n_known + n_constant]
        if best_feature < 0:
            continue
        column = columns[best_feature]
        low, high = start, end
        while low < high:
            if column[samples[low]] <= best_threshold:
                low += 1
            else:
                high -= 1
                samples[low], samples[high] = samples[high], samples[low]
        feature[node], threshold[node] = best_feature, best_threshold
        stack[top] = (low, end, node, 1, n_known + n_constant)
        stack[top + 1] = (start, low, node, 0, n_known + n_constant)
        top += 2
    return size


@jit
def _next(state):  # type: ignore[no-untyped-def]
    """The next number of splitmix64, 0 to 1."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@jit
def add_votes(forest, columns, rows, out):  # type: ignore[no-untyped-def]
    """Add the shares of the leaves that records come to, tree by tree."""
    feature, threshold, left_child, right, share, starts = forest
    for tree in range(len(starts) - 1):
        offset = starts[tree]
        for i in range(len(rows)):
            node = offset
            while feature[node] >= 0:
                node = offset + (
                    left_child[node]
                    if columns[feature[node], rows[i]] <= threshold[node]
                    else right[node]
                )
            out[i] += share[node]
