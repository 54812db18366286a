"""Records written out by hand: so many of each combination of levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.rules import Policy, RuleFinding, RuleReport, check_entries


@pytest.fixture(scope="session")
def people_fields() -> OutputDomain:
    return OutputDomain(
        (
            OutputColumn("A", ("a1", "a2", "a3")),
            OutputColumn("B", ("b1", "b2")),
            OutputColumn("Y", ("no", "yes")),
            OutputColumn("AGE", tuple(range(100))),
            OutputColumn("PAY", tuple(range(-5, 1001))),
        )
    )


@pytest.fixture(scope="session")
def people_by_cell(people_fields: OutputDomain) -> Callable[..., np.ndarray]:
    """From (number, {column: level, ...}) pairs to codes; columns that are not named have their first level, PAY 0."""

    def make(*groups: tuple[int, Mapping[str, Any]]) -> np.ndarray:
        rows = []
        for number, levels in groups:
            row = [
                field.code({"PAY": 0, **levels}.get(field.name, field.levels[0]))
                for field in people_fields
            ]
            rows += [row] * number
        return np.array(rows, dtype=np.int32)

    return make


@pytest.fixture(scope="session")
def judged(people_fields: OutputDomain) -> Callable[..., RuleReport]:
    def run(
        codes: np.ndarray, *entries: Mapping[str, Any], policy: Policy | None = None, **options: Any
    ) -> RuleReport:
        named = [{"name": f"o{k}", **entry} for k, entry in enumerate(entries, 1)]
        return check_entries(named, people_fields, codes, policy or Policy(), **options)

    return run


@pytest.fixture(scope="session")
def one() -> Callable[..., RuleFinding]:
    """The finding of a rule about an output."""

    def find(report: RuleReport, rule: str, output: str = "o1") -> RuleFinding:
        found = [each for each in report if each.rule == rule and each.output == output]
        assert len(found) == 1, [(each.rule, each.output, each.status) for each in report]
        return found[0]

    return find
