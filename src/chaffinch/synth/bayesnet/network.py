"""A Bayesian network's structure, columns in an order in which each comes after its parents; and what it may look like: how many parents, which edges, which columns are kept apart.

Protection is a rule like any other. Nothing outside the sensitive block may have a sensitive parent; a sensitive
column may have the label as its parent ("separate": Hittmeir, Mayer and Ekelhart 2022; the first method of Niederhametner and
Mayer 2023) and, with "together" (their second method), other sensitive columns. Every search takes its rules from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._base.checks import check_at_least, check_name
from ..._base.errors import InputError, join_names
from ..options import Edge, Protect

Item = TypeVar("Item", int, str)


@dataclass(frozen=True)
class Network:
    """Columns and their parents; `order` is one in which every parent stands before its children.

    Examples
    --------
    >>> net = Network.from_edges(["a", "b", "c"], [("b", "a"), ("a", "c")])
    >>> net.order, net["c"], net.edges
    (('b', 'a', 'c'), ('a',), (('b', 'a'), ('a', 'c')))
    """

    order: tuple[str, ...]
    parents: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len(self.order) != len(self.parents) or len(set(self.order)) != len(self.order):
            raise InputError("A network needs each column once, with one list of parents each.")
        seen: set[str] = set()
        for child, parents in zip(self.order, self.parents, strict=True):
            if len(set(parents)) != len(parents):
                raise InputError(f"Column '{child}' has a parent twice.")
            for parent in parents:
                if parent not in seen:
                    raise InputError(
                        f"Column '{child}' stands before its parent '{parent}', or the parent is no column."
                    )
            seen.add(child)

    @classmethod
    def from_edges(
        cls, columns: Sequence[str], edges: Iterable[tuple[str, str]], *, first: Sequence[str] = ()
    ) -> Network:
        """Return the network with these edges (parent, child); columns in `first` come as early as they can."""
        edges = list(dict.fromkeys(edges))
        early = set(first)
        for edge in edges:
            for name in edge:
                check_name("column", name, columns)
        if cycle := find_cycle(columns, edges):
            raise InputError(
                f"The edges form a cycle: {' -> '.join(cycle)}. Leave one of them out."
            )
        wanted = [*first, *(name for name in columns if name not in early)]
        parents: dict[str, list[str]] = {name: [] for name in columns}
        for parent, child in edges:
            parents[child].append(parent)
        order = parents_first(wanted, parents)
        return cls(tuple(order), tuple(tuple(parents[name]) for name in order))

    def __getitem__(self, child: str) -> tuple[str, ...]:
        check_name("column", child, self._index)
        return self.parents[self._index[child]]

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {name: i for i, name in enumerate(self.order)}

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """All edges as (parent, child), by the order of the children."""
        return tuple(
            (p, child)
            for child, parents in zip(self.order, self.parents, strict=True)
            for p in parents
        )

    @property
    def most_parents(self) -> int:
        """The largest number of parents of any column."""
        return max((len(parents) for parents in self.parents), default=0)


def parents_first(wanted: Iterable[Item], parents: Mapping[Item, Iterable[Item]]) -> list[Item]:
    """Return items in the wanted order, each moved behind its parents where it stood before one.

    Examples
    --------
    >>> parents_first("abc", {"a": "c", "b": "", "c": ""})
    ['b', 'c', 'a']
    """
    items = list(wanted)
    index = {item: i for i, item in enumerate(items)}
    waits_for = [{index[parent] for parent in parents[item]} for item in items]
    children: list[list[int]] = [[] for _ in items]
    for i, above in enumerate(waits_for):
        for parent in above:
            children[parent].append(i)
    ready, order = [i for i, above in enumerate(waits_for) if not above], list[Item]()
    while ready:  # a heap: ascending to begin with
        i = heappop(ready)
        order.append(items[i])
        for child in children[i]:
            waits_for[child].discard(i)
            if not waits_for[child]:
                heappush(ready, child)
    return order


def find_cycle(columns: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[str]:
    """Return a cycle as columns from one back to itself, or an empty list if there is none.

    Examples
    --------
    >>> find_cycle("abc", [("a", "b"), ("b", "c"), ("c", "a")])
    ['a', 'b', 'c', 'a']
    """
    children: dict[str, list[str]] = {name: [] for name in columns}
    for parent, child in edges:
        children[parent].append(child)
    state = dict.fromkeys(columns, 0)
    for root in columns:
        path: list[str] = []
        stack = [(root, iter(children[root]))] if not state[root] else []
        if stack:
            state[root], path = 1, [root]
        while stack:
            node, rest = stack[-1]
            child = next(rest, "")
            if not child:
                state[node] = 2
                stack.pop()
                path.pop()
            elif state[child] == 1:
                return [*path[path.index(child) :], child]
            elif state[child] == 0:
                state[child] = 1
                path.append(child)
                stack.append((child, iter(children[child])))
    return []


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules over columns 0 to d - 1; every column of a block comes before every column of the next."""

    names: tuple[str, ...]
    max_parents: int
    allowed: NDArray[np.bool_]
    """Whether each edge may be: `allowed[child, parent]`."""
    required: tuple[tuple[int, ...], ...]
    """The parents that each column must have."""
    blocks: tuple[tuple[int, ...], ...]
    fixed: bool = False
    """The order inside each block is fixed too."""

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.names)


