"""The attack of one synthetic dataset on two groups of people, for many key sets, in compiled code.

Rows are found by their keys in a hash table of the synthetic dataset's keys. A key *speaks* where one value has at least a share of tau
of its rows (tau above 1/2, so at most one value can): it says that value. Deleting one person changes the result by a term that is known
in closed form; these terms are added up for each person (the delete-one jackknife of the mean over key sets). Of c people of one key
who are asked about, a deleted one changes their mean by (x - mean) / (c - 1), and such squares add up to c / (c - 1) of the variance of the mean:
twice too much where there are two of them, as there often are. So the term is multiplied by sqrt((c - 1) / c), which makes them unbiased
(MacKinnon and White 1985: HC2 in place of HC3).
"""

from __future__ import annotations

import numpy as np

from ..._base.compiled import compiled

EMPTY = -1


@compiled
def _slot(keys, key, mask):  # type: ignore[no-untyped-def]
    """The place of a key in the hash table: its own, or the empty one where it would go."""
    at = (key * np.int64(-7046029254386353131)) ^ (
        (key * np.int64(-7046029254386353131)) >> np.int64(29)
    )
    at = at & mask
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def attack(synthetic, label, columns, starts, radix, people, values, group, tau, claims, influence):  # type: ignore[no-untyped-def]
    """Return TCAP for each group, convention and key set; fill `claims` and add to `influence`.

    synthetic: (m, F) codes; label: (m,) codes of the sensitive column; columns, starts: positions of each key set's columns; radix: (F,)
    sizes; people: (n, F); values: (n,); group: (n,) 0 or 1, or -1 for people who take no part; claims: (K, n) int32, what the dataset
    says of each person, -1 for nothing; influence: (2, n) for the two conventions, added to, summed over key sets.
    """
    m, n, k_sets = synthetic.shape[0], people.shape[0], starts.shape[0] - 1
    size = 16
    while size < 2 * m:
        size *= 2
    mask = np.int64(size - 1)
    keys = np.empty(size, np.int64)
    total = np.zeros(size, np.int64)
    balance = np.zeros(size, np.int64)
    claim = np.zeros(size, np.int64)
    weight = np.zeros(size, np.int64)
    met = np.zeros((2, size), np.int64)
    right = np.zeros((2, size), np.int64)
    where = np.empty(m, np.int64)
    place = np.empty(n, np.int64)
    tcap = np.full((2, 2, k_sets), np.nan)
    for k in range(k_sets):
        # A key that is small enough is its own place in the tables, of which then only the first so many are used.
        domain = 1.0
        for c in range(starts[k], starts[k + 1]):
            domain *= radix[columns[c]]
        dense = domain <= size
        span = int(domain) if dense else size
        keys[:span] = EMPTY
        total[:span] = 0
        balance[:span] = 0
        weight[:span] = 0
        met[:, :span] = 0
        right[:, :span] = 0
        # The value that could have more than half of a key's rows (Boyer and Moore's vote), then how many it has.
        for i in range(m):
            key = np.int64(0)
            for c in range(starts[k], starts[k + 1]):
                key = key * radix[columns[c]] + synthetic[i, columns[c]]
            at = key if dense else _slot(keys, key, mask)
            keys[at] = key
            where[i] = at
            total[at] += 1
            if balance[at] == 0:
                claim[at] = label[i]
                balance[at] = 1
            elif claim[at] == label[i]:
                balance[at] += 1
            else:
                balance[at] -= 1
        for i in range(m):
            if claim[where[i]] == label[i]:
                weight[where[i]] += 1
        selected = np.int64(0)
        for at in range(span):
            if total[at] > 0 and weight[at] >= tau * total[at]:
                selected += weight[at]
            else:
                weight[at] = 0
        for i in range(n):
            claims[k, i] = -1
            place[i] = -1
            if group[i] < 0:
                continue
            key = np.int64(0)
            for c in range(starts[k], starts[k + 1]):
                key = key * radix[columns[c]] + people[i, columns[c]]
            at = key if dense else _slot(keys, key, mask)
            if keys[at] == EMPTY or weight[at] == 0:
                continue
            place[i] = at
            claims[k, i] = claim[at]
            met[group[i], at] += 1
            right[group[i], at] += claim[at] == values[i]
        above = np.zeros(2)
        below = np.zeros(2)
        for g in range(2):
            for at in range(span):
                if met[g, at] > 0:
                    above[g] += weight[at] * (right[g, at] / met[g, at])
                    below[g] += weight[at]
            if below[g] > 0:
                tcap[g, 0, k] = above[g] / below[g]
            if selected > 0:
                tcap[g, 1, k] = above[g] / selected
        for i in range(n):
            at = place[i]
            if at < 0:
                continue
            g = group[i]
            w, hit, count = float(weight[at]), 1.0 if claim[at] == values[i] else 0.0, met[g, at]
            if count > 1:
                change = w * (hit - right[g, at] / count) / np.sqrt(count * (count - 1.0))
                influence[0, i] += change / below[g]
                influence[1, i] += change / selected
            else:
                if below[g] > w:
                    influence[0, i] += tcap[g, 0, k] - (above[g] - w * hit) / (below[g] - w)
                influence[1, i] += w * hit / selected
    return tcap


@compiled
def absorb(claims, values, first, spoken, agreed, correct):  # type: ignore[no-untyped-def]
    """Add what one dataset says of each person to what others said: first claim, how many, whether all alike, how many right."""
    for k in range(claims.shape[0]):
        for i in range(claims.shape[1]):
            claim = claims[k, i]
            if claim < 0:
                continue
            if spoken[k, i] == 0:
                first[k, i] = claim
            elif first[k, i] != claim:
                agreed[k, i] = False
            spoken[k, i] += 1
            correct[k, i] += claim == values[i]
