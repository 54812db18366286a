"""Leaf counts against scikit-learn's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from chaffinch._base.errors import InputError
from chaffinch.outputs.equations import CountTable


def leaves_of(tree: Any, names: list[str]) -> list[tuple[int, str]]:
    """The number of each leaf, and the path to it as a filter."""
    found, todo = [], [(0, [])]
    while todo:
        node, path = todo.pop()
        if tree.children_left[node] < 0:
            found.append((node, " and ".join(path)))
            continue
        name, cut = names[tree.feature[node]], tree.threshold[node]
        todo += [
            (tree.children_left[node], [*path, f"{name} <= {cut}"]),
            (tree.children_right[node], [*path, f"{name} > {cut}"]),
        ]
    return found


def test_leaf_counts(cmc: Any, check: Any) -> None:
    names = ["wife_age", "num_children", "standard_of_living"]
    x, y = cmc.frame[names].to_numpy(), cmc.frame["contraceptive_method"]
    model = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(x, y)
    at = model.apply(x)
    leaves = [
        {
            "where": where,
            "counts": {
                str(level): int(((at == leaf) & (y == level)).sum()) for level in y.cat.categories
            },
        }
        for leaf, where in leaves_of(model.tree_, names)
    ]
    assert len(leaves) == 9
    spec = cmc.spec({"kind": "tree", "label": "contraceptive_method", "leaves": leaves})
    assert check(spec, cmc.codes()) == []
    assert len(check(spec, cmc.shuffled("contraceptive_method"))) > 4
    assert all(isinstance(output, CountTable) for output in spec.problem().outputs)
    assert sum(output.lo.sum() for output in spec.problem().outputs) == len(cmc.frame)


def test_leaves_with_n_alone_and_a_filter_of_the_whole(cmc: Any, check: Any) -> None:
    ages, religion = cmc.frame["wife_age"], cmc.frame["wife_religion"] == 1
    leaves = [
        {"where": "wife_age <= 30", "n": int(((ages <= 30) & religion).sum())},
        {"where": "wife_age > 30", "n": ">=20"},
    ]
    spec = cmc.spec({"kind": "tree", "where": "wife_religion == 1", "leaves": leaves})
    assert check(spec, cmc.codes()) == []
    assert check(spec, np.ascontiguousarray(cmc.codes()[:700])) == ["o0: leaf 1"]


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        ({"where": "wife_age <= 30"}, "leaf 1 must have counts, or n"),
        (
            {"where": "wife_age <= 30", "counts": {"non": 3}},
            "leaf 1: Unknown cell 'non'. Cells are listed only where",
        ),
        ({"where": "wife_ag <= 30", "n": 3}, "leaf 1': Unknown column 'wife_ag'"),
        ({"where": "wife_age <= 30", "m": 3}, "leaf 1: Unknown key 'm'"),
    ],
)
def test_bad_leaves(cmc: Any, leaf: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cmc.spec({"kind": "tree", "label": "contraceptive_method", "leaves": [leaf]}).problem()