def allowed_sets(masks: NDArray[np.int64], child: int, rules: Rules) -> NDArray[np.int64]:
    """Return those sets of parents, as bit masks, that a column may have: all required ones and none that is not allowed."""
    out = int((rules.allowed[child] * (1 << np.arange(rules.d))).sum())
    must = sum(1 << parent for parent in rules.required[child])
    return masks[(masks & ~np.int64(out) == 0) & (masks & must == must)]


def columns_of(mask: int) -> tuple[int, ...]:
    """Return the columns of a bit mask.

    Examples
    --------
    >>> columns_of(0b1010)
    (1, 3)
    """
    return tuple(j for j in range(mask.bit_length()) if mask >> j & 1)


@dataclass(frozen=True)
class Constraints:
    """What settings ask of a network, in the names of columns: see `BayesNet`. `max_parents` is how many parents a column has at most."""

    max_parents: int
    label: str | None = None
    sensitive: Sequence[str] = ()
    protect: Protect = "separate"
    keep: Sequence[str] = ()
    require: Sequence[Edge] = ()
    forbid: Sequence[Edge] = ()
    order: Sequence[str] | None = None
    root: str | None = None


def make_rules(columns: Sequence[str], constraints: Constraints) -> Rules:
    """Return the rules that constraints amount to; raise where they contradict each other."""
    names = tuple(columns)
    _check(names, constraints)
    index = {name: i for i, name in enumerate(names)}
    allowed = ~np.eye(len(names), dtype=bool)
    must: list[set[int]] = [set() for _ in names]
    blocks = [tuple(index.values())]
    if constraints.sensitive:
        blocks = _protect_columns(constraints, index, allowed, must)
    if constraints.keep:
        copied = {index[name] for name in constraints.keep}
        outside = [i for i in index.values() if i not in copied]
        allowed[np.ix_(sorted(copied), outside)] = False
        blocks = [tuple(i for i in block if i in copied) for block in blocks] + [
            tuple(i for i in block if i not in copied) for block in blocks
        ]
    if constraints.root is not None:
        root = index[constraints.root]
        allowed[root, :] = False
        blocks = [(root,)] + [tuple(i for i in block if i != root) for block in blocks]
    if constraints.order is not None:
        blocks = [tuple(index[name] for name in constraints.order)]
        position = np.argsort(blocks[0])
        allowed &= position < position[:, None]
    for source, target in constraints.forbid:
        allowed[index[target], index[source]] = False
    for source, target in constraints.require:
        if not allowed[index[target], index[source]]:
            raise InputError(
                f"The edge {source}:{target} is required, but protection, a kept column, the order, the root or a forbidden edge "
                "rules it out. Drop one of the two."
            )
        must[index[target]].add(index[source])
    rules = Rules(
        names,
        constraints.max_parents,
        allowed,
        tuple(tuple(sorted(parents)) for parents in must),
        tuple(block for block in blocks if block),
        constraints.order is not None,
    )
    _check_required(rules)
    return rules


