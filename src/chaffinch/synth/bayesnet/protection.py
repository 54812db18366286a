"""What protection cut, in numbers: information lost on purpose, and what still passes through the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..._base.errors import InputError, join_names
from ..._base.results import to_plain
from ...counts.counter import Counter
from ...counts.marginal import Marginal, mutual_information
from ...table.rules.constraints import rules_of
from ...table.rules.relations import relations_of
from ...table.schema import Schema
from ..options import Protect


@dataclass(frozen=True)
class Cut:
    """A pair of columns that the network keeps apart.

    `information` is their mutual information in the data, `through_label` what remains when they are independent given
    the label (none without a label). Nats.
    """

    sensitive: str
    other: str
    information: float
    through_label: float


@dataclass(frozen=True)
class Protection:
    """How sensitive columns were protected: the way, every pair that was cut, and the rules that were found and would have tied such pairs."""

    protect: Protect
    cuts: tuple[Cut, ...]
    rules: tuple[str, ...] = ()

    @property
    def information(self) -> float:
        """The mutual information of all cut pairs together, in nats."""
        return sum(cut.information for cut in self.cuts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "protect": self.protect,
            "cut_information": self.information,
            "cuts": to_plain(self.cuts),
            **({"rules": list(self.rules)} if self.rules else {}),
        }

    def sentences(self, label: str | None, sensitive: Sequence[str]) -> tuple[str, ...]:
        """Return what was cut in all, what still passes through the label if there is one, and the ten largest cuts."""
        through = sum(cut.through_label for cut in self.cuts)
        passing = f"; {through:.3f} nats still pass through the label" if label else ""
        lines = [
            f"Protected ({self.protect}): {', '.join(sensitive)}. {len(self.cuts)} links cut, "
            f"{self.information:.3f} nats of mutual information in all{passing}."
        ]
        for cut in sorted(self.cuts, key=lambda c: -c.information)[:10]:
            rest = f", {cut.through_label:.3f} through the label" if label else ""
            lines.append(f"  {cut.sensitive} | {cut.other}: {cut.information:.3f} cut{rest}")
        if self.rules:
            texts = join_names((f"'{text}'" for text in self.rules), max_names=5)
            lines.append(
                f"  Rules that all records keep and drawn rows do not, since they tie what is cut: {texts}. A column that tells a protected one carries it: declare it sensitive too, or drop it."
            )
        return tuple(lines)


def protected_schema(
    schema: Schema, label: str | None, sensitive: Sequence[str], protect: Protect
) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema without rules that were found and tie columns that protection keeps apart, and those rules.

    Raises InputError for such a rule that was declared: the one who wrote it asks for both.
    """
    apart = {frozenset(pair) for pair in cut_pairs(schema.names, label, sensitive, protect)}
    rules = [(rule.text, rule.columns) for rule in (*relations_of(schema), *rules_of(schema))]
    tying = [
        (text, columns)
        for text, columns in rules
        if any(frozenset(pair) in apart for pair in combinations(dict.fromkeys(columns), 2))
    ]
    for text, columns in tying:
        if text not in schema.found_rules:
            hidden = next(name for name in columns if name in sensitive)
            raise InputError(
                f"The rule '{text}' ties sensitive column '{hidden}' to columns that protection keeps it apart from: they would carry it. "
                "Declare them sensitive too, with protect = 'together', or leave out the rule."
            )
    texts = tuple(dict.fromkeys(text for text, _ in tying))
    return (
        replace(schema, rules=tuple(t for t in schema.rules if t not in texts)) if texts else schema
    ), texts


def protection_of(
    counter: Counter,
    label: str | None,
    sensitive: Sequence[str],
    protect: Protect,
    rules: tuple[str, ...] = (),
) -> Protection:
    """Return the pairs that protection cuts, with what they tell of each other.

    Pairs of a sensitive column and another that is neither sensitive nor the label; with "separate" also pairs of
    sensitive columns.
    """
    pairs = cut_pairs(counter.schema.names, label, sensitive, protect)
    mentioned = sorted({name for pair in pairs for name in pair})
    joints = counter.marginals(pairs)
    with_label = (
        dict(zip(mentioned, counter.marginals([(label, n) for n in mentioned]), strict=True))
        if label
        else {}
    )
    cuts = []
    for (s, o), joint in zip(pairs, joints, strict=True):
        through = through_label(with_label[s], with_label[o]) if label else 0.0
        cuts.append(Cut(s, o, mutual_information(joint), through))
    return Protection(protect, tuple(cuts), rules)


def cut_pairs(
    names: Sequence[str], label: str | None, sensitive: Sequence[str], protect: Protect
) -> list[tuple[str, str]]:
    """Return the pairs of columns that protection keeps apart."""
    hidden = list(sensitive)
    pairs = [(s, o) for s in hidden for o in names if o not in hidden and o != label]
    if protect == "separate":
        pairs += [(a, b) for i, a in enumerate(hidden) for b in hidden[i + 1 :]]
    return pairs


def through_label(first: Marginal, second: Marginal) -> float:
    """Return the mutual information of two columns that are independent given the label, from their tables with it.

    P(a, b) = sum over labels of P(label, a) P(label, b) / P(label).
    """
    a, b = np.asarray(first.dense(), dtype=np.float64), np.asarray(second.dense(), dtype=np.float64)
    weight = np.maximum(a.sum(axis=1), 1e-300)
    mixed = (a / weight[:, None]).T @ b
    return mutual_information(Marginal((first.columns[1], second.columns[1]), mixed.shape, mixed))
