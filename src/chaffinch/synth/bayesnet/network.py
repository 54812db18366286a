"""A Bayesian network's structure: columns in an order in which each comes after its parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import TypeVar

from ..._base.errors import InputError, unknown_name

Item = TypeVar("Item", int, str)


@dataclass(frozen=True)
class Network:
    """Columns and their parents; `order` is one in which every parent stands before its children.

    Examples
    --------
    >>> net = Network.of(["a", "b", "c"], [("b", "a"), ("a", "c")])
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
    def of(
        cls, columns: Sequence[str], edges: Iterable[tuple[str, str]], *, first: Sequence[str] = ()
    ) -> Network:
        """Return the network with these edges (parent, child); columns in `first` come as early as they can."""
        edges = list(dict.fromkeys(edges))
        known, early = set(columns), set(first)
        for edge in edges:
            for name in edge:
                if name not in known:
                    raise unknown_name("column", name, columns)
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
        if child not in self._index:
            raise unknown_name("column", child, self.order)
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
    place = {item: i for i, item in enumerate(items)}
    waits_for = [{place[parent] for parent in parents[item]} for item in items]
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