def _protect_columns(
    constraints: Constraints,
    index: Mapping[str, int],
    allowed: NDArray[np.bool_],
    must: list[set[int]],
) -> list[tuple[int, ...]]:
    """Take the edges out that sensitive columns may not have; return the blocks: the label, the sensitive columns, the others."""
    hidden = [index[name] for name in constraints.sensitive]
    allowed[:, hidden] = False
    allowed[hidden, :] = False
    if constraints.protect == "together":
        allowed[np.ix_(hidden, hidden)] = ~np.eye(len(hidden), dtype=bool)
    rest = tuple(i for i in index.values() if i not in hidden)
    if constraints.label is None:
        return [tuple(hidden), rest]
    label = index[constraints.label]
    allowed[hidden, label] = True
    allowed[label, :] = False
    if constraints.protect == "separate":
        for child in hidden:
            must[child].add(label)
    return [(label,), tuple(hidden), tuple(i for i in rest if i != label)]


def _check_required(rules: Rules) -> None:
    for name, allowed, parents in zip(rules.names, rules.allowed, rules.required, strict=True):
        for parent in parents:
            if not allowed[parent]:
                raise InputError(
                    f"Sensitive column '{name}' has the label as its only parent, but a kept column or a forbidden edge rules "
                    f"{rules.names[parent]}:{name} out. Drop it, keep the label too, or use protect = 'together'."
                )
        if len(parents) > rules.max_parents:
            raise InputError(
                f"Column '{name}' must have {len(parents)} parents, but parents = {rules.max_parents}. Raise it."
            )


def _check(names: tuple[str, ...], constraints: Constraints) -> None:
    max_parents, label, sensitive, order, root = (
        constraints.max_parents,
        constraints.label,
        constraints.sensitive,
        constraints.order,
        constraints.root,
    )
    require, forbid = constraints.require, constraints.forbid
    check_at_least("parents", max_parents, 1)
    mentioned = [
        *sensitive,
        *constraints.keep,
        *(n for edge in [*require, *forbid] for n in edge),
        *(order or ()),
    ]
    for name in [*mentioned, *([label] if label else []), *([root] if root else [])]:
        check_name("column", name, names)
    if label in sensitive:
        raise InputError(f"Column '{label}' cannot be the label and sensitive at once. Choose one.")
    if len(set(sensitive)) != len(sensitive):
        raise InputError(f"sensitive names a column twice: {join_names(sensitive)}.")
    if order is not None and sorted(order) != sorted(names):
        missing = [name for name in names if name not in order]
        raise InputError(
            f"order must name every column once. Missing: {join_names(missing) or 'none, but one stands twice'}."
        )
    if root is not None and order is not None and order[0] != root:
        raise InputError(
            f"The root '{root}' is not the first column of the order. Leave one of the two out."
        )
    if root is not None and sensitive and label not in (None, root):
        raise InputError(
            f"With sensitive columns the label '{label}' comes first: it cannot have another root, '{root}'."
        )
    if order is not None and sensitive and label not in (None, order[0]):
        raise InputError(
            f"With sensitive columns the label '{label}' comes first: the order cannot begin with '{order[0]}'."
        )
    for parent, child in [*require, *forbid]:
        if parent == child:
            raise InputError(f"An edge needs two columns. Got {parent}:{child}.")
    if both := set(require) & set(forbid):
        raise InputError(
            f"Edges are required and forbidden at once: {join_names(f'{p}:{c}' for p, c in sorted(both))}."
        )
    if cycle := find_cycle(names, require):
        raise InputError(
            f"The required edges form a cycle: {' -> '.join(cycle)}. Leave one of them out."
        )
