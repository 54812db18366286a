"""Extremely randomised trees for two classes (Geurts, Ernst and Wehenkel, 2006), grown on features that stand in columns.

What scikit-learn grows, by the same rules: features drawn without replacement, those that do not vary among them; one threshold each, uniform between least and
most; the lowest Gini impurity of those that leave enough records on both sides. A search for settings grows tens of thousands of trees from a few thousand records with
thousands of counts each: columns of narrow whole numbers stay in the processor's cache, which makes it several times as quick.
"""

from __future__ import annotations

import numpy as np

from ..._base.compiled import compiled


@compiled
def _next(state):  # type: ignore[no-untyped-def]
    """The next number of splitmix64, 0 to 1."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def grow_forest(columns, label, rows, n_trees, bootstrap, max_features, min_split, min_leaf, seed):  # type: ignore[no-untyped-def]
    """Return trees one after the other: the feature, threshold, left and right child and the share of the label of each node, and where trees start.

    `columns`: (features, records). `label`: 0 or 1 of each record. `rows`: the records to grow from. A leaf's feature is -1. With `bootstrap` a tree has
    as many of them as there are, drawn with replacement.
    """
    most = 2 * len(rows)
    feature = np.full(n_trees * most, -1, np.int32)
    threshold = np.zeros(n_trees * most, np.float32)
    left, right = np.zeros(n_trees * most, np.int32), np.zeros(n_trees * most, np.int32)
    share = np.zeros(n_trees * most, np.float32)
    starts = np.zeros(n_trees + 1, np.int64)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    weight = np.ones(columns.shape[1], np.int32)
    samples = np.empty(len(rows), np.int64)
    for tree in range(n_trees):
        at = starts[tree]
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
            feature[at : at + most],
            threshold[at : at + most],
            left[at : at + most],
            right[at : at + most],
            share[at : at + most],
        )
        starts[tree + 1] = at + size
    end = starts[n_trees]
    return (
        feature[:end].copy(),
        threshold[:end].copy(),
        left[:end].copy(),
        right[:end].copy(),
        share[:end].copy(),
        starts,
    )


@compiled
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
    left,
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
                left[parent] = node
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
        n_left, visited, found, drawn = n_features, 0, 0, 0
        while n_left > n_known + found and (visited < max_features or visited <= found + drawn):
            visited += 1
            place = drawn + int(_next(state) * (n_left - found - drawn))
            if place < n_known:  # known not to vary further up the tree
                features[place], features[drawn] = features[drawn], features[place]
                drawn += 1
                continue
            place += found
            f = features[place]
            column = columns[f]
            least = most = column[samples[start]]
            for i in range(count):
                v = column[samples[start + i]]
                values[i] = v
                least, most = min(least, v), max(most, v)
            if least == most:
                features[place] = features[n_known + found]
                features[n_known + found] = f
                found += 1
                continue
            n_left -= 1
            features[place], features[n_left] = features[n_left], features[place]
            cut = np.float32(least + _next(state) * (float(most) - float(least)))
            if cut >= most:
                cut = np.float32(least)
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
        constants[n_known : n_known + found] = features[n_known : n_known + found]
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
        stack[top] = (low, end, node, 1, n_known + found)
        stack[top + 1] = (start, low, node, 0, n_known + found)
        top += 2
    return size


@compiled
def add_votes(forest, columns, rows, out):  # type: ignore[no-untyped-def]
    """Add the shares of the leaves that records come to, tree by tree."""
    feature, threshold, left, right, share, starts = forest
    for tree in range(len(starts) - 1):
        at = starts[tree]
        for i in range(len(rows)):
            node = at
            while feature[node] >= 0:
                node = at + (
                    left[node]
                    if columns[feature[node], rows[i]] <= threshold[node]
                    else right[node]
                )
            out[i] += share[node]
